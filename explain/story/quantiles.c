/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/story/quantiles.h"

#include <inttypes.h>

#include "explain/story/units.h"

struct explain_quantiles explain_quantiles_of(const struct explain_latency *latency, uint64_t untimed,
                                              bool is_timed, bool own_only)
{
    static struct explain_latency l; /* emptied each time */
    l = (struct explain_latency){0};
    if (is_timed)
        explain_latency_merge(&l, latency, own_only);
    return (struct explain_quantiles){.count = l.all.count,
                                      .left_out = latency->all.count - l.all.count + untimed,
                                      .min = l.all.min,
                                      .p50 = explain_latency_quantile(&l, 0.5),
                                      .p90 = explain_latency_quantile(&l, 0.9),
                                      .p99 = explain_latency_quantile(&l, 0.99),
                                      .max = l.all.max};
}

void explain_put_quantiles(struct explain_text *out, const struct explain_quantiles *q)
{
    if (q->count) {
        explain_printf(out, "; latency of %" PRIu64 ": median ", q->count);
        explain_put_duration(out, q->p50);
        explain_put(out, ", 99 % ");
        explain_put_duration(out, q->p99);
        explain_put(out, ", most ");
        explain_put_duration(out, q->max);
    }
    if (q->left_out)
        explain_printf(out,
                       "%s%" PRIu64 " left out, whose own answer the capture may miss, or has out of order",
                       q->count ? " (" : "; latency of ", q->left_out);
    if (q->left_out && q->count)
        explain_put(out, ")");
}

void explain_quantiles_json(struct explain_text *out, const struct explain_quantiles *q)
{
    if (q->left_out)
        explain_printf(out, ",\"latency_left_out\":%" PRIu64, q->left_out);
    if (q->count)
        explain_printf(out,
                       ",\"latency_ns\":{\"min\":%" PRIu64 ",\"p50\":%" PRIu64 ",\"p90\":%" PRIu64
                       ",\"p99\":%" PRIu64 ",\"max\":%" PRIu64 "}",
                       q->min, q->p50, q->p90, q->p99, q->max);
}
