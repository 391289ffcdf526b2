/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/many.h"
#include "test/support/rc_masks.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define FRAMES       16u
#define MAX_ROUNDS   100000u
#define REMOTE       (NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC)
#define BUFFER_BYTES 4400u

static void on_event(void *ctx, const struct roce_event *event)
{
    ((struct many *)ctx)->events[event->type]++;
}

static struct roce_qp *make_qp(struct many *m)
{
    struct roce_qp_config config = {
        .type = NORNIC_QPT_RC,
        .pd = m->pd,
        .send_cq = m->cq,
        .recv_cq = m->cq,
        .caps = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
    };
    struct roce_qp *qp;
    cr_assert_eq(roce_qp_create(m->dev, &config, &qp), 0);
    return qp;
}

static void join(struct many *m, struct roce_qp *qp, uint32_t peer)
{
    struct nornic_qp_attr attr = {.port = 1,
                                  .access_flags = REMOTE,
                                  .path_mtu = NORNIC_MTU_1024,
                                  .timeout = 14,
                                  .retry_cnt = 7,
                                  .rnr_retry = 7,
                                  .min_rnr_timer = 12,
                                  .max_rd_atomic = 1,
                                  .max_dest_rd_atomic = 1,
                                  .dest_qpn = peer,
                                  .av = {.dgid = roce_dev_gid_get(m->dev, 0)->addr, .hop_limit = 64}};
    static const struct {
        enum nornic_qp_state state;
        uint32_t mask;
    } steps[] = {
        {NORNIC_QPS_INIT, RC_INIT_MASK},
        {NORNIC_QPS_RTR, RC_RTR_MASK},
        {NORNIC_QPS_RTS, RC_RTS_MASK},
    };
    for (int i = 0; i < 3; i++) {
        attr.state = steps[i].state;
        cr_assert_eq(roce_qp_modify(qp, &attr, steps[i].mask | NORNIC_QP_STATE, m->now_ns), 0);
    }
}

struct many *many_new(uint32_t count)
{
    struct many *m = calloc(1, sizeof *m);
    cr_assert_not_null(m);
    test_alloc_init(&m->alloc);
    m->rnd.state = 7;
    m->now_ns = 1000000000;
    m->count = count;
    m->mem = calloc(count, MANY_BYTES);
    m->qps = calloc(count, sizeof *m->qps);
    cr_assert(m->mem && m->qps);
    for (uint32_t i = 0; i < count * MANY_BYTES; i++)
        m->mem[i] = (uint8_t)(i * 7 + (i >> 8));
    struct roce_dev_config config = {.mem = &m->alloc.mem,
                                     .random = test_random_source(&m->rnd),
                                     .port_mtu_bytes = 1500,
                                     .num_qpns = 0x10000,
                                     .event = on_event,
                                     .ctx = m};
    cr_assert_eq(roce_dev_create(&config, &m->dev), 0);
    struct nornic_gid gid = {.addr = nornic_addr_from_v4((const uint8_t[]){10, 0, 0, 1}),
                             .mac = {{2, 0, 0, 0, 0, 1}}};
    cr_assert_eq(roce_dev_gid_add(m->dev, &gid), 0);
    cr_assert_eq(rdma_pd_create(roce_dev_domain(m->dev), &m->pd), 0);
    cr_assert_eq(rdma_mr_reg(m->pd, m->mem, count * MANY_BYTES, NORNIC_ACCESS_LOCAL_WRITE | REMOTE, &m->mr),
                 0);
    cr_assert_eq(rdma_cq_create(&m->alloc.mem, &(struct rdma_cq_config){.capacity = 2 * count}, &m->cq), 0);
    for (uint32_t i = 0; i < count; i++)
        m->qps[i] = make_qp(m);
    for (uint32_t i = 0; i < count; i++)
        join(m, m->qps[i], roce_qp_num(m->qps[i ^ 1]));
    many_run(m);
    return m;
}

void many_free(struct many *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        roce_qp_destroy(m->qps[i]);
    cr_assert_eq(rdma_cq_destroy(m->cq), 0);
    cr_assert_eq(rdma_mr_dereg(m->mr), 0);
    cr_assert_eq(rdma_pd_destroy(m->pd), 0);
    cr_assert_eq(roce_dev_destroy(m->dev), 0);
    cr_assert_eq(m->alloc.live, 0, "%u allocations are left", m->alloc.live);
    free(m->qps);
    free(m->mem);
    free(m);
}

void many_run(struct many *m)
{
    static uint8_t buffers[FRAMES][BUFFER_BYTES];
    struct net_frame bufs[FRAMES];
    for (unsigned round = 0; roce_dev_tx_pending(m->dev); round++) {
        cr_assert_lt(round, MAX_ROUNDS, "the device does not come to rest");
        for (unsigned i = 0; i < FRAMES; i++)
            bufs[i] = (struct net_frame){.data = buffers[i], .cap_bytes = BUFFER_BYTES};
        cr_assert_eq(roce_dev_tx(m->dev, bufs, FRAMES, m->now_ns), 0, "a frame left the device");
    }
}

static struct nornic_sge piece(const struct many *m, uint32_t i)
{
    return (struct nornic_sge){(uintptr_t)m->mem + (size_t)i * MANY_BYTES, MANY_BYTES, m->mr->lkey};
}

int many_post_recv(struct many *m, uint32_t i)
{
    struct nornic_sge sge = piece(m, i);
    return roce_post_recv(m->qps[i], &(struct nornic_recv_wr){.wr_id = i, .sg_list = &sge, .num_sge = 1},
                          NULL);
}

int many_post_send(struct many *m, uint32_t i)
{
    struct nornic_sge sge = piece(m, i);
    struct nornic_send_wr wr = {.wr_id = i,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .opcode = NORNIC_WR_SEND,
                                .send_flags = NORNIC_SEND_SIGNALED};
    return roce_post_send(m->qps[i], &wr, NULL);
}

uint32_t many_poll(struct many *m)
{
    struct nornic_wc wcs[64];
    uint32_t total = 0;
    int n;
    while ((n = rdma_cq_poll(m->cq, wcs, 64)) > 0) {
        for (int i = 0; i < n; i++)
            cr_assert_eq(wcs[i].status, NORNIC_WC_SUCCESS, "%s", nornic_wc_status_name(wcs[i].status));
        total += (uint32_t)n;
    }
    cr_assert_eq(n, 0);
    return total;
}
