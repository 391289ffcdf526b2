/* SPDX-License-Identifier: BSD-2-Clause */
/* The path MTU of a pair, and what depends on it: how many PSNs a READ takes. Inside explain/flow/. */
#ifndef NORNIC_EXPLAIN_FLOW_PMTU_H
#define NORNIC_EXPLAIN_FLOW_PMTU_H

#include "explain/flow/flow.h"

/* A first or middle packet carries one path MTU (ROCE-OPC-2): READs of which that was not known are put
 * right. */
void explain_pmtu_learn(struct explain_pair *pair, const struct roce_pkt *pkt);
/* The request with that PSN is behind a READ of which is guessed how many PSNs it takes. */
void explain_pmtu_resolve(struct explain_pair *pair, struct explain_half *half, uint32_t psn);

#endif
