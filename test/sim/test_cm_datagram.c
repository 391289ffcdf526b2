/* SPDX-License-Identifier: BSD-2-Clause */
/* Service id resolution over QP 1 in bad weather, and a datagram along what it found. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <string.h>

#include "roce/cm/cm.h"
#include "test/sim/sim.h"

#define PORT          7174
#define PAYLOAD_BYTES 500
#define STEPS_MAX     100000

struct host {
    struct sim_node *node;
    struct roce_cm *cm;
    struct rdma_cq *cq;
    struct rdma_mr *mr;
    struct roce_qp *qp;
    struct roce_cm_id *id, *asked; /* the server's: its listener, and the request */
    uint8_t bytes[NORNIC_L3_AREA_BYTES + PAYLOAD_BYTES];
};

static struct sim sim;
static struct host host[2];
static struct roce_cm_event found; /* ESTABLISHED at the client */

static void host_init(unsigned h)
{
    struct host *x = &host[h];
    struct rdma_cq_config cq = {.capacity = 8};
    x->node = &sim.node[h];
    struct roce_cm_config cm = {.mem = &x->node->alloc.mem,
                                .random = test_random_source(&sim.random),
                                .port_mtu_bytes = sim.config.port_mtu_bytes,
                                .max_ids = 8};
    cr_assert_eq(roce_cm_create(x->node->dev, &cm, &x->cm), 0);
    cr_assert_eq(rdma_cq_create(&x->node->alloc.mem, &cq, &x->cq), 0);
    cr_assert_eq(rdma_mr_reg(x->node->pd, x->bytes, sizeof x->bytes, NORNIC_ACCESS_LOCAL_WRITE, &x->mr), 0);
    struct roce_qp_config qp = {
        .type = NORNIC_QPT_UD,
        .pd = x->node->pd,
        .send_cq = x->cq,
        .recv_cq = x->cq,
        .caps = {.max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1},
        .sq_sig_all = true,
    };
    cr_assert_eq(roce_qp_create(x->node->dev, &qp, &x->qp), 0);
    cr_assert_eq(roce_cm_id_create(x->cm, NORNIC_PS_UDP, NULL, &x->id), 0);
}

static void on_event(unsigned h, const struct roce_cm_event *e)
{
    struct host *x = &host[h];
    roce_cm_ack_event(e);
    if (e->type == NORNIC_CM_EVENT_CONNECT_REQUEST) {
        if (x->asked) /* so much was lost that the answer to the first is no longer kept */
            cr_assert_eq(roce_cm_id_destroy(x->asked, sim.now_ns), 0);
        x->asked = e->id;
        cr_assert_eq(roce_cm_accept(e->id, x->qp, NULL, sim.now_ns), 0);
    } else {
        cr_assert_eq(e->type, NORNIC_CM_EVENT_ESTABLISHED, "%s", nornic_cm_event_name(e->type));
        found = *e;
    }
}

/* Until nothing happens any more. */
static void run(void)
{
    struct roce_cm_event e;
    for (unsigned steps = 0; steps < STEPS_MAX && !sim.failed; steps++) {
        bool moved = sim_step(&sim);
        for (unsigned h = 0; h < 2; h++) {
            roce_cm_progress(host[h].cm, sim.now_ns);
            while (roce_cm_get_event(host[h].cm, &e))
                on_event(h, &e);
            moved |= roce_dev_tx_pending(host[h].node->dev);
        }
        uint64_t next_ns = sim_next_ns(&sim);
        for (unsigned h = 0; h < 2; h++) {
            uint64_t deadline_ns = roce_cm_deadline_ns(host[h].cm);
            next_ns = deadline_ns < next_ns ? deadline_ns : next_ns;
        }
        if (!moved && next_ns == NET_TIME_NONE)
            return;
        if (!moved)
            sim_jump(&sim, next_ns);
    }
    sim_fail(&sim, "it does not come to rest");
}

