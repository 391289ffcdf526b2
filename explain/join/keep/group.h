/* SPDX-License-Identifier: BSD-2-Clause */
/* Groups of equal packets. */
#ifndef NORNIC_EXPLAIN_JOIN_KEEP_GROUP_H
#define NORNIC_EXPLAIN_JOIN_KEEP_GROUP_H

#include "explain/join/types.h"

/* Puts equal packets together: groups, next. 0 or -ENOMEM. */
int join_group(struct explain_join *j);

#endif
