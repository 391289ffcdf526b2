/* SPDX-License-Identifier: BSD-2-Clause */
/* What a side of the ping-pong owns. */
#include "cli/pingpong.h"

#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/rc.h"

static int register_memory(struct pingpong_side *side)
{
    size_t size = side->options->size_bytes;
    side->memory = calloc(2, size);
    if (!side->memory)
        return cli_fail("no memory for two messages of %zu bytes", size);
    side->send_buf = side->memory;
    side->recv_buf = side->memory + size;
    struct roce_dev *engine = host_dev_engine(side->node->dev);
    host_dev_lock(side->node->dev);
    int rc = rdma_pd_create(roce_dev_domain(engine), &side->pd);
    if (rc == 0)
        rc = rdma_mr_reg(side->pd, side->memory, 2 * size, RDMA_ACCESS_LOCAL_WRITE, &side->mr);
    host_dev_unlock(side->node->dev);
    return rc == 0 ? CLI_OK : cli_fail("cannot register %zu bytes: %s", 2 * size, strerror(-rc));
}

static int create_qp(struct pingpong_side *side)
{
    struct roce_qp_config config = {
        .type = ROCE_QPT_RC,
        .pd = side->pd,
        .send_cq = side->cq.cq,
        .recv_cq = side->cq.cq,
        .caps = {.max_send_wr = 1,
                 .max_recv_wr = side->options->rx_depth,
                 .max_send_sge = 1,
                 .max_recv_sge = 1},
    };
    host_dev_lock(side->node->dev);
    int rc = roce_qp_create(host_dev_engine(side->node->dev), &config, &side->qp);
    host_dev_unlock(side->node->dev);
    return rc == 0 ? cli_rc_init(side->node, side->qp, 0)
                   : cli_fail("cannot create a queue pair: %s", strerror(-rc));
}

int pingpong_post_receives(struct pingpong_side *side)
{
    struct rdma_sge sge = {
        .addr = (uintptr_t)side->recv_buf, .len_bytes = side->options->size_bytes, .lkey = side->mr->lkey};
    struct rdma_recv_wr wr = {.wr_id = PINGPONG_WR_RECV, .sg_list = &sge, .num_sge = 1};
    for (; side->receives_posted < side->options->rx_depth; side->receives_posted++) {
        int rc = roce_post_recv(side->qp, &wr, NULL);
        if (rc != 0)
            return cli_fail("cannot post a receive: %s", strerror(-rc));
    }
    return CLI_OK;
}

int pingpong_side_open(struct pingpong_side *side, const struct pingpong_options *options,
                       struct cli_node *node, bool is_client)
{
    memset(side, 0, sizeof *side);
    side->options = options;
    side->node = node;
    side->is_client = is_client;
    side->forms = (1u << PINGPONG_FORM_COUNT) - 1;
    if (options->stock_check)
        side->forms = 1u << PINGPONG_FORM_STOCK_CHECKED;
    else if (is_client)
        side->forms = 1u << PINGPONG_FORM_COUNTED;
    int rc = register_memory(side);
    if (rc == CLI_OK)
        rc = cli_cq_create(node, options->rx_depth + 2, &side->cq);
    if (rc == CLI_OK)
        rc = create_qp(side);
    if (rc == CLI_OK)
        rc = pingpong_post_receives(side);
    if (rc != CLI_OK) {
        pingpong_side_close(side);
        return rc;
    }
    side->mine = (struct pingpong_dest){.qpn = roce_qp_num(side->qp), .psn = cli_rc_random_psn()};
    return CLI_OK;
}

void pingpong_side_close(struct pingpong_side *side)
{
    host_dev_lock(side->node->dev);
    if (side->qp)
        roce_qp_destroy(side->qp);
    if (side->mr)
        rdma_mr_dereg(side->mr);
    if (side->pd)
        rdma_pd_destroy(side->pd);
    host_dev_unlock(side->node->dev);
    if (side->cq.cq)
        cli_cq_destroy(&side->cq);
    free(side->memory);
}

int pingpong_side_connect(struct pingpong_side *side, unsigned sgid_index)
{
    struct cli_rc_path path = {
        .dgid = side->peer.gid,
        .sgid_index = sgid_index,
        .pmtu_bytes = side->options->pmtu_bytes,
        .dest_qpn = side->peer.qpn,
        .rq_psn = side->peer.psn,
        .sq_psn = side->mine.psn,
        .sl = side->options->sl,
        .rd_atomic = 1,
    };
    if (net_addr_is_v4(&side->peer.gid) != net_addr_is_v4(&side->mine.gid))
        return cli_fail("one side uses an IPv4 GID and the other an IPv6 GID: choose with -g or --ipv6");
    int rc = cli_node_resolve(side->node, &path.dgid, &path.dst_mac);
    return rc == CLI_OK ? cli_rc_connect(side->node, side->qp, &path) : rc;
}
