/* SPDX-License-Identifier: BSD-2-Clause */
/* READs and atomics that are asked for again, as an answer skips theirs. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_SKIP_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_SKIP_H

#include "explain/flow/again/verdict.h"

/* Returns whether an answer came since the copy before, to a request that an answer which skips it would
 * make the sender repeat. */
bool explain_may_be_skipped(const struct explain_case *c);
/* Returns whether a READ or an atomic was answered at this PSN, and something behind it too. */
bool explain_was_answered_beyond(const struct explain_case *c);
/* Tells a skip by the request alone. A capture that was taken behind the place of the loss lacks no answer:
 * the READ is asked for again although it was answered, and sooner than a timer would. */
bool explain_witness_skip(const struct explain_case *c, struct explain_verdict *v);

#endif
