/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion management between a few nodes: who is slowed down, how he recovers, and what becomes of
 * go-back-N where a queue is slower than the ack timer. */
#include <criterion/criterion.h>
#include <inttypes.h>

#include "test/sim/flow.h"

#define GBPS UINT64_C(1000000000)

static struct fabric fabric;
static struct traffic traffic;
static uint64_t before[FLOWS_MAX];

static struct fabric_config lab(unsigned nodes, uint64_t line_bps)
{
    return (struct fabric_config){.seed = 1,
                                  .nodes = nodes,
                                  .line_rate_bps = line_bps,
                                  .delay_ns = 1000,
                                  .port_mtu_bytes = 1500,
                                  .buffer_bytes = 4000000,
                                  .kmin_bytes = 5000,
                                  .kmax_bytes = 200000,
                                  .pmax_ppm = 10000,
                                  .cc = {.on = true}};
}

static struct flow *add(unsigned from, unsigned to)
{
    return traffic_add(&traffic, (struct flow_config[]){{.from = from,
                                                         .to = to,
                                                         .message_bytes = 65536,
                                                         .depth = 8,
                                                         .timeout = 10,
                                                         .pmtu = NORNIC_MTU_1024}});
}

static void begin(const struct fabric_config *config)
{
    fabric_init(&fabric, config);
    traffic_init(&traffic, &fabric);
}

static void end(void)
{
    traffic_deinit(&traffic);
    fabric_deinit(&fabric);
}

static void run_for(uint64_t ms)
{
    traffic_done(&traffic, before);
    fabric_run(&fabric, fabric.now_ns + ms * FABRIC_MS);
}

static double gbps_of(const struct flow *flow, uint64_t ms)
{
    return (double)(flow->done_bytes - before[flow - traffic.flow]) * 8 / 1e6 / (double)ms;
}

static uint64_t handled(const struct flow *flow)
{
    return roce_qp_counters(flow->sender)->rp_cnp_handled;
}

/* Two QPs of one node: what one sends has to go through a port of 5 Gb/s, the other's way is free.
 * covers: ROCE-CC-5, CA17-45 */
Test(congestion, CA17_45_a_CNP_slows_down_only_its_QP)
{
    struct fabric_config config = lab(3, 40 * GBPS);
    config.first_bps = 5 * GBPS;
    begin(&config);
    struct flow *jammed = add(2, 0), *open = add(2, 1);
    run_for(20);
    run_for(40);
    double slow = gbps_of(jammed, 40), fast = gbps_of(open, 40);
    cr_expect_gt(slow, 3.5, "%f", slow);
    cr_expect_lt(slow, 5, "%f", slow);
    cr_expect_gt(fast, 30, "%f", fast);
    cr_expect_gt(handled(jammed), 100);
    cr_expect_eq(handled(open), 0);
    cr_expect_eq(roce_dev_counters(fabric.node[2].dev)->qps.rp_cnp_handled, handled(jammed));
    cr_expect_eq(roce_dev_counters(fabric.node[0].dev)->qps.np_cnp_sent, handled(jammed));
    end();
}

/* Two flows share a port; one of them stops. How long until the other has nine tenths of the line, in ms. */
static unsigned recovery_ms(const struct roce_cc_config *cc)
{
    struct fabric_config config = lab(3, 40 * GBPS);
    config.cc = *cc;
    begin(&config);
    struct flow *stays = add(1, 0), *stops = add(2, 0);
    run_for(20);
    run_for(10);
    cr_assert_lt(gbps_of(stays, 10), 30, "they do not share");
    stops->paused = true;
    unsigned ms = 0;
    do {
        run_for(1);
        ms++;
    } while (ms < 200 && gbps_of(stays, 1) < 0.9 * 40 * 1024 / 1106);
    end();
    return ms;
}

/* covers: ROCE-CC-6, ROCE-CC-22, CA17-46 */
Test(congestion, CA17_46_recovery_by_time)
{
    struct roce_cc_config slow = {.on = true, .increase_bytes = UINT32_MAX, .increase_period_ns = 220000};
    struct roce_cc_config fast = {.on = true, .increase_bytes = UINT32_MAX, .increase_period_ns = 55000};
    unsigned slow_ms = recovery_ms(&slow), fast_ms = recovery_ms(&fast);
    cr_expect_lt(fast_ms, 60, "%u ms", fast_ms);
    cr_expect_gt(slow_ms, 2 * fast_ms, "%u ms, and %u with a quarter of the period", slow_ms, fast_ms);
    cr_expect_lt(slow_ms, 200);
}

