/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/memory/key_table.h"

#include <assert.h>
#include <errno.h>

#define KEY_VARIANT_BITS 8
#define VARIANTS         256u
#define VARIANT_MASK     (VARIANTS - 1)

int rdma_key_table_init(struct rdma_key_table *t, const struct rdma_mem *mem,
                        const struct rdma_random *random, uint32_t max_entries)
{
    if (max_entries == 0 || max_entries > RDMA_KEY_MAX_ENTRIES)
        return -EINVAL;
    *t = (struct rdma_key_table){.random = *random, .max_entries = max_entries};
    t->slots = mem->alloc(mem->ctx, (size_t)max_entries * sizeof t->slots[0]);
    if (!t->slots)
        return -ENOMEM;
    t->first_slot = (uint32_t)(random->next(random->ctx) % max_entries);
    rdma_slot_numbers_init(&t->indexes, random, max_entries, 1, RDMA_KEY_MAX_ENTRIES);
    rdma_numbers_init(&t->variants, random, VARIANTS);
    return 0;
}

void rdma_key_table_deinit(struct rdma_key_table *t, const struct rdma_mem *mem)
{
    mem->free(mem->ctx, t->slots);
}

static uint32_t slot_of(const struct rdma_key_table *t, uint32_t key)
{
    return rdma_number_slot(&t->indexes, key >> KEY_VARIANT_BITS);
}

/* Each slot walks through the variants in an order of its own. */
static uint8_t next_variant(const struct rdma_key_table *t, uint32_t slot, uint8_t variant)
{
    uint8_t salt = (uint8_t)rdma_number_of(&t->variants, (slot * UINT32_C(0x9e3779b1)) >> 24);
    uint32_t place = rdma_number_place(&t->variants, variant ^ salt);
    return (uint8_t)(rdma_number_of(&t->variants, (place + 1) % VARIANTS) ^ salt);
}

/* The slot whose turn it is, or UINT32_MAX. */
static uint32_t take_slot(struct rdma_key_table *t)
{
    if (t->fresh_used < t->max_entries) {
        uint32_t slot = (uint32_t)(((uint64_t)t->first_slot + t->fresh_used++) % t->max_entries);
        t->slots[slot].key = (uint8_t)t->random.next(t->random.ctx);
        return slot;
    }
    uint32_t slot = t->free_head - 1;
    if (t->free_head != 0)
        t->free_head = t->slots[slot].next_free;
    return slot;
}

int rdma_key_add(struct rdma_key_table *t, enum rdma_key_kind kind, void *object, uint32_t *key)
{
    uint32_t at = take_slot(t);
    if (at == UINT32_MAX)
        return -ENOSPC;
    struct rdma_key_slot *slot = &t->slots[at];
    slot->object = object;
    slot->kind = (uint8_t)kind;
    slot->key = rdma_slot_number(&t->indexes, at, slot->uses++) << KEY_VARIANT_BITS |
                next_variant(t, at, (uint8_t)slot->key);
    *key = slot->key;
    return 0;
}

void rdma_key_remove(struct rdma_key_table *t, uint32_t key)
{
    uint32_t at = slot_of(t, key);
    assert(at < t->max_entries && t->slots[at].object);
    t->slots[at].object = NULL;
    t->slots[at].next_free = 0;
    if (t->free_head == 0)
        t->free_head = at + 1;
    else
        t->slots[t->free_tail - 1].next_free = at + 1;
    t->free_tail = at + 1;
}

void rdma_key_change(struct rdma_key_table *t, uint32_t key)
{
    t->slots[slot_of(t, key)].key = key;
}

uint32_t rdma_key_next(const struct rdma_key_table *t, uint32_t key)
{
    return (key & ~(uint32_t)VARIANT_MASK) | next_variant(t, slot_of(t, key), (uint8_t)key);
}

static void *object_at(const struct rdma_key_table *t, uint32_t at, enum rdma_key_kind kind, uint32_t key)
{
    if (at >= t->max_entries || t->slots[at].key != key || t->slots[at].kind != kind)
        return NULL;
    return t->slots[at].object;
}

/* Finds an object that was not found lately. Apart, as its call would slow down the path of each packet. */
static __attribute__((noinline)) void *find_anew(const struct rdma_key_table *t, enum rdma_key_kind kind,
                                                 uint32_t key)
{
    return object_at(t, rdma_number_slot_anew(&t->indexes, key >> KEY_VARIANT_BITS), kind, key);
}

void *rdma_key_find(const struct rdma_key_table *t, enum rdma_key_kind kind, uint32_t key)
{
    uint32_t at = rdma_number_slot_recent(&t->indexes, key >> KEY_VARIANT_BITS);
    return at != UINT32_MAX ? object_at(t, at, kind, key) : find_anew(t, kind, key);
}

void *rdma_key_owner(const struct rdma_key_table *t, enum rdma_key_kind kind, uint32_t key)
{
    uint32_t at = slot_of(t, key);
    if (at >= t->max_entries || (t->slots[at].key ^ key) & ~(uint32_t)VARIANT_MASK ||
        t->slots[at].kind != kind)
        return NULL;
    return t->slots[at].object;
}
