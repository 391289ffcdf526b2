/* SPDX-License-Identifier: BSD-2-Clause */
/* The facts of a packet that comes again, before a witness is asked. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_CASE_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_CASE_H

#include "explain/flow/again/verdict.h"

/* Returns the case of a packet. Its half has a recovery. */
struct explain_case explain_case_of(struct explain_half *half, const struct explain_ids *ids,
                                    const struct explain_packet *packet, const struct explain_sent *before,
                                    uint32_t end_psn);
/* Returns an unknown cause with the evidence of the silence. */
struct explain_why explain_case_why(const struct explain_case *c);
/* Returns whether nothing tells a request that is not here before from the first copy, which comes late: it
 * was not proved to be sent again (`is_sent`), and no copy came damaged. */
bool explain_case_may_be_first(const struct explain_case *c, bool is_sent);
/* Returns the cause if its sender did not send it again: a copy, or overtaken; NONE: it did. */
enum explain_cause explain_case_unless_sent(const struct explain_case *c);

#endif
