/* SPDX-License-Identifier: BSD-2-Clause */
/* How the pairs of explain_flows are stored. */
#ifndef NORNIC_EXPLAIN_FLOW_PAIR_TABLE_H
#define NORNIC_EXPLAIN_FLOW_PAIR_TABLE_H

#include "explain/flow/pair/types.h"

/* The key of a pair: of one direction, its sender's address, its receiver's, and the receiver's QPN. */
struct explain_pair_key {
    struct explain_network network;
    struct nornic_addr src, dst;
    uint32_t qpn;
    uint8_t service;
    uint32_t src_qpn; /* of a datagram, which names it; 0: any */
};

struct explain_pair_key explain_pair_key_of(const struct explain_pair *pair, unsigned direction);
bool explain_pair_is_key(const struct explain_pair *pair, unsigned direction,
                         const struct explain_pair_key *key);
/* The first link of the chain in which pairs with that key stand, the newest first, among others. */
const struct explain_link *explain_pair_chain(const struct explain_flows *flows,
                                              const struct explain_pair_key *key);
/* The newest pair with that key, and the direction; NULL: there is none. */
struct explain_pair *explain_pair_lookup(const struct explain_flows *flows,
                                         const struct explain_pair_key *key, unsigned *direction);
/* Puts a pair into the table by one direction that has a known receiver's QPN; takes it out again. */
void explain_pair_insert(struct explain_flows *flows, struct explain_pair *pair, unsigned direction);
void explain_pair_take_out(struct explain_flows *flows, struct explain_pair *pair, unsigned direction);
/* A new pair of which direction 0 has that key. It is the flows'. NULL: no memory. */
struct explain_pair *explain_pair_create(struct explain_flows *flows, const struct explain_pair_key *key);
/* The pair has something of its own again: it is no other one (explain_pair.same.as). */
void explain_pair_stand_alone(struct explain_flows *flows, struct explain_pair *pair);
/* A packet of the pair came: it is the newest of all, and no other one. */
void explain_pair_touch(struct explain_flows *flows, struct explain_pair *pair);

/* Makes the tables; false: no memory. explain_flows_deinit() after either. */
bool explain_flows_init(struct explain_flows *flows, size_t max_bytes);
void explain_flows_deinit(struct explain_flows *flows);
/* Counts the memory that the pair takes now, after a packet of it (NULL: of no pair), and forgets others if
 * that is too much. */
void explain_flows_settle(struct explain_flows *flows, struct explain_pair *pair);
/* Returns the pair of that index; NULL: there is none, or it was forgotten. */
struct explain_pair *explain_pair_by_index(const struct explain_flows *flows, uint32_t index);

#endif
