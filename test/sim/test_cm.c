/* SPDX-License-Identifier: BSD-2-Clause */
/* The whole stack: connection managers over QP 1 of two devices and a wire in bad weather; connections are
 * made, bear data, and end. */
#include <criterion/criterion.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "roce/cm/cm.h"
#include "test/sim/sim.h"

#define CONNECTIONS   4
#define MESSAGE_BYTES 3000
#define PORT          7471
#define STEPS_MAX     2000000

/* One end of a connection: it sends one message and gets one. */
struct side {
    struct roce_cm_id *id;
    struct roce_qp *qp;
    struct rdma_cq *cq;
    uint8_t out[MESSAGE_BYTES], in[MESSAGE_BYTES];
    bool sent, got, up, ended, rested;
    unsigned index;
};

struct host {
    struct sim_node *node;
    struct roce_cm *cm;
    struct rdma_mr *mr;
    struct roce_cm_id *listener;
    struct side side[CONNECTIONS];
    unsigned accepted;
};

struct world {
    struct sim sim;
    struct host host[2];
};

static void qp_create(struct world *w, unsigned h, unsigned i)
{
    struct host *host = &w->host[h];
    struct side *side = &host->side[i];
    struct rdma_cq_config cq = {.capacity = 8};
    side->index = i;
    cr_assert_eq(rdma_cq_create(&host->node->alloc.mem, &cq, &side->cq), 0);
    struct roce_qp_config qp = {
        .type = NORNIC_QPT_RC,
        .pd = host->node->pd,
        .send_cq = side->cq,
        .recv_cq = side->cq,
        .caps = {.max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = true,
        .ctx = side,
    };
    cr_assert_eq(roce_qp_create(host->node->dev, &qp, &side->qp), 0);
    for (unsigned b = 0; b < MESSAGE_BYTES; b++)
        side->out[b] = (uint8_t)(h * 91 + i * 7 + b * 13);
}

/* In INIT, before the peer can know the QP: its data may come before we know that we are connected. */
static void post_recv(struct host *host, struct side *side)
{
    struct nornic_sge sge = {.addr = (uintptr_t)side->in, .len_bytes = MESSAGE_BYTES, .lkey = host->mr->lkey};
    struct nornic_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(roce_post_recv(side->qp, &wr, NULL), 0);
}

static void post_send(struct host *host, struct side *side)
{
    struct nornic_sge sge = {
        .addr = (uintptr_t)side->out, .len_bytes = MESSAGE_BYTES, .lkey = host->mr->lkey};
    struct nornic_send_wr wr = {.wr_id = 2, .sg_list = &sge, .num_sge = 1, .opcode = NORNIC_WR_SEND};
    cr_assert_eq(roce_post_send(side->qp, &wr, NULL), 0);
}

static void on_request(struct world *w, struct host *host, const struct roce_cm_event *e)
{
    struct side *side = &host->side[e->private_data[0]];
    cr_assert_lt(e->private_data[0], CONNECTIONS);
    side->id = e->id;
    roce_cm_id_set_ctx(e->id, side);
    cr_assert_eq(roce_cm_accept(e->id, side->qp, NULL, w->sim.now_ns), 0);
    post_recv(host, side);
}

static void on_event(struct world *w, unsigned h, const struct roce_cm_event *e)
{
    struct host *host = &w->host[h];
    struct side *side = e->type == NORNIC_CM_EVENT_CONNECT_REQUEST ? NULL : roce_cm_id_ctx(e->id);
    switch (e->type) {
    case NORNIC_CM_EVENT_CONNECT_REQUEST:
        return on_request(w, host, e);
    case NORNIC_CM_EVENT_ESTABLISHED:
        side->up = true;
        return post_send(host, side);
    case NORNIC_CM_EVENT_DISCONNECTED:
        side->ended = true;
        if (roce_cm_id_state(e->id) == ROCE_CM_DREQ_RCVD_STATE)
            roce_cm_disconnect(e->id, NULL, 0, w->sim.now_ns);
        return;
    case NORNIC_CM_EVENT_TIMEWAIT_EXIT:
        side->rested = true;
        return;
    default:
        sim_fail(&w->sim, "host %u: %s, status %d", h, nornic_cm_event_name(e->type), e->status);
    }
}

static void poll_cq(struct world *w, struct side *side)
{
    struct nornic_wc wc;
    while (rdma_cq_poll(side->cq, &wc, 1) > 0) {
        if (wc.status == NORNIC_WC_WR_FLUSH_ERR && side->up)
            continue;
        if (wc.status != NORNIC_WC_SUCCESS)
            sim_fail(&w->sim, "a completion says %s", nornic_wc_status_name(wc.status));
        else if (wc.wr_id == 2)
            side->sent = true;
        else
            side->got = true;
    }
}

/* Ends what has done its work: even connections by host 0, odd ones by host 1. */
static void hang_up(struct world *w)
{
    for (unsigned i = 0; i < CONNECTIONS; i++) {
        struct side *a = &w->host[0].side[i], *b = &w->host[1].side[i], *first = i % 2 ? b : a;
        bool done = a->sent && a->got && b->sent && b->got;
        if (done && first->id && roce_cm_id_state(first->id) == ROCE_CM_ESTABLISHED_STATE)
            roce_cm_disconnect(first->id, NULL, 0, w->sim.now_ns);
    }
}

static void settle(struct world *w)
{
    struct roce_cm_event e;
    bool moved;
    do {
        moved = sim_step(&w->sim);
        for (unsigned h = 0; h < 2; h++) {
            roce_cm_progress(w->host[h].cm, w->sim.now_ns);
            while (roce_cm_get_event(w->host[h].cm, &e)) {
                roce_cm_ack_event(&e);
                on_event(w, h, &e);
                moved = true;
            }
            for (unsigned i = 0; i < CONNECTIONS; i++)
                poll_cq(w, &w->host[h].side[i]);
            moved |= roce_dev_tx_pending(w->host[h].node->dev);
        }
        hang_up(w);
    } while (moved && !w->sim.failed);
}

static void run(struct world *w)
{
    for (unsigned steps = 0; steps < STEPS_MAX && !w->sim.failed; steps++) {
        settle(w);
        uint64_t next_ns = sim_next_ns(&w->sim);
        for (unsigned h = 0; h < 2; h++) {
            uint64_t deadline_ns = roce_cm_deadline_ns(w->host[h].cm);
            next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
        }
        if (next_ns == NET_TIME_NONE)
            return;
        sim_jump(&w->sim, next_ns);
    }
}

static void begin(struct world *w, const struct sim_config *config)
{
    sim_init(&w->sim, config);
    for (unsigned h = 0; h < 2; h++) {
        struct host *host = &w->host[h];
        host->node = &w->sim.node[h];
        struct roce_cm_config cm = {.mem = &host->node->alloc.mem,
                                    .random = test_random_source(&w->sim.random),
                                    .port_mtu_bytes = config->port_mtu_bytes,
                                    .max_ids = 32};
        cr_assert_eq(roce_cm_create(host->node->dev, &cm, &host->cm), 0);
        cr_assert_eq(
            rdma_mr_reg(host->node->pd, host->side, sizeof host->side, NORNIC_ACCESS_LOCAL_WRITE, &host->mr),
            0);
        for (unsigned i = 0; i < CONNECTIONS; i++)
            qp_create(w, h, i);
    }
    cr_assert_eq(roce_cm_id_create(w->host[1].cm, NORNIC_PS_TCP, NULL, &w->host[1].listener), 0);
    cr_assert_eq(roce_cm_listen(w->host[1].listener, NULL, PORT, CONNECTIONS), 0);
    for (uint8_t i = 0; i < CONNECTIONS; i++) {
        struct side *side = &w->host[0].side[i];
        struct roce_cm_route route = {.dst_port = PORT};
        struct nornic_conn_param param = {
            .private_data = &i, .private_data_len = 1, .retry_count = 7, .rnr_retry_count = 7};
        sim_address(&w->sim, 0, &route.path.av);
        cr_assert_eq(roce_cm_id_create(w->host[0].cm, NORNIC_PS_TCP, side, &side->id), 0);
        cr_assert_eq(roce_cm_connect(side->id, &route, side->qp, &param, w->sim.now_ns), 0);
        post_recv(&w->host[0], side);
    }
}

static void check(struct world *w)
{
    for (unsigned h = 0; h < 2; h++)
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            struct side *side = &w->host[h].side[i], *peer = &w->host[!h].side[i];
            if (!side->up || !side->ended || !side->rested)
                sim_fail(&w->sim, "host %u, connection %u: up %d, ended %d, rested %d", h, i, side->up,
                         side->ended, side->rested);
            else if (memcmp(side->in, peer->out, MESSAGE_BYTES) != 0)
                sim_fail(&w->sim, "host %u, connection %u: not what was sent", h, i);
        }
}

