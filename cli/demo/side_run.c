/* SPDX-License-Identifier: BSD-2-Clause */
/* What a side of the demo does, from its first packet to its last. */
#define _GNU_SOURCE
#include <sched.h>
#include <string.h>
#include <sys/socket.h>

#include "cli/demo/side.h"

#define LATENCY_BYTES  64u
#define LATENCY_PLACES 128u

static uint32_t at_most(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static struct demo_phase phase_of(const struct demo_side *side, enum demo_op op, uint32_t size_bytes,
                                  uint32_t depth, unsigned part)
{
    return (struct demo_phase){.op = op,
                               .size_bytes = demo_op_is_atomic(op) ? 8 : size_bytes,
                               .depth = depth,
                               .half = depth,
                               .stream = (side->plan->seed << 8 | part << 4 | op) << 32};
}

static void remark(struct demo_side *side, uint32_t note)
{
    ladder_note(demo_board_log(side->board, side->role), host_now_ns(), note);
}

/* One of each, small enough to be read packet by packet. */
static bool teach(struct demo_side *side)
{
    static const uint32_t sizes[DEMO_OP_COUNT] = {
        [DEMO_SEND] = 26, [DEMO_SEND_IMM] = 100, [DEMO_WRITE_IMM] = 64};

    for (int op = 0; op < DEMO_OP_COUNT; op++) {
        uint32_t size = sizes[op] ? sizes[op] : (DEMO_LESSON_PKTS - 1) * side->plan->pmtu_bytes + 100;
        struct demo_phase phase = phase_of(side, (enum demo_op)op, size, 1, 0);
        phase.count = 1;
        remark(side, (uint32_t)op);
        if (!demo_ask(side, &phase, &side->board->ops[op], false, NULL))
            return false;
    }
    remark(side, DEMO_LESSON_OVER);
    return true;
}

/* Some messages of each for capture and ladder. */
static bool sample(struct demo_side *side)
{
    for (int op = 0; op < DEMO_OP_COUNT; op++) {
        struct demo_phase phase =
            phase_of(side, (enum demo_op)op, DEMO_SAMPLE_PKTS * side->plan->pmtu_bytes, DEMO_SAMPLE_DEPTH, 1);
        phase.count = side->plan->loss_ppm ? 64 : 16;
        if (!demo_ask(side, &phase, &side->board->ops[op], false, NULL))
            return false;
    }
    return true;
}

static void summarise(struct demo_latency *latency, const struct histogram *h)
{
    *latency = (struct demo_latency){.samples = h->count,
                                     .min_ns = h->min,
                                     .p50_ns = histogram_quantile(h, 0.5),
                                     .p99_ns = histogram_quantile(h, 0.99),
                                     .p999_ns = histogram_quantile(h, 0.999)};
}

/* Figures: one operation at a time for the latency, then many. */
static bool measure(struct demo_side *side, enum demo_op op)
{
    const struct demo_plan *plan = side->plan;
    struct demo_op_result *result = &side->board->ops[op];
    struct histogram latency = {.count = 0};
    struct demo_phase one = phase_of(side, op, at_most(LATENCY_BYTES, plan->size_bytes), 1, 2);
    struct demo_phase many = phase_of(side, op, plan->size_bytes, plan->depth, 3);
    uint64_t before = roce_qp_counters(side->qp)->retransmitted_pkts;

    one.half = LATENCY_PLACES / 2;
    one.count = plan->count ? at_most(plan->count, 1000) : 0;
    one.time_ns = plan->op_time_ns / 4;
    many.count = plan->count;
    many.time_ns = plan->op_time_ns - one.time_ns;
    atomic_store(&side->board->running, op);
    if (!demo_ask(side, &one, result, false, &latency))
        return false;
    summarise(&result->latency, &latency);
    if (!demo_ask(side, &many, result, true, NULL))
        return false;
    result->retransmitted_pkts = roce_qp_counters(side->qp)->retransmitted_pkts - before;
    return true;
}

static bool measure_all(struct demo_side *side)
{
    bool ok = true;
    for (int op = 0; ok && op < DEMO_OP_COUNT; op++)
        ok = measure(side, (enum demo_op)op);
    return ok;
}

static bool bye(struct demo_side *side)
{
    struct demo_msg msg = {.type = DEMO_MSG_BYE};
    return demo_side_send(side, &msg);
}

/* Part 0 is shown (ladder, capture), part 1 is measured. */
static bool run_part(struct demo_side *side, unsigned part)
{
    if (side->role == DEMO_B)
        return demo_serve(side) && bye(side);
    bool ok = part == 0 ? (side->plan->loss_ppm || teach(side)) && sample(side) : measure_all(side);
    struct demo_msg msg;
    return ok && bye(side) && demo_side_await(side, DEMO_MSG_BYE, &msg);
}

/* Each side on a CPU of its own, where there are two. The scheduler likes to put two that wake each other on
 * one, and there one looks for what the other has no time to send. */
static void keep_apart(enum demo_role role)
{
    cpu_set_t allowed, own;
    int nth = 0;

    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2)
        return;
    CPU_ZERO(&own);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
        if (CPU_ISSET(cpu, &allowed) && nth++ == (int)role)
            CPU_SET(cpu, &own);
    sched_setaffinity(0, sizeof own, &own);
}

bool demo_side_run(struct demo_board *board, enum demo_role role, int peer, struct net_port *const memory[2])
{
    struct demo_side side = {
        .board = board, .plan = &board->plan, .result = &board->sides[role], .role = role, .peer = peer};
    bool ok = true;

    keep_apart(role);
    for (unsigned part = 0; part < 2; part++) {
        if (ok)
            ok = demo_connect(&side, memory ? memory[part] : NULL, part == 0) && run_part(&side, part);
        else if (memory)
            net_port_close(memory[part]);
        ok = demo_disconnect(&side) && ok;
    }
    board->sides[role].ok = ok;
    /* Whoever still waits for us learns that we have gone. */
    shutdown(peer, SHUT_RDWR);
    atomic_store(&board->sides[role].ended, true);
    return ok;
}
