/* SPDX-License-Identifier: BSD-2-Clause */
/* The order of packets, as far as it tells them apart. */
#ifndef NORNIC_EXPLAIN_JOIN_MATCH_ORDER_H
#define NORNIC_EXPLAIN_JOIN_MATCH_ORDER_H

#include "explain/join/types.h"

/* Finds out more of what join_match() left open, by the order of the packets around it. */
void join_settle(struct explain_join *j);

#endif
