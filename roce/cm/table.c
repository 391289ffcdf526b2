/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/cm/table.h"

#include <errno.h>
#include <string.h>

#define BUCKETS_MAX 4096

static struct roce_cm_link **bucket(const struct roce_cm_table *table, const struct roce_cm_key *key)
{
    uint64_t h = table->salt;
    for (unsigned i = 0; i < 3; i++) { /* the mixer of splitmix64 */
        h = (h ^ key->word[i]) + UINT64_C(0x9e3779b97f4a7c15);
        h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
        h ^= h >> 31;
    }
    return &table->buckets[h & table->mask];
}

int roce_cm_table_init(struct roce_cm_table *table, const struct rdma_mem *mem, uint32_t capacity,
                       uint64_t salt)
{
    uint32_t buckets = 16;
    while (buckets < capacity && buckets < BUCKETS_MAX)
        buckets *= 2;
    table->mask = buckets - 1;
    table->salt = salt;
    table->buckets = mem->alloc(mem->ctx, buckets * sizeof(struct roce_cm_link *));
    return table->buckets ? 0 : -ENOMEM;
}

void roce_cm_table_deinit(struct roce_cm_table *table, const struct rdma_mem *mem)
{
    mem->free(mem->ctx, table->buckets);
    table->buckets = NULL;
}

void roce_cm_table_add(struct roce_cm_table *table, struct roce_cm_link *link, struct roce_cm_key key,
                       struct roce_cm_id *id)
{
    link->key = key;
    link->id = id;
    struct roce_cm_link **head = bucket(table, &link->key);
    link->next = *head;
    *head = link;
}

void roce_cm_table_remove(struct roce_cm_table *table, struct roce_cm_link *link)
{
    if (!link->id)
        return;
    struct roce_cm_link **at = bucket(table, &link->key);
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    link->id = NULL;
}

struct roce_cm_id *roce_cm_table_find(const struct roce_cm_table *table, struct roce_cm_key key)
{
    struct roce_cm_link *link = *bucket(table, &key);
    while (link && memcmp(&link->key, &key, sizeof key) != 0)
        link = link->next;
    return link ? link->id : NULL;
}

static void words_of(const struct nornic_addr *addr, uint64_t *words)
{
    memcpy(words, addr->b, sizeof addr->b);
}

struct roce_cm_key roce_cm_service_key(uint64_t service_id, const struct nornic_addr *addr)
{
    struct roce_cm_key key = {{service_id}};
    words_of(addr, key.word + 1);
    return key;
}

struct roce_cm_key roce_cm_peer_key(uint64_t guid, uint32_t comm_id)
{
    return (struct roce_cm_key){{guid, comm_id, 0}};
}

struct roce_cm_key roce_cm_sidr_key(const struct nornic_addr *peer, uint32_t request_id)
{
    struct roce_cm_key key = {{request_id}};
    words_of(peer, key.word + 1);
    return key;
}

struct roce_cm_key roce_cm_qpn_key(uint64_t guid, uint32_t qpn)
{
    return (struct roce_cm_key){{guid, qpn, 0}};
}
