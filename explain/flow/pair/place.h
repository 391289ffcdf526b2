/* SPDX-License-Identifier: BSD-2-Clause */
/* The place of a capture on the way of a flow. Inside explain/flow/ and for explain/analysis.c. */
#ifndef NORNIC_EXPLAIN_FLOW_PAIR_PLACE_H
#define NORNIC_EXPLAIN_FLOW_PAIR_PLACE_H

#include "explain/flow/pair/types.h"

/* A packet that the end of `direction` sent was lost before it came to the capture. */
void explain_note_lost_before(struct explain_pair *pair, unsigned direction);
/* The clocks of the two directions of the pair were seen to differ by so much or more. */
void explain_pair_skewed(struct explain_pair *pair, uint64_t skew_ns);
/* Copies the facts about the whole flow into `pair->shown`. */
void explain_pair_conclude(struct explain_pair *pair);

#endif
