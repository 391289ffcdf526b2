/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums of two captures. */
#ifndef NORNIC_EXPLAIN_JOIN_FATE_SUM_H
#define NORNIC_EXPLAIN_JOIN_FATE_SUM_H

#include "explain/join/types.h"

/* Finds the overtaken packets, and adds it all up. 0 or -ENOMEM. */
int join_sum(struct explain_join *j);

#endif
