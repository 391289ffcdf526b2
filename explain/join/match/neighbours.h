/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes that share an address. */
#ifndef NORNIC_EXPLAIN_JOIN_MATCH_NEIGHBOURS_H
#define NORNIC_EXPLAIN_JOIN_MATCH_NEIGHBOURS_H

#include "explain/join/types.h"

/* An index of the lanes there are; the caller's. NULL: no memory. */
struct join_neighbours *join_neighbours_create(const struct explain_join *j);
void join_neighbours_destroy(struct join_neighbours *neighbours);
/* It is known of this lane where it begins, if it is: those that share an address with it, and so on, learn
 * it. */
void join_tell_neighbours(struct explain_join *j, struct join_neighbours *neighbours, uint32_t lane);

#endif
