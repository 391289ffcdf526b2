/* SPDX-License-Identifier: BSD-2-Clause */
/* Which of equal packets is which. A sender with identifications that stay 0 sends a packet again with the
 * same bytes, and a network may make copies, so that each capture has it several times, not equally often.
 * The clocks are aligned by now: a packet that came may be any of those that left before it, not longer
 * than the patience ago. So equal packets fall into knots, in time: packets in one knot may belong
 * together, packets in two may not.
 *
 * In a knot, packets are taken not to overtake their equals. If as many came as left, or more, each that
 * left takes the first that came and is free; the others are copies. If fewer came, each that came takes
 * the last that left before it and is free, since a packet that was sent again was so for a reason; the
 * rest were lost. If one packet left and one came, or none, no other reading is possible, if neither
 * capture misses any; in other knots it is likely, no more. */
#include "explain/join/match/match.h"

#include <errno.h>
#include <stdlib.h>

#include "base/base.h"
#include "explain/join/keep/group.h"

#define SOME     4          /* equal packets: of more, fewer that came tell little */
#define HASTY    16         /* the clock may rest on a pair that is so many times as quick as most */
#define QUICKEST (7 / 16.0) /* of the shortest round trip: half of it, as the clocks were laid */

struct sight {
    uint32_t packet;
    uint64_t time_ns; /* by clock 0 */
};

/* Equal packets of one lane: all of the group, in the order of the files, and the knot among them. */
struct equals {
    struct explain_join *j;
    unsigned from;
    struct sight *sent, *came;
    uint32_t sent_count, came_count;
    uint32_t sent_at, sent_end, came_at, came_end; /* of the knot */
};

static struct join_packet *sent_packet(const struct equals *e, uint32_t i)
{
    return &e->j->side[e->from].packets[e->sent[i].packet];
}

static struct join_packet *came_packet(const struct equals *e, uint32_t i)
{
    return &e->j->side[!e->from].packets[e->came[i].packet];
}

/* --- within a knot --- */

/* Whether its sender sent any packets of that queue pair again, or answers to them. */
static bool is_repeated(const struct equals *e, const struct join_packet *sent)
{
    uint32_t stream = sent->role == JOIN_ANSWER ? sent->stream ^ 1 : sent->stream;
    return sent->stream > 1 && e->j->side[e->from].newest_psn[stream] & JOIN_REPEATED;
}

/* Whether one of the captures was off when the packet came, or the equal of it left that came: then another
 * of the same bytes may lie outside of it. */
static bool is_at_the_edge(const struct equals *e, uint32_t sent, uint32_t came)
{
    const struct explain_join *j = e->j;
    const struct join_side *here = &j->side[e->from], *there = &j->side[!e->from];
    uint64_t came_ns = e->came[came].time_ns;
    int64_t longest_ns =
        is_repeated(e, sent_packet(e, sent)) ? j->patience_ns[e->from] : j->longest_ns[e->from];
    return e->sent[sent].time_ns < join_time_ns(j, !e->from, there->first_ns) ||
           came_ns < join_time_ns(j, e->from, here->first_ns) + (uint64_t)longest_ns ||
           came_ns > join_time_ns(j, e->from, here->last_ns);
}

/* Whether a packet may be another, sent again with the same bytes: one that took unusually long, as far as
 * that is seen, or longer than a round trip, as the capture there may have missed it; one that was quicker
 * than any, or by far than most, or, of a queue pair that sends packets again, than nearly all; or one at
 * the edge of a capture. */
