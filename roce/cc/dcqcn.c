/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "roce/cc/dcqcn.h"

#include <errno.h>

#define LINE_RATE_MAX_BPS (UINT64_C(1) << 42) /* a rate times alpha fits 64 bits */
#define SMALLEST_STEP     (UINT64_C(1) << 20) /* of the line rate: bounds the steps of a recovery */
#define DSCP_MAX          63
#define PCP_MAX           7
#define RECOVERY_MAX      1024
#define BYTES_MIN         1024
#define PERIOD_MIN_NS     1000

/* --- parameters --- */

#define OR_DEFAULT(member, value) \
    if (!(member))                \
    (member) = (value)

/* ROCE-CC-23, column "paper"; the rates are those of the paper's line of 40 Gb/s (ROCE-CC-24). */
static void fill_defaults(struct roce_cc_config *c)
{
    OR_DEFAULT(c->line_rate_bps, ROCE_CC_LINE_RATE_DEFAULT_BPS);
    OR_DEFAULT(c->cnp_interval_ns, 50000);
    OR_DEFAULT(c->cnp_dscp, 48);
    OR_DEFAULT(c->cnp_priority, 6);
    OR_DEFAULT(c->gain_1024ths, 4);
    OR_DEFAULT(c->initial_alpha_1024ths, 1024);
    OR_DEFAULT(c->alpha_period_ns, 55000);
    OR_DEFAULT(c->increase_period_ns, 55000);
    OR_DEFAULT(c->increase_bytes, 10000000);
    OR_DEFAULT(c->recovery_steps, 5);
    OR_DEFAULT(c->additive_bps, c->line_rate_bps < 1000 ? 1 : c->line_rate_bps / 1000);
    OR_DEFAULT(c->hyper_bps, c->line_rate_bps < 100 ? 1 : c->line_rate_bps / 100);
    OR_DEFAULT(c->min_rate_bps, c->line_rate_bps < 1000000 ? c->line_rate_bps : 1000000);
}

int roce_cc_config_complete(struct roce_cc_config *c)
{
    fill_defaults(c);
    if (c->line_rate_bps >= LINE_RATE_MAX_BPS || c->min_rate_bps > c->line_rate_bps)
        return -EINVAL;
    if (c->cnp_dscp > DSCP_MAX || c->cnp_priority > PCP_MAX)
        return -EINVAL;
    if (c->gain_1024ths > 1024 || c->initial_alpha_1024ths > 1024)
        return -EINVAL;
    if (c->alpha_period_ns <= c->cnp_interval_ns) /* else alpha falls between two CNPs of one congestion */
        return -EINVAL;
    if (c->alpha_period_ns < PERIOD_MIN_NS || c->increase_period_ns < PERIOD_MIN_NS)
        return -EINVAL;
    if (c->recovery_steps > RECOVERY_MAX || c->increase_bytes < BYTES_MIN)
        return -EINVAL;
    if (c->additive_bps < c->line_rate_bps / SMALLEST_STEP || c->hyper_bps < c->line_rate_bps / SMALLEST_STEP)
        return -EINVAL;
    return 0;
}

/* --- one flow --- */

void roce_dcqcn_init(struct roce_dcqcn *flow, const struct roce_cc_config *c)
{
    *flow = (struct roce_dcqcn){
        .rate_bps = c->line_rate_bps,
        .target_bps = c->line_rate_bps,
        .alpha = c->initial_alpha_1024ths * (ROCE_DCQCN_ONE / 1024),
    };
}

/* What the target grows by in the stage that the flow is in. */
static uint64_t target_step(const struct roce_dcqcn *flow, const struct roce_cc_config *c)
{
    uint32_t low = min_u32(flow->time_stage, flow->byte_stage);
    if (max_u32(flow->time_stage, flow->byte_stage) < c->recovery_steps)
        return 0;
    if (low <= c->recovery_steps)
        return c->additive_bps;
    uint64_t times = low - c->recovery_steps;
    return times > c->line_rate_bps / c->hyper_bps ? c->line_rate_bps : times * c->hyper_bps;
}

/* One increase step of ROCE-CC-22. The mean is rounded up: rounded down it would never reach the line rate.
 * With the limiter goes what the flow has learned: it is as good as new, and its next CNP, whenever that
 * comes, reduces it as CA17-45 wants; an alpha that goes on shrinking would in the end reduce nothing. */
