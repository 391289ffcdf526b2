/* SPDX-License-Identifier: BSD-2-Clause */
/* The message that a request packet belongs to, its place in it, and the bytes that are done with it. */
#ifndef NORNIC_EXPLAIN_FLOW_MESSAGE_MESSAGE_H
#define NORNIC_EXPLAIN_FLOW_MESSAGE_MESSAGE_H

#include "explain/flow/pair/types.h"

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
