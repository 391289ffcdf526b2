/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of memory objects: 24 bits of index and an 8-bit variant (ROCE-MR-2). Inside rdma/ only. */
#ifndef NORNIC_RDMA_KEY_TABLE_H
#define NORNIC_RDMA_KEY_TABLE_H

#include <stdint.h>

#include "rdma/mem.h"

#define RDMA_KEY_MAX_ENTRIES 0xffffffu /* index 0 is never given, so that no key is 0 */

/* What a key names: a struct rdma_mr or a struct rdma_mw. */
enum rdma_key_kind { RDMA_KEY_MR, RDMA_KEY_MW };

struct rdma_key_slot {
    void *object;       /* NULL: free */
    uint32_t next_free; /* index, 0: the last one */
    uint8_t variant;    /* low byte of the key in force, or given last */
    uint8_t kind;       /* enum rdma_key_kind */
};

/* Indexes 1..max_entries. Those never given so far come first, beginning at a random one; then the ones
 * given back, the longest free first. */
struct rdma_key_table {
    struct rdma_key_slot *slots;
    struct rdma_random random;
    uint32_t max_entries;
    uint32_t first_index; /* where the never given ones begin */
    uint32_t fresh_used;  /* how many of them were given */
    uint32_t free_head, free_tail;
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
/* The object of that kind that `key` names now, or NULL. O(1). */
void *rdma_key_find(const struct rdma_key_table *t, enum rdma_key_kind kind, uint32_t key);
/* The same whatever the low byte of `key`: for those who are about to change it. */
void *rdma_key_owner(const struct rdma_key_table *t, enum rdma_key_kind kind, uint32_t key);

#endif
