/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that came damaged is found among the missing packets by its intact parts: a few wrong bits seldom
 * hit both the ICRC and the transport header. A damaged packet that is not found leaves some doubt over the
 * packets sent at that time. */
#include "explain/join/match/damaged.h"

#include <errno.h>
#include <stdlib.h>

#define LOOK_MAX 512 /* missing packets that a damaged one is compared with */

struct missing {
    uint32_t packet;
    uint64_t time_ns; /* by clock 0 */
};

struct all_missing {
    struct missing *at;
    uint32_t count;
};

static int by_time(const void *a, const void *b)
{
    const struct missing *x = a, *y = b;
    return x->time_ns < y->time_ns ? -1 : x->time_ns > y->time_ns;
}

/* Lists the packets that left from the end of `side` and were not found at the other end. */
static bool list_missing(const struct explain_join *j, unsigned side, struct all_missing *m)
{
    const struct join_side *s = &j->side[side];
    m->count = 0;
    for (uint32_t i = 0; i < s->count; i++)
        m->count += s->packets[i].match.other == JOIN_NONE && j->lanes[s->packets[i].lane].from == (int)side;
    m->at = malloc(((size_t)m->count + 1) * sizeof *m->at);
    if (!m->at)
        return false;
    m->count = 0;
    for (uint32_t i = 0; i < s->count; i++)
        if (s->packets[i].match.other == JOIN_NONE && j->lanes[s->packets[i].lane].from == (int)side)
            m->at[m->count++] = (struct missing){i, join_time_ns(j, side, s->packets[i].time_ns)};
    qsort(m->at, m->count, sizeof *m->at, by_time);
    return true;
}

/* The first that left at `time_ns` or later. */
static uint32_t first_from(const struct all_missing *m, uint64_t time_ns)
{
    uint32_t low = 0, high = m->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (m->at[middle].time_ns < time_ns)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* How much of it is the same. */
static unsigned likeness(const struct explain_join *j, const struct join_packet *sent,
                         const struct join_packet *came)
{
    const struct join_lane *a = &j->lanes[sent->lane], *b = &j->lanes[came->lane];
    bool is_transport = sent->psn == came->psn && sent->opcode == came->opcode;
    return 4u * (came->icrc && sent->icrc == came->icrc) + 3u * is_transport + (sent->bytes == came->bytes) +
           nornic_addr_equal(&a->src, &b->src) + nornic_addr_equal(&a->dst, &b->dst);
}

/* The missing one that a damaged packet is most like; JOIN_NONE: it is like none. Among equals, the first. */
static uint32_t most_like(const struct explain_join *j, unsigned from, const struct all_missing *m,
                          const struct join_packet *came)
{
    uint64_t now_ns = join_time_ns(j, !from, came->time_ns),
             since_ns = now_ns - (uint64_t)j->patience_ns[from];
    uint32_t best = JOIN_NONE;
    unsigned most = 4; /* less is chance */
    uint32_t at = first_from(m, since_ns);
    for (uint32_t i = at; i < m->count && i - at < LOOK_MAX && m->at[i].time_ns <= now_ns; i++) {
        const struct join_packet *sent = &j->side[from].packets[m->at[i].packet];
        unsigned like = sent->match.other == JOIN_NONE ? likeness(j, sent, came) : 0;
        if (like > most) {
            most = like;
            best = m->at[i].packet;
        }
    }
    return best;
}

/* Marks the packets that might have come as `came`, damaged beyond recognition. */
static void doubt(struct explain_join *j, unsigned from, const struct all_missing *m,
                  const struct join_packet *came)
{
    uint64_t now_ns = join_time_ns(j, !from, came->time_ns),
             since_ns = now_ns - (uint64_t)j->patience_ns[from];
    uint32_t at = first_from(m, since_ns);
    for (uint32_t i = at; i < m->count && i - at < LOOK_MAX && m->at[i].time_ns <= now_ns; i++)
        j->side[from].packets[m->at[i].packet].match.is_doubted = true;
}

/* Whether it was recorded at the end of `side` but did not begin there: its addresses may be wrong. */
static bool may_have_come(const struct explain_join *j, unsigned side, const struct join_packet *p)
{
    return p->captured.is_damaged && p->match.other == JOIN_NONE && j->lanes[p->lane].from != (int)side;
}

static void find_damaged(struct explain_join *j, unsigned from, const struct all_missing *m)
{
    struct join_side *s = &j->side[!from];
    for (uint32_t i = 0; i < s->count; i++) {
        struct join_packet *came = &s->packets[i];
        if (!may_have_come(j, !from, came))
            continue;
        uint32_t found = most_like(j, from, m, came);
        if (found == JOIN_NONE) {
            doubt(j, from, m, came);
            continue;
        }
        struct join_packet *sent = &j->side[from].packets[found];
        sent->match.other = i;
        came->match.other = found;
        sent->fate.kind = came->fate.kind = EXPLAIN_FATE_DAMAGED;
        sent->fate.sure = came->fate.sure = EXPLAIN_SURE_LIKELY;
        came->lane = sent->lane;
    }
}

int join_match_damaged(struct explain_join *j)
{
    for (unsigned from = 0; from < 2; from++) {
        struct all_missing m;
        if (!list_missing(j, from, &m))
            return -ENOMEM;
        find_damaged(j, from, &m);
        free(m.at);
    }
    return 0;
}
