/* SPDX-License-Identifier: BSD-2-Clause */
/* Gaps of a capture: answers show that packets arrived which the capture lacks. */
#ifndef NORNIC_EXPLAIN_FLOW_GAP_H
#define NORNIC_EXPLAIN_FLOW_GAP_H

#include "explain/flow/pair/types.h"

/* An answer, number `answer`, covers the newest gap of the half, if it has one that no answer has covered
 * before: the packets of it that are not here arrived all the same. `pkt` is that answer; NULL: it is one
 * that came before. */
void explain_gap_judge(struct explain_half *half, uint64_t answer, const struct roce_pkt *pkt,
                       struct explain_meaning *m);

#endif
