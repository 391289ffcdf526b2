/* SPDX-License-Identifier: BSD-2-Clause */
/* What a direction carried, each byte once: which PSNs brought their payload already. Requests and answers to
 * READs have PSNs of one space, so that one map serves both, whatever was lost, sent again, copied or
 * overtaken. */
#ifndef NORNIC_EXPLAIN_FLOW_CARRIED_H
#define NORNIC_EXPLAIN_FLOW_CARRIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "explain/packet/packet.h"

struct explain_meaning;
struct explain_pair;

/* All 0: nothing came yet. */
struct explain_carried {
    uint64_t *map;             /* a ring of `bits` bits, by PSN; NULL: `few` serves */
    uint64_t few;              /* of the first 64 PSNs */
    uint32_t bits;             /* a power of two; 0: none yet */
    uint32_t low_psn, end_psn; /* the map knows these PSNs, the second not among them */
    uint64_t bytes, requests;
};

/* Takes a packet of the pair that was judged: payload that comes for the first time counts for the end that
 * asked, `asker` (as of directions), and is said in the meaning. */
void explain_carried_take(struct explain_pair *pair, unsigned asker, const struct explain_packet *packet,
                          struct explain_meaning *m);
/* The same of a datagram, which is sent once. */
void explain_carried_datagram(struct explain_pair *pair, unsigned sender, const struct explain_packet *packet,
                              struct explain_meaning *m);

/* Memory behind it, and giving it back. */
size_t explain_carried_bytes(const struct explain_carried *c);
void explain_carried_free(struct explain_carried *c);

#endif
