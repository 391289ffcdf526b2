/* SPDX-License-Identifier: BSD-2-Clause */
/* Equal packets of both captures, by a hash of their keys. */
#include "explain/join/keep/group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/hash.h"

/* The slot of that key: where its group is, or may be put. */
static uint32_t *slot_of(uint32_t *table, uint32_t mask, const struct join_group *groups, uint64_t key)
{
    uint32_t at = (uint32_t)key & mask;
    while (table[at] != JOIN_NONE && groups[table[at]].key != key)
        at = (at + 1) & mask;
    return &table[at];
}

static void put(struct explain_join *j, struct join_group *g, unsigned side, uint32_t packet)
{
    j->side[side].next[packet] = JOIN_NONE;
    if (g->count[side]++ == 0)
        g->first[side] = packet;
    else
        j->side[side].next[g->last[side]] = packet;
    g->last[side] = packet;
}

static uint64_t key_of(const struct explain_join *j, const struct join_packet *p)
{
    return join_has_content(j, p) ? hash_keyed_word(p->key, p->icrc) : p->key;
}

static void put_all(struct explain_join *j, unsigned side, uint32_t *table, uint32_t mask)
{
    for (uint32_t i = 0; i < j->side[side].count; i++) {
        uint64_t key = key_of(j, &j->side[side].packets[i]);
        uint32_t *slot = slot_of(table, mask, j->groups, key);
        if (*slot == JOIN_NONE) {
            *slot = j->group_count;
            j->groups[j->group_count++] = (struct join_group){
                .key = key, .first = {JOIN_NONE, JOIN_NONE}, .last = {JOIN_NONE, JOIN_NONE}};
        }
        put(j, &j->groups[*slot], side, i);
    }
}

int join_group(struct explain_join *j)
{
    uint32_t count = j->side[0].count + j->side[1].count, slots = pow2_up(2 * count);
    uint32_t *table = malloc((size_t)slots * sizeof *table);
    j->groups = calloc((size_t)count + 1, sizeof *j->groups);
    for (unsigned side = 0; side < 2; side++)
        j->side[side].next = malloc(((size_t)j->side[side].count + 1) * sizeof *j->side[side].next);
    if (!table || !j->groups || !j->side[0].next || !j->side[1].next) {
        free(table);
        return -ENOMEM;
    }
    memset(table, 0xff, (size_t)slots * sizeof *table);
    put_all(j, 0, table, slots - 1);
    put_all(j, 1, table, slots - 1);
    free(table);
    return 0;
}
