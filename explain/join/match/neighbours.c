/* SPDX-License-Identifier: BSD-2-Clause */
/* At which end a lane begins, by those that share an address with it: what crosses both captures goes from
 * the place of the one address to that of the other. Each address is spread from once, by an index of the
 * lanes that have it. */
#include "explain/join/match/neighbours.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/hash.h"

/* End 0 of a lane is its source, end 1 its destination; ends have the number 2 * lane + end. */
struct join_neighbours {
    uint32_t *address;   /* by end: its number */
    uint32_t *first;     /* by address: an end that has it, */
    uint32_t *next;      /* by end: the next one of the same address; JOIN_NONE */
    bool *is_spread;     /* by address */
    uint32_t *to_spread; /* lanes from which it has to go on */
    uint32_t address_count;
};

static const struct nornic_addr *address_at(const struct explain_join *j, uint32_t end)
{
    const struct join_lane *l = &j->lanes[end / 2];
    return end % 2 ? &l->dst : &l->src;
}

/* Numbers the addresses. `table`, of `mask` + 1, is empty. */
static void list(const struct explain_join *j, struct join_neighbours *n, uint32_t *table, uint32_t mask)
{
    for (uint32_t end = 0; end < 2 * j->lane_count; end++) {
        const struct nornic_addr *addr = address_at(j, end);
        uint32_t at = (uint32_t)hash_keyed_bytes(0, addr->b, sizeof addr->b) & mask;
        while (table[at] != JOIN_NONE && !nornic_addr_equal(address_at(j, n->first[table[at]]), addr))
            at = (at + 1) & mask;
        if (table[at] == JOIN_NONE) {
            table[at] = n->address_count++;
            n->first[table[at]] = JOIN_NONE;
        }
        n->address[end] = table[at];
        n->next[end] = n->first[table[at]];
        n->first[table[at]] = end;
    }
}

struct join_neighbours *join_neighbours_create(const struct explain_join *j)
{
    size_t ends = 2 * (size_t)j->lane_count + 1;
    uint32_t slots = pow2_up(4 * j->lane_count + 1), *table = malloc(slots * sizeof *table);
    struct join_neighbours *n = calloc(1, sizeof *n);
    if (n) {
        n->address = malloc(ends * sizeof *n->address);
        n->first = malloc(ends * sizeof *n->first);
        n->next = malloc(ends * sizeof *n->next);
        n->is_spread = calloc(ends, sizeof *n->is_spread);
        n->to_spread = malloc(ends * sizeof *n->to_spread);
    }
    if (!table || !n || !n->address || !n->first || !n->next || !n->is_spread || !n->to_spread) {
        free(table);
        join_neighbours_destroy(n);
        return NULL;
    }
    memset(table, 0xff, slots * sizeof *table);
    list(j, n, table, slots - 1);
    free(table);
    return n;
}

void join_neighbours_destroy(struct join_neighbours *n)
{
    if (!n)
        return;
    free(n->address);
    free(n->first);
    free(n->next);
    free(n->is_spread);
    free(n->to_spread);
    free(n);
}

/* Tells the lanes that have the address; it is at the end of capture `place`. Returns how many lanes more
 * there are to go on from. */
static uint32_t spread_address(struct explain_join *j, struct join_neighbours *n, uint32_t address, int place,
                               bool is_guessed, uint32_t *to)
{
    uint32_t count = 0;
    if (n->is_spread[address])
        return 0;
    n->is_spread[address] = true;
    for (uint32_t end = n->first[address]; end != JOIN_NONE; end = n->next[end]) {
        struct join_lane *l = &j->lanes[end / 2];
        if (l->from >= 0)
            continue;
        l->from = end % 2 ? !place : place;
        l->is_guessed = is_guessed;
        if (l->told)
            to[count++] = end / 2;
    }
    return count;
}

void join_tell_neighbours(struct explain_join *j, struct join_neighbours *n, uint32_t lane)
{
    uint32_t count = 0;
    if (j->lanes[lane].from >= 0 && j->lanes[lane].told)
        n->to_spread[count++] = lane;
    while (count) {
        uint32_t at = n->to_spread[--count];
        const struct join_lane *l = &j->lanes[at];
        for (unsigned end = 0; end < 2; end++)
            count += spread_address(j, n, n->address[2 * at + end], end ? !l->from : l->from, l->is_guessed,
                                    &n->to_spread[count]);
    }
}
