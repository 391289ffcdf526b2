/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/memory/key_table.h"

#include <assert.h>
#include <errno.h>

#define KEY_VARIANT_BITS 8

int rdma_key_table_init(struct rdma_key_table *t, const struct rdma_mem *mem,
                        const struct rdma_random *random, uint32_t max_entries)
{
    if (max_entries == 0 || max_entries > RDMA_KEY_MAX_ENTRIES)
        return -EINVAL;
    *t = (struct rdma_key_table){.random = *random, .max_entries = max_entries};
    t->slots = mem->alloc(mem->ctx, ((size_t)max_entries + 1) * sizeof t->slots[0]);
    if (!t->slots)
        return -ENOMEM;
    t->first_index = 1 + (uint32_t)(random->next(random->ctx) % max_entries);
    return 0;
}

void rdma_key_table_deinit(struct rdma_key_table *t, const struct rdma_mem *mem)
{
    mem->free(mem->ctx, t->slots);
}

/* The index whose turn it is, or 0. */
static uint32_t take_index(struct rdma_key_table *t)
{
    if (t->fresh_used < t->max_entries) {
        uint32_t index = 1 + (t->first_index - 1 + t->fresh_used++) % t->max_entries;
        t->slots[index].variant = (uint8_t)t->random.next(t->random.ctx);
        return index;
    }
    uint32_t index = t->free_head;
    if (index != 0)
        t->free_head = t->slots[index].next_free;
    return index;
}

int rdma_key_add(struct rdma_key_table *t, enum rdma_key_kind kind, void *object, uint32_t *key)
{
    uint32_t index = take_index(t);
    if (index == 0)
        return -ENOSPC;
    struct rdma_key_slot *slot = &t->slots[index];
    slot->object = object;
    slot->kind = (uint8_t)kind;
    slot->variant++;
    *key = index << KEY_VARIANT_BITS | slot->variant;
    return 0;
}

void rdma_key_remove(struct rdma_key_table *t, uint32_t key)
{
    uint32_t index = key >> KEY_VARIANT_BITS;
    assert(index != 0 && index <= t->max_entries && t->slots[index].object);
    t->slots[index].object = NULL;
    t->slots[index].next_free = 0;
    if (t->free_head == 0)
        t->free_head = index;
    else
        t->slots[t->free_tail].next_free = index;
    t->free_tail = index;
}

void rdma_key_change(struct rdma_key_table *t, uint32_t key)
{
    t->slots[key >> KEY_VARIANT_BITS].variant = (uint8_t)key;
}

void *rdma_key_find(const struct rdma_key_table *t, enum rdma_key_kind kind, uint32_t key)
{
    void *object = rdma_key_owner(t, kind, key);
    return object && t->slots[key >> KEY_VARIANT_BITS].variant == (uint8_t)key ? object : NULL;
}

void *rdma_key_owner(const struct rdma_key_table *t, enum rdma_key_kind kind, uint32_t key)
{
    uint32_t index = key >> KEY_VARIANT_BITS;
    if (index > t->max_entries || t->slots[index].kind != kind)
        return NULL;
    return t->slots[index].object;
}
