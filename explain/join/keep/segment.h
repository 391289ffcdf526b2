/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments of TCP, as they are kept. */
#ifndef NORNIC_EXPLAIN_JOIN_KEEP_SEGMENT_H
#define NORNIC_EXPLAIN_JOIN_KEEP_SEGMENT_H

#include "explain/join/types.h"

/* Fills in the record of a segment of TCP: of SMC-R's handshake, or of a connection that may be iWARP. 0 or
 * -ENOMEM. */
int join_digest_segment(struct explain_join *j, const struct explain_packet *p,
                        const struct explain_segment *s, const struct explain_meaning *m,
                        struct join_packet *k);
/* Lets go of the connections that were not found to be iWARP so far, of their segments, and of their lanes. 0
 * or -ENOMEM. */
int join_drop_plain_tcp(struct explain_join *j);
/* Returns from when on, by the clock of capture 0, the other capture than that of `side`, which has the
 * packet, has all packets of its connection. */
uint64_t join_since_ns(const struct explain_join *j, unsigned side, const struct join_packet *p);
/* Does the same after both captures are read, and gives the segments that are left their streams. 0 or
 * -ENOMEM. */
int join_keep_iwarp(struct explain_join *j);
/* Notes which data TCP sent again. */
void join_learn_segments(struct explain_join *j);

#endif
