/* SPDX-License-Identifier: BSD-2-Clause */
/* Request packets whose PSN is not new. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_AGAIN_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_AGAIN_H

#include "explain/flow/pair/types.h"

/* The packet is at `before->psn`, which was seen before. */
void explain_again_seen(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                        struct explain_sent *before, struct explain_meaning *m);
/* A READ asks for the rest of one that was seen before. */
void explain_again_rest(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                        struct explain_read *read, struct explain_meaning *m);
/* The packet comes into a gap: it was overtaken, or its first copy was lost before the capture. Its place in
 * its message is in `m`. */
void explain_again_unseen(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                          struct explain_meaning *m);

#endif
