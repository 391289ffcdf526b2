/* SPDX-License-Identifier: BSD-2-Clause */
/* Equal packets, told apart. */
#ifndef NORNIC_EXPLAIN_JOIN_MATCH_MATCH_H
#define NORNIC_EXPLAIN_JOIN_MATCH_MATCH_H

#include "explain/join/types.h"

/* Finds out which of equal packets is which, and which are copies. 0 or -ENOMEM. */
int join_match(struct explain_join *j);

#endif
