/* SPDX-License-Identifier: BSD-2-Clause */
/* The packets and bytes of a pair, counted into the public view of it. */
#ifndef NORNIC_EXPLAIN_FLOW_PAIR_COUNT_H
#define NORNIC_EXPLAIN_FLOW_PAIR_COUNT_H

#include "explain/flow/pair/types.h"

/* Sets the ends of the flow: the first packet of its two directions and the newest. */
void explain_pair_span(struct explain_pair *pair);
/* Counts a packet. */
void explain_pair_count(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet);
/* Takes a packet that was judged: payload that comes for the first time counts for the end that asked,
 * `asker` (as of directions), and is said in the meaning. */
void explain_pair_carry(struct explain_pair *pair, unsigned asker, const struct explain_packet *packet,
                        struct explain_meaning *m);
/* Takes a datagram, which is sent once: its payload counts for its sender. */
void explain_pair_carry_datagram(struct explain_pair *pair, unsigned sender,
                                 const struct explain_packet *packet, struct explain_meaning *m);

#endif
