/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram of times: buckets of equal width up to 128, then 64 to each power of two, so that every
 * quantile is known to within 1.6 %, in 30 KiB, whatever the number of values. */
#ifndef NORNIC_BASE_HISTOGRAM_H
#define NORNIC_BASE_HISTOGRAM_H

#include <stdint.h>

#define HISTOGRAM_SUB_BITS 6
#define HISTOGRAM_BUCKETS  ((64 - HISTOGRAM_SUB_BITS + 1) << HISTOGRAM_SUB_BITS)

/* Begin with all zero. */
struct histogram {
    uint64_t count;
    uint64_t min, max; /* exact; valid when count > 0 */
    uint64_t buckets[HISTOGRAM_BUCKETS];
};

void histogram_add(struct histogram *h, uint64_t value);

/* Adds all values of `from`. */
void histogram_merge(struct histogram *h, const struct histogram *from);

/* The smallest value that at least `fraction` (0 to 1) of all values do not exceed, to within 1.6 %; 0 when
 * there are none. */
uint64_t histogram_quantile(const struct histogram *h, double fraction);

#endif
