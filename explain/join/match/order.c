/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of equal packets came, if times alone leave it open: by the packets that left before and behind
 * them, of which it is known when they came. Packets that came between these left between them, as far as
 * packets keep their order, which makes it likely. Equals without another packet between them stay open. */
#include "explain/join/match/order.h"

#define LOOK_MAX 256 /* packets to either side */
#define SELDOM   32  /* one of so many packets may be overtaken */

static bool are_equal(const struct join_packet *a, const struct join_packet *b)
{
    return a->lane == b->lane && a->key == b->key && a->icrc == b->icrc;
}

/* Whether it is known when it came. */
static bool is_known(const struct join_packet *p)
{
    return p->match.other != JOIN_NONE && !p->match.is_copy && p->fate.sure != EXPLAIN_SURE_UNKNOWN;
}

/* When the next known packet of the lane, `step` by `step` from `sent` on, came: its place there. False:
 * an equal one stands before it, or it is too far. Beyond the capture's ends lie packets that came before
 * all, or behind. */
static bool find_known(const struct explain_join *j, unsigned from, uint32_t sent, int step, uint32_t *came)
{
    const struct join_side *here = &j->side[from];
    const struct join_packet *p = &here->packets[sent];
    uint32_t at = sent;
    for (unsigned look = 0; look < LOOK_MAX; look++) {
        at += (uint32_t)step;
        if (at >= here->count) {
            *came = step < 0 ? 0 : j->side[!from].count;
            return true;
        }
        const struct join_packet *q = &here->packets[at];
        if (are_equal(p, q))
            return false;
        if (q->lane == p->lane && is_known(q)) {
            *came = q->match.other;
            return true;
        }
    }
    return false;
}

/* Whether an equal packet came between these places of which it is not known which it is. */
static bool has_open_between(const struct explain_join *j, unsigned from, const struct join_packet *p,
                             uint32_t first, uint32_t last)
{
    const struct join_side *there = &j->side[!from];
    if (last > first + LOOK_MAX)
        return true;
    for (uint32_t i = first; i <= last && i < there->count; i++)
        if (are_equal(p, &there->packets[i]) && there->packets[i].fate.sure == EXPLAIN_SURE_UNKNOWN)
            return true;
    return false;
}

static void settle_tie(struct explain_join *j, unsigned from, uint32_t sent)
{
    struct join_packet *p = &j->side[from].packets[sent], *c = &j->side[!from].packets[p->match.other];
    uint32_t before, behind;
    if (!find_known(j, from, sent, -1, &before) || !find_known(j, from, sent, 1, &behind))
        return;
    if (before <= p->match.other && p->match.other <= behind)
        p->fate.sure = c->fate.sure = EXPLAIN_SURE_LIKELY;
}

static void settle_missing(struct explain_join *j, unsigned from, uint32_t sent)
{
    struct join_packet *p = &j->side[from].packets[sent];
    uint32_t before, behind;
    if (find_known(j, from, sent, -1, &before) && find_known(j, from, sent, 1, &behind) && before <= behind)
        p->match.is_open = has_open_between(j, from, p, before, behind);
}

/* Whether packets from that end mostly came in the order in which they left. */
static bool is_in_order(const struct explain_join *j, unsigned from)
{
    const struct join_side *here = &j->side[from];
    uint32_t newest = 0, known = 0, overtaken = 0;
    for (uint32_t i = 0; i < here->count; i++) {
        const struct join_packet *p = &here->packets[i];
        if (!is_known(p) || j->lanes[p->lane].from != (int)from)
            continue;
        known++;
        overtaken += p->match.other < newest;
        newest = p->match.other > newest ? p->match.other : newest;
    }
    return overtaken <= known / SELDOM;
}

void join_settle(struct explain_join *j)
{
    for (unsigned from = 0; from < 2; from++) {
        struct join_side *here = &j->side[from];
        if (!is_in_order(j, from))
            continue;
        for (uint32_t i = 0; i < here->count; i++) {
            const struct join_packet *p = &here->packets[i];
            bool is_tie =
                p->match.other != JOIN_NONE && !p->match.is_copy && p->fate.sure == EXPLAIN_SURE_UNKNOWN;
            if (is_tie && j->lanes[p->lane].from == (int)from)
                settle_tie(j, from, i);
        }
        for (uint32_t i = 0; i < here->count; i++)
            if (here->packets[i].match.is_open && here->packets[i].match.other == JOIN_NONE)
                settle_missing(j, from, i);
    }
}
