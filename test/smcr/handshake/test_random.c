/* SPDX-License-Identifier: BSD-2-Clause */
/* Handshakes on random schedules: connections in both directions, frames lost, paths that die and come
 * back, TCP in pieces, ends that leave. Whatever happens, each handshake ends, both ends agree how, and
 * nothing is left. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "smcr/conn/conn.h"
#include "test/smcr_pair/pair.h"

#define SEEDS 300
#define CONNS 24

TestSuite(handshake_random, .timeout = 120);

struct run {
    struct test_random random;
    struct pair *pair;
    struct pair_conn *conns[CONNS];
    unsigned count;
    unsigned cut[2][PAIR_PORTS_MAX];
    unsigned smc, tcp, reset;
};

static uint32_t below(struct run *run, uint32_t bound)
{
    return test_random_below(&run->random, bound);
}

static void start(struct run *run, uint64_t seed)
{
    *run = (struct run){.random.state = seed * 977};
    struct pair_config config = {
        .seed = seed,
        .topology = below(run, 2) ? PAIR_SWITCH : PAIR_CABLES,
        .ports = {1 + below(run, 3), 1 + below(run, 3)},
        .ipv6 = below(run, 4) == 0,
        .wire = {.delay_ns = 1000 + below(run, 100000), .loss_ppm = below(run, 3) ? 0 : 30000},
        .tcp_delay_ns = 1000 + below(run, 200000),
        .tcp_chunk_bytes = below(run, 3) ? 0 : 1 + below(run, 40),
    };
    for (unsigned node = 0; node < 2; node++)
        config.smcr[node].elems_per_rmb = (uint8_t)(1 + below(run, 4));
    run->pair = pair_new(&config);
}

static void disturb(struct run *run)
{
    unsigned node = below(run, 2), port = below(run, run->pair->node[node].num_ports);
    struct pair_conn *c = run->count ? run->conns[below(run, run->count)] : NULL;
    switch (below(run, 12)) {
    case 0:
        pair_cut(run->pair, node, port, below(run, 2));
        break;
    case 1:
    case 2:
        pair_restore(run->pair, node, port);
        break;
    case 3:
        if (c)
            pair_close(&c->end[node]);
        break;
    case 4:
        if (c && below(run, 4) == 0)
            pair_tcp_rst(&c->end[node]);
        break;
    default:
        if (run->count < CONNS)
            run->conns[run->count++] = pair_open(run->pair, below(run, 2));
    }
}

/* Both ends of a connection that nobody closed. */
static void agree(struct run *run, struct pair_conn *c, uint64_t seed)
{
    struct smcr_conn_status s[2];
    if (c->end[0].given_back || c->end[1].given_back)
        return;
    for (unsigned node = 0; node < 2; node++) {
        smcr_conn_status(c->end[node].conn, &s[node]);
        cr_assert(s[node].established || s[node].fallback || s[node].closed || s[node].error,
                  "seed %u: connection %u hangs at node %u", (unsigned)seed, c->id, node);
    }
    for (unsigned node = 0; node < 2; node++) {
        struct pair_end *other = &c->end[!node];
        if (s[node].fallback && !s[!node].fallback)
            cr_assert(other->reset_sent || other->rst_seen, "seed %u: connection %u: node %u alone uses TCP",
                      (unsigned)seed, c->id, node);
        cr_assert_eq(c->end[node].plain_bytes, 0, "seed %u: connection %u: CLC as data", (unsigned)seed,
                     c->id);
    }
    bool smc = s[0].established && s[1].established, tcp = s[0].fallback && s[1].fallback;
    run->smc += smc;
    run->tcp += tcp;
    run->reset += !smc && !tcp;
    if (smc || (tcp && !c->end[0].rst_seen && !c->end[1].rst_seen))
        cr_assert(pair_transfer(run->pair, &c->end[below(run, 2)], 3000, 60 * PAIR_S),
                  "seed %u: connection %u: %s", (unsigned)seed, c->id, run->pair->failure);
}

static void finish(struct run *run, uint64_t seed)
{
    for (unsigned node = 0; node < 2; node++)
        for (unsigned port = 0; port < run->pair->node[node].num_ports; port++)
            pair_restore(run->pair, node, port);
    pair_run_for(run->pair, 30 * PAIR_S);
    for (unsigned node = 0; node < 2; node++)
        for (const struct smcr_group *g = run->pair->node[node].smcr->groups; g; g = g->next)
            cr_assert_neq(g->state, SMCR_GROUP_FIRST_CONTACT, "seed %u: a first contact does not end",
                          (unsigned)seed);
    for (unsigned i = 0; i < run->count; i++)
        agree(run, run->conns[i], seed);
    for (unsigned i = 0; i < run->count; i++)
        for (unsigned node = 0; node < 2; node++)
            pair_close(&run->conns[i]->end[node]);
    pair_run_for(run->pair, 200 * PAIR_S);
    for (unsigned node = 0; node < 2; node++)
        cr_assert_eq(run->pair->node[node].smcr->num_conns, 0, "seed %u: connections are left",
                     (unsigned)seed);
    const char *wrong = pair_free(run->pair);
    cr_assert_null(wrong, "seed %u: %s", (unsigned)seed, wrong);
}

/* covers: SMCR-FBK-02, SMCR-FBK-03, SMCR-FBK-05, SMCR-FC-21, SMCR-FC-22, SMCR-SC-11, SMCR-SEC-07 */
Test(handshake_random, SMCR_FC_22_every_handshake_ends_and_both_ends_agree)
{
    const char *one = getenv("NORNIC_SEED"), *many = getenv("NORNIC_SEEDS");
    uint64_t first = one ? strtoull(one, NULL, 0) : 1;
    uint64_t last = one ? first : many ? strtoull(many, NULL, 0) : SEEDS;
    unsigned smc = 0, tcp = 0, reset = 0;
    for (uint64_t seed = first; seed <= last; seed++) {
        struct run run;
        start(&run, seed);
        run.pair->config.ladder = one;
        for (unsigned step = 0; step < 60; step++) {
            disturb(&run);
            pair_run_for(run.pair, below(&run, 3) ? below(&run, 60000) : below(&run, 500000000));
        }
        finish(&run, seed);
        smc += run.smc;
        tcp += run.tcp;
        reset += run.reset;
    }
    cr_log_info("%u by SMC-R, %u by TCP, %u reset", smc, tcp, reset);
    cr_assert(one || (smc > last && tcp > 0 && reset > 0), "%u by SMC-R, %u by TCP, %u reset", smc, tcp,
              reset);
}
