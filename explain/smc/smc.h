/* SPDX-License-Identifier: BSD-2-Clause */
/* SMC-R in a capture: link groups, links, RMBs and connections, as CLC and LLC messages name them, followed
 * from packet to packet. Memory is bounded: of what is too much the oldest is forgotten. */
#ifndef NORNIC_EXPLAIN_SMC_SMC_H
#define NORNIC_EXPLAIN_SMC_SMC_H

#include "explain/flow/pair/types.h"

struct explain_smc;

/* Whether a packet is of SMC-R by itself: the first one is what explain_smc_create() is called for, so that a
 * capture without SMC-R costs nothing. */
bool explain_smc_has_layer(const struct explain_packet *packet);

/* NULL: no memory. */
struct explain_smc *explain_smc_create(void);
void explain_smc_destroy(struct explain_smc *smc);

/* A queue pair that begins, as its ends said: [0] is the server's, which speaks first (CONFIRM LINK). */
struct explain_smc_begun {
    struct nornic_addr addr[2];
    uint32_t qpn[2], starting_psn[2];
};

/* Adds to `m`, which says what the packet is to its flow, what it is to SMC-R. `pair` is its queue pair;
 * NULL: it is of none. True: the packet names the second end of a new link, and `*begun` is that. */
bool explain_smc_take(struct explain_smc *smc, struct explain_pair *pair, const struct explain_packet *packet,
                      struct explain_meaning *m, struct explain_smc_begun *begun);

/* The capture ended at `last_ns`: the next request of LLC without its response; false: there is no more. */
bool explain_smc_next_unanswered(struct explain_smc *smc, uint64_t last_ns, struct explain_finding *f);

/* Connections and groups by id 1..count; those that were forgotten are NULL. */
uint32_t explain_smc_conn_count(const struct explain_smc *smc);
const struct explain_smc_conn *explain_smc_get_conn(struct explain_smc *smc, uint32_t id);
uint32_t explain_smc_group_count(const struct explain_smc *smc);
const struct explain_smc_group *explain_smc_get_group(struct explain_smc *smc, uint32_t id);

#endif
