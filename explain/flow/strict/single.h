/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules of spec/roce.md about one packet: what a sender must do. A broken one is a VIOLATION with the id of
 * the requirement. Linux may do otherwise in some (section 17: M of the BTH, DF beside it the AckReq of
 * datagrams, ACKs with an MSN that stays): that is no violation. */
#ifndef NORNIC_EXPLAIN_FLOW_STRICT_SINGLE_H
#define NORNIC_EXPLAIN_FLOW_STRICT_SINGLE_H

#include "explain/meaning/meaning.h"

/* Rules that one packet keeps or breaks by itself, whether the parser took it or not: of one that did not
 * come as it was sent (a bad ICRC, cut headers) nothing is told. */
void explain_strict_packet(const struct explain_packet *packet, struct explain_meaning *m);

#endif
