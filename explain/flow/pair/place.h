/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a capture was taken, seen from a flow. Inside explain/flow/ and for explain/analysis.c. */
#ifndef NORNIC_EXPLAIN_FLOW_PAIR_PLACE_H
#define NORNIC_EXPLAIN_FLOW_PAIR_PLACE_H

#include "explain/flow/pair/types.h"

/* A packet that the end of `direction` sent was lost before it came to the capture. */
void explain_note_lost_before(struct explain_pair *pair, unsigned direction);
/* The clocks of the two directions of the pair were seen to differ by so much or more. */
void explain_pair_skewed(struct explain_pair *pair, uint64_t skew_ns);
/* What is known of the flow as a whole goes into what the public sees of it. */
void explain_pair_conclude(struct explain_pair *pair);

#endif
