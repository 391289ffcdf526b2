/* SPDX-License-Identifier: BSD-2-Clause */
/* The ack timer of a sender: its length, as far as that is known, and whether a silence is one of its
 * timeouts. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_TIMER_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_TIMER_H

#include "explain/flow/again/verdict.h"

#define EXPLAIN_SILENCE_NS NS_PER_MS /* shorter ones are no timeouts (ROCE-RC-41: 2^8 * 4.096 us) */

/* Returns the silence that was seen most often; its count is 0: none was. */
const struct explain_silence *explain_timer_usual(const struct explain_half *half);
/* Returns the length of the timer, however it is known; 0: it is not. */
uint64_t explain_timer_known(const struct explain_half *half);
/* Returns how well a silence of `ns` before a packet at `now_ns` fits the timer. */
enum explain_fit explain_timer_fit(const struct explain_half *half, uint64_t ns, uint64_t now_ns);

/* Tells whether the timer ran out. */
bool explain_witness_timer(const struct explain_case *c, struct explain_verdict *v);
/* Tells whether a timer ran out that the request before this one started, and that its answer did not stop.
 * It learns the time that has passed, for the next packet. */
bool explain_witness_stale_timer(const struct explain_case *c, struct explain_verdict *v);

#endif
