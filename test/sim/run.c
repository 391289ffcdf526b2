/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "test/sim/run.h"

#include <errno.h>
#include <string.h>

#include "rdma/xrc.h"
#include "test/sim/judge.h"

/* --- setting up --- */

static void fill_regions(struct sim_run *run)
{
    struct sim_plan *plan = run->plan;
    for (unsigned node = 0; node < 2; node++) {
        for (unsigned i = 0; i < SIM_REGION_COUNT; i++) {
            int err = sim_region_register(&plan->region[node][i], run->sim.node[node].pd);
            if (err)
                sim_fail(&run->sim, "rdma_mr_reg returned %d", err);
        }
        for (unsigned i = 0; i < plan->word_count[node]; i++)
            memcpy(sim_region_at(&plan->region[node][SIM_ATOMIC], plan->words[node][i].area),
                   &plan->words[node][i].initial, sizeof plan->words[node][i].initial);
    }
}

static void fill_messages(struct sim_run *run, unsigned pair, unsigned node)
{
    struct sim_plan *plan = run->plan;
    const struct sim_end_plan *want = &plan->end[pair][node];
    for (unsigned i = 0; i < want->message_count; i++) {
        const struct sim_message *m = &want->messages[i];
        if (m->opcode == NORNIC_WR_RDMA_READ && m->remote_region == SIM_EXPORT)
            sim_region_fill(&plan->region[!node][SIM_EXPORT], m->remote, m->key, 0);
        uint32_t from = 0;
        for (unsigned j = 0; j < m->local.count && m->local.region == SIM_SOURCE; j++) {
            sim_region_fill(&plan->region[node][SIM_SOURCE], m->local.pieces[j], m->key, from);
            from += m->local.pieces[j].len_bytes;
        }
    }
}

static struct rdma_cq *add_cq(struct sim_run *run, unsigned node, uint32_t capacity)
{
    struct rdma_cq_config config = {.capacity = capacity - run->plan->cq_short};
    struct rdma_cq *cq = NULL;
    int err = rdma_cq_create(&run->sim.node[node].alloc.mem, &config, &cq);
    if (err)
        sim_fail(&run->sim, "rdma_cq_create(%u) returned %d", config.capacity, err);
    run->cqs[node][run->cq_count[node]++] = cq;
    return cq;
}

static void create_cqs(struct sim_run *run, unsigned node)
{
    const struct sim_plan *plan = run->plan;
    struct rdma_cq *one = NULL;
    uint32_t capacity = 0;
    for (unsigned pair = 0; pair < plan->pairs; pair++)
        capacity += plan->end[pair][node].caps.max_send_wr + plan->end[pair][node].caps.max_recv_wr;
    if (plan->shared_cq)
        one = add_cq(run, node, capacity);
    for (unsigned pair = 0; pair < plan->pairs; pair++) {
        struct sim_end *end = &run->end[pair][node];
        end->send_cq = one ? one : add_cq(run, node, end->want->caps.max_send_wr);
        end->recv_cq = one ? one : add_cq(run, node, end->want->caps.max_recv_wr);
    }
}

static void create_xrcds(struct sim_run *run)
{
    bool any = false;
    for (unsigned pair = 0; pair < run->plan->pairs; pair++)
        any |= run->plan->service[pair] == NORNIC_QPT_XRC_INI;
    for (unsigned node = 0; any && node < 2; node++) {
        int err = rdma_xrcd_create(roce_dev_domain(run->sim.node[node].dev), &run->xrcd[node]);
        if (err)
            sim_fail(&run->sim, "rdma_xrcd_create returned %d", err);
    }
}

static void probe(struct sim_run *run)
{
    for (unsigned node = 0; node < 2; node++) {
        sim_link_calm(run->sim.link[node]);
        for (unsigned pair = 0; pair < run->plan->pairs; pair++)
            run->end[pair][node].probing = true;
    }
}

void sim_run_start(struct sim_run *run, struct sim_plan *plan, bool ladder)
{
    *run = (struct sim_run){.plan = plan};
    if (plan->probe_ns)
        run->actions[0] = (struct sim_action){.at_ns = plan->probe_ns, .act = probe};
    plan->config.ladder = ladder;
    sim_init(&run->sim, &plan->config);
    fill_regions(run);
    create_xrcds(run);
    for (unsigned node = 0; node < 2; node++) {
        for (unsigned pair = 0; pair < plan->pairs; pair++) {
            fill_messages(run, pair, node);
            run->end[pair][node] = (struct sim_end){.sim = &run->sim,
                                                    .plan = plan,
                                                    .want = &plan->end[pair][node],
                                                    .peer = &run->end[pair][!node],
                                                    .xrcd = run->xrcd[node],
                                                    .pair = pair,
                                                    .node = node};
        }
        create_cqs(run, node);
    }
    for (unsigned i = 0; i < 2 * plan->pairs && !run->sim.failed; i++)
        sim_end_create(&run->end[i / 2][i % 2]);
    for (unsigned i = 0; i < 2 * plan->pairs && !run->sim.failed; i++)
        sim_end_connect(&run->end[i / 2][i % 2]);
}

