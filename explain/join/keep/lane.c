/* SPDX-License-Identifier: BSD-2-Clause */
/* Lanes: all packets from one address to another; those of TCP have one of their own, as another part of the
 * sender numbers them. And room for what is known of streams, which are parts of lanes. */
#include "explain/join/keep/lane.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "base/hash.h"

#define LANES_LEAST 64 /* there is room for */

static bool is_it(const struct join_lane *l, const struct nornic_addr *src, const struct nornic_addr *dst,
                  bool is_tcp)
{
    return l->is_tcp == is_tcp && nornic_addr_equal(&l->src, src) && nornic_addr_equal(&l->dst, dst);
}

static uint64_t key_of(const struct nornic_addr *src, const struct nornic_addr *dst, bool is_tcp)
{
    return hash_keyed_bytes(hash_keyed_bytes(is_tcp, src->b, sizeof src->b), dst->b, sizeof dst->b);
}

static uint32_t *slot_of(const struct explain_join *j, const struct nornic_addr *src,
                         const struct nornic_addr *dst, bool is_tcp)
{
    uint32_t mask = 2 * j->lane_cap - 1;
    for (uint32_t at = (uint32_t)key_of(src, dst, is_tcp) & mask;; at = (at + 1) & mask) {
        uint32_t *slot = &j->lane_table[at];
        if (*slot == JOIN_NONE || is_it(&j->lanes[*slot], src, dst, is_tcp))
            return slot;
    }
}

static_assert(2 * (sizeof(struct join_lane) + 2 * sizeof(uint32_t)) <= EXPLAIN_JOIN_LANE_BYTES,
              "what a lane takes is counted");

static bool resize(struct explain_join *j, uint32_t cap)
{
    struct join_lane *lanes = realloc(j->lanes, cap * sizeof *lanes);
    if (lanes)
        j->lanes = lanes;
    uint32_t *table = malloc(2 * (size_t)cap * sizeof *table);
    if (!lanes || !table) {
        free(table);
        return false;
    }
    memset(table, 0xff, 2 * (size_t)cap * sizeof *table);
    free(j->lane_table);
    j->lane_table = table;
    j->lane_cap = cap;
    for (uint32_t i = 0; i < j->lane_count; i++)
        *slot_of(j, &j->lanes[i].src, &j->lanes[i].dst, j->lanes[i].is_tcp) = i;
    return true;
}

uint32_t join_lane_of(struct explain_join *j, const struct nornic_addr *src, const struct nornic_addr *dst,
                      bool is_tcp)
{
    if (j->lane_count == j->lane_cap && !resize(j, j->lane_cap ? 2 * j->lane_cap : LANES_LEAST))
        return JOIN_NONE;
    uint32_t *slot = slot_of(j, src, dst, is_tcp);
    if (*slot != JOIN_NONE)
        return *slot;
    uint32_t lane = *slot = j->lane_count++;
    j->lanes[lane] = (struct join_lane){.src = *src,
                                        .dst = *dst,
                                        .key = key_of(src, dst, is_tcp),
                                        .is_tcp = is_tcp,
                                        .back = JOIN_NONE,
                                        .from = -1};
    uint32_t back = *slot_of(j, dst, src, is_tcp);
    if (back != JOIN_NONE) {
        j->lanes[lane].back = back;
        j->lanes[back].back = lane;
    }
    return lane;
}

int join_drop_lanes(struct explain_join *j)
{
    uint32_t *now = calloc((size_t)j->lane_count + 1, sizeof *now), kept = 0; /* `now`: one past its place */
    if (!now)
        return -ENOMEM;
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < j->side[side].count; i++)
            now[j->side[side].packets[i].lane] = 1;
    for (uint32_t i = 0; i < j->lane_count; i++)
        if (now[i]) {
            j->lanes[kept] = j->lanes[i];
            now[i] = ++kept;
        }
    for (uint32_t i = 0; i < kept; i++) {
        uint32_t *back = &j->lanes[i].back;
        *back = *back != JOIN_NONE && now[*back] ? now[*back] - 1 : JOIN_NONE;
    }
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < j->side[side].count; i++)
            j->side[side].packets[i].lane = now[j->side[side].packets[i].lane] - 1;
    free(now);
    j->lane_count = kept;
    return resize(j, max_u32(pow2_up(kept + 1), LANES_LEAST)) ? 0 : -ENOMEM;
}

int join_know_stream(struct join_side *s, uint32_t stream)
{
    if (stream < s->stream_cap)
        return 0;
    uint32_t cap = pow2_up(stream + 1);
    uint32_t *newest = realloc(s->newest_psn, cap * sizeof *newest);
    if (!newest)
        return -ENOMEM;
    memset(newest + s->stream_cap, 0, (cap - s->stream_cap) * sizeof *newest);
    s->newest_psn = newest;
    s->stream_cap = cap;
    return 0;
}
