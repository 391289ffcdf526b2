/* SPDX-License-Identifier: BSD-2-Clause */
/* Which message a request packet belongs to, which piece of it it is, and how many bytes are done with it.
 * Inside explain/flow/. */
#ifndef NORNIC_EXPLAIN_FLOW_MESSAGE_H
#define NORNIC_EXPLAIN_FLOW_MESSAGE_H

#include "explain/flow/flow.h"

/* How many packets so many bytes take; 1 where the path MTU is not known. */
uint32_t explain_pieces_of(uint64_t bytes, uint32_t pmtu_bytes);
/* A packet whose PSN is new: the next one, or one behind a gap. */
void explain_message_next(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                          struct explain_meaning *m);
/* A packet whose PSN was left out before: it takes its place among those that are known. */
void explain_message_fill(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                          struct explain_meaning *m);
/* The pieces behind the packet at `psn`, which is known now, hang on it if they hung on nothing. */
void explain_message_join(struct explain_half *half, uint32_t psn);
/* The packet at `psn`, which was seen before. */
void explain_message_again(const struct explain_sent *before, struct explain_meaning *m);
/* An answer says that `msn` messages are complete, and everything that was seen is acknowledged. Returns how
 * many messages more than were counted lie in the gap at half->gap, and says so in the meaning; 0: none, or
 * that is not known. */
int32_t explain_message_recount(struct explain_pair *pair, unsigned direction, uint32_t msn,
                                struct explain_meaning *m);

#endif
