/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys of memory objects: 24 bits of index and an 8-bit variant (ROCE-MR-2). Inside rdma/ only. */
#ifndef NORNIC_RDMA_KEY_TABLE_H
#define NORNIC_RDMA_KEY_TABLE_H

#include <stdint.h>

#include "rdma/mem.h"

#define RDMA_KEY_MAX_ENTRIES 0xffffffu /* index 0 is never given, so that no key is 0 */

struct rdma_key_slot {
    void *object;       /* NULL: free */
    uint32_t next_free; /* index, 0: the last one */
    uint8_t variant;    /* low byte of the key given last */
};

/* Indexes 1..max_entries. Those never given so far come first, beginning at a random one; then the ones given
 * back, the longest free first. */
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
int rdma_key_add(struct rdma_key_table *t, void *object, uint32_t *key);
/* `key` is one that rdma_key_add gave and that was not removed since. */
void rdma_key_remove(struct rdma_key_table *t, uint32_t key);
/* The object that `key` names now, or NULL. O(1). */
void *rdma_key_find(const struct rdma_key_table *t, uint32_t key);

#endif
