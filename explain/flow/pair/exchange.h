/* SPDX-License-Identifier: BSD-2-Clause */
/* Which directions belong together, put right. */
#ifndef NORNIC_EXPLAIN_FLOW_PAIR_EXCHANGE_H
#define NORNIC_EXPLAIN_FLOW_PAIR_EXCHANGE_H

#include "explain/flow/pair/types.h"

/* Exchanges the QPN at end `a_end` of `a`, with all that was sent to it, for those at end `b_end` of `b`. A
 * pair of which nothing is left is the other one from now on (explain_pair.same.as). flows->exchanged says
 * what was done. */
void explain_pair_exchange(struct explain_flows *flows, struct explain_pair *a, unsigned a_end,
                           struct explain_pair *b, unsigned b_end);

#endif