/* --- running --- */

static struct sim_end *find_end(struct sim_run *run, unsigned node, uint32_t qpn)
{
    for (unsigned pair = 0; pair < run->plan->pairs; pair++) {
        struct sim_end *end = &run->end[pair][node];
        if (end->qp && roce_qp_num(end->qp) == qpn)
            return end;
    }
    sim_fail(&run->sim, "node %u: a completion names QP %u, which there is not", node, qpn);
    return NULL;
}

static void lose_cq(struct sim_run *run, unsigned node, const struct rdma_cq *cq)
{
    for (unsigned pair = 0; pair < run->plan->pairs; pair++) {
        struct sim_end *end = &run->end[pair][node];
        end->cq_lost |= end->send_cq == cq || end->recv_cq == cq;
    }
}

static bool poll_cq(struct sim_run *run, unsigned node, struct rdma_cq *cq)
{
    struct nornic_wc wcs[16];
    int n = rdma_cq_poll(cq, wcs, 1 + test_random_below(&run->sim.random, 16));
    if (n < 0) {
        if (run->plan->cq_short == 0 || n != -EIO)
            sim_fail(&run->sim, "rdma_cq_poll returned %d", n);
        lose_cq(run, node, cq);
        return false;
    }
    for (int i = 0; i < n && !run->sim.failed; i++) {
        struct sim_end *end = find_end(run, node, wcs[i].qp_num);
        if (end)
            sim_end_complete(end, &wcs[i]);
        run->done_ns = run->sim.now_ns - NS_PER_MS;
        run->sim.completed_frames = run->sim.tx_frames;
    }
    return n > 0;
}

static bool applications(struct sim_run *run)
{
    bool moved = false;
    for (unsigned node = 0; node < 2; node++) {
        for (unsigned i = 0; i < run->cq_count[node] && !run->sim.failed; i++)
            moved |= poll_cq(run, node, run->cqs[node][i]);
        for (unsigned pair = 0; pair < run->plan->pairs && !run->sim.failed; pair++)
            if (run->end[pair][node].qp)
                moved |= sim_end_post(&run->end[pair][node]);
    }
    return moved;
}

static uint64_t next_action_ns(const struct sim_run *run)
{
    if (run->next_action == SIM_ACTIONS_MAX || !run->actions[run->next_action].act)
        return NET_TIME_NONE;
    return NS_PER_MS + run->actions[run->next_action].at_ns;
}

static bool actions(struct sim_run *run)
{
    if (next_action_ns(run) > run->sim.now_ns)
        return false;
    run->actions[run->next_action++].act(run);
    return true;
}

static uint64_t next_ns(const struct sim_run *run)
{
    uint64_t next = sim_next_ns(&run->sim), action = next_action_ns(run);
    if (action < next)
        next = action;
    for (unsigned i = 0; i < 2 * run->plan->pairs; i++) {
        const struct sim_end *end = &run->end[i / 2][i % 2];
        uint64_t end_ns = end->qp ? sim_end_next_ns(end) : NET_TIME_NONE;
        if (end_ns < next)
            next = end_ns;
    }
    return next;
}

void sim_run_until_quiet(struct sim_run *run)
{
    enum { ROUNDS_PER_INSTANT_MAX = 100000 };
    struct sim *sim = &run->sim;
    while (!sim->failed) {
        unsigned rounds = 0;
        bool moved = true;
        while (moved && !sim->failed) {
            moved = actions(run);
            moved |= applications(run);
            moved |= sim_step(sim);
            if (++rounds > ROUNDS_PER_INSTANT_MAX)
                sim_fail(sim, "the clock cannot move on: something always happens");
        }
        uint64_t next = next_ns(run);
        if (next == NET_TIME_NONE || sim->failed)
            return;
        sim_jump(sim, next);
        sim_judge_time(run);
    }
}

/* --- the end --- */

bool sim_run_finish(struct sim_run *run)
{
    struct sim_plan *plan = run->plan;
    if (!run->sim.failed)
        sim_judge(run);
    for (unsigned i = 0; i < 2 * plan->pairs; i++)
        sim_end_destroy(&run->end[i / 2][i % 2]);
    for (unsigned node = 0; node < 2; node++) {
        if (run->xrcd[node] && rdma_xrcd_destroy(run->xrcd[node]) != 0)
            sim_fail(&run->sim, "an XRC domain is still in use after its QPs and SRQs are gone");
        for (unsigned i = 0; i < run->cq_count[node]; i++)
            if (run->cqs[node][i] && rdma_cq_destroy(run->cqs[node][i]) != 0)
                sim_fail(&run->sim, "a CQ is still in use after its QPs are gone");
        for (unsigned i = 0; i < SIM_REGION_COUNT; i++)
            sim_region_free(&plan->region[node][i]);
    }
    sim_deinit(&run->sim);
    sim_plan_free(plan);
    run->plan = NULL;
    return !run->sim.failed;
}

bool sim_run(struct sim_run *run, struct sim_plan *plan, bool ladder)
{
    sim_run_start(run, plan, ladder);
    sim_run_until_quiet(run);
    return sim_run_finish(run);
}
