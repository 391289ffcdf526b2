/* SPDX-License-Identifier: BSD-2-Clause */
/* Amounts as people say them. */
#ifndef NORNIC_EXPLAIN_STORY_UNITS_H
#define NORNIC_EXPLAIN_STORY_UNITS_H

#include "explain/show/text.h"

/* "1 packet", "12 packets". */
void explain_put_count(struct explain_text *out, uint64_t count, const char *one, const char *many);
/* "700 bytes", "63.1 kB", "1.25 GB": thousands. */
void explain_put_bytes(struct explain_text *out, uint64_t bytes);
/* "12.3 us", "67.1 ms", "5.86 s". */
void explain_put_duration(struct explain_text *out, uint64_t ns);
/* ", 5.2 Mbit/s"; nothing where no rate is known (0), as of a packet alone. */
void explain_put_rate(struct explain_text *out, double bits_per_second);

#endif
