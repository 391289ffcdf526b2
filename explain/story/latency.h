/* SPDX-License-Identifier: BSD-2-Clause */
/* How long operations took: exact as long as there are few, to within 1.6 % then (base/histogram.h). */
#ifndef NORNIC_EXPLAIN_STORY_LATENCY_H
#define NORNIC_EXPLAIN_STORY_LATENCY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"

#define EXPLAIN_LATENCY_EXACT 1024 /* so many are kept as they are */

/* All 0: none yet. */
struct explain_latency {
    struct histogram all;
    struct explain_latency_sample {
        uint64_t ns;
        bool is_with_later; /* a later answer told of it as well: its own may be missing in the capture */
    } sample[EXPLAIN_LATENCY_EXACT]; /* by time; those of `all` while they are not too many */
};

void explain_latency_add(struct explain_latency *latency, uint64_t ns, bool is_with_later);
/* Adds all of `from`; `own_only`: those alone that an answer of their own ended, as far as that is kept. */
void explain_latency_merge(struct explain_latency *latency, const struct explain_latency *from,
                           bool own_only);
/* The smallest time that at least `fraction` (0 to 1) of all do not exceed; 0 when there are none. */
uint64_t explain_latency_quantile(const struct explain_latency *latency, double fraction);

#endif
