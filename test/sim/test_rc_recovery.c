/* SPDX-License-Identifier: BSD-2-Clause */
/* How long recovery takes. A slow recovery passes every other check, so that these tests lose one frame at a
 * time, every one in turn, and hold the time against the clean run of the same workload. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "test/sim/judge.h"
#include "test/sim/seeds.h"

#define DELAY_NS   (10 * NS_PER_US)
#define RTT_NS     (2 * DELAY_NS)
#define TIMEOUT    8 /* far above the round trip, so that it shows when it was waited for */
#define TIMEOUT_NS (UINT64_C(4096) << TIMEOUT)

struct result {
    uint64_t done_ns;
    uint64_t frames[2]; /* sent by each node */
    uint64_t retransmitted, timeouts;
};

typedef void fill(struct sim_plan *plan);

static struct sim_plan *plan_on_short_wire(fill *messages)
{
    struct sim_plan *plan = sim_plan_create(1);
    for (unsigned node = 0; node < 2; node++) {
        plan->config.link[node].delay_ns = DELAY_NS;
        plan->config.selective[node] = SIM_OFF;
        plan->end[0][node].attr.path_mtu = NORNIC_MTU_256;
        plan->end[0][node].attr.sq_psn = plan->end[0][!node].attr.rq_psn = 0xfffff0;
    }
    messages(plan);
    sim_plan_time(plan);
    for (unsigned node = 0; node < 2; node++)
        plan->end[0][node].attr.timeout = TIMEOUT;
    return plan;
}

static struct result run_plan(struct sim_plan *plan)
{
    struct sim_run *run = malloc(sizeof *run);
    struct result result = {0};
    cr_assert_not_null(run);
    sim_run_start(run, plan, getenv("NORNIC_SEED") != NULL);
    sim_run_until_quiet(run);
    result.done_ns = run->done_ns;
    for (unsigned node = 0; node < 2; node++) {
        const struct roce_counters *c = &roce_dev_counters(run->sim.node[node].dev)->qps;
        result.frames[node] = sim_link_counters(run->sim.link[node])->sent;
        result.retransmitted += c->retransmitted_pkts;
        result.timeouts += c->local_ack_timeout;
    }
    cr_assert(sim_run_finish(run), "%s", run->sim.failure);
    free(run);
    return result;
}

static struct result run_losing(fill *messages, unsigned node, uint64_t frame)
{
    struct sim_plan *plan = plan_on_short_wire(messages);
    plan->config.link[node].lose_frame[0] = frame;
    return run_plan(plan);
}

/* Any single loss: one timeout at the most, which fires by 4 Tr (ROCE-RC-41). */
static void lose_each(fill *messages)
{
    struct result clean = run_plan(plan_on_short_wire(messages));
    for (unsigned node = 0; node < 2; node++) {
        for (uint64_t frame = 1; frame <= clean.frames[node]; frame++) {
            struct result r = run_losing(messages, node, frame);
            cr_assert_leq(r.timeouts, 1, "node %u frame %" PRIu64 ": %" PRIu64 " timeouts", node, frame,
                          r.timeouts);
            cr_assert_leq(r.done_ns, clean.done_ns + r.timeouts * 4 * TIMEOUT_NS + 3 * RTT_NS,
                          "node %u frame %" PRIu64 ": %" PRIu64 " ns, without loss %" PRIu64, node, frame,
                          r.done_ns, clean.done_ns);
            cr_assert_leq(r.retransmitted, clean.frames[0] + clean.frames[1]);
        }
    }
}

static void lose_each_two(fill *messages)
{
    struct result clean = run_plan(plan_on_short_wire(messages));
    for (uint64_t first = 1; first <= clean.frames[0]; first++) {
        for (uint64_t second = 1; second <= clean.frames[1]; second++) {
            struct sim_plan *plan = plan_on_short_wire(messages);
            plan->config.link[0].lose_frame[0] = first;
            plan->config.link[1].lose_frame[0] = second;
            struct result r = run_plan(plan);
            cr_assert_leq(r.timeouts, 2, "frames %" PRIu64 " and %" PRIu64, first, second);
            cr_assert_leq(r.done_ns, clean.done_ns + r.timeouts * 4 * TIMEOUT_NS + 6 * RTT_NS,
                          "frames %" PRIu64 " and %" PRIu64 ": %" PRIu64 " ns, without loss %" PRIu64, first,
                          second, r.done_ns, clean.done_ns);
        }
    }
}

