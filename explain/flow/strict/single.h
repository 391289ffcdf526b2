/* SPDX-License-Identifier: BSD-2-Clause */
/* Inside the analysis: the rules of spec/roce.md that say what a sender must do. Whoever breaks one gets a
 * VIOLATION with the id of the requirement. What Linux does otherwise, and may (section 17: M of the BTH, DF
 * beside it the AckReq of datagrams, ACKs with an MSN that stays), is no violation. */
#ifndef NORNIC_EXPLAIN_FLOW_STRICT_SINGLE_H
#define NORNIC_EXPLAIN_FLOW_STRICT_SINGLE_H

#include "explain/meaning/meaning.h"

/* Rules that one packet keeps or breaks by itself, whether the parser took it or not: of one that did not
 * come as it was sent (a bad ICRC, cut headers) nothing is told. */
void explain_strict_packet(const struct explain_packet *packet, struct explain_meaning *m);

#endif
