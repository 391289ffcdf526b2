/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/story/latency.h"

#include <string.h>

void explain_latency_add(struct explain_latency *l, uint64_t ns, bool is_with_later)
{
    uint64_t at = l->all.count;
    histogram_add(&l->all, ns);
    if (at >= EXPLAIN_LATENCY_EXACT)
        return;
    while (at && l->sample[at - 1].ns > ns)
        at--;
    memmove(&l->sample[at + 1], &l->sample[at], (l->all.count - 1 - at) * sizeof l->sample[0]);
    l->sample[at] = (struct explain_latency_sample){ns, is_with_later};
}

void explain_latency_merge(struct explain_latency *l, const struct explain_latency *from, bool own_only)
{
    if (from->all.count > EXPLAIN_LATENCY_EXACT) {
        histogram_merge(&l->all, &from->all);
        return;
    }
    for (uint64_t i = 0; i < from->all.count; i++)
        if (!own_only || !from->sample[i].is_with_later)
            explain_latency_add(l, from->sample[i].ns, from->sample[i].is_with_later);
}

uint64_t explain_latency_quantile(const struct explain_latency *l, double fraction)
{
    if (!l->all.count || l->all.count > EXPLAIN_LATENCY_EXACT)
        return histogram_quantile(&l->all, fraction);
    uint64_t rank = (uint64_t)(fraction * (double)l->all.count);
    rank += (double)rank < fraction * (double)l->all.count; /* rounded up */
    return l->sample[rank ? rank - 1 : 0].ns;
}
