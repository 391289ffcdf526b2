/* SPDX-License-Identifier: BSD-2-Clause */
/* The fate of a packet that was sent again, on its way. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_WAY_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_WAY_H

#include "explain/flow/pair/types.h"

/* Adds to `why` the fate of the copy before, or of its answer, as far as that shows. `was_here`: the copy is
 * in the capture, `before`. */
void explain_tell_way(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                      const struct explain_sent *before, bool was_here, struct explain_why *why);

#endif
