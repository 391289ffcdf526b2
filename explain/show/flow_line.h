/* SPDX-License-Identifier: BSD-2-Clause */
/* What is to be said of a flow as a whole. */
#ifndef NORNIC_EXPLAIN_SHOW_FLOW_LINE_H
#define NORNIC_EXPLAIN_SHOW_FLOW_LINE_H

#include "explain/analysis.h"
#include "explain/show/text.h"

/* A line, where the flow is not simply one that was captured from its beginning on: that it is older than the
 * capture, or uses the QPNs of another again; where the capture was taken; the ack timeouts that were
 * measured. Nothing else. */
void explain_flow_line(struct explain_text *out, const struct explain_flow *flow, uint32_t index);

#endif
