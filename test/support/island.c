/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/island.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#include "roce/packet.h"

#define REMOTE       (NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC)
#define BUFFER_BYTES 4400u
#define MAX_ROUNDS   100000u

static void on_doorbell(void *ctx)
{
    ((struct island_dev *)ctx)->rung++;
}

static void on_reach(void *ctx, uint32_t qpn, enum roce_reach reach, const struct nornic_addr *peer)
{
    struct island_dev *d = ctx;
    reach_note(&d->reach, qpn, reach, peer);
}

static int on_mcast(void *ctx, const struct nornic_addr *group, bool join)
{
    (void)group;
    ((struct island_dev *)ctx)->joins += join ? 1 : -1u;
    return 0;
}

struct nornic_addr island_addr(bool ipv6, uint8_t last)
{
    if (!ipv6)
        return nornic_addr_from_v4((const uint8_t[]){10, 0, 0, last});
    return (struct nornic_addr){{0x20, 0x01, 0x0d, 0xb8, [15] = last}};
}

static void make_dev(struct island *w, unsigned i, const struct nornic_addr *addr, bool shared)
{
    struct island_dev *d = &w->dev[i];
    d->rnd.state = i + 1;
    d->mem = malloc(ISLAND_BYTES);
    cr_assert_not_null(d->mem);
    for (uint32_t k = 0; k < ISLAND_BYTES; k++)
        d->mem[k] = (uint8_t)(k * 31 + (k >> 8) + i);
    struct roce_dev_config config = {.random = test_random_source(&d->rnd),
                                     .max_qp = 64,
                                     .max_mr = 16,
                                     .port_mtu_bytes = 9000,
                                     .first_qpn = 1000 * (i + 1),
                                     .shared_addrs = shared,
                                     .doorbell = on_doorbell,
                                     .mcast = on_mcast,
                                     .reach = on_reach,
                                     .ctx = d};
    cr_assert_eq(roce_dev_create(&config, &d->dev), 0);
    struct nornic_gid gid = {.addr = *addr, .mac = {{2, 0, 0, 0, 0, (uint8_t)(i + 1)}}};
    cr_assert_eq(roce_dev_gid_add(d->dev, &gid), 0);
    cr_assert_eq(rdma_pd_create(roce_dev_domain(d->dev), &d->pd), 0);
    cr_assert_eq(rdma_mr_reg(d->pd, d->mem, ISLAND_BYTES, NORNIC_ACCESS_LOCAL_WRITE | REMOTE, &d->mr), 0);
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = 1024}, &d->cq), 0);
}

struct island *island_new(unsigned count, bool one_address, bool ipv6)
{
    struct island *w = calloc(1, sizeof *w);
    cr_assert_not_null(w);
    cr_assert_leq(count, ISLAND_DEVS);
    w->now_ns = 1000000000;
    for (unsigned i = 0; i < count; i++) {
        struct nornic_addr addr = island_addr(ipv6, (uint8_t)(one_address ? 1 : i + 1));
        make_dev(w, i, &addr, false);
    }
    return w;
}

struct island *island_new_shared(unsigned count)
{
    struct island *w = island_new(0, true, false);
    struct nornic_addr addr = island_addr(false, 1);
    for (unsigned i = 0; i < count; i++)
        make_dev(w, i, &addr, true);
    return w;
}

void island_free(struct island *w)
{
    for (unsigned i = 0; i < ISLAND_DEVS; i++) {
        struct island_dev *d = &w->dev[i];
        if (!d->dev)
            continue;
        cr_assert_eq(rdma_cq_destroy(d->cq), 0);
        cr_assert_eq(rdma_mr_dereg(d->mr), 0);
        cr_assert_eq(rdma_pd_destroy(d->pd), 0);
        cr_assert_eq(roce_dev_destroy(d->dev), 0);
        free(d->mem);
    }
    free(w);
}

struct roce_qp *island_qp(struct island *w, unsigned dev, enum nornic_qp_type type)
{
    struct island_dev *d = &w->dev[dev];
    struct roce_qp_config config = {
        .type = type,
        .pd = d->pd,
        .send_cq = d->cq,
        .recv_cq = d->cq,
        .caps = {.max_send_wr = 256, .max_recv_wr = 256, .max_send_sge = 2, .max_recv_sge = 2},
    };
    struct roce_qp *qp;
    cr_assert_eq(roce_qp_create(d->dev, &config, &qp), 0);
    return qp;
}

void island_connect(struct island *w, struct roce_qp *qp, const struct nornic_addr *peer, uint32_t peer_qpn)
{
    struct nornic_qp_attr attr = {.port = 1,
                                  .access_flags = REMOTE,
                                  .path_mtu = NORNIC_MTU_1024,
                                  .timeout = 10,
                                  .retry_cnt = 2,
                                  .rnr_retry = 7,
                                  .min_rnr_timer = 1,
                                  .max_rd_atomic = 4,
                                  .max_dest_rd_atomic = 4,
                                  .dest_qpn = peer_qpn,
                                  .av = {.dgid = *peer, .hop_limit = 64}};
    static const struct {
        enum nornic_qp_state state;
        uint32_t mask, rc_mask;
    } steps[] = {
        {NORNIC_QPS_INIT, NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS, 0},
        {NORNIC_QPS_RTR, NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN,
         NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER},
        {NORNIC_QPS_RTS, NORNIC_QP_SQ_PSN,
         NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY | NORNIC_QP_MAX_QP_RD_ATOMIC},
    };
    /* UC refuses the attributes that only RC has; which of the two it is, the QP tells by refusing them. */
    for (int i = 0; i < 3; i++) {
        attr.state = steps[i].state;
        uint32_t mask = NORNIC_QP_STATE | steps[i].mask;
        if (roce_qp_modify(qp, &attr, mask | steps[i].rc_mask, w->now_ns) != 0)
            cr_assert_eq(roce_qp_modify(qp, &attr, mask, w->now_ns), 0);
    }
}

