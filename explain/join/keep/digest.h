/* SPDX-License-Identifier: BSD-2-Clause */
/* The record of a packet. */
#ifndef NORNIC_EXPLAIN_JOIN_KEEP_DIGEST_H
#define NORNIC_EXPLAIN_JOIN_KEEP_DIGEST_H

#include "explain/join/types.h"

/* Keeps the next packet of capture `side`: see explain_join_take(). */
int join_take(struct explain_join *j, unsigned side, struct explain_packet *packet);
/* Gives packets that showed to be of another queue pair its stream, after both captures are read. 0 or
 * -ENOMEM. */
int join_map_streams(struct join_side *s);
/* Learns from the packets that are kept which senders number them, and which requests were sent again. */
void join_learn(struct explain_join *j);

#endif
