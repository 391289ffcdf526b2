/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers of iWARP connections: how long messages took, and what was under way. */
#ifndef NORNIC_EXPLAIN_STORY_IWARP_NUMBERS_H
#define NORNIC_EXPLAIN_STORY_IWARP_NUMBERS_H

#include "explain/analysis.h"
#include "explain/show/text.h"
#include "explain/story/latency.h"

/* Connections that have latencies: the first so many; 115 KiB each, so that all are bounded. */
#define EXPLAIN_IWARP_NUMBERS_MAX 128

/* All zero: no message is done. */
struct explain_iwarp_numbers {
    struct explain_latency *of[EXPLAIN_IWARP_NUMBERS_MAX]; /* both sides of each; NULL: none is done */
};

void explain_iwarp_numbers_deinit(struct explain_iwarp_numbers *numbers);

/* Takes what a packet ended. */
void explain_iwarp_numbers_take(struct explain_iwarp_numbers *numbers, const struct explain_packet *packet,
                                const struct explain_meaning *meaning);

/* Appends the numbers of a connection: a line for each side that sent messages; the object
 * {"iwarp_numbers":...}; a row of a table for each side. */
void explain_iwarp_numbers_line(struct explain_text *out, const struct explain_iwarp_numbers *numbers,
                                const struct explain_iwarp_conn *conn);
void explain_iwarp_numbers_json(struct explain_text *out, const struct explain_iwarp_numbers *numbers,
                                const struct explain_iwarp_conn *conn);
void explain_iwarp_csv_head(struct explain_text *out);
void explain_iwarp_csv(struct explain_text *out, const struct explain_iwarp_numbers *numbers,
                       const struct explain_iwarp_conn *conn);

/* The table of messages: its head, and the rows of those that the packet ended. */
void explain_iwarp_operations_csv_head(struct explain_text *out);
void explain_iwarp_operations_csv(struct explain_text *out, const struct explain_packet *packet,
                                  const struct explain_meaning *meaning);

#endif
