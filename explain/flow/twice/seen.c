/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/twice/seen.h"

#include <stdlib.h>
#include <string.h>

#define SLOT_BITS 17 /* of a reference: up to EXPLAIN_SEEN_MOST */
#define GROWTH    4

static uint32_t slot_of(uint32_t ref)
{
    return (ref & ((1u << SLOT_BITS) - 1)) - 1;
}

static uint32_t tag_of(uint64_t digest)
{
    return (uint32_t)(digest >> (32 + SLOT_BITS));
}

static uint32_t *chain_of(const struct explain_seen_ring *ring, uint32_t place)
{
    return &ring->chains[place & (ring->size - 1)];
}

static void hang(struct explain_seen_ring *ring, uint32_t slot)
{
    uint32_t *chain = chain_of(ring, ring->slots[slot].place);
    ring->below[slot] = *chain;
    *chain = tag_of(ring->slots[slot].digest) << SLOT_BITS | (slot + 1);
}

/* It is the oldest, and so the last of its chain. */
static void unhang(struct explain_seen_ring *ring, uint32_t slot)
{
    uint32_t *at = chain_of(ring, ring->slots[slot].place);
    while (*at && slot_of(*at) != slot)
        at = &ring->below[slot_of(*at)];
    *at = 0;
}

/* The entries, which fill it, keep their slots. */
static bool grow(struct explain_seen_ring *ring)
{
    uint32_t size = ring->size ? GROWTH * ring->size : EXPLAIN_SEEN_LEAST, before = ring->size;
    struct explain_seen *slots = realloc(ring->slots, size * sizeof *slots);
    ring->slots = slots ? slots : ring->slots;
    uint32_t *chains = calloc(size, sizeof *chains), *below = calloc(size, sizeof *below);
    if (!slots || !chains || !below) {
        free(chains);
        free(below);
        return false;
    }
    free(ring->chains);
    free(ring->below);
    ring->chains = chains;
    ring->below = below;
    ring->size = size;
    for (uint32_t slot = 0; slot < before; slot++)
        hang(ring, slot);
    return true;
}

struct explain_seen *explain_seen_find(const struct explain_seen_ring *ring,
                                       const struct explain_identity *id, uint32_t *seq)
{
    uint32_t tag = tag_of(id->digest), newest = ring->next - 1;
    if (ring->size == 0)
        return NULL;
    for (uint32_t ref = *chain_of(ring, id->place); ref; ref = ring->below[slot_of(ref)]) {
        uint32_t slot = slot_of(ref);
        if (ref >> SLOT_BITS != tag || ring->slots[slot].digest != id->digest)
            continue;
        *seq = newest - ((newest - slot) & (ring->size - 1));
        return &ring->slots[slot];
    }
    return NULL;
}

struct explain_seen *explain_seen_add(struct explain_seen_ring *ring, const struct explain_identity *id)
{
    if (ring->next == ring->size && !ring->is_full)
        ring->is_full = ring->size == EXPLAIN_SEEN_MOST || !grow(ring);
    if (ring->size == 0)
        return NULL;
    uint32_t slot = ring->next++ & (ring->size - 1);
    if (ring->is_full)
        unhang(ring, slot);
    ring->slots[slot] =
        (struct explain_seen){.digest = id->digest, .place = id->place, .way = (uint32_t)(id->way >> 32)};
    hang(ring, slot);
    return &ring->slots[slot];
}

void explain_seen_free(struct explain_seen_ring *ring)
{
    free(ring->slots);
    free(ring->chains);
    free(ring->below);
    *ring = (struct explain_seen_ring){0};
}