static void end(struct world *w)
{
    for (unsigned h = 0; h < 2; h++) {
        struct host *host = &w->host[h];
        for (unsigned i = 0; i < CONNECTIONS; i++) {
            if (host->side[i].id)
                cr_assert_eq(roce_cm_id_destroy(host->side[i].id, w->sim.now_ns), 0);
            roce_qp_destroy(host->side[i].qp);
            rdma_cq_destroy(host->side[i].cq);
        }
        if (host->listener)
            cr_assert_eq(roce_cm_id_destroy(host->listener, w->sim.now_ns), 0);
        cr_assert_eq(roce_cm_destroy(host->cm), 0);
        rdma_mr_dereg(host->mr);
    }
    sim_deinit(&w->sim);
}

static void live(const struct sim_config *config)
{
    struct world *w = calloc(1, sizeof *w);
    cr_assert_not_null(w);
    begin(w, config);
    run(w);
    if (!w->sim.failed)
        check(w);
    end(w);
    cr_assert(!w->sim.failed, "seed %" PRIu64 ": %s", config->seed, w->sim.failure);
    free(w);
}

#define FAIR_WEATHER     \
    {                    \
        .delay_ns = 5000 \
    }
#define BAD_WEATHER                                                                      \
    {                                                                                    \
        .delay_ns = 5000, .jitter_ns = 20000, .loss_ppm = 50000, .duplicate_ppm = 20000, \
        .reorder_ppm = 50000, .hold_ns = 100000, .corrupt_ppm = 5000                     \
    }

/* covers: ROCE-GSI-1, ROCE-GSI-2, ROCE-CM-3, ROCE-CM-53 */
Test(cm, connections_over_qp1_bear_data_and_end)
{
    struct sim_config config = {.seed = 1, .port_mtu_bytes = 1500, .link = {FAIR_WEATHER, FAIR_WEATHER}};
    live(&config);
}

/* covers: ROCE-CM-2, ROCE-GEN-2 */
Test(cm, ROCE_CM_2_over_ipv6_and_in_a_vlan)
{
    struct sim_config config = {
        .seed = 2, .port_mtu_bytes = 4200, .ipv6 = true, .vlan_id = 5, .link = {FAIR_WEATHER, FAIR_WEATHER}};
    live(&config);
}

/* covers: ROCE-CM-34, ROCE-CM-53 */
Test(cm, bad_weather_is_outlived)
{
    for (uint64_t seed = 1; seed <= 150; seed++) {
        struct sim_config config = {
            .seed = seed, .port_mtu_bytes = 1500, .ipv6 = seed % 2, .link = {BAD_WEATHER, BAD_WEATHER}};
        live(&config);
    }
}
