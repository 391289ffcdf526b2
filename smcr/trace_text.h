/* SPDX-License-Identifier: BSD-2-Clause */
/* What the trace hook sees, as a line for people. */
#ifndef NORNIC_SMCR_TRACE_TEXT_H
#define NORNIC_SMCR_TRACE_TEXT_H

#include "smcr/trace.h"

struct smcr_trace_line {
    char mark;      /* '>' sent, '<' received, '!' not taken, '*' something changed */
    char where[24]; /* "tcp", "link 2", "conn a1b20001", "group 1" */
    char text[192]; /* "CONFIRM LINK request, link 1, QPN 0x000012, max 2"; the same at both ends of a message
                     */
};

/* Messages may be of any length and content. */
void smcr_trace_line(const struct smcr_trace *trace, struct smcr_trace_line *out);

#endif