static void long_write(struct sim_plan *plan)
{
    sim_plan_message(plan, 0, 0, NORNIC_WR_RDMA_WRITE, 256 * 90);
}

static void long_send(struct sim_plan *plan)
{
    sim_plan_message(plan, 0, 0, NORNIC_WR_SEND_WITH_IMM, 256 * 20 + 1);
}

static void long_read(struct sim_plan *plan)
{
    sim_plan_message(plan, 0, 0, NORNIC_WR_RDMA_READ, 256 * 40 + 3);
}

static void one_of_each(struct sim_plan *plan)
{
    for (unsigned node = 0; node < 2; node++) {
        for (unsigned opcode = NORNIC_WR_RDMA_WRITE; opcode <= NORNIC_WR_ATOMIC_FETCH_AND_ADD; opcode++)
            sim_plan_message(plan, 0, node, (enum nornic_wr_opcode)opcode, 256 * 2 + opcode);
    }
}

static void reads_and_atomics_among_writes(struct sim_plan *plan)
{
    for (unsigned i = 0; i < 3; i++) {
        sim_plan_message(plan, 0, 0, NORNIC_WR_RDMA_WRITE, 300);
        sim_plan_message(plan, 0, 0, NORNIC_WR_RDMA_READ, 700);
        sim_plan_message(plan, 0, 0, NORNIC_WR_SEND, 10);
        sim_plan_message(plan, 0, 0, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 8);
    }
}

/* covers: ROCE-RC-42, ROCE-RC-43, ROCE-RC-47 */
Test(rc_recovery, every_loss_in_a_write)
{
    lose_each(long_write);
}

Test(rc_recovery, every_loss_in_a_send)
{
    lose_each(long_send);
}

/* covers: ROCE-RC-35, ROCE-RC-44, ROCE-RS-22 */
Test(rc_recovery, every_loss_in_a_read)
{
    lose_each(long_read);
}

Test(rc_recovery, every_loss_in_one_of_each_both_ways)
{
    lose_each(one_of_each);
}

/* covers: ROCE-RC-34, ROCE-RC-45, ROCE-RS-21, ROCE-RS-23 */
Test(rc_recovery, every_loss_among_reads_and_atomics)
{
    lose_each(reads_and_atomics_among_writes);
}

Test(rc_recovery, every_two_losses_among_reads_and_atomics)
{
    lose_each_two(reads_and_atomics_among_writes);
}

/* With traffic behind it a loss is told by a NAK: no timer, a round trip, nothing sent twice without need. */
/* covers: ROCE-RS-10, ROCE-RC-42 */
Test(rc_recovery, a_loss_inside_a_write_costs_a_round_trip)
{
    struct result clean = run_plan(plan_on_short_wire(long_write));
    for (uint64_t frame = 1; frame < clean.frames[0]; frame++) {
        struct result r = run_losing(long_write, 0, frame);
        cr_assert_eq(r.timeouts, 0, "frame %" PRIu64, frame);
        cr_assert_leq(r.done_ns, clean.done_ns + RTT_NS, "frame %" PRIu64 ": %" PRIu64 " ns", frame,
                      r.done_ns);
        cr_assert_leq(r.retransmitted, clean.frames[0] + 1 - frame, "frame %" PRIu64, frame);
    }
}

/* covers: ROCE-RC-35 */
Test(rc_recovery, a_loss_inside_a_read_costs_a_round_trip)
{
    struct result clean = run_plan(plan_on_short_wire(long_read));
    for (uint64_t frame = 1; frame < clean.frames[1]; frame++) {
        struct result r = run_losing(long_read, 1, frame);
        cr_assert_eq(r.timeouts, 0, "frame %" PRIu64, frame);
        cr_assert_leq(r.done_ns, clean.done_ns + RTT_NS, "frame %" PRIu64 ": %" PRIu64 " ns", frame,
                      r.done_ns);
        cr_assert_eq(r.retransmitted, 1, "frame %" PRIu64, frame);
    }
}