static bool may_be_another(const struct equals *e, uint32_t sent, uint32_t came)
{
    const struct join_packet *s = sent_packet(e, sent);
    uint64_t took_ns = e->came[came].time_ns - e->sent[sent].time_ns;
    bool is_unusual = took_ns > 2 * (uint64_t)e->j->usual_ns[e->from];
    double room_ns = e->j->summary.clock.room_ns;
    bool is_odd = (double)took_ns > room_ns || (double)took_ns < room_ns * QUICKEST ||
                  took_ns * HASTY < (uint64_t)e->j->usual_ns[e->from];
    bool is_hasty = (int64_t)took_ns < e->j->least_ns[e->from];
    return (is_odd || ((is_unusual || is_hasty) && is_repeated(e, s)) || is_at_the_edge(e, sent, came)) &&
           !join_has_ids(&e->j->lanes[s->lane], e->from);
}

/* With a choice, no packet is quicker than nearly all others. */
static int64_t least_ns(const struct equals *e)
{
    bool has_choice = e->sent_end - e->sent_at > 1 || e->came_end - e->came_at > 1;
    bool has_ids = e->sent_count && join_has_ids(&e->j->lanes[sent_packet(e, 0)->lane], e->from);
    return has_choice && !has_ids ? e->j->least_ns[e->from] * 7 / 8 : 0;
}

static bool is_in_time(const struct equals *e, uint32_t sent, uint32_t came)
{
    return (int64_t)(e->came[came].time_ns - e->sent[sent].time_ns) >= least_ns(e);
}

/* Whether the one may be the other, as to its time, in the knot. */
static bool may_be(const struct equals *e, uint32_t sent, uint32_t came)
{
    return sent >= e->sent_at && sent < e->sent_end && came >= e->came_at && came < e->came_end &&
           is_in_time(e, sent, came) &&
           (int64_t)(e->came[came].time_ns - e->sent[sent].time_ns) <= e->j->longest_ns[e->from];
}

/* Whether it cannot be told which of several that left is the one that came: another may be it, and which are
 * missing is not known. */
static bool is_ambiguous(const struct equals *e, uint32_t sent, uint32_t came)
{
    uint32_t left = e->sent_end - e->sent_at, there = e->came_end - e->came_at;
    bool is_other_sent = may_be(e, sent - 1, came) || may_be(e, sent + 1, came);
    bool is_other_come = may_be(e, sent, came - 1) || may_be(e, sent, came + 1);
    if (join_has_ids(&e->j->lanes[sent_packet(e, sent)->lane], e->from))
        return false;
    if (left < there)
        return is_other_come;
    if (left > there)
        return is_other_sent || left > SOME;
    return is_other_sent && is_other_come;
}

static void tie(const struct equals *e, uint32_t sent, uint32_t came, enum explain_sure sure)
{
    struct join_packet *s = sent_packet(e, sent), *c = came_packet(e, came);
    s->match.other = e->came[came].packet;
    c->match.other = e->sent[sent].packet;
    s->fate.kind = c->fate.kind =
        c->captured.is_damaged && !s->captured.is_damaged ? EXPLAIN_FATE_DAMAGED : EXPLAIN_FATE_ARRIVED;
    /* damage may have made another packet's header, if no ICRC tells */
    bool is_unsure = may_be_another(e, sent, came) || (c->captured.is_damaged && !join_has_content(e->j, s));
    s->fate.sure = c->fate.sure = is_unsure ? EXPLAIN_SURE_LIKELY : (uint8_t)sure;
    if (!is_ambiguous(e, sent, came))
        return;
    enum explain_fate other = s->fate.kind == EXPLAIN_FATE_ARRIVED ? EXPLAIN_FATE_LOST : EXPLAIN_FATE_ARRIVED;
    join_leave_open(s, s->fate.kind, other);
    join_leave_open(c, c->fate.kind, other);
}

static void copy(const struct equals *e, uint32_t came, uint32_t sent, enum explain_sure sure)
{
    struct join_packet *c = came_packet(e, came);
    c->match.is_copy = true;
    c->match.other = e->sent[sent].packet;
    c->fate.kind = EXPLAIN_FATE_COPY;
    c->fate.sure = (uint8_t)sure;
    const struct join_packet *s = sent_packet(e, sent);
    bool is_open = s->fate.sure == EXPLAIN_SURE_UNKNOWN || is_repeated(e, s);
    if (sure != EXPLAIN_SURE_SHOWN && (is_open || may_be(e, sent - 1, came) || may_be(e, sent + 1, came)))
        join_leave_open(c, EXPLAIN_FATE_COPY, EXPLAIN_FATE_ARRIVED);
}

