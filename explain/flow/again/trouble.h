/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that make a sender send again: NAKs, RNR NAKs, and answers that skip another. */
#ifndef NORNIC_EXPLAIN_FLOW_AGAIN_TROUBLE_H
#define NORNIC_EXPLAIN_FLOW_AGAIN_TROUBLE_H

#include "explain/flow/again/verdict.h"

/* Notes an answer that asks for all from trouble->psn on. `is_over` and the packet's number and time are
 * filled in. */
void explain_note_trouble(struct explain_half *half, const struct explain_packet *packet,
                          struct explain_trouble trouble);
/* Returns whether a packet at `time_ns` was on its way before the sender can have reacted to `t`. */
bool explain_trouble_is_in_flight(const struct explain_half *half, const struct explain_trouble *t,
                                  uint64_t time_ns);
/* Returns the newest answer that asks for the packet, or for one before it, since the copy before; of those
 * that skip the same, the oldest. NULL: none does. */
const struct explain_trouble *explain_trouble_of(const struct explain_case *c);
/* Returns the number of the NAK that asks for that very packet; 0: none does. */
uint64_t explain_trouble_nak(const struct explain_case *c);
/* Judges troubles after everything before `end_psn` was acknowledged: what NAKs before that had asked for
 * was late, or lost. */
void explain_trouble_judge(struct explain_half *half, uint64_t now_ns, uint32_t end_psn);
/* Returns whether an RNR NAK behind packet `number`, a copy of that PSN, refused it: its sender had to send
 * another. */
bool explain_was_refused(const struct explain_half *half, uint32_t psn, uint64_t number);
/* Returns whether one of the newest answers was a NAK that asks for that very PSN. */
bool explain_is_named(const struct explain_half *half, uint32_t psn);
/* Returns the RNR NAK that refused that PSN, if nothing has been sent for it yet; NULL: none did. */
const struct explain_trouble *explain_waits_for_receive(const struct explain_half *half, uint32_t psn);

/* Tells which answer the sender went back for. */
bool explain_witness_trouble(const struct explain_case *c, struct explain_verdict *v);

#endif
