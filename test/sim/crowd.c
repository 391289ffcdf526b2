/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/crowd.h"

#include <stdlib.h>
#include <string.h>

#define AREA_BYTES 40u
#define GUARD      0xee
#define IP_BYTES   9018u /* more than a datagram that is too long */

uint32_t crowd_recv_bytes(const struct crowd *crowd)
{
    return AREA_BYTES + crowd->mtu_bytes;
}

uint8_t *crowd_recv_at(const struct crowd *crowd, unsigned node, unsigned qp, unsigned slot)
{
    return crowd->mem[node] + IP_BYTES * CROWD_ROUND +
           (size_t)(qp * CROWD_RECVS + slot) * crowd_recv_bytes(crowd);
}

void crowd_post_recv(struct crowd *crowd, unsigned node, unsigned qp, unsigned slot)
{
    uint32_t bytes = crowd_recv_bytes(crowd), room = bytes;
    uint8_t *at = crowd_recv_at(crowd, node, qp, slot);
    if (crowd->profile.late && test_random_chance(&crowd->random, 100000))
        room = test_random_below(&crowd->random, bytes);
    memset(at, GUARD, bytes);
    crowd->qp[node][qp].room[slot] = room;
    struct nornic_sge sges[2] = {
        {(uintptr_t)at, test_random_below(&crowd->random, room + 1), crowd->mr[node]->lkey}};
    sges[1] = (struct nornic_sge){(uintptr_t)at + sges[0].len_bytes, room - sges[0].len_bytes, sges[0].lkey};
    struct nornic_recv_wr wr = {.wr_id = qp << 16 | slot, .sg_list = sges, .num_sge = 2};
    int err = roce_post_recv(crowd->qp[node][qp].qp, &wr, NULL);
    if (err)
        sim_fail(&crowd->sim, "node %u QP %u: roce_post_recv returned %d", node, qp, err);
}

static void raise_qp(struct crowd *crowd, const struct crowd_qp *q)
{
    struct nornic_qp_attr attr = {
        .port = 1, .qkey = q->qkey, .sq_psn = test_random_below(&crowd->random, 1 << 24)};
    static const enum nornic_qp_state states[] = {NORNIC_QPS_INIT, NORNIC_QPS_RTR, NORNIC_QPS_RTS};
    static const uint32_t masks[] = {NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_QKEY, 0,
                                     NORNIC_QP_SQ_PSN};
    for (int i = 0; i < 3; i++) {
        attr.state = states[i];
        int err = roce_qp_modify(q->qp, &attr, masks[i] | NORNIC_QP_STATE, crowd->sim.now_ns);
        if (err)
            sim_fail(&crowd->sim, "to state %d: %d", states[i], err);
    }
}

static void make_qp(struct crowd *crowd, unsigned node, unsigned index)
{
    struct crowd_qp *q = &crowd->qp[node][index];
    struct test_random *random = &crowd->random;
    q->qkey = 0x100 + test_random_below(random, 3);
    q->blocks_own = test_random_chance(random, 300000);
    struct roce_qp_config config = {.type = NORNIC_QPT_UD,
                                    .pd = crowd->sim.node[node].pd,
                                    .send_cq = crowd->cq[node],
                                    .recv_cq = crowd->cq[node],
                                    .caps = {.max_send_wr = CROWD_ROUND,
                                             .max_recv_wr = CROWD_RECVS,
                                             .max_send_sge = 2,
                                             .max_recv_sge = 2},
                                    .sq_sig_all = true,
                                    .block_multicast_loopback = q->blocks_own};
    int err = roce_qp_create(crowd->sim.node[node].dev, &config, &q->qp);
    if (err) {
        sim_fail(&crowd->sim, "roce_qp_create returned %d", err);
        return;
    }
    raise_qp(crowd, q);
    for (unsigned g = 0; g < CROWD_GROUPS; g++) {
        q->member[g] = test_random_chance(random, 400000);
        err = q->member[g] ? roce_qp_attach_mcast(q->qp, &crowd->group[g]) : 0;
        if (err)
            sim_fail(&crowd->sim, "roce_qp_attach_mcast returned %d", err);
    }
    for (unsigned slot = 0; slot < CROWD_RECVS; slot++)
        crowd_post_recv(crowd, node, index, slot);
}

static void make_ahs(struct crowd *crowd, unsigned node)
{
    struct nornic_av av;
    for (unsigned d = 0; d < CROWD_GROUP + CROWD_GROUPS; d++) {
        sim_address(&crowd->sim, node, &av);
        if (d == CROWD_HERE)
            av.dgid = crowd->sim.node[node].addr;
        if (d >= CROWD_GROUP) {
            av.dgid = crowd->group[d - CROWD_GROUP];
            av.dst_mac = (struct nornic_mac){{0}};
        }
        int err =
            roce_ah_create(crowd->sim.node[node].dev, crowd->sim.node[node].pd, &av, &crowd->ah[node][d]);
        if (err)
            sim_fail(&crowd->sim, "roce_ah_create returned %d", err);
    }
}

