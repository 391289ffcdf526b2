/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes: all packets from one address to another. */
#ifndef NORNIC_EXPLAIN_JOIN_KEEP_LANE_H
#define NORNIC_EXPLAIN_JOIN_KEEP_LANE_H

#include "explain/join/types.h"

/* The lane between these addresses, of TCP or of everything else; JOIN_NONE: no memory. */
uint32_t join_lane_of(struct explain_join *j, const struct nornic_addr *src, const struct nornic_addr *dst,
                      bool is_tcp);
/* Lets go of the lanes that no packet is of. 0 or -ENOMEM. */
int join_drop_lanes(struct explain_join *j);
/* Makes room for what is known of that stream. 0 or -ENOMEM. */
int join_know_stream(struct join_side *s, uint32_t stream);

#endif
