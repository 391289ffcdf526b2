/* SPDX-License-Identifier: BSD-2-Clause */
/* Joined packets as text, as JSON, and as findings of the analysis. The captures are called A and B. */
#ifndef NORNIC_EXPLAIN_JOIN_SHOW_H
#define NORNIC_EXPLAIN_JOIN_SHOW_H

#include "explain/analysis.h"
#include "explain/join/join.h"
#include "explain/show/line.h"

/* The head of the columns, and a line: number, when it was seen at A and at B by the clock of A, how long
 * it took or what became of it, addresses, meaning; remarks below, as explain_line() has them. */
void explain_join_head(struct explain_text *out);
void explain_join_line(struct explain_text *out, const struct explain_join_place *place,
                       const struct explain_packet *packet, const struct explain_meaning *meaning,
                       const struct explain_line_style *style);

/* Appends ,"join":{...}, the member of a packet's object. */
void explain_join_member(struct explain_text *out, const struct explain_join_place *place);

/* Write the sums: as a few lines, which name the files, or as a JSON object in a line of its own. */
void explain_join_sums(struct explain_text *out, const struct explain_join_summary *sums,
                       const char *const names[2]);
void explain_join_sums_json(struct explain_text *out, const struct explain_join_summary *sums,
                            const char *const names[2]);

/* The meaning of a packet that the analysis is not shown, as its sender did not send it: a copy. */
void explain_join_copy_meaning(struct explain_meaning *meaning, const struct explain_join_place *place);
/* A segment of TCP that the analysis has nothing to say of, as it bears no data of iWARP, gets words, and is
 * of the kind EXPLAIN_IWARP. */
void explain_join_name_segment(struct explain_meaning *meaning, struct explain_packet *packet);
/* Adds what the other capture tells to what the analysis says of a packet: its fate as a finding, and in
 * findings about a packet that was sent again, what happened to the copy before it. */
void explain_join_remark(struct explain_meaning *meaning, const struct explain_join *join,
                         const struct explain_join_place *place);
/* Adds to the words how long it took: for readers that have no column for it. */
void explain_join_add_delay(struct explain_meaning *meaning, const struct explain_join_place *place);

#endif