/* A receiver that is late by so much delays the sender by its RNR timer and a round trip, not by a timeout.
 */
static void late_receive(struct sim_plan *plan)
{
    for (unsigned i = 0; i < 4; i++)
        sim_plan_message(plan, 0, 0, NORNIC_WR_SEND, 100);
    plan->end[0][1].receive_pace = (struct sim_pace){.start_ns = 5 * RTT_NS, .batch = SIM_MESSAGES_MAX};
    plan->end[0][1].attr.min_rnr_timer = 5; /* 60 us */
}

/* covers: ROCE-RC-48, ROCE-RS-11 */
Test(rc_recovery, a_late_receive_costs_the_rnr_timer)
{
    struct result r = run_plan(plan_on_short_wire(late_receive));
    /* the first arrives at 10 us and at 90 us, too early for the receives of 100 us, and at 170 us; its ACK
     * brings the credits that let the other three go */
    cr_assert_eq(r.timeouts, 0);
    cr_assert_geq(r.done_ns, 2 * (RTT_NS + 60 * NS_PER_US) + RTT_NS);
    cr_assert_leq(r.done_ns, 2 * (RTT_NS + 60 * NS_PER_US) + 2 * RTT_NS);
    cr_assert_leq(r.retransmitted, 8);
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

static void many_writes(struct sim_plan *plan)
{
    for (unsigned i = 0; i < 40; i++)
        sim_plan_message(plan, 0, 0, NORNIC_WR_RDMA_WRITE, 256 * 40);
}

static void many_reads(struct sim_plan *plan)
{
    for (unsigned i = 0; i < 40; i++)
        sim_plan_message(plan, 0, 0, NORNIC_WR_RDMA_READ, 256 * 40);
    for (unsigned node = 0; node < 2; node++)
        plan->end[0][node].attr.max_rd_atomic = plan->end[0][node].attr.max_dest_rd_atomic = 4;
}

struct spread {
    uint64_t clean_ns, median_ns, tail_ns; /* of the time to the last completion; tail: the 90th percentile */
    uint64_t sent_again;                   /* packets, on average */
};

/* 400 KiB in 1,600 packets on a wire of 10 Gbit/s that loses one frame in a hundred. The sender and the
 * receiver have selective retransmission with room for so many packets; 0: they go back N. */
static struct spread work_at_one_percent_loss(fill *work, uint32_t sender_pkts, uint32_t receiver_pkts,
                                              enum sim_choice sender, enum sim_choice receiver)
{
    enum { SEEDS = 101 };
    uint64_t times_ns[SEEDS];
    struct spread spread = {0};
    for (unsigned seed = 0; seed < SEEDS; seed++) {
        struct sim_plan *plan = plan_on_short_wire(work);
        plan->config.seed = seed;
        plan->config.window_pkts = 64; /* about what a round trip holds */
        plan->config.selective[0] = sender;
        plan->config.selective[1] = receiver;
        plan->end[0][0].reorder_pkts = sender_pkts;
        plan->end[0][1].reorder_pkts = receiver_pkts;
        for (unsigned node = 0; node < 2; node++) {
            plan->config.link[node].bits_per_s = UINT64_C(10000000000);
            plan->config.link[node].loss_ppm = seed ? 10000 : 0;
        }
        struct result r = run_plan(plan);
        times_ns[seed] = r.done_ns;
        spread.sent_again += r.retransmitted;
        spread.clean_ns = seed ? spread.clean_ns : r.done_ns;
    }
    qsort(times_ns, SEEDS, sizeof *times_ns, compare_u64);
    spread.median_ns = times_ns[SEEDS / 2];
    spread.tail_ns = times_ns[SEEDS * 9 / 10];
    spread.sent_again /= SEEDS;
    printf("clean %" PRIu64 " us, median %" PRIu64 " us, 90th percentile %" PRIu64 " us, sent again %" PRIu64
           "\n",
           spread.clean_ns / 1000, spread.median_ns / 1000, spread.tail_ns / 1000, spread.sent_again);
    return spread;
}

static struct spread at_one_percent_loss(uint32_t sender_pkts, uint32_t receiver_pkts, enum sim_choice sender,
                                         enum sim_choice receiver)
{
    return work_at_one_percent_loss(many_writes, sender_pkts, receiver_pkts, sender, receiver);
}

/* Losses must be mended by NAKs at the cost of a round trip each, the timer has to help at the very end only.
 */
Test(rc_recovery, median_and_tail_at_one_percent_loss)
{
    struct spread back = at_one_percent_loss(0, 0, SIM_OFF, SIM_OFF);
    cr_assert_leq(back.median_ns, back.clean_ns * 2);
    /* a NAK or its answer was lost as well */
    cr_assert_leq(back.tail_ns, back.clean_ns * 2 + 2 * TIMEOUT_NS);
    cr_assert_leq(back.sent_again, 1600 * 2);
}

/* Sixteen packets in 1,600 are lost, and little more is sent again. */
Test(rc_recovery, selective_retransmission_sends_again_what_was_lost)
{
    struct spread back = at_one_percent_loss(0, 0, SIM_OFF, SIM_OFF),
                  selective = at_one_percent_loss(64, 64, SIM_OFF, SIM_OFF);
    cr_assert_leq(selective.sent_again, 60);
    cr_assert_leq(selective.median_ns, back.median_ns);
    cr_assert_leq(selective.tail_ns, back.tail_ns);
}

/* One end alone costs no more than going back N does, but for a few round trips until it has understood. */
Test(rc_recovery, selective_retransmission_meets_a_peer_that_goes_back)
{
    struct spread back = at_one_percent_loss(0, 0, SIM_OFF, SIM_OFF);
    struct spread sender_only = at_one_percent_loss(64, 0, SIM_OFF, SIM_OFF),
                  receiver_only = at_one_percent_loss(0, 64, SIM_OFF, SIM_OFF);
    cr_assert_leq(sender_only.median_ns, back.median_ns + 6 * RTT_NS);
    cr_assert_leq(receiver_only.median_ns, back.median_ns + RTT_NS);
    cr_assert_leq(sender_only.sent_again, back.sent_again + back.sent_again / 8);
    cr_assert_leq(receiver_only.sent_again, back.sent_again + back.sent_again / 8);
}

/* Two devices that can agree on it by themselves, without a buffer that somebody asked for. */
Test(rc_recovery, peers_that_can_send_again_what_was_lost)
{
    struct spread back = at_one_percent_loss(0, 0, SIM_OFF, SIM_OFF);
    struct spread both = at_one_percent_loss(0, 0, SIM_ON, SIM_ON);
    cr_assert_leq(both.sent_again, 64 + 64); /* the first loss goes back by a window */
    cr_assert_leq(both.median_ns, both.clean_ns * 5 / 4);
    cr_assert_leq(both.tail_ns, back.tail_ns);
}

/* One end alone: the other drops what it does not know, and is as well off as before. */
Test(rc_recovery, peers_that_cannot_are_left_alone)
{
    struct spread back = at_one_percent_loss(0, 0, SIM_OFF, SIM_OFF);
    struct spread sender = at_one_percent_loss(0, 0, SIM_ON, SIM_OFF);
    struct spread receiver = at_one_percent_loss(0, 0, SIM_OFF, SIM_ON);
    cr_assert_leq(sender.median_ns, back.median_ns + RTT_NS);
    cr_assert_leq(receiver.median_ns, back.median_ns + RTT_NS);
    cr_assert_leq(sender.sent_again, back.sent_again + back.sent_again / 8);
    cr_assert_leq(receiver.sent_again, back.sent_again + back.sent_again / 8);
}

/* READs ask for what is missing alone, and for nothing of what came behind it. */
Test(rc_recovery, reads_of_peers_that_can_ask_for_what_was_lost)
{
    struct spread back = work_at_one_percent_loss(many_reads, 0, 0, SIM_OFF, SIM_OFF);
    struct spread both = work_at_one_percent_loss(many_reads, 0, 0, SIM_ON, SIM_ON);
    cr_assert_leq(both.median_ns, both.clean_ns * 5 / 4);
    cr_assert_leq(both.tail_ns, back.tail_ns);
    cr_assert_leq(both.sent_again, 30); /* requests, of which most are for one packet */
}
