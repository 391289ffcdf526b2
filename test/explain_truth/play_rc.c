/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "test/explain_truth/play.h"
#include "test/sim/run.h"

#define CLEAN_DELAY_NS    UINT64_C(500) /* a frame never arrives before it was sent */
#define REALISTIC_TIMEOUT 12            /* 4.096 us << 12 is 17 ms */

#define MAY_END \
    (1u << NORNIC_WC_RETRY_EXC_ERR | 1u << NORNIC_WC_WR_FLUSH_ERR | 1u << NORNIC_WC_RNR_RETRY_EXC_ERR)

static void trace(void *ctx, const struct roce_trace *event)
{
    const struct sim_node *node = ctx;
    truth_tape_trace(node->sim->config.trace_ctx, 3 * node->index, event);
}

static struct sim_profile profile_of(enum truth_scene_kind kind)
{
    struct sim_profile p = {.pairs_max = 3, .prompt = true};
    bool all = kind == TRUTH_SCENE_ALL;
    if (kind == TRUTH_SCENE_LOSS || kind == TRUTH_SCENE_READS || kind == TRUTH_SCENE_SELECTIVE ||
        kind == TRUTH_SCENE_UC_XRC || all)
        p.loss_ppm = 40000;
    if (kind == TRUTH_SCENE_DUPLICATION || all)
        p.duplicate_ppm = 60000;
    if (kind == TRUTH_SCENE_REORDERING || all)
        p.reorder_ppm = 60000;
    if (kind == TRUTH_SCENE_DAMAGE || all)
        p.corrupt_ppm = 20000;
    if (kind == TRUTH_SCENE_DAMAGE)
        p.ecn_ppm = 50000;
    p.prompt = kind != TRUTH_SCENE_RNR && !all;
    p.cc = kind == TRUTH_SCENE_DAMAGE;
    p.selective = kind == TRUTH_SCENE_SELECTIVE;
    if (kind == TRUTH_SCENE_READS)
        p.opcodes = 1u << NORNIC_WR_RDMA_READ | 1u << NORNIC_WR_ATOMIC_CMP_AND_SWP |
                    1u << NORNIC_WR_ATOMIC_FETCH_AND_ADD | 1u << NORNIC_WR_RDMA_WRITE;
    if (kind == TRUTH_SCENE_UC_XRC)
        p.services = 1u << NORNIC_QPT_UC | 1u << NORNIC_QPT_XRC_INI | 1u << NORNIC_QPT_RC;
    return p;
}

/* The wire is dark for a while, long enough for several timeouts; or until all have given up. */
static void darken(struct sim_plan *plan, struct test_random *r, bool is_for_ever)
{
    uint64_t timeout_ns = UINT64_C(4096) << plan->end[0][0].attr.timeout;
    uint64_t from_ns = NS_PER_MS + test_random_between(r, 10 * NS_PER_US, plan->quiet_ns + NS_PER_MS);
    unsigned ways = 1 + test_random_below(r, 3);
    for (unsigned i = 0; i < 2; i++) {
        if (!(ways >> i & 1))
            continue;
        plan->config.link[i].dark_from_ns = from_ns;
        plan->config.link[i].dark_until_ns =
            is_for_ever ? from_ns + 1000 * NS_PER_S : from_ns + timeout_ns * (1 + test_random_below(r, 4));
    }
}

/* Timers that fire within the wire's own jitter are nobody's: half of the runs have those of real life. */
static void draw_timeouts(struct sim_plan *plan, struct test_random *r)
{
    unsigned extra = test_random_below(r, 4);
    bool is_real = test_random_below(r, 2);
    for (unsigned i = 0; i < 2 * plan->pairs; i++) {
        uint8_t *timeout = &plan->end[i / 2][i % 2].attr.timeout;
        *timeout = (uint8_t)(*timeout + extra);
        if (is_real && *timeout < REALISTIC_TIMEOUT)
            *timeout = (uint8_t)(REALISTIC_TIMEOUT + test_random_below(r, 3));
    }
}

