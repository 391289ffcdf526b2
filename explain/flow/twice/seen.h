/* SPDX-License-Identifier: BSD-2-Clause */
/* The newest packets of a capture, known again by their digests. */
#ifndef NORNIC_EXPLAIN_FLOW_TWICE_SEEN_H
#define NORNIC_EXPLAIN_FLOW_TWICE_SEEN_H

#include "explain/flow/twice/identity.h"

#define EXPLAIN_SEEN_LEAST 64
#define EXPLAIN_SEEN_MOST  65536
#define EXPLAIN_VIEWS_MAX  4

/* A packet that was seen. */
struct explain_seen {
    uint64_t digest, number, time_ns;
    uint32_t flow, way; /* `way`: of its key */
    uint32_t since;     /* the entries that were new before it */
    uint32_t place;     /* by which it is looked for */
    uint32_t views[EXPLAIN_VIEWS_MAX];
    uint16_t counts[EXPLAIN_VIEWS_MAX]; /* how often it was seen there */
    struct explain_view view;           /* the first */
    uint8_t view_count, direction;
};

/* A ring: a new entry takes the place of the oldest once there are EXPLAIN_SEEN_MOST of them. A look for a
 * packet that was not seen, which most are, touches `chains` and `below` only, and there what the packet
 * before it touched, or the next: these are in a processor's cache. Both hold references: 0 is none; else the
 * slot of an entry + 1, and some bits of its digest. */
struct explain_seen_ring {
    struct explain_seen *slots; /* `size` of them, a power of two; the entry numbered s is at s mod size */
    uint32_t *chains;           /* by place: the newest entry */
    uint32_t *below;            /* by slot: the next older entry of the chain */
    uint32_t size;              /* 0: there is no memory for any */
    uint32_t next;              /* sequence number of the next entry */
    bool is_full;               /* and does not grow */
};

/* All zero, it is empty. What it holds takes 5.5 MiB at the most. */
void explain_seen_free(struct explain_seen_ring *ring);

/* The entry with that sequence number, one of the newest `size`. */
static inline struct explain_seen *explain_seen_at(const struct explain_seen_ring *ring, uint32_t seq)
{
    return &ring->slots[seq & (ring->size - 1)];
}

/* The newest entry of that packet, and its sequence number; NULL: there is none. */
struct explain_seen *explain_seen_find(const struct explain_seen_ring *ring,
                                       const struct explain_identity *identity, uint32_t *seq);

/* A new entry, empty but for digest, place and way; its sequence number is that before `next`. NULL: no
 * memory. */
struct explain_seen *explain_seen_add(struct explain_seen_ring *ring,
                                      const struct explain_identity *identity);

#endif
