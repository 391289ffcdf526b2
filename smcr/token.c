/* SPDX-License-Identifier: BSD-2-Clause */
/* Alert tokens: an index and the generation of its use, so that a late message for a connection that is over
 * finds none (SMCR-CLC-37, CDC-06, RMB-12). A permutation of the group hides both. A free index is taken
 * again as late as possible. */
#include <string.h>

#include "rdma/numbers.h"
#include "smcr/conn/conn.h"

#define FIRST_SLOTS 16
#define MAX_SLOTS   65536u

struct slot {
    struct smcr_conn *conn; /* NULL: free */
    uint32_t token;         /* of this use */
    uint32_t uses;          /* so far */
    uint32_t next_free;     /* index + 1; 0: the last */
};

struct smcr_token_table {
    struct slot *slots;
    struct rdma_slot_numbers tokens; /* not 0, which is no token */
    uint32_t size;
    uint32_t first_free, last_free; /* index + 1; 0: none */
};

static struct smcr_token_table *table_of(struct smcr_group *group)
{
    struct smcr *smcr = group->smcr;
    if (!group->tokens) {
        group->tokens = smcr->mem.alloc(smcr->mem.ctx, sizeof *group->tokens);
        if (group->tokens)
            rdma_slot_numbers_init(&group->tokens->tokens, &smcr->config.random, MAX_SLOTS, 1, UINT32_MAX);
    }
    return group->tokens;
}

static void free_slot(struct smcr_token_table *table, uint32_t index)
{
    table->slots[index].conn = NULL;
    table->slots[index].next_free = 0;
    if (table->last_free)
        table->slots[table->last_free - 1].next_free = index + 1;
    else
        table->first_free = index + 1;
    table->last_free = index + 1;
}

static bool grow(struct smcr_group *group, struct smcr_token_table *table)
{
    struct rdma_mem *mem = &group->smcr->mem;
    uint32_t size = table->size ? 2 * table->size : FIRST_SLOTS;
    if (size > MAX_SLOTS)
        return false;
    struct slot *slots = mem->alloc(mem->ctx, size * sizeof *slots);
    if (!slots)
        return false;
    if (table->slots)
        memcpy(slots, table->slots, table->size * sizeof *slots);
    mem->free(mem->ctx, table->slots);
    table->slots = slots;
    for (uint32_t i = table->size; i < size; i++)
        free_slot(table, i);
    table->size = size;
    return true;
}

uint32_t smcr_token_get(struct smcr_group *group, struct smcr_conn *conn)
{
    struct smcr_token_table *table = table_of(group);
    if (!table || (!table->first_free && !grow(group, table)))
        return 0;
    uint32_t index = table->first_free - 1;
    struct slot *slot = &table->slots[index];
    table->first_free = slot->next_free;
    if (!table->first_free)
        table->last_free = 0;
    slot->token = rdma_slot_number(&table->tokens, index, slot->uses++);
    slot->conn = conn;
    return slot->token;
}

static struct slot *slot_of(const struct smcr_group *group, uint32_t token)
{
    const struct smcr_token_table *table = group->tokens;
    uint32_t index = table ? rdma_number_slot(&table->tokens, token) : UINT32_MAX;
    struct slot *slot = table && index < table->size ? &table->slots[index] : NULL;
    return slot && slot->conn && slot->token == token ? slot : NULL;
}

void smcr_token_put(struct smcr_group *group, uint32_t token)
{
    struct slot *slot = slot_of(group, token);
    if (slot)
        free_slot(group->tokens, (uint32_t)(slot - group->tokens->slots));
}

struct smcr_conn *smcr_token_find(const struct smcr_group *group, uint32_t token)
{
    const struct slot *slot = slot_of(group, token);
    return slot ? slot->conn : NULL;
}

void smcr_token_deinit(struct smcr_group *group)
{
    struct rdma_mem *mem = &group->smcr->mem;
    if (!group->tokens)
        return;
    mem->free(mem->ctx, group->tokens->slots);
    mem->free(mem->ctx, group->tokens);
    group->tokens = NULL;
}
