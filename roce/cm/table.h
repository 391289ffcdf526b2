/* SPDX-License-Identifier: BSD-2-Clause */
/* Hash tables of links that are embedded in what they find. The hash is salted: peers choose the keys. */
#ifndef NORNIC_ROCE_CM_TABLE_H
#define NORNIC_ROCE_CM_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/addr.h"
#include "rdma/mem.h"

struct roce_cm_id;

struct roce_cm_key {
    uint64_t word[3];
};

/* All zero: in no table. */
struct roce_cm_link {
    struct roce_cm_link *next;
    struct roce_cm_id *id; /* NULL: in no table */
    struct roce_cm_key key;
};

struct roce_cm_table {
    struct roce_cm_link **buckets;
    uint32_t mask;
    uint64_t salt;
};

/* A table for about `capacity` links. 0 or -ENOMEM. */
int roce_cm_table_init(struct roce_cm_table *table, const struct rdma_mem *mem, uint32_t capacity,
                       uint64_t salt);
void roce_cm_table_deinit(struct roce_cm_table *table, const struct rdma_mem *mem);

/* `link` is in no table. */
void roce_cm_table_add(struct roce_cm_table *table, struct roce_cm_link *link, struct roce_cm_key key,
                       struct roce_cm_id *id);
/* Fine when it is in no table. */
void roce_cm_table_remove(struct roce_cm_table *table, struct roce_cm_link *link);

/* Who has that key, or NULL. */
struct roce_cm_id *roce_cm_table_find(const struct roce_cm_table *table, struct roce_cm_key key);

/* What ids are found by. */
struct roce_cm_key roce_cm_service_key(uint64_t service_id, const struct nornic_addr *addr);
struct roce_cm_key roce_cm_peer_key(uint64_t guid, uint32_t comm_id);
struct roce_cm_key roce_cm_sidr_key(const struct nornic_addr *peer, uint32_t request_id);
struct roce_cm_key roce_cm_qpn_key(uint64_t guid, uint32_t qpn);

#endif