static void make_node(struct crowd *crowd, unsigned node)
{
    size_t bytes = (size_t)IP_BYTES * CROWD_ROUND + (size_t)CROWD_QPS * CROWD_RECVS * crowd_recv_bytes(crowd);
    crowd->mem[node] = malloc(bytes);
    if (!crowd->mem[node])
        abort();
    int err = rdma_mr_reg(crowd->sim.node[node].pd, crowd->mem[node], bytes, NORNIC_ACCESS_LOCAL_WRITE,
                          &crowd->mr[node]);
    if (!err)
        err = rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = 8192}, &crowd->cq[node]);
    if (err)
        sim_fail(&crowd->sim, "memory or CQ: %d", err);
    make_ahs(crowd, node);
    crowd->qps[node] = 1 + test_random_below(&crowd->random, CROWD_QPS);
    for (unsigned i = 0; i < crowd->qps[node]; i++)
        make_qp(crowd, node, i);
}

/* Half of the time a rate is 0. */
static uint32_t draw_ppm(struct test_random *random, uint32_t most_ppm)
{
    return test_random_chance(random, 500000) ? 0 : test_random_below(random, most_ppm + 1);
}

static void draw_links(struct crowd *crowd, struct sim_config *config)
{
    const struct sim_link_config *most = &crowd->profile.link;
    struct test_random *random = &crowd->random;
    crowd->calm = crowd->orderly = true;
    for (int i = 0; i < 2; i++) {
        struct sim_link_config *l = &config->link[i];
        *l = (struct sim_link_config){.delay_ns = test_random_below(random, 50000),
                                      .loss_ppm = draw_ppm(random, most->loss_ppm),
                                      .duplicate_ppm = draw_ppm(random, most->duplicate_ppm),
                                      .stale_ns = test_random_below(random, 30000),
                                      .reorder_ppm = draw_ppm(random, most->reorder_ppm),
                                      .hold_ns = 1 + test_random_below(random, 30000),
                                      .corrupt_ppm = draw_ppm(random, most->corrupt_ppm),
                                      .ecn_ppm = draw_ppm(random, most->ecn_ppm),
                                      .pad = test_random_chance(random, 500000)};
        crowd->calm = crowd->calm && !l->loss_ppm && !l->corrupt_ppm;
        crowd->orderly = crowd->orderly && !l->duplicate_ppm && !l->reorder_ppm;
    }
}

static void start(struct crowd *crowd, uint64_t seed, bool ladder)
{
    static const uint32_t port_mtus[] = {600, 1500, 4500};
    struct test_random *random = &crowd->random;
    random->state = seed;
    struct sim_config config = {.seed = seed,
                                .ipv6 = test_random_chance(random, 500000),
                                .vlan_id = test_random_chance(random, 300000) ? 7 : 0,
                                .port_mtu_bytes = port_mtus[test_random_below(random, 3)],
                                .port_frames = test_random_chance(random, 300000) ? 3 : 0,
                                .port_gap_ns = 2000,
                                .ladder = ladder};
    draw_links(crowd, &config);
    crowd->mtu_bytes = nornic_mtu_bytes(nornic_mtu_for_port(config.port_mtu_bytes));
    sim_init(&crowd->sim, &config);
    for (unsigned g = 0; g < CROWD_GROUPS; g++)
        crowd->group[g] = config.ipv6 ? (struct nornic_addr){{0xff, 0x0e, [15] = (uint8_t)g}}
                                      : nornic_addr_from_v4((const uint8_t[]){239, 0, 0, (uint8_t)g});
    for (unsigned node = 0; node < 2 && !crowd->sim.failed; node++)
        make_node(crowd, node);
}

static struct crowd_datagram draw_datagram(struct crowd *crowd)
{
    struct test_random *random = &crowd->random;
    struct crowd_datagram d = {.node = test_random_below(random, 2),
                               .dest = (enum crowd_dest)test_random_below(random, CROWD_DEST_COUNT),
                               .solicited = test_random_chance(random, 300000),
                               .too_long = test_random_chance(random, 20000),
                               .key = test_random_next(random)};
    unsigned to = d.dest == CROWD_HERE ? d.node : !d.node;
    d.qp = test_random_below(random, crowd->qps[d.node]);
    d.target = test_random_below(random, d.dest == CROWD_GROUP ? CROWD_GROUPS : crowd->qps[to]);
    d.qkey = d.dest == CROWD_GROUP ? 0x100 : crowd->qp[to][d.target].qkey;
    if (test_random_chance(random, 50000))
        d.qkey = 0x200;
    d.len_bytes = test_random_below(random, crowd->mtu_bytes + 1);
    if (test_random_chance(random, 200000))
        d.len_bytes = test_random_chance(random, 500000) ? 0 : crowd->mtu_bytes;
    if (d.too_long)
        d.len_bytes = crowd->mtu_bytes + 1 + test_random_below(random, 1000);
    /* The receiver knows a datagram by its number: in the immediate, or in the first four bytes. */
    d.imm = d.len_bytes < 4 || test_random_chance(random, 300000);
    return d;
}

