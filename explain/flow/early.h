/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that come before their questions. Inside explain/flow/ and for explain/analysis.c.
 *
 * An ACK of a PSN that was not sent so far may be one of three. A requester ignores an answer to what it has
 * not sent (ROCE-RC-30), and nothing follows from it. The capture may have missed the request: then the
 * sender goes on behind it. Or the request comes later: the records are out of order, or the clocks of the
 * two directions differ, as where the captures of two NICs were merged. So the answer is kept until that
 * shows. */
#ifndef NORNIC_EXPLAIN_FLOW_EARLY_H
#define NORNIC_EXPLAIN_FLOW_EARLY_H

#include "explain/flow/pair/types.h"

/* Takes an answer to what the half has not sent so far: it says so in `m`, and does not move the edge of what
 * is acknowledged. `is_ours`: as far as ports and others tell it answers this half. False: it is none, and
 * another is to take it. */
bool explain_early_take(struct explain_half *half, const struct explain_packet *packet, bool is_ours,
                        struct explain_meaning *m);
/* Keeps an answer of any kind to what the half has not sent so far, until that comes. */
void explain_early_keep(struct explain_half *half, const struct explain_packet *packet, bool is_ours);
/* A request with a new PSN came, and the PSNs from `from_psn` on before it were left out. What was answered
 * before is acknowledged now. Returns the number of an answer that covers all that was left out; 0: none
 * came. */
uint64_t explain_early_settle(struct explain_pair *pair, unsigned direction,
                              const struct explain_packet *packet, uint32_t from_psn,
                              struct explain_meaning *m);
/* The capture ends: the next answer from place *at on (0 for the first) to what never was sent. False: there
 * is no more. */
bool explain_early_left(const struct explain_half *half, unsigned *at, struct explain_finding *finding);

#endif
