/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/sim/smcr_plan.h"

#include <inttypes.h>
#include <stdio.h>

static uint32_t pick(struct test_random *r, const uint32_t *of, unsigned n)
{
    return of[test_random_below(r, n)];
}

/* Of all magnitudes: small ones are as likely as large ones. */
static uint64_t magnitude(struct test_random *r, uint64_t max)
{
    uint64_t top = 1;
    while (top < max && test_random_below(r, 6) > 0)
        top *= 4;
    return test_random_between(r, 0, top < max ? top : max);
}

static void draw_side(struct smcr_side_plan *s, struct test_random *r, const struct smcr_profile *p)
{
    static const uint32_t sizes[] = {300, 1448, 4096, 16384, 16380, 65536, 200000};
    static const uint32_t tiny[] = {1, 7, 64};
    s->bytes = magnitude(r, p->bytes_max);
    bool small = p->tiny && test_random_below(r, 4) == 0;
    if (small)
        s->bytes %= 3000;
    s->write_max = small ? pick(r, tiny, 3) : pick(r, sizes, 7);
    s->read_max =
        p->tiny && s->bytes < 3000 && test_random_below(r, 4) == 0 ? pick(r, tiny, 3) : pick(r, sizes, 7);
    s->pause_ppm = test_random_below(r, 3) == 0 ? test_random_below(r, 300000) : 0;
    s->pause_ns = test_random_between(r, 1, 3 * PAIR_MS);
    s->more_ppm = test_random_below(r, 4) == 0 ? 300000 : 0;
    s->urgent_ppm = p->urgent && test_random_below(r, 3) == 0 ? 100000 : 0;
    s->ending = (enum smcr_ending)test_random_below(r, p->endings ? SMCR_END_COUNT : SMCR_END_AT_ONCE);
    s->ending_after = magnitude(r, p->bytes_max);
}

static void draw_wire(struct smcr_plan *plan, struct test_random *r, const struct smcr_profile *p)
{
    struct sim_link_config *w = &plan->pair.wire;
    w->delay_ns = test_random_between(r, 1000, 30000);
    if (p->loss_ppm_max == 0 || test_random_below(r, 3) == 0)
        return;
    w->loss_ppm = test_random_below(r, p->loss_ppm_max);
    w->jitter_ns = test_random_below(r, 2) ? test_random_below(r, 20000) : 0;
    w->duplicate_ppm = test_random_below(r, p->loss_ppm_max);
    w->reorder_ppm = test_random_below(r, p->loss_ppm_max);
    w->hold_ns = 100000;
    w->corrupt_ppm = test_random_below(r, p->loss_ppm_max / 4 + 1);
}

/* Timers so short that what they start runs into everything else (SMCR-SER-03). */
static void draw_times(struct smcr_times *t, struct test_random *r)
{
    t->test_link_ns = test_random_between(r, 2, 40) * PAIR_MS;
    /* a path that does not work is tried again and again: RKEY exchanges need the gaps */
    t->redundancy_ns = test_random_between(r, 300, 800) * PAIR_MS;
    t->redundancy_max_ns = 2 * PAIR_S;
    t->add_link_notice_ns = test_random_between(r, 300, 800) * PAIR_MS;
    t->group_idle_ns = test_random_between(r, 1, 20) * PAIR_MS;
    t->rmb_idle_ns = test_random_between(r, 100, 5000) * PAIR_US;
    t->stale_cursor_ns = test_random_between(r, 1, 20) * PAIR_MS;
    t->cork_ns = test_random_between(r, 100, 5000) * PAIR_US;
}

static void draw_pair(struct smcr_plan *plan, struct test_random *r, const struct smcr_profile *p)
{
    struct pair_config *c = &plan->pair;
    bool hasty = test_random_below(r, 2);
    c->topology = test_random_below(r, 2) ? PAIR_SWITCH : PAIR_CABLES;
    for (unsigned i = 0; i < 2; i++) {
        c->ports[i] = 1 + test_random_below(r, p->ports_max);
        c->path_mtu[i] = (enum nornic_mtu)test_random_between(r, NORNIC_MTU_256, NORNIC_MTU_4096);
        c->smcr[i].elems_per_rmb = (uint8_t)test_random_between(r, 1, 4);
        c->smcr[i].max_links = (uint8_t)test_random_between(r, 2, 3);
        if (hasty)
            draw_times(&c->smcr[i].times, r);
    }
    c->ipv6 = test_random_below(r, 4) == 0;
    c->vlan_id = test_random_below(r, 4) == 0 ? 7 : 0;
    c->tcp_chunk_bytes = test_random_below(r, 3) == 0 ? 1 + test_random_below(r, 40) : 0;
    c->tcp_delay_ns = test_random_between(r, 1000, 200000);
    draw_wire(plan, r, p);
    c->moves_trains = c->seed >> 2 & 1;
    /* One seed in four speaks version 2: both nodes know an enterprise id. In two of four only one does. */
    for (unsigned i = 0; i < 2; i++)
        if (c->seed >> i & 1)
            smcr_eid_parse("SIM", c->smcr[i].eids[c->smcr[i].num_eids++]);
}