static void increase(struct roce_dcqcn *flow, const struct roce_cc_config *c)
{
    uint64_t room = c->line_rate_bps - flow->target_bps, step = target_step(flow, c);
    flow->target_bps += step < room ? step : room;
    flow->rate_bps = (flow->target_bps + flow->rate_bps + 1) / 2;
    if (flow->rate_bps >= c->line_rate_bps)
        roce_dcqcn_init(flow, c);
}

/* Up to `n` steps at once, where each would do the same: the target grows by `step`, and the rate follows it
 * at a distance that does not change any more. Returns how many were made. */
static uint64_t leap(struct roce_dcqcn *flow, const struct roce_cc_config *c, uint64_t n)
{
    uint64_t step = target_step(flow, c);
    if (flow->time_stage < flow->byte_stage || step == 0)
        return 0;
    uint64_t fit = (c->line_rate_bps - flow->target_bps) / step;
    n = n < fit ? n : fit;
    flow->target_bps += n * step;
    flow->rate_bps += n * step;
    flow->time_stage += (uint32_t)n;
    return n;
}

static void expire_increase_timer(struct roce_dcqcn *flow, const struct roce_cc_config *c, uint64_t times)
{
    while (times > 0 && flow->is_limited) {
        uint64_t distance_bps = flow->target_bps - flow->rate_bps;
        flow->time_stage++;
        increase(flow, c);
        times--;
        if (flow->is_limited && flow->target_bps - flow->rate_bps == distance_bps)
            times -= leap(flow, c, times);
    }
}

/* alpha * keep^times, keep < 1. */
static uint32_t decayed(uint32_t alpha, uint32_t keep_1024ths, uint64_t times)
{
    uint64_t keep = (uint64_t)keep_1024ths << 22; /* in units of 2^-32 */
    for (; times > 0 && alpha > 0; times >>= 1) {
        if (times & 1)
            alpha = (uint32_t)(alpha * keep >> 32);
        keep = keep * keep >> 32;
    }
    return alpha;
}

/* How often a period ended by `now_ns`; sets when it ends next. */
static uint64_t periods_over(uint64_t *due_ns, uint32_t period_ns, uint64_t now_ns)
{
    if (now_ns < *due_ns)
        return 0;
    uint64_t times = (now_ns - *due_ns) / period_ns + 1;
    *due_ns += times * period_ns;
    return times;
}

void roce_dcqcn_advance(struct roce_dcqcn *flow, const struct roce_cc_config *c, uint64_t now_ns)
{
    if (!flow->is_limited)
        return;
    uint64_t times = periods_over(&flow->alpha_deadline_ns, c->alpha_period_ns, now_ns);
    flow->alpha = decayed(flow->alpha, 1024u - c->gain_1024ths, times); /* ROCE-CC-21 */
    times = periods_over(&flow->increase_deadline_ns, c->increase_period_ns, now_ns);
    expire_increase_timer(flow, c, times);
}

void roce_dcqcn_cnp(struct roce_dcqcn *flow, const struct roce_cc_config *c, uint64_t now_ns)
{
    roce_dcqcn_advance(flow, c, now_ns);
    uint64_t cut_bps = flow->rate_bps * flow->alpha / ROCE_DCQCN_ONE / 2;
    flow->target_bps = flow->rate_bps;
    flow->rate_bps -= cut_bps;
    if (flow->rate_bps < c->min_rate_bps)
        flow->rate_bps = c->min_rate_bps;
    flow->alpha =
        ((1024u - c->gain_1024ths) * (uint64_t)flow->alpha + c->gain_1024ths * (uint64_t)ROCE_DCQCN_ONE) /
        1024;
    flow->alpha_deadline_ns = now_ns + c->alpha_period_ns;
    flow->increase_deadline_ns = now_ns + c->increase_period_ns;
    flow->bytes = 0;
    flow->time_stage = flow->byte_stage = 0;
    flow->is_limited = true;
}

void roce_dcqcn_sent(struct roce_dcqcn *flow, const struct roce_cc_config *c, uint32_t len_bytes)
{
    if (!flow->is_limited)
        return;
    uint64_t bytes = (uint64_t)flow->bytes + len_bytes;
    for (; flow->is_limited && bytes >= c->increase_bytes; bytes -= c->increase_bytes) {
        flow->byte_stage++;
        increase(flow, c);
    }
    flow->bytes = flow->is_limited ? (uint32_t)bytes : 0;
}