/* The weather is fair by now: it arrives. */
static void send_datagram(void)
{
    struct host *client = &host[0], *server = &host[1];
    struct nornic_sge to = {
        .addr = (uintptr_t)server->bytes, .len_bytes = sizeof server->bytes, .lkey = server->mr->lkey};
    struct nornic_recv_wr recv = {.wr_id = 1, .sg_list = &to, .num_sge = 1};
    struct nornic_sge from = {
        .addr = (uintptr_t)client->bytes, .len_bytes = PAYLOAD_BYTES, .lkey = client->mr->lkey};
    struct nornic_send_wr send = {.wr_id = 2,
                                  .sg_list = &from,
                                  .num_sge = 1,
                                  .opcode = NORNIC_WR_SEND,
                                  .ud = {.remote_qpn = found.qpn, .remote_qkey = found.qkey}};
    struct nornic_wc wc;
    memset(client->bytes, 0x3c, PAYLOAD_BYTES);
    cr_assert_eq(roce_ah_create(client->node->dev, client->node->pd, &found.path.av, &send.ud.ah), 0);
    cr_assert_eq(roce_post_recv(server->qp, &recv, NULL), 0);
    cr_assert_eq(roce_post_send(client->qp, &send, NULL), 0);
    run();
    cr_assert_eq(rdma_cq_poll(server->cq, &wc, 1), 1);
    cr_expect_eq(wc.status, NORNIC_WC_SUCCESS);
    cr_expect_eq(wc.byte_len, sizeof server->bytes);
    cr_expect_eq(wc.src_qpn, roce_qp_num(client->qp));
    cr_expect_arr_eq(server->bytes + NORNIC_L3_AREA_BYTES, client->bytes, PAYLOAD_BYTES);
    cr_assert_eq(rdma_cq_poll(client->cq, &wc, 1), 1);
    cr_assert_eq(roce_ah_destroy(send.ud.ah), 0);
}

static void host_deinit(unsigned h)
{
    struct host *x = &host[h];
    if (x->asked)
        cr_assert_eq(roce_cm_id_destroy(x->asked, sim.now_ns), 0);
    cr_assert_eq(roce_cm_id_destroy(x->id, sim.now_ns), 0);
    cr_assert_eq(roce_cm_destroy(x->cm), 0);
    roce_qp_destroy(x->qp);
    rdma_mr_dereg(x->mr);
    rdma_cq_destroy(x->cq);
}

static void live(uint64_t seed)
{
    struct sim_link_config bad = {
        .delay_ns = 5000, .jitter_ns = 20000, .loss_ppm = 300000, .duplicate_ppm = 50000};
    struct sim_config config = {.seed = seed, .port_mtu_bytes = 1500, .ipv6 = seed % 2, .link = {bad, bad}};
    memset(host, 0, sizeof host);
    sim_init(&sim, &config);
    host_init(0);
    host_init(1);
    struct roce_cm_route route = {.dst_port = PORT};
    sim_address(&sim, 0, &route.path.av);
    cr_assert_eq(roce_cm_listen(host[1].id, NULL, PORT, 1), 0);
    cr_assert_eq(roce_cm_connect(host[0].id, &route, host[0].qp, NULL, sim.now_ns), 0);
    found.type = NORNIC_CM_EVENT_UNREACHABLE;
    run();
    cr_assert_eq(found.type, NORNIC_CM_EVENT_ESTABLISHED, "seed %" PRIu64, seed);
    cr_expect_eq(found.qpn, roce_qp_num(host[1].qp));
    sim_link_calm(sim.link[0]);
    send_datagram();
    host_deinit(0);
    host_deinit(1);
    sim_deinit(&sim);
    cr_assert(!sim.failed, "seed %" PRIu64 ": %s", seed, sim.failure);
}

/* covers: ROCE-CM-62, ROCE-GSI-1, ROCE-GSI-2 */
Test(cm, ROCE_CM_62_a_datagram_goes_where_resolution_says)
{
    for (uint64_t seed = 1; seed <= 60; seed++)
        live(seed);
}
