/* SPDX-License-Identifier: BSD-2-Clause */
/* What two captures add up to. */
#ifndef NORNIC_EXPLAIN_JOIN_FATE_SUM_H
#define NORNIC_EXPLAIN_JOIN_FATE_SUM_H

#include "explain/join/types.h"

/* Finds what was overtaken, and adds it all up. 0 or -ENOMEM. */
int join_sum(struct explain_join *j);

#endif
