/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet as one line of text. */
#ifndef NORNIC_EXPLAIN_SHOW_LINE_H
#define NORNIC_EXPLAIN_SHOW_LINE_H

#include "explain/analysis.h"
#include "explain/show/text.h"

struct explain_line_style {
    bool colour;       /* with the escape sequences of a terminal */
    uint64_t epoch_ns; /* times are shown from here on: that of the first packet */
};

/* Appends "number  time  source > destination  QP  PSN  words" and a newline, and below it a line for each
 * remark that is more than a note. */
void explain_line(struct explain_text *out, const struct explain_packet *packet,
                  const struct explain_meaning *meaning, const struct explain_line_style *style);

/* The part of that line from the addresses on, and what is below. */
void explain_line_rest(struct explain_text *out, const struct explain_packet *packet,
                       const struct explain_meaning *meaning, const struct explain_line_style *style);

/* Appends the time of a packet in seconds since the first one, to the microsecond: "   0.001203". Clocks of
 * captures go back: what was recorded before the first packet has a minus. */
void explain_line_time(struct explain_text *out, uint64_t time_ns, const struct explain_line_style *style);

/* The severest of the remarks; 0: all are notes, or there is none. */
int explain_line_severity(const struct explain_meaning *meaning);
/* The escape sequences that a line of that severity begins and ends with: empty without colour. */
const char *explain_line_colour(int severity, const struct explain_line_style *style);
const char *explain_line_plain(const struct explain_line_style *style);

#endif
