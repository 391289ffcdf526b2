/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments that the network cut anew. */
#ifndef NORNIC_EXPLAIN_JOIN_MATCH_RECUT_H
#define NORNIC_EXPLAIN_JOIN_MATCH_RECUT_H

#include "explain/join/types.h"

/* Finds the segments that came as parts, or as a part of another. 0 or -ENOMEM. */
int join_match_recut(struct explain_join *j);

#endif
