/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that came damaged. */
#ifndef NORNIC_EXPLAIN_JOIN_MATCH_DAMAGED_H
#define NORNIC_EXPLAIN_JOIN_MATCH_DAMAGED_H

#include "explain/join/types.h"

/* Finds the packets that came damaged among those that are missing. 0 or -ENOMEM. */
int join_match_damaged(struct explain_join *j);

#endif
