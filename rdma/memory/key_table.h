/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of memory objects: 24 bits of index, drawn anew at each use of a slot, and an 8-bit variant
 * (ROCE-MR-2). Inside rdma/ only. */
#ifndef NORNIC_RDMA_KEY_TABLE_H
#define NORNIC_RDMA_KEY_TABLE_H

#include <stdint.h>

#include "rdma/numbers.h"

#define RDMA_KEY_MAX_ENTRIES 0xffffffu /* index 0 is never given, so that no key is 0 */

/* What a key names: a struct rdma_mr or a struct rdma_mw. */
enum rdma_key_kind { RDMA_KEY_MR, RDMA_KEY_MW };

struct rdma_key_slot {
    void *object;       /* NULL: free */
    uint32_t next_free; /* slot + 1, 0: the last one */
    uint32_t key;       /* in force, or given last */
    uint32_t uses;      /* so far */
    uint8_t kind;       /* enum rdma_key_kind */
};

/* Slots 0..max_entries - 1. Fresh slots come first, beginning at a random one; then the slots given back, the
 * longest free first. */
struct rdma_key_table {
    struct rdma_key_slot *slots;
    struct rdma_random random;
    struct rdma_slot_numbers indexes;
    struct rdma_numbers variants; /* of 256: the order in which a slot takes them */
    uint32_t max_entries;
    uint32_t first_slot;           /* the first fresh slot */
    uint32_t fresh_used;           /* fresh slots given so far */
    uint32_t free_head, free_tail; /* slot + 1 */
};

/* 0, -EINVAL (max_entries not in 1..RDMA_KEY_MAX_ENTRIES) or -ENOMEM. Keeps a copy of `random`. */
int rdma_key_table_init(struct rdma_key_table *t, const struct rdma_mem *mem,
                        const struct rdma_random *random, uint32_t max_entries);
void rdma_key_table_deinit(struct rdma_key_table *t, const struct rdma_mem *mem);

/* A new key for `object` (not NULL; kept until rdma_key_remove). 0 or -ENOSPC. */
int rdma_key_add(struct rdma_key_table *t, enum rdma_key_kind kind, void *object, uint32_t *key);
/* `key` is one that rdma_key_add gave and that was not removed since; its low byte does not matter. */
void rdma_key_remove(struct rdma_key_table *t, uint32_t key);
/* Gives the object of that index the low byte of `key`: the old key names nothing any more. */
void rdma_key_change(struct rdma_key_table *t, uint32_t key);
/* Returns the key that follows `key`, which names an object: another low byte. 256 steps lead through all. */
uint32_t rdma_key_next(const struct rdma_key_table *t, uint32_t key);
/* The object of that kind that `key` names now, or NULL. O(1). */
void *rdma_key_find(const struct rdma_key_table *t, enum rdma_key_kind kind, uint32_t key);
/* The same whatever the low byte of `key`, for a caller that is about to change it. */
void *rdma_key_owner(const struct rdma_key_table *t, enum rdma_key_kind kind, uint32_t key);

#endif
