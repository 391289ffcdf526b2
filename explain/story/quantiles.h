/* SPDX-License-Identifier: BSD-2-Clause */
/* What the latencies of many operations come to, in words and as JSON. */
#ifndef NORNIC_EXPLAIN_STORY_QUANTILES_H
#define NORNIC_EXPLAIN_STORY_QUANTILES_H

#include "explain/show/text.h"
#include "explain/story/latency.h"

/* Of `count` operations; `left_out` more were answered, of which the capture does not tell how long they
 * took. */
struct explain_quantiles {
    uint64_t count, left_out, min, p50, p90, p99, max; /* nanoseconds */
};

/* `untimed` operations are not in `latency`. Not `is_timed`: all are left out; `own_only`: those are that a
 * later answer told of as well. */
struct explain_quantiles explain_quantiles_of(const struct explain_latency *latency, uint64_t untimed,
                                              bool is_timed, bool own_only);

/* "; latency of 12: median 5 us, ..."; nothing where there were no operations. */
void explain_put_quantiles(struct explain_text *out, const struct explain_quantiles *q);
/* The members `latency_left_out` and `latency_ns`, with a comma before each; those that say nothing are not
 * there. */
void explain_quantiles_json(struct explain_text *out, const struct explain_quantiles *q);

#endif
