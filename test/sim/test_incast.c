/* SPDX-License-Identifier: BSD-2-Clause */
/* Incast: 32 nodes send to one, at 40 Gb/s each, through a port of 40 Gb/s. The queue marks as in the DCQCN
 * paper (ROCE-CC-23). */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "test/sim/flow.h"

#define SENDERS   32
#define LINE_GBPS 40
#define BUFFER    4000000u
#define KMAX      200000u
#define MESSAGE   65536u
#define START_MS  5  /* the first moments, before the first CNPs have done their work */
#define SETTLE_MS 20 /* from here on the rates are judged */
#define END_MS    60
#define WINDOW_MS 10 /* time over which rates are compared */
#define JAIN      0.95
#define SEEDS     3
#define MAX_GBPS  (LINE_GBPS * 1024 / 1106.0) /* payload of full frames, with all that a wire needs */

static struct fabric fabric;
static struct traffic traffic;
static uint64_t before[FLOWS_MAX];

static struct fabric_config lab(uint64_t seed, bool cc)
{
    return (struct fabric_config){.seed = seed,
                                  .nodes = SENDERS + 1,
                                  .line_rate_bps = LINE_GBPS * UINT64_C(1000000000),
                                  .delay_ns = 1000,
                                  .port_mtu_bytes = 1500,
                                  .buffer_bytes = BUFFER,
                                  .kmin_bytes = 5000,
                                  .kmax_bytes = KMAX,
                                  .pmax_ppm = 10000,
                                  .cc = {.on = cc}};
}

/* Node `i` to node 0, from `start_ms` on. */
static struct flow_config to_the_one(unsigned i, bool read, unsigned start_ms)
{
    return (struct flow_config){.from = i,
                                .to = 0,
                                .read = read,
                                .message_bytes = MESSAGE,
                                .depth = 4,
                                .start_ns = (1 + start_ms) * FABRIC_MS, /* the clock starts at 1 ms */
                                .timeout = 10,
                                .pmtu = NORNIC_MTU_1024};
}

static void begin(const struct fabric_config *config, unsigned senders, bool read)
{
    fabric_init(&fabric, config);
    traffic_init(&traffic, &fabric);
    for (unsigned i = 1; i <= senders; i++)
        traffic_add(&traffic, (struct flow_config[]){to_the_one(i, read, 0)});
}

static void end(void)
{
    for (unsigned i = 0; i < traffic.count; i++)
        cr_expect_not(traffic.flow[i].failed, "flow %u", i);
    traffic_deinit(&traffic);
    fabric_deinit(&fabric);
}

static void run_to(unsigned ms)
{
    fabric_run(&fabric, (1 + ms) * FABRIC_MS);
}

static uint64_t resent_pkts(void)
{
    uint64_t n = 0;
    for (unsigned i = 0; i < fabric.config.nodes; i++)
        n += roce_dev_counters(fabric.node[i].dev)->qps.retransmitted_pkts;
    return n;
}

struct outcome {
    double jain, gbps; /* the worst window */
    uint64_t peak_bytes, dropped, resent;
};

/* What is reached after SETTLE_MS, in each window. */
static struct outcome judge(void)
{
    struct outcome worst = {.jain = 1, .gbps = LINE_GBPS};
    run_to(START_MS);
    fabric_forget(&fabric);
    uint64_t resent = resent_pkts();
    for (unsigned ms = SETTLE_MS; ms < END_MS; ms += WINDOW_MS) {
        run_to(ms);
        traffic_done(&traffic, before);
        run_to(ms + WINDOW_MS);
        double jain = traffic_jain(&traffic, before, 0, traffic.count);
        double gbps = traffic_bps(&traffic, before, WINDOW_MS * FABRIC_MS) / 1e9;
        worst.jain = jain < worst.jain ? jain : worst.jain;
        worst.gbps = gbps < worst.gbps ? gbps : worst.gbps;
    }
    worst.peak_bytes = fabric.node[0].port.peak_bytes;
    worst.resent = resent_pkts() - resent;
    worst.dropped = fabric.node[0].port.dropped;
    return worst;
}

/* Fair in every window, nothing lost any more, a queue not much above Kmax, and nine tenths of the line. */
static void expect_converged(const struct outcome *is, uint64_t seed)
{
    cr_expect_gt(is->jain, JAIN, "seed %" PRIu64 ": Jain index %f", seed, is->jain);
    cr_expect_gt(is->gbps, 0.9 * MAX_GBPS, "seed %" PRIu64 ": %f Gb/s", seed, is->gbps);
    cr_expect_lt(is->peak_bytes, 2 * KMAX, "seed %" PRIu64 ": %" PRIu64 " bytes", seed, is->peak_bytes);
    cr_expect_eq(is->dropped, 0, "seed %" PRIu64 ": %" PRIu64 " frames dropped", seed, is->dropped);
    cr_expect_eq(is->resent, 0, "seed %" PRIu64 ": %" PRIu64 " packets sent again", seed, is->resent);
}

