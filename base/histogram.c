/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/histogram.h"

#define SUB (1u << HISTOGRAM_SUB_BITS)

/* Values below 2 * SUB are their own bucket. A larger one is shifted right until it lies in [SUB, 2 * SUB);
 * each shift is one group of SUB buckets further on. */
static unsigned bucket_of(uint64_t value)
{
    if (value < 2 * SUB)
        return (unsigned)value;
    unsigned shift = 63u - (unsigned)__builtin_clzll(value) - HISTOGRAM_SUB_BITS;
    return shift * SUB + (unsigned)(value >> shift);
}

/* The middle of a bucket. */
static uint64_t value_of(unsigned bucket)
{
    if (bucket < 2 * SUB)
        return bucket;
    unsigned shift = bucket / SUB - 1;
    uint64_t low = (uint64_t)(bucket % SUB + SUB) << shift;
    return low + ((uint64_t)1 << shift) / 2;
}

void histogram_add(struct histogram *h, uint64_t value)
{
    h->min = h->count == 0 || value < h->min ? value : h->min;
    h->max = value > h->max ? value : h->max;
    h->count++;
    h->buckets[bucket_of(value)]++;
}

void histogram_merge(struct histogram *h, const struct histogram *from)
{
    if (!from->count)
        return;
    h->min = h->count == 0 || from->min < h->min ? from->min : h->min;
    h->max = from->max > h->max ? from->max : h->max;
    h->count += from->count;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++)
        h->buckets[i] += from->buckets[i];
}

uint64_t histogram_quantile(const struct histogram *h, double fraction)
{
    if (h->count == 0)
        return 0;
    uint64_t rank = (uint64_t)(fraction * (double)h->count);
    rank += (double)rank < fraction * (double)h->count; /* rounded up */
    uint64_t seen = 0;
    for (unsigned i = 0; i < HISTOGRAM_BUCKETS; i++) {
        seen += h->buckets[i];
        if (seen == 0 || seen < rank)
            continue;
        uint64_t value = value_of(i);
        return value < h->min ? h->min : value > h->max ? h->max : value;
    }
    return h->max;
}
