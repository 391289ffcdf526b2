/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/flow.h"
#include "test/support/rc_masks.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define ALL_REMOTE (NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE)

static unsigned asker_node(const struct flow_config *c)
{
    return c->read ? c->to : c->from;
}

static void post(struct flow *flow)
{
    const struct flow_config *c = &flow->config;
    struct rdma_mr *local = c->read ? flow->target : flow->source;
    struct rdma_mr *remote = c->read ? flow->source : flow->target;
    uint8_t *local_bytes = c->read ? flow->target_bytes : flow->source_bytes;
    uint8_t *remote_bytes = c->read ? flow->source_bytes : flow->target_bytes;
    struct nornic_sge sge = {(uintptr_t)local_bytes, c->message_bytes, local->lkey};
    struct nornic_send_wr wr = {.sg_list = &sge,
                                .num_sge = 1,
                                .opcode = c->read ? NORNIC_WR_RDMA_READ : NORNIC_WR_RDMA_WRITE,
                                .send_flags = NORNIC_SEND_SIGNALED,
                                .remote_addr = (uintptr_t)remote_bytes,
                                .rkey = remote->rkey};
    cr_assert_eq(roce_post_send(flow->asker, &wr, NULL), 0);
    flow->posted++;
}

static void drive(struct flow *flow, uint64_t now_ns)
{
    struct nornic_wc wc;
    while (rdma_cq_poll(flow->cq, &wc, 1) == 1) {
        flow->posted--;
        if (wc.status == NORNIC_WC_SUCCESS)
            flow->done_bytes += flow->config.message_bytes;
        else
            flow->failed = true;
    }
    while (!flow->failed && !flow->paused && flow->posted < flow->config.depth &&
           now_ns >= flow->config.start_ns)
        post(flow);
}

static void app(void *ctx, unsigned node)
{
    struct traffic *t = ctx;
    for (unsigned i = 0; i < t->count; i++)
        if (asker_node(&t->flow[i].config) == node)
            drive(&t->flow[i], t->fabric->now_ns);
}

void traffic_init(struct traffic *t, struct fabric *fabric)
{
    *t = (struct traffic){.fabric = fabric};
    fabric->app = app;
    fabric->app_ctx = t;
}

static struct roce_qp *make_qp(struct fabric_node *node, struct rdma_cq *cq, unsigned depth)
{
    struct roce_qp_config config = {.type = NORNIC_QPT_RC,
                                    .pd = node->pd,
                                    .send_cq = cq,
                                    .recv_cq = cq,
                                    .caps = {.max_send_wr = depth, .max_recv_wr = 1, .max_send_sge = 1}};
    struct roce_qp *qp;
    cr_assert_eq(roce_qp_create(node->dev, &config, &qp), 0);
    return qp;
}

static void connect_to(struct roce_qp *qp, const struct flow_config *c, const struct fabric_node *peer,
                       uint32_t peer_qpn, uint64_t now_ns)
{
    struct nornic_qp_attr a = {.access_flags = ALL_REMOTE,
                               .port = 1,
                               .path_mtu = c->pmtu,
                               .timeout = c->timeout,
                               .retry_cnt = 7,
                               .rnr_retry = 7,
                               .min_rnr_timer = 12,
                               .max_rd_atomic = 16,
                               .max_dest_rd_atomic = 16,
                               .dest_qpn = peer_qpn,
                               .av = {.dgid = peer->addr, .hop_limit = 64, .dst_mac = peer->mac}};
    a.state = NORNIC_QPS_INIT;
    uint32_t mask = NORNIC_QP_STATE | RC_INIT_MASK;
    cr_assert_eq(roce_qp_modify(qp, &a, mask, now_ns), 0);
    a.state = NORNIC_QPS_RTR;
    mask = NORNIC_QP_STATE | RC_RTR_MASK;
    cr_assert_eq(roce_qp_modify(qp, &a, mask, now_ns), 0);
    a.state = NORNIC_QPS_RTS;
    mask = NORNIC_QP_STATE | RC_RTS_MASK;
    cr_assert_eq(roce_qp_modify(qp, &a, mask, now_ns), 0);
}

static uint8_t *make_region(struct rdma_pd *pd, uint32_t len_bytes, struct rdma_mr **mr)
{
    uint8_t *bytes = calloc(1, len_bytes);
    cr_assert_not_null(bytes);
    cr_assert_eq(rdma_mr_reg(pd, bytes, len_bytes, NORNIC_ACCESS_LOCAL_WRITE | ALL_REMOTE, mr), 0);
    return bytes;
}

struct flow *traffic_add(struct traffic *t, const struct flow_config *config)
{
    cr_assert_lt(t->count, FLOWS_MAX);
    struct fabric *f = t->fabric;
    struct flow *flow = &t->flow[t->count];
    struct fabric_node *from = &f->node[config->from], *to = &f->node[config->to];
    *flow = (struct flow){.config = *config};
    struct rdma_cq_config cq = {.capacity = 2 * config->depth};
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &cq, &flow->cq), 0);
    flow->sender = make_qp(from, flow->cq, config->depth);
    flow->receiver = make_qp(to, flow->cq, config->depth);
    flow->asker = config->read ? flow->receiver : flow->sender;
    connect_to(flow->sender, config, to, roce_qp_num(flow->receiver), f->now_ns);
    connect_to(flow->receiver, config, from, roce_qp_num(flow->sender), f->now_ns);
    flow->source_bytes = make_region(from->pd, config->message_bytes, &flow->source);
    flow->target_bytes = make_region(to->pd, config->message_bytes, &flow->target);
    for (uint32_t i = 0; i < config->message_bytes; i++)
        flow->source_bytes[i] = (uint8_t)test_random_next(&f->random);
    f->node[asker_node(config)].wake_ns = config->start_ns > f->now_ns ? config->start_ns : f->now_ns;
    t->count++;
    return flow;
}

void traffic_deinit(struct traffic *t)
{
    for (unsigned i = 0; i < t->count; i++) {
        struct flow *flow = &t->flow[i];
        if (flow->done_bytes > 0)
            cr_expect_arr_eq(flow->target_bytes, flow->source_bytes, flow->config.message_bytes, "flow %u",
                             i);
        roce_qp_destroy(flow->sender);
        roce_qp_destroy(flow->receiver);
        cr_assert_eq(rdma_cq_destroy(flow->cq), 0);
        rdma_mr_dereg(flow->source);
        rdma_mr_dereg(flow->target);
        free(flow->source_bytes);
        free(flow->target_bytes);
    }
}

void traffic_done(const struct traffic *t, uint64_t bytes[FLOWS_MAX])
{
    for (unsigned i = 0; i < t->count; i++)
        bytes[i] = t->flow[i].done_bytes;
}

double traffic_jain(const struct traffic *t, const uint64_t before[FLOWS_MAX], unsigned first, unsigned last)
{
    double sum = 0, squares = 0;
    for (unsigned i = first; i < last; i++) {
        double x = (double)(t->flow[i].done_bytes - before[i]);
        sum += x;
        squares += x * x;
    }
    return squares > 0 ? sum * sum / (last - first) / squares : 0;
}

double traffic_bps(const struct traffic *t, const uint64_t before[FLOWS_MAX], uint64_t time_ns)
{
    double sum = 0;
    for (unsigned i = 0; i < t->count; i++)
        sum += (double)(t->flow[i].done_bytes - before[i]);
    return sum * 8e9 / (double)time_ns;
}