/* covers: ROCE-CC-2, ROCE-CC-5, ROCE-CC-20, ROCE-CC-22, CA17-44, CA17-45, CA17-46 */
Test(incast, writers_share_one_queue)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fabric_config config = lab(seed, true);
        begin(&config, SENDERS, false);
        struct outcome is = judge();
        expect_converged(&is, seed);
        end();
    }
}

/* The same without congestion management: the buffer is always full, a fifth of the frames is lost, and
 * go-back-N spends what is left on repetitions. */
Test(incast, writers_without_congestion_management)
{
    struct fabric_config config = lab(1, false);
    begin(&config, SENDERS, false);
    struct outcome is = judge();
    cr_expect_lt(is.jain, 0.75, "%f", is.jain);
    cr_expect_lt(is.gbps, 0.92 * MAX_GBPS, "%f", is.gbps);
    cr_expect_gt(is.peak_bytes, BUFFER - 2000);
    cr_expect_gt(is.dropped, 10000);
    end();
}

/* One reader asks 32: what fills the queue are READ responses. Over IPv6.
 * covers: ROCE-CC-7 */
Test(incast, ROCE_CC_7_readers_share_one_queue)
{
    for (uint64_t seed = 1; seed <= SEEDS; seed++) {
        struct fabric_config config = lab(seed, true);
        config.ipv6 = true;
        begin(&config, SENDERS, true);
        struct outcome is = judge();
        expect_converged(&is, seed);
        end();
    }
}

/* Eight flows share the port, a ninth begins when they have settled: its share becomes what theirs is.
 * covers: ROCE-CC-20, ROCE-CC-22 */
Test(incast, a_late_joiner_gets_its_share)
{
    struct fabric_config config = lab(1, true);
    begin(&config, 8, false);
    traffic_add(&traffic, (struct flow_config[]){to_the_one(9, false, SETTLE_MS)});
    run_to(SETTLE_MS);
    cr_assert_eq(traffic.flow[8].done_bytes, 0);
    run_to(70);
    traffic_done(&traffic, before);
    run_to(110);
    double all = 0, late = (double)(traffic.flow[8].done_bytes - before[8]);
    for (unsigned i = 0; i < 9; i++)
        all += (double)(traffic.flow[i].done_bytes - before[i]);
    cr_expect_gt(late / all, 0.75 / 9, "%f of all", late / all);
    cr_expect_lt(late / all, 1.25 / 9, "%f of all", late / all);
    cr_expect_gt(traffic_jain(&traffic, before, 0, 9), JAIN);
    cr_expect_gt(all * 8 / 40e6, 0.9 * MAX_GBPS, "%f Gb/s", all * 8 / 40e6);
    end();
}

/* --- docs/incast.svg --- */

#define SAMPLE_NS (50 * FABRIC_US)

/* What has arrived of a flow, repetitions and all. */
static uint64_t arrived_bytes(unsigned i)
{
    return roce_qp_counters(traffic.flow[i].receiver)->rx_bytes;
}

static void record(FILE *file, bool cc)
{
    struct fabric_config config = lab(1, cc);
    begin(&config, SENDERS, false);
    for (uint64_t t_ns = 0; t_ns <= END_MS * FABRIC_MS; t_ns += SAMPLE_NS) {
        fabric_run(&fabric, FABRIC_MS + t_ns);
        fprintf(file, "%d,%" PRIu64 ",%" PRIu64 ",%" PRIu64, cc, t_ns / FABRIC_US,
                fabric_queue_bytes(&fabric, 0), fabric.node[0].port.dropped);
        for (unsigned i = 0; i < SENDERS; i++)
            fprintf(file, ",%" PRIu64 ",%" PRIu64, arrived_bytes(i), traffic.flow[i].done_bytes);
        fprintf(file, "\n");
    }
    end();
}

static unsigned count_lines(FILE *file)
{
    unsigned lines = 0;
    rewind(file);
    for (int c = fgetc(file); c != EOF; c = fgetc(file))
        lines += c == '\n';
    return lines;
}

/* `make incast-plot` draws it, and names the file; else it is a temporary one. */
Test(incast, record)
{
    const char *path = getenv("NORNIC_INCAST_CSV");
    FILE *file = path ? fopen(path, "w+") : tmpfile();
    cr_assert_not_null(file, "%s", path ? path : "a temporary file");
    fprintf(file, "cc,us,queue_bytes,dropped");
    for (unsigned i = 0; i < SENDERS; i++)
        fprintf(file, ",arrived%u,done%u", i, i);
    fprintf(file, "\n");
    record(file, false);
    record(file, true);
    cr_assert_eq(count_lines(file), 1 + 2 * (END_MS * FABRIC_MS / SAMPLE_NS + 1));
    cr_assert_eq(fclose(file), 0);
}
