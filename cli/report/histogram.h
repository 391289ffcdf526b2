/* SPDX-License-Identifier: BSD-2-Clause */
/* A histogram of times: buckets of equal width up to 128, then 64 to each power of two, so that every
 * quantile is known to within 1.6 %, in 30 KiB, whatever the number of values. */
#ifndef NORNIC_CLI_REPORT_HISTOGRAM_H
#define NORNIC_CLI_REPORT_HISTOGRAM_H

#include <stdint.h>

#define CLI_HISTOGRAM_SUB_BITS 6
#define CLI_HISTOGRAM_BUCKETS  ((64 - CLI_HISTOGRAM_SUB_BITS + 1) << CLI_HISTOGRAM_SUB_BITS)

/* Begin with all zero. */
struct cli_histogram {
    uint64_t count;
    uint64_t min, max; /* exact; valid when count > 0 */
    uint64_t buckets[CLI_HISTOGRAM_BUCKETS];
};

void cli_histogram_add(struct cli_histogram *h, uint64_t value);

/* The smallest value that at least `fraction` (0 to 1) of all values do not exceed, to within 1.6 %; 0 when
 * there are none. */
uint64_t cli_histogram_quantile(const struct cli_histogram *h, double fraction);

#endif