void island_raise(struct island *w, struct roce_qp *qp, uint32_t qkey)
{
    struct nornic_qp_attr attr = {.port = 1, .qkey = qkey};
    const uint32_t port = roce_qp_num(qp) == 1 ? 0 : NORNIC_QP_PORT;
    static const enum nornic_qp_state states[] = {NORNIC_QPS_INIT, NORNIC_QPS_RTR, NORNIC_QPS_RTS};
    const uint32_t masks[] = {NORNIC_QP_PKEY_INDEX | NORNIC_QP_QKEY | port, 0, NORNIC_QP_SQ_PSN};
    for (int i = 0; i < 3; i++) {
        attr.state = states[i];
        cr_assert_eq(roce_qp_modify(qp, &attr, masks[i] | NORNIC_QP_STATE, w->now_ns), 0);
    }
}

struct nornic_ah *island_ah(struct island *w, unsigned dev, const struct nornic_addr *peer)
{
    struct nornic_av av = {.dgid = *peer, .hop_limit = 64};
    struct nornic_ah *ah;
    cr_assert_eq(roce_ah_create(w->dev[dev].dev, w->dev[dev].pd, &av, &ah), 0);
    return ah;
}

struct nornic_sge island_sge(const struct island *w, unsigned dev, uint32_t offset, uint32_t len_bytes)
{
    const struct island_dev *d = &w->dev[dev];
    return (struct nornic_sge){(uintptr_t)d->mem + offset, len_bytes, d->mr->lkey};
}

void island_recv(struct island *w, unsigned dev, struct roce_qp *qp, uint64_t wr_id, uint32_t offset,
                 uint32_t len_bytes)
{
    struct nornic_sge sge = island_sge(w, dev, offset, len_bytes);
    struct nornic_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(roce_post_recv(qp, &wr, NULL), 0);
}

unsigned island_step(struct island *w, unsigned dev)
{
    static uint8_t buffers[ISLAND_PORT][BUFFER_BYTES];
    struct net_frame bufs[ISLAND_PORT];
    struct island_dev *d = &w->dev[dev];
    for (unsigned i = 0; i < ISLAND_PORT; i++)
        bufs[i] = (struct net_frame){.data = buffers[i], .cap_bytes = BUFFER_BYTES};
    uint64_t before = roce_dev_counters(d->dev)->qps.tx_pkts;
    unsigned n = roce_dev_tx(d->dev, bufs, ISLAND_PORT, w->now_ns);
    uint64_t built = roce_dev_counters(d->dev)->qps.tx_pkts - before;
    d->most_in_call = built > d->most_in_call ? built : d->most_in_call;
    for (unsigned i = 0; i < n; i++) {
        struct roce_pkt pkt;
        cr_assert_eq(roce_pkt_parse(&pkt, bufs[i].data, bufs[i].len_bytes, 0), ROCE_RX_TAKEN);
        d->to = pkt.dst;
    }
    d->left += n;
    return n;
}

void island_run(struct island *w)
{
    bool pending = true;
    for (unsigned round = 0; pending; round++) {
        cr_assert_lt(round, MAX_ROUNDS, "the devices do not come to rest");
        pending = false;
        for (unsigned i = 0; i < ISLAND_DEVS; i++) {
            if (!w->dev[i].dev || !roce_dev_tx_pending(w->dev[i].dev))
                continue;
            island_step(w, i);
            pending = true;
        }
    }
}

void island_settle(struct island *w, uint64_t max_ns)
{
    uint64_t end_ns = w->now_ns + max_ns;
    for (;;) {
        uint64_t next_ns = NET_TIME_NONE;
        island_run(w);
        for (unsigned i = 0; i < ISLAND_DEVS; i++) {
            uint64_t due_ns = w->dev[i].dev ? roce_dev_deadline_ns(w->dev[i].dev) : NET_TIME_NONE;
            next_ns = due_ns < next_ns ? due_ns : next_ns;
        }
        if (next_ns > end_ns)
            return;
        w->now_ns = next_ns > w->now_ns ? next_ns : w->now_ns;
        for (unsigned i = 0; i < ISLAND_DEVS; i++)
            if (w->dev[i].dev)
                roce_dev_expire(w->dev[i].dev, w->now_ns);
    }
}

struct nornic_wc island_wc(struct island *w, unsigned dev, uint64_t wr_id, enum nornic_wc_status status)
{
    struct nornic_wc wc = {0};
    cr_assert_eq(rdma_cq_poll(w->dev[dev].cq, &wc, 1), 1, "no completion, WR %d expected", (int)wr_id);
    cr_assert(wc.wr_id == wr_id && wc.status == status, "WR %d %s, expected WR %d %s", (int)wc.wr_id,
              nornic_wc_status_name(wc.status), (int)wr_id, nornic_wc_status_name(status));
    return wc;
}

void island_no_wc(struct island *w, unsigned dev)
{
    struct nornic_wc wc;
    cr_assert_eq(rdma_cq_poll(w->dev[dev].cq, &wc, 1), 0);
}