/* A datagram's number is the immediate, or is at the beginning of its bytes. */
static void fill(const struct crowd_datagram *d, uint32_t number, uint8_t *bytes)
{
    for (uint32_t i = 0; i < d->len_bytes; i++)
        bytes[i] = sim_pattern(d->key, i);
    if (!d->imm)
        memcpy(bytes, &number, sizeof number);
}

/* Sends the next datagram; its bytes are in place `slot` of the node's memory until the round is over. */
static void send_one(struct crowd *crowd, unsigned slot)
{
    uint32_t number = crowd->count++;
    struct crowd_datagram *d = &crowd->datagram[number];
    *d = draw_datagram(crowd);
    struct crowd_qp *q = &crowd->qp[d->node][d->qp];
    uint8_t *bytes = crowd->mem[d->node] + (size_t)slot * IP_BYTES;
    fill(d, number, bytes);
    uint32_t first = test_random_below(&crowd->random, d->len_bytes + 1);
    uint32_t lkey = crowd->mr[d->node]->lkey;
    struct nornic_sge sges[2] = {{(uintptr_t)bytes, first, lkey},
                                 {(uintptr_t)bytes + first, d->len_bytes - first, lkey}};
    bool controlled = d->qkey == q->qkey && test_random_chance(&crowd->random, 500000);
    bool group = d->dest == CROWD_GROUP;
    struct nornic_send_wr wr = {.wr_id = 1u << 31 | number,
                                .sg_list = sges,
                                .num_sge = 2,
                                .opcode = d->imm ? NORNIC_WR_SEND_WITH_IMM : NORNIC_WR_SEND,
                                .send_flags = d->solicited ? NORNIC_SEND_SOLICITED : 0,
                                .imm_data = number,
                                .ud = {.ah = crowd->ah[d->node][group ? CROWD_GROUP + d->target : d->dest],
                                       .remote_qkey = controlled ? 0x80000000 : d->qkey}};
    unsigned to = d->dest == CROWD_HERE ? d->node : !d->node;
    wr.ud.remote_qpn = group ? 0xffffff : roce_qp_num(crowd->qp[to][d->target].qp);
    q->sends[q->sent++] = (uint16_t)number;
    int err = roce_post_send(q->qp, &wr, NULL);
    if (err)
        sim_fail(&crowd->sim, "datagram %u: roce_post_send returned %d", number, err);
}

static void poll(struct crowd *crowd)
{
    for (unsigned node = 0; node < 2; node++) {
        struct nornic_wc wc;
        int n;
        while (!crowd->sim.failed && (n = rdma_cq_poll(crowd->cq[node], &wc, 1)) != 0) {
            if (n < 0)
                sim_fail(&crowd->sim, "node %u: the CQ overflowed", node);
            else
                crowd_complete(crowd, node, &wc);
        }
    }
}

/* Until nothing moves any more. */
static void settle(struct crowd *crowd)
{
    struct sim *sim = &crowd->sim;
    while (!sim->failed) {
        while (sim_step(sim))
            poll(crowd);
        poll(crowd);
        uint64_t next_ns = sim_next_ns(sim);
        if (next_ns == NET_TIME_NONE)
            return;
        sim_jump(sim, next_ns);
    }
}

static void finish(struct crowd *crowd)
{
    for (unsigned node = 0; node < 2; node++) {
        for (unsigned i = 0; i < CROWD_QPS && crowd->qp[node][i].qp; i++) {
            struct crowd_qp *q = &crowd->qp[node][i];
            for (unsigned g = 0; g < CROWD_GROUPS; g++)
                if (q->member[g] && roce_qp_detach_mcast(q->qp, &crowd->group[g]) != 0)
                    sim_fail(&crowd->sim, "node %u QP %u was not attached", node, i);
            if (roce_qp_destroy(q->qp) != 0)
                sim_fail(&crowd->sim, "node %u QP %u cannot be destroyed", node, i);
        }
        for (unsigned d = 0; d < CROWD_GROUP + CROWD_GROUPS; d++)
            if (crowd->ah[node][d] && roce_ah_destroy(crowd->ah[node][d]) != 0)
                sim_fail(&crowd->sim, "node %u: a handle is in use for ever", node);
        if (crowd->cq[node])
            rdma_cq_destroy(crowd->cq[node]);
        if (crowd->mr[node])
            rdma_mr_dereg(crowd->mr[node]);
        free(crowd->mem[node]);
    }
    sim_deinit(&crowd->sim);
}

void crowd_run(struct crowd *crowd, const struct crowd_profile *profile, uint64_t seed, bool ladder)
{
    *crowd = (struct crowd){.profile = *profile};
    start(crowd, seed, ladder);
    unsigned sends = 1 + test_random_below(&crowd->random, CROWD_SENDS);
    while (crowd->count < sends && !crowd->sim.failed) {
        unsigned n = 1 + test_random_below(&crowd->random, CROWD_ROUND);
        for (unsigned i = 0; i < n && crowd->count < sends && !crowd->sim.failed; i++) {
            send_one(crowd, i);
            if (test_random_chance(&crowd->random, 200000))
                sim_step(&crowd->sim);
        }
        settle(crowd);
    }
    if (!crowd->sim.failed)
        crowd_judge(crowd);
    finish(crowd);
}
