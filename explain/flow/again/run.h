/* SPDX-License-Identifier: BSD-2-Clause */
/* The run of a recovery: packets sent again PSN by PSN after the first, up to new requests (ROCE-RC-42). */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_RUN_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_RUN_H

#include "explain/flow/again/verdict.h"

/* Returns the cause with which the newest return began. */
enum explain_cause explain_run_root(const struct explain_run *run);
/* Returns whether the packet goes along behind the one that the sender went back to, and the timer did not
 * run out meanwhile: nobody pauses in the middle. */
bool explain_goes_along(const struct explain_case *c);
/* Returns whether the packet may as well go along behind the one before that the sender went back to. */
bool explain_may_go_along(const struct explain_case *c);
/* Returns whether the sender, since the newest packet of this return, had time for an answer that is
 * missing here. */
bool explain_had_time(const struct explain_case *c);
/* Tells of a packet that goes along. */
bool explain_witness_run(const struct explain_case *c, struct explain_verdict *v);

#endif
