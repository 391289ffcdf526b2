/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/host/pair.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <time.h>

#include "net/memory.h"
#include "test/support/rc_masks.h"

#define ALL_RIGHTS                                                                        \
    (NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | \
     NORNIC_ACCESS_REMOTE_ATOMIC)

#define TIMEOUT 14 /* 67 ms */

static struct nornic_mac mac_of(int side)
{
    return (struct nornic_mac){{2, 0, 0, 0, 0, (uint8_t)(side + 1)}};
}

/* As test/support/netns.h has them. */
static struct nornic_addr gid_of(int side)
{
    return nornic_addr_from_v4((uint8_t[]){10, 77, 0, (uint8_t)(side + 1)});
}

static void make_device(struct pair_side *s, int side, struct net_port *port, bool no_thread)
{
    struct nornic_error why;
    struct host_dev_config config = {.no_thread = no_thread};
    cr_assert_eq(host_dev_create_on(port, &config, &s->dev, &why), 0, "%s", why.text);
    struct nornic_gid gid = {.addr = gid_of(side), .mac = mac_of(side)};
    host_dev_lock(s->dev);
    cr_assert_eq(roce_dev_gid_add(host_dev_engine(s->dev), &gid), 0);
    host_dev_unlock(s->dev);
}

static void make_side(struct pair_side *s)
{
    s->memory = calloc(1, PAIR_REGION_BYTES);
    struct rdma_cq_config cq = {.capacity = 256};
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &cq, &s->cq), 0);
    struct roce_dev *engine = host_dev_engine(s->dev);
    host_dev_lock(s->dev);
    cr_assert_eq(rdma_pd_create(roce_dev_domain(engine), &s->pd), 0);
    cr_assert_eq(rdma_mr_reg(s->pd, s->memory, PAIR_REGION_BYTES, ALL_RIGHTS, &s->mr), 0);
    struct roce_qp_config qp = {
        .type = NORNIC_QPT_RC,
        .pd = s->pd,
        .send_cq = s->cq,
        .recv_cq = s->cq,
        .caps = {.max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1}};
    cr_assert_eq(roce_qp_create(engine, &qp, &s->qp), 0);
    host_dev_unlock(s->dev);
}

static void connect_side(struct pair_side *s, const struct pair_side *peer, int peer_side, uint8_t timeout)
{
    struct nornic_qp_attr attr = {
        .state = NORNIC_QPS_INIT,
        .port = 1,
        .access_flags = NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC,
        .path_mtu = NORNIC_MTU_1024,
        .dest_qpn = roce_qp_num(peer->qp),
        .max_dest_rd_atomic = 1,
        .max_rd_atomic = 1,
        .min_rnr_timer = 12,
        .timeout = timeout,
        .retry_cnt = 7,
        .rnr_retry = 7,
        .av = {.dgid = gid_of(peer_side), .hop_limit = 1, .dst_mac = mac_of(peer_side)},
    };
    host_dev_lock(s->dev);
    cr_assert_eq(roce_qp_modify(s->qp, &attr, NORNIC_QP_STATE | RC_INIT_MASK, host_now_ns()), 0);
    attr.state = NORNIC_QPS_RTR;
    cr_assert_eq(roce_qp_modify(s->qp, &attr, NORNIC_QP_STATE | RC_RTR_MASK, host_now_ns()), 0);
    attr.state = NORNIC_QPS_RTS;
    cr_assert_eq(roce_qp_modify(s->qp, &attr, NORNIC_QP_STATE | RC_RTS_MASK, host_now_ns()), 0);
    host_dev_unlock(s->dev);
}

void pair_open_on(struct pair *pair, struct net_port *ports[2], uint8_t timeout, bool no_thread)
{
    for (int i = 0; i < 2; i++) {
        make_device(&pair->side[i], i, ports[i], no_thread);
        make_side(&pair->side[i]);
    }
    for (int i = 0; i < 2; i++)
        connect_side(&pair->side[i], &pair->side[1 - i], 1 - i, timeout);
}

void pair_open(struct pair *pair, bool no_thread)
{
    struct net_port *ends[2];
    cr_assert_eq(net_memory_pair(1500, 256, ends), 0);
    pair_open_on(pair, ends, TIMEOUT, no_thread);
}

void pair_open_alone(struct pair *pair, struct net_port *port, bool no_thread)
{
    make_device(&pair->side[0], 0, port, no_thread);
    pair->side[1].dev = pair->side[0].dev;
    for (int i = 0; i < 2; i++)
        make_side(&pair->side[i]);
    for (int i = 0; i < 2; i++)
        connect_side(&pair->side[i], &pair->side[1 - i], 0, TIMEOUT);
}

void pair_close(struct pair *pair)
{
    for (int i = 0; i < 2; i++) {
        struct pair_side *s = &pair->side[i];
        host_dev_lock(s->dev);
        if (s->qp)
            roce_qp_destroy(s->qp);
        rdma_mr_dereg(s->mr);
        cr_assert_eq(rdma_pd_destroy(s->pd), 0);
        host_dev_unlock(s->dev);
        cr_assert_eq(rdma_cq_destroy(s->cq), 0);
        if (i == 1 || s->dev != pair->side[1].dev)
            cr_assert_eq(host_dev_close(s->dev, NULL), 0, "objects are left");
        free(s->memory);
    }
}

int pair_post_write(struct pair *pair, uint64_t wr_id, uint32_t len_bytes)
{
    struct pair_side *from = &pair->side[0], *to = &pair->side[1];
    struct nornic_sge sge = {.addr = (uintptr_t)from->memory, .len_bytes = len_bytes, .lkey = from->mr->lkey};
    struct nornic_send_wr wr = {.wr_id = wr_id,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_RDMA_WRITE,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .remote_addr = to->mr->iova,
                                .rkey = to->mr->rkey};
    return roce_post_send(from->qp, &wr, NULL);
}

struct nornic_wc pair_wait(struct pair *pair, uint64_t timeout_ns)
{
    struct nornic_wc wc;
    uint64_t end_ns = host_now_ns() + timeout_ns;
    for (;;) {
        int n = rdma_cq_poll(pair->side[0].cq, &wc, 1);
        cr_assert_geq(n, 0);
        if (n == 1)
            return wc;
        cr_assert_lt(host_now_ns(), end_ns, "no completion in %g s", (double)timeout_ns / 1e9);
        nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
    }
}

void pair_modify_state(struct pair *pair, enum nornic_qp_state state)
{
    struct pair_side *s = &pair->side[0];
    struct nornic_qp_attr attr = {.state = state};
    host_dev_lock(s->dev);
    cr_assert_eq(roce_qp_modify(s->qp, &attr, NORNIC_QP_STATE, host_now_ns()), 0);
    host_dev_unlock(s->dev);
}