static void add_trouble(struct smcr_plan *plan, struct smcr_trouble t)
{
    unsigned i = plan->num_troubles;
    if (i == SMCR_PLAN_TROUBLES)
        return;
    for (; i > 0 && plan->trouble[i - 1].at_ns > t.at_ns; i--)
        plan->trouble[i] = plan->trouble[i - 1];
    plan->trouble[i] = t;
    plan->num_troubles++;
}

/* Port 0 of both nodes stays whole unless all may die: with cables that is one whole fabric. */
static void draw_cuts(struct smcr_plan *plan, struct test_random *r, const struct smcr_profile *p)
{
    unsigned n = 1 + test_random_below(r, 3);
    for (unsigned i = 0; i < n; i++) {
        struct smcr_trouble t = {.kind = SMCR_TROUBLE_CUT, .node = test_random_below(r, 2)};
        unsigned ports = plan->pair.ports[t.node];
        unsigned lowest = p->all_cuts ? 0 : 1;
        if (ports <= lowest)
            continue;
        t.port = (unsigned)test_random_between(r, lowest, ports - 1);
        t.noticed = test_random_below(r, 2);
        t.at_ns = test_random_between(r, 0, test_random_below(r, 4) ? 2 * PAIR_MS : 20 * PAIR_MS);
        add_trouble(plan, t);
        t.kind = SMCR_TROUBLE_RESTORE;
        t.at_ns += test_random_below(r, 2) ? test_random_between(r, 0, 5 * PAIR_MS)
                                           : test_random_between(r, 0, 5 * PAIR_S);
        add_trouble(plan, t);
    }
}

void smcr_plan_draw(struct smcr_plan *plan, uint64_t seed, const struct smcr_profile *p)
{
    static const uint32_t bufs[] = {1, 16000, 16380, 20000, 65532, 100000};
    struct test_random r = {.state = seed};
    *plan = (struct smcr_plan){.pair = {.seed = seed}, .limit_ns = 400 * PAIR_S};
    draw_pair(plan, &r, p);
    plan->num_conns = 1 + test_random_below(&r, p->conns_max);
    for (unsigned i = 0; i < plan->num_conns; i++) {
        struct smcr_conn_plan *c = &plan->conn[i];
        c->open_ns = i == 0 || test_random_below(&r, 3) == 0 ? 0 : test_random_below(&r, 8 * PAIR_MS);
        c->client = p->both_ways ? test_random_below(&r, 2) : 0;
        for (unsigned n = 0; n < 2; n++) {
            c->rcvbuf_bytes[n] = pick(&r, bufs, 6);
            c->sndbuf_bytes[n] = pick(&r, bufs, 6);
        }
        draw_side(&c->side[0], &r, p);
        draw_side(&c->side[1], &r, p);
        for (unsigned n = 0; n < 2; n++) /* not tens of thousands of calls */
            if (c->side[!n].bytes > 3000 && c->side[n].read_max < 100)
                c->side[n].read_max = 4096;
    }
    if (p->cuts)
        draw_cuts(plan, &r, p);
    for (unsigned i = 0; p->nomem && i < 1 + test_random_below(&r, 3); i++)
        add_trouble(plan, (struct smcr_trouble){.kind = SMCR_TROUBLE_NOMEM,
                                                .node = test_random_below(&r, 2),
                                                .at_ns = test_random_below(&r, 8 * PAIR_MS),
                                                .count = 1 + test_random_below(&r, 40)});
    plan->resets_allowed = p->all_cuts || p->nomem;
}

void smcr_plan_print(const struct smcr_plan *plan)
{
    const struct pair_config *c = &plan->pair;
    fprintf(stderr, "%s, %u and %u ports, %u connections, loss %u ppm, TCP in pieces of %u%s%s\n",
            c->topology == PAIR_SWITCH ? "switch" : "cables", c->ports[0], c->ports[1], plan->num_conns,
            c->wire.loss_ppm, c->tcp_chunk_bytes, c->ipv6 ? ", IPv6" : "",
            c->smcr[0].num_eids && c->smcr[1].num_eids ? ", version 2" : "");
    for (unsigned i = 0; i < plan->num_conns; i++)
        for (unsigned s = 0; s < 2; s++) {
            const struct smcr_side_plan *p = &plan->conn[i].side[s];
            fprintf(stderr,
                    "  c%u%s at %" PRIu64 " us, node %u: %" PRIu64
                    " bytes, writes %u, reads %u, ending %d after %" PRIu64 ", pauses %u, urgent %u\n",
                    i, s == plan->conn[i].client ? " client" : "", plan->conn[i].open_ns / 1000, s, p->bytes,
                    p->write_max, p->read_max, p->ending, p->ending_after, p->pause_ppm, p->urgent_ppm);
        }
    for (unsigned i = 0; i < plan->num_troubles; i++) {
        static const char *const words[] = {"cut", "restore", "no memory"};
        const struct smcr_trouble *t = &plan->trouble[i];
        fprintf(stderr, "  %s at %" PRIu64 " us: node %u, port %u%s, %u\n", words[t->kind], t->at_ns / 1000,
                t->node, t->port, t->noticed ? ", noticed" : "", t->count);
    }
}
