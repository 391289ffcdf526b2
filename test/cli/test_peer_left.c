/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer of the connection manager's programs that has all it wanted and leaves before its last
 * acknowledgement arrives is no failure (two generals); one that leaves earlier is. */
#include <criterion/criterion.h>
#include <criterion/redirect.h>

#include "base/base.h"
#include "cli/cli.h"
#include "cli/node/options.h"
#include "cli/peer/exchange.h"
#include "cli/node/rc.h"

static const struct peer_options options = {
    .connections = 1, .messages = 10, .size_bytes = 100, .timeout_ns = 10 * NS_PER_S};
static const struct peer_kind kind = {.stock = "ucmatose", .qp_type = NORNIC_QPT_RC, PEER_EXCHANGE_KIND};

static struct cli_node nodes[2]; /* the second one's program has ended: it acknowledges nothing */
static struct peer peer;
static struct peer_conn conn;

static void open_peer(void)
{
    struct nornic_error why;
    struct host_cm_config config = {.gid_type = NORNIC_GID_V2};
    struct cli_node_config memory = {.port = "memory"};
    cr_assert_eq(cli_node_open_pair(&memory, nodes), CLI_OK);
    peer = (struct peer){.options = &options,
                         .kind = &kind,
                         .node = nodes[0],
                         .conns = &conn,
                         .max_send_wr = 2,
                         .max_recv_wr = 16};
    conn = (struct peer_conn){.peer = &peer, .state = PEER_CONN_ESTABLISHED};
    host_dev_lock(nodes[0].dev);
    cr_assert_eq(rdma_pd_create(roce_dev_domain(host_dev_engine(nodes[0].dev)), &peer.pd), 0);
    host_dev_unlock(nodes[0].dev);
    cr_assert_eq(host_cm_open(nodes[0].dev, &config, &peer.cm, &why), 0);
    cr_assert_eq(cli_cq_create(&peer.node, 32, &peer.cq), CLI_OK);
    cr_assert_eq(peer_conn_open(&conn), CLI_OK);
}

static void connect_to_nobody(void)
{
    struct nornic_addr mine;
    struct cli_path path = {
        .dst_mac = {{2, 0, 0, 0, 0, 9}}, .pmtu_bytes = 1024, .dest_qpn = 99, .rd_atomic = 1};
    cr_assert_eq(
        cli_node_pick_gid(&nodes[0], &(struct cli_node_config){.port = NULL}, NULL, &path.sgid_index, &mine),
        CLI_OK);
    path.dgid = mine;
    path.dgid.b[15] ^= 3;
    cr_assert_eq(cli_rc_connect(&peer.node, conn.qp, &path), CLI_OK);
    cr_assert_eq(peer_post_send(&conn, 0, 0, 64), CLI_OK);
}

static void close_peer(void)
{
    peer_conn_close(&conn);
    host_cm_close(peer.cm);
    cli_cq_destroy(&peer.cq);
    host_dev_lock(nodes[0].dev);
    rdma_pd_destroy(peer.pd);
    host_dev_unlock(nodes[0].dev);
    cli_node_close(&nodes[0], CLI_OK);
    cli_node_close(&nodes[1], CLI_OK);
}

static bool is_over(const struct peer *p, const void *ctx)
{
    (void)ctx;
    return p->conns[0].state == PEER_CONN_CLOSED || p->sent > 0;
}

Test(peer, one_that_leaves_with_all_it_wanted_is_no_failure, .timeout = 60)
{
    open_peer();
    connect_to_nobody();
    peer.peer_may_leave = true;
    cr_expect_eq(peer_wait(&peer, is_over, NULL, "it left"), CLI_OK);
    cr_expect_eq(peer.unacknowledged, 1);
    cr_expect_eq(peer.sent, 0);
    cr_expect_eq(conn.state, PEER_CONN_CLOSED);
    close_peer();
}

Test(peer, one_that_leaves_earlier_is, .timeout = 60, .init = cr_redirect_stderr)
{
    open_peer();
    connect_to_nobody();
    cr_expect_eq(peer_wait(&peer, is_over, NULL, "it left"), CLI_NEGATIVE);
    cr_expect_eq(peer.unacknowledged, 0);
    close_peer();
}