/* covers: ROCE-CC-6, ROCE-CC-22, CA17-46 */
Test(congestion, CA17_46_recovery_by_bytes)
{
    struct roce_cc_config slow = {.on = true, .increase_bytes = 200000, .increase_period_ns = UINT32_MAX};
    struct roce_cc_config fast = {.on = true, .increase_bytes = 50000, .increase_period_ns = UINT32_MAX};
    unsigned slow_ms = recovery_ms(&slow), fast_ms = recovery_ms(&fast);
    cr_expect_lt(fast_ms, 60, "%u ms", fast_ms);
    cr_expect_gt(slow_ms, 2 * fast_ms, "%u ms, and %u with a quarter of the bytes", slow_ms, fast_ms);
    cr_expect_lt(slow_ms, 200);
}

/* --- a queue slower than the ack timer --- */

struct deep {
    double jain, mbps;
    uint64_t peak_bytes, resent;
    unsigned failed;
};

/* Eight nodes of 10 Gb/s send to one behind 1 Gb/s; the buffer takes all that they may send at once, which
 * lasts for 40 ms. The ack timer is 4.2 ms. */
static struct deep deep_queue(bool cc)
{
    struct fabric_config config = lab(9, 10 * GBPS);
    config.first_bps = GBPS;
    config.buffer_bytes = 20000000;
    config.cc.on = cc;
    begin(&config);
    for (unsigned i = 1; i <= 8; i++)
        add(i, 0);
    run_for(200);
    fabric_forget(&fabric);
    uint64_t resent = 0;
    for (unsigned i = 0; i < 8; i++)
        resent -= roce_qp_counters(traffic.flow[i].sender)->retransmitted_pkts;
    run_for(400);
    struct deep d = {.jain = traffic_jain(&traffic, before, 0, 8),
                     .mbps = traffic_bps(&traffic, before, 400 * FABRIC_MS) / 1e6,
                     .peak_bytes = fabric.node[0].port.peak_bytes};
    for (unsigned i = 0; i < 8; i++) {
        resent += roce_qp_counters(traffic.flow[i].sender)->retransmitted_pkts;
        d.failed += traffic.flow[i].failed;
    }
    d.resent = resent;
    end();
    return d;
}

/* Nothing is lost, and nobody gives up: neither with congestion management nor without.
 * covers: ROCE-RC-41, ROCE-RC-47 */
Test(congestion, a_deep_queue_does_not_use_up_the_retries)
{
    struct deep without = deep_queue(false), with = deep_queue(true);
    cr_expect_eq(without.failed, 0);
    cr_expect_eq(with.failed, 0);
    cr_expect_gt(without.mbps, 800, "%f", without.mbps);
    cr_expect_gt(with.mbps, 850, "%f", with.mbps);
    cr_expect_gt(with.jain, 0.9, "%f", with.jain);
    cr_expect_gt(with.jain, without.jain, "%f and %f", with.jain, without.jain);
    cr_expect_lt(with.resent, without.resent / 2, "%" PRIu64 " and %" PRIu64, with.resent, without.resent);
}

/* One sender at 10 Gb/s, a wire of 100 Mb/s: its first window alone takes ten times the ack timer. */
Test(congestion, a_window_that_takes_longer_than_the_timer_settles)
{
    struct fabric_config config = lab(2, 10 * GBPS);
    config.first_bps = GBPS / 10;
    config.buffer_bytes = 20000000;
    config.cc.on = false;
    begin(&config);
    struct flow *flow = add(1, 0);
    run_for(200);
    uint64_t resent = roce_qp_counters(flow->sender)->retransmitted_pkts;
    run_for(800);
    cr_expect_not(flow->failed);
    cr_expect_gt(gbps_of(flow, 800), 0.08, "%f", gbps_of(flow, 800));
    resent = roce_qp_counters(flow->sender)->retransmitted_pkts - resent;
    cr_expect_lt(resent, 500, "%" PRIu64 " of about 8000 packets were sent again", resent);
    end();
}