/* Returns whether the packet that came is a copy that the network made, and not the sender's, which its own
 * capture may miss: by its identification, which damage did not bring about. */
static bool is_surely_copy(const struct equals *e, uint32_t came, uint32_t sent)
{
    const struct join_packet *c = came_packet(e, came);
    return join_has_ids(&e->j->lanes[sent_packet(e, sent)->lane], e->from) && c->icrc &&
           !c->captured.is_damaged;
}

/* Each that left takes the first that came behind it. */
static void tie_forwards(const struct equals *e, enum explain_sure sure)
{
    uint32_t s = e->sent_at;
    for (uint32_t c = e->came_at; c < e->came_end; c++) {
        if (s < e->sent_end && is_in_time(e, s, c))
            tie(e, s++, c, sure);
        else if (s > e->sent_at)
            copy(e, c, s - 1, is_surely_copy(e, c, s - 1) ? sure : EXPLAIN_SURE_LIKELY);
    }
}

/* Each that came takes the last that left before it. */
static void tie_backwards(const struct equals *e, enum explain_sure sure)
{
    uint32_t s = e->sent_end;
    for (uint32_t c = e->came_end; c-- > e->came_at;) {
        while (s > e->sent_at && !is_in_time(e, s - 1, c))
            s--;
        if (s > e->sent_at)
            tie(e, --s, c, sure);
    }
    for (uint32_t c = e->came_at, i = e->sent_at; i < e->sent_end && c < e->came_end; i++) {
        while (c < e->came_end && !is_in_time(e, i, c))
            c++;
        sent_packet(e, i)->match.is_open = may_be(e, i, c) && sure != EXPLAIN_SURE_SHOWN;
    }
}

/* Takes a packet that came with no equal that left shortly before: a copy of one that came, or one that was
 * very long under way, or one that the sender's capture misses. */
static void take_straggler(const struct equals *e)
{
    uint32_t sent = e->sent_at - 1;
    struct join_packet *s = sent_packet(e, sent), *c = came_packet(e, e->came_at);
    bool has_ids = join_has_ids(&e->j->lanes[s->lane], e->from);
    if (s->match.other != JOIN_NONE)
        copy(e, e->came_at, sent,
             is_surely_copy(e, e->came_at, sent) ? EXPLAIN_SURE_SHOWN : EXPLAIN_SURE_LIKELY);
    else if (has_ids)
        tie(e, sent, e->came_at, EXPLAIN_SURE_SHOWN);
    else
        s->match.is_doubted = c->match.is_doubted = true;
}

static void untie(const struct equals *e)
{
    uint32_t sent = e->sent_end - e->sent_at, came = e->came_end - e->came_at;
    bool is_plain = sent <= 1 && came <= 1 && !(sent && sent_packet(e, e->sent_at)->is_again);
    bool has_ids = sent && join_has_ids(&e->j->lanes[sent_packet(e, e->sent_at)->lane], e->from);
    enum explain_sure sure = is_plain || has_ids || !came ? EXPLAIN_SURE_SHOWN : EXPLAIN_SURE_LIKELY;
    for (uint32_t s = e->sent_at; s < e->sent_end; s++) {
        sent_packet(e, s)->match.is_doubted = sure != EXPLAIN_SURE_SHOWN;
        sent_packet(e, s)->match.equal = e->came_count ? JOIN_EQUAL_THERE : JOIN_EQUAL_NONE;
    }
    for (uint32_t c = e->came_at; c < e->came_end; c++)
        came_packet(e, c)->match.equal = e->sent_count ? JOIN_EQUAL_THERE : JOIN_EQUAL_NONE;
    if (!sent && e->sent_at > 0)
        take_straggler(e);
    else if (came >= sent)
        tie_forwards(e, sure);
    else
        tie_backwards(e, sure);
}

