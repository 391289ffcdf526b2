/* SPDX-License-Identifier: BSD-2-Clause */
/* The pair that a packet belongs to. */
#ifndef NORNIC_EXPLAIN_FLOW_PAIR_FIND_H
#define NORNIC_EXPLAIN_FLOW_PAIR_FIND_H

#include "explain/flow/pair/types.h"

/* Returns the pair that a packet belongs to, and its direction; a new pair is made. Responses and CNPs find
 * the pair whose other end they are for. NULL: no memory. */
struct explain_pair *explain_pair_of(struct explain_flows *flows, const struct explain_packet *packet,
                                     unsigned *direction);
/* Returns the pair that a datagram belongs to: both QPNs are in it. NULL: no memory. */
struct explain_pair *explain_pair_of_datagram(struct explain_flows *flows,
                                              const struct explain_packet *packet, unsigned *direction);
/* Returns the pair of that service to which the packet's destination QP belongs, the newest of several that
 * use it one after the other; NULL: none is known. */
struct explain_pair *explain_pair_find(struct explain_flows *flows, const struct explain_packet *packet,
                                       uint8_t service, unsigned *direction);
/* Returns a new pair of which both ends are known; [0] is the end that speaks first. NULL: no memory. */
struct explain_pair *explain_pair_know(struct explain_flows *flows, const struct explain_network *network,
                                       const struct nornic_addr addr[2], const uint32_t qpn[2],
                                       uint8_t service);

#endif