/* Hosts draw the first PSN at random: that of a queue pair whose number is used again is far away. */
static void draw_psns(struct sim_plan *plan, struct test_random *r)
{
    for (unsigned i = 0; i < 2 * plan->pairs; i++) {
        uint32_t psn = test_random_below(r, 1 << 24);
        plan->end[i / 2][i % 2].attr.sq_psn = plan->end[i / 2][!(i % 2)].attr.rq_psn = psn;
    }
}

static void let_end(struct sim_plan *plan)
{
    for (unsigned i = 0; i < 2 * plan->pairs; i++) {
        plan->end[i / 2][i % 2].may_fail = MAY_END;
        plan->end[i / 2][i % 2].receive_may_fail = 1u << NORNIC_WC_WR_FLUSH_ERR;
    }
}

static struct sim_plan *draw(enum truth_scene_kind kind, const struct truth_setup *setup, uint64_t seed)
{
    struct sim_profile profile = profile_of(kind);
    struct test_random r = {.state = seed};
    struct sim_plan *plan = sim_plan_draw(test_random_next(&r), &profile);
    plan->config.ipv6 = setup->ipv6;
    plan->config.vlan_id = setup->vlan ? 7 : 0;
    for (unsigned i = 0; i < 2; i++) {
        plan->config.link[i].delay_ns += CLEAN_DELAY_NS;
        if (test_random_below(&r, 4)) /* jitter shuffles whole windows, which no network does */
            plan->config.link[i].jitter_ns = 0;
        plan->config.selective[i] = setup->selective[i] ? SIM_ON : SIM_OFF;
    }
    if (kind == TRUTH_SCENE_ACK_LOSS)
        plan->config.link[test_random_below(&r, 2)].loss_ppm = 60000;
    for (unsigned i = 0; i < 2 * plan->pairs && kind != TRUTH_SCENE_SELECTIVE; i++)
        plan->end[i / 2][i % 2].reorder_pkts = 0;
    draw_timeouts(plan, &r);
    if (setup->random_psns)
        draw_psns(plan, &r);
    if (kind == TRUTH_SCENE_DARK || kind == TRUTH_SCENE_DEATH)
        darken(plan, &r, kind == TRUTH_SCENE_DEATH);
    if (kind != TRUTH_SCENE_CLEAN)
        let_end(plan);
    for (unsigned i = 0; i < 2 * plan->pairs && kind == TRUTH_SCENE_CLEAN; i++)
        plan->end[i / 2][i % 2].caps.max_recv_wr = SIM_MESSAGES_MAX; /* all receives are there at once */
    return plan;
}

static void observe(struct truth_tape *tape, struct sim_run *run, struct truth_wire wires[2])
{
    for (unsigned i = 0; i < 2; i++) {
        truth_tape_device(tape, 3 * i, run->sim.node[i].mac.b);
        truth_tape_watch(tape, 3 * i, run->sim.link[i], &wires[i]);
    }
    for (unsigned i = 0; i < 2 * run->plan->pairs; i++)
        if (run->end[i / 2][i % 2].qp)
            truth_tape_pmtu(tape, 3 * (i % 2), roce_qp_num(run->end[i / 2][i % 2].qp),
                            sim_plan_mtu(run->plan, i / 2));
}

void truth_play_rc(struct truth_tape *tape, enum truth_scene_kind kind, const struct truth_setup *setup,
                   uint64_t seed, char *failure, size_t size)
{
    struct sim_run *run = malloc(sizeof *run);
    if (!run)
        abort();
    struct truth_wire wires[2];
    struct sim_plan *plan = draw(kind, setup, seed);
    plan->config.trace = trace;
    plan->config.trace_ctx = tape;
    sim_run_start(run, plan, false);
    observe(tape, run, wires);
    sim_run_until_quiet(run);
    if (!sim_run_finish(run))
        snprintf(failure, size, "%s", run->sim.failure);
    free(run);
}