/* --- knots --- */

/* Adds the next packet to the knot; false: it belongs to none that has begun. */
static bool grow(struct equals *e, uint64_t patience_ns)
{
    bool has_sent = e->sent_end > e->sent_at, has_next = e->came_end < e->came_count;
    uint64_t until_ns = has_sent ? e->sent[e->sent_end - 1].time_ns + patience_ns : 0;
    bool is_tied = has_sent && has_next && e->came[e->came_end].time_ns <= until_ns;
    bool is_empty = !has_sent && e->came_end == e->came_at;
    if (e->sent_end < e->sent_count &&
        (!has_next || e->sent[e->sent_end].time_ns <= e->came[e->came_end].time_ns)) {
        e->sent_end += is_empty || is_tied;
        return is_empty || is_tied;
    }
    if (!has_next || (!is_empty && !is_tied))
        return false;
    e->came_end++;
    return has_sent; /* a packet that came without having left is alone */
}

static void untie_all(struct equals *e)
{
    uint64_t patience_ns = (uint64_t)e->j->patience_ns[e->from];
    e->sent_at = e->sent_end = e->came_at = e->came_end = 0;
    while (e->sent_end < e->sent_count || e->came_end < e->came_count) {
        while (grow(e, patience_ns)) {
        }
        untie(e);
        e->sent_at = e->sent_end;
        e->came_at = e->came_end;
    }
}

/* A packet that left and did not come, and a packet that came and did not leave, though another of its bytes
 * did, may be the same, if both are of a group without identifications: the clocks were laid a little wrong,
 * or it took longer than any other. */
static void note_strangers(const struct equals *e)
{
    bool has_stranger = false;
    for (uint32_t i = 0; i < e->came_count; i++) {
        const struct join_packet *c = came_packet(e, i);
        has_stranger |=
            c->match.other == JOIN_NONE || (c->match.is_copy && c->fate.sure != EXPLAIN_SURE_SHOWN);
    }
    for (uint32_t i = 0; i < e->sent_count && has_stranger; i++)
        if (sent_packet(e, i)->match.other == JOIN_NONE)
            sent_packet(e, i)->match.equal = JOIN_EQUAL_ALONE;
}

static uint32_t list(const struct explain_join *j, const struct join_group *g, unsigned side,
                     struct sight *to)
{
    uint32_t n = 0;
    for (uint32_t i = g->first[side]; i != JOIN_NONE; i = j->side[side].next[i])
        to[n++] = (struct sight){i, join_time_ns(j, side, j->side[side].packets[i].time_ns)};
    return n;
}

int join_match(struct explain_join *j)
{
    uint32_t most = 1;
    for (uint32_t i = 0; i < j->group_count; i++)
        most = max_u32(most, max_u32(j->groups[i].count[0], j->groups[i].count[1]));
    struct equals e = {.j = j};
    e.sent = malloc(most * sizeof *e.sent);
    e.came = malloc(most * sizeof *e.came);
    for (uint32_t i = 0; i < j->group_count && e.sent && e.came; i++) {
        const struct join_group *g = &j->groups[i];
        unsigned has = g->count[0] == 0;
        int from = j->lanes[j->side[has].packets[g->first[has]].lane].from;
        if (from < 0)
            continue;
        e.from = (unsigned)from;
        e.sent_count = list(j, g, e.from, e.sent);
        e.came_count = list(j, g, !e.from, e.came);
        untie_all(&e);
        note_strangers(&e);
    }
    int err = e.sent && e.came ? 0 : -ENOMEM;
    free(e.sent);
    free(e.came);
    return err;
}
