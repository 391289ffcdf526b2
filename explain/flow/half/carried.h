/* SPDX-License-Identifier: BSD-2-Clause */
/* The bytes that a direction carried, each counted once, by the PSNs that brought a payload. Requests and
 * answers to READs share one PSN space, so one map serves both. Loss, repeats, copies and reordering do not
 * matter. */
#ifndef NORNIC_EXPLAIN_FLOW_HALF_CARRIED_H
#define NORNIC_EXPLAIN_FLOW_HALF_CARRIED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct roce_pkt;

/* All 0: nothing came yet. */
struct explain_carried {
    uint64_t *map;             /* a ring of `bits` bits, by PSN; NULL: `few` serves */
    uint64_t few;              /* of the first 64 PSNs */
    uint32_t bits;             /* a power of two; 0: none yet */
    uint32_t low_psn, end_psn; /* the map knows these PSNs, the second not among them */
    uint64_t bytes, requests;
};

/* Counts a packet. Returns how many bytes of its payload come for the first time. */
uint32_t explain_carried_take(struct explain_carried *c, const struct roce_pkt *pkt);
/* Returns the memory behind it, and releases that memory. */
size_t explain_carried_bytes(const struct explain_carried *c);
void explain_carried_free(struct explain_carried *c);

#endif
