/* SPDX-License-Identifier: BSD-2-Clause */
/* What became of a packet that one capture alone has: lost, or only missed by the other capture. Of a
 * request of a reliable service the responder tells: an answer that covers it, before any other copy of it
 * came, says that it arrived; a NAK that asks for it, later than any packet was under way, that it did
 * not. Of answers and of the unreliable services nobody tells, so that "lost" is likely, no more;
 * where the receiver's capture is known to miss packets, it cannot be told.
 *
 * The requests in doubt wait, stream by stream, while the packets of the receiver's capture are read in
 * their order. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/join/inner.h"
#include "roce/opcode.h"
#include "roce/psn.h"
#include "roce/wire.h"

#define WAITING_MAX     256   /* of a stream; the oldest beyond stay in doubt */
#define PSNS_AHEAD      65536 /* an answer is no farther ahead of a request that waits for one */
#define STRANGERS_LEAST 16    /* packets of a sender, */
#define STRANGERS_SHARE 8 /* and so great a part of all, 1/8, that were lost, and that came from nowhere */

/* A request in doubt, and the next of its stream. */
struct doubtful {
    uint32_t packet, next; /* next: JOIN_NONE at the end */
    uint64_t time_ns;      /* by clock 0 */
};

/* A stream of the sender's capture. */
struct asked {
    uint32_t first, last, count; /* of its doubtful requests */
    uint32_t covered;            /* one past the newest PSN that an answer covered, */
    uint32_t nak;                /* of the newest NAK, with KNOWN, until something covers it; 0: none */
    uint32_t arrived;            /* one past the newest that came; with KNOWN; 0: none yet */
};

#define KNOWN (UINT32_C(1) << 31)

struct inquiry {
    struct explain_join *j;
    unsigned from;
    struct doubtful *doubtful;
    uint32_t count, at;
    uint32_t left;       /* of the sender's packets, these have left */
    struct asked *asked; /* by stream of the sender's capture */
    uint32_t *twin;      /* by stream of the receiver's capture: that of the sender's; 0: not known */
};

/* --- what the times alone say --- */

static void judge_sent(struct explain_join *j, unsigned from, struct join_packet *p)
{
    const struct join_side *there = &j->side[!from];
    uint64_t left_ns = join_time_ns(j, from, p->time_ns);
    uint64_t first_ns = join_time_ns(j, !from, there->first_ns),
             last_ns = join_time_ns(j, !from, there->last_ns);
    bool is_inside = left_ns >= first_ns && left_ns + (uint64_t)j->patience_ns[from] <= last_ns;
    p->fate = is_inside ? EXPLAIN_FATE_LOST : EXPLAIN_FATE_OUTSIDE;
    bool is_at_the_edge = left_ns <= last_ns && left_ns + (uint64_t)j->patience_ns[from] >= first_ns;
    p->sure = is_inside || p->equal || is_at_the_edge ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_SHOWN;
    /* of equal packets another may have been taken for it */
    if (!is_inside && is_at_the_edge && p->equal)
        join_leave_open(p, EXPLAIN_FATE_OUTSIDE, EXPLAIN_FATE_ARRIVED);
}

static void judge_came(struct explain_join *j, unsigned from, struct join_packet *p)
{
    const struct join_side *here = &j->side[from];
    uint64_t came_ns = join_time_ns(j, !from, p->time_ns);
    uint64_t first_ns = join_time_ns(j, from, here->first_ns), last_ns = join_time_ns(j, from, here->last_ns);
    bool is_inside = came_ns >= first_ns + (uint64_t)j->patience_ns[from] && came_ns <= last_ns;
    p->sure = EXPLAIN_SURE_SHOWN;
    if (p->is_damaged) {
        p->fate = EXPLAIN_FATE_DAMAGED;
        p->sure = EXPLAIN_SURE_LIKELY;
    } else if (is_inside) {
        p->fate = EXPLAIN_FATE_MISSED_HERE;
        if (p->is_doubted || p->equal)
            join_leave_open(p, EXPLAIN_FATE_MISSED_HERE, EXPLAIN_FATE_COPY);
        else if (!p->icrc) /* another packet may have become it: nothing vouches for its headers */
            join_leave_open(p, EXPLAIN_FATE_MISSED_HERE, EXPLAIN_FATE_DAMAGED);
    } else {
        p->fate = EXPLAIN_FATE_OUTSIDE;
        p->sure = EXPLAIN_SURE_LIKELY;
    }
}

static void judge(struct explain_join *j, unsigned side, struct join_packet *p)
{
    int from = j->lanes[p->lane].from;
    if (from < 0) {
        p->fate = p->is_damaged ? EXPLAIN_FATE_DAMAGED : EXPLAIN_FATE_UNRELATED;
        p->sure = p->is_damaged || !j->summary.has_icrc ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_SHOWN;
        if (!p->is_damaged && j->lanes[p->lane].packets[!side])
            join_leave_open(p, EXPLAIN_FATE_OUTSIDE, EXPLAIN_FATE_ARRIVED);
    } else if (from == (int)side) {
        judge_sent(j, side, p);
    } else {
        judge_came(j, (unsigned)from, p);
    }
}

/* Packets that this capture, at the end where they left, is seen to miss, or `is_perhaps`, may be. */
static uint32_t missed_of(const struct explain_join *j, unsigned from, bool is_perhaps)
{
    const struct join_side *there = &j->side[!from];
    uint32_t missed = 0;
    for (uint32_t i = 0; i < there->count; i++) {
        const struct join_packet *p = &there->packets[i];
        missed += p->other == JOIN_NONE && p->fate == EXPLAIN_FATE_MISSED_HERE &&
                  (is_perhaps || p->sure != EXPLAIN_SURE_UNKNOWN);
    }
    return missed;
}

/* What may be a copy that the network made may as well have been sent by who sent the first, where that
 * capture misses packets, or was off. */
static void judge_copies(struct explain_join *j, unsigned from)
{
    const struct join_side *here = &j->side[from], *there = &j->side[!from];
    uint64_t first_ns = join_time_ns(j, from, here->first_ns), last_ns = join_time_ns(j, from, here->last_ns);
    uint32_t missed = missed_of(j, from, true);
    for (uint32_t i = 0; i < there->count; i++) {
        struct join_packet *p = &there->packets[i];
        if (!p->is_copy || p->sure == EXPLAIN_SURE_SHOWN || j->lanes[p->lane].from != (int)from)
            continue;
        uint64_t came_ns = join_time_ns(j, !from, p->time_ns);
        if (came_ns < first_ns + (uint64_t)j->patience_ns[from] || came_ns > last_ns)
            join_leave_open(p, EXPLAIN_FATE_COPY, EXPLAIN_FATE_OUTSIDE);
        else if (missed)
            join_leave_open(p, EXPLAIN_FATE_COPY, EXPLAIN_FATE_MISSED_HERE);
    }
}

/* --- what the responder tells --- */

/* Lists the requests that are lost or came when nobody looked, as far as the times say, in the order of their
 * leaving. */
static bool list_doubtful(struct inquiry *q)
{
    const struct join_side *s = &q->j->side[q->from];
    q->doubtful = malloc(((size_t)s->count + 1) * sizeof *q->doubtful);
    for (uint32_t i = 0; i < s->count && q->doubtful; i++) {
        const struct join_packet *p = &s->packets[i];
        bool is_missing = p->fate == EXPLAIN_FATE_LOST || p->fate == EXPLAIN_FATE_OUTSIDE;
        if (is_missing && p->other == JOIN_NONE && p->role == JOIN_REQUEST && p->stream > 1)
            q->doubtful[q->count++] =
                (struct doubtful){i, JOIN_NONE, join_time_ns(q->j, q->from, p->time_ns)};
    }
    return q->doubtful;
}

/* Which stream of the receiver's capture is which of the sender's. */
static bool map_streams(struct inquiry *q)
{
    const struct join_side *here = &q->j->side[q->from], *there = &q->j->side[!q->from];
    q->asked = malloc(((size_t)here->stream_cap + 1) * sizeof *q->asked);
    q->twin = calloc((size_t)there->stream_cap + 1, sizeof *q->twin);
    if (!q->asked || !q->twin)
        return false;
    for (uint32_t i = 0; i < here->stream_cap; i++)
        q->asked[i] = (struct asked){.first = JOIN_NONE, .last = JOIN_NONE};
    for (uint32_t i = 0; i < here->count; i++) {
        const struct join_packet *p = &here->packets[i];
        if (p->other == JOIN_NONE || p->is_copy || p->stream < 2 || !there->packets[p->other].stream)
            continue;
        uint32_t twin = there->packets[p->other].stream;
        if (!q->twin[twin]) {
            q->twin[twin] = p->stream;
            q->twin[twin ^ 1] = p->stream ^ 1;
        }
    }
    return true;
}

static bool is_newer(uint32_t psn, uint32_t known)
{
    return !known || roce_psn_diff(psn, known & ROCE_PSN_MASK) >= 0;
}

/* A request in doubt leaves. One that may have been there before proves nothing by being covered: it does
 * not wait for answers, and is_again says so. */
static void ask(struct inquiry *q, uint32_t d)
{
    struct join_packet *p = &q->j->side[q->from].packets[q->doubtful[d].packet];
    struct asked *a = &q->asked[p->stream];
    if (!a->covered || !is_newer(p->psn, a->covered) || !is_newer(p->psn, a->arrived))
        p->is_again = true;
    if (a->nak && roce_psn_diff(p->psn, a->nak & ROCE_PSN_MASK) > 0)
        p->is_doubted = true;
    for (uint32_t i = a->first, n = a->count; n--; i = q->doubtful[i].next) {
        struct join_packet *before = &q->j->side[q->from].packets[q->doubtful[i].packet];
        if (before->psn == p->psn)
            before->is_again = p->is_again = true;
    }
    if (a->count == WAITING_MAX) {
        a->first = q->doubtful[a->first].next;
        a->count--;
    }
    if (a->count++ == 0)
        a->first = d;
    else
        q->doubtful[a->last].next = d;
    a->last = d;
}

/* What an answer says of a request. */
enum tale { TALE_NONE, TALE_ARRIVED, TALE_MISSING };

static enum tale tell(const struct join_packet *answer, const struct join_packet *request)
{
    int32_t behind = roce_psn_diff(request->psn, answer->psn);
    bool is_nak =
        roce_opcodes[answer->opcode].flags & ROCE_PKT_AETH && answer->syndrome == ROCE_SYNDROME_NAK_PSN_SEQ;
    if (is_nak && behind == 0)
        return TALE_MISSING;
    bool is_covered = behind < 0 && behind > -PSNS_AHEAD; /* farther off it is of another queue pair */
    return is_covered || (behind == 0 && !is_nak) ? TALE_ARRIVED : TALE_NONE;
}

/* Says of a waiting request what the answer tells; true: it need not wait any more. */
static bool conclude(struct inquiry *q, const struct doubtful *d, uint32_t answer)
{
    struct join_packet *p = &q->j->side[q->from].packets[d->packet];
    const struct join_packet *by = &q->j->side[!q->from].packets[answer];
    const struct join_side *here = &q->j->side[q->from];
    uint64_t now_ns = join_time_ns(q->j, !q->from, by->time_ns);
    bool was_again = p->is_again;
    switch (tell(by, p)) {
    case TALE_NONE:
        p->is_doubted |=
            by->syndrome == ROCE_SYNDROME_NAK_PSN_SEQ; /* if it came, it was dropped: out of order */
        return false;
    case TALE_ARRIVED:
        if (p->fate != EXPLAIN_FATE_LOST)
            return true;
        /* a copy that left when the capture there was over may have come, too */
        if (!p->is_again && !p->is_doubted && now_ns <= join_time_ns(q->j, q->from, here->last_ns)) {
            p->fate = EXPLAIN_FATE_MISSED_THERE;
            p->sure = EXPLAIN_SURE_SHOWN;
            p->proof = answer;
            p->says = JOIN_SAYS_COVERS;
        }
        return true;
    case TALE_MISSING:
        p->is_again = true; /* what covers it from now on may be for another copy */
        if (now_ns < d->time_ns + (uint64_t)q->j->longest_ns[q->from])
            return false;
        if (p->fate != EXPLAIN_FATE_LOST)
            return true;
        p->sure = p->is_doubted || was_again ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_SHOWN;
        p->proof = answer;
        p->says = JOIN_SAYS_ASKS;
        return true;
    }
    return false;
}

/* A packet of the receiver's capture came, or answers: takes those out of the stream's list that it
 * settles. */
static void settle(struct inquiry *q, struct asked *a, uint32_t packet, bool is_answer)
{
    uint32_t psn = q->j->side[!q->from].packets[packet].psn, before = JOIN_NONE;
    for (uint32_t i = a->first; i != JOIN_NONE && a->count; i = q->doubtful[i].next) {
        const struct doubtful *d = &q->doubtful[i];
        bool is_done = is_answer ? conclude(q, d, packet) : q->j->side[q->from].packets[d->packet].psn == psn;
        if (!is_done) {
            before = i;
            continue;
        }
        if (before == JOIN_NONE)
            a->first = d->next;
        else
            q->doubtful[before].next = d->next;
        if (a->last == i)
            a->last = before;
        a->count--;
    }
}

/* The next packet of the receiver's capture. */
static void hear(struct inquiry *q, uint32_t i)
{
    const struct join_packet *p = &q->j->side[!q->from].packets[i];
    if (p->stream < 2 || p->is_damaged || p->is_copy)
        return;
    bool is_answer = p->role == JOIN_ANSWER;
    uint32_t stream = q->twin[is_answer ? p->stream ^ 1 : p->stream];
    if (p->role == JOIN_OTHER || stream < 2 || (q->j->lanes[p->lane].from == (int)q->from) == is_answer)
        return;
    struct asked *a = &q->asked[stream];
    if (a->count)
        settle(q, a, i, is_answer);
    uint32_t end = roce_psn_add(p->psn, 1);
    if (is_answer && p->syndrome == ROCE_SYNDROME_NAK_PSN_SEQ)
        a->nak = p->psn | KNOWN;
    else if (is_answer && a->nak && roce_psn_diff(p->psn, a->nak & ROCE_PSN_MASK) >= 0)
        a->nak = 0;
    if (is_answer && is_newer(end, a->covered))
        a->covered = end | KNOWN;
    if (!is_answer && is_newer(end, a->arrived))
        a->arrived = end | KNOWN;
}

/* A request leaves that came. Those that wait and have its PSN are not the only ones any more: what covers
 * them may be for this one, or for a copy of it that the capture there missed. */
static void leave(struct inquiry *q, const struct join_packet *p)
{
    const struct join_side *here = &q->j->side[q->from];
    if (p->stream < 2 || p->role != JOIN_REQUEST || p->other == JOIN_NONE)
        return;
    const struct asked *a = &q->asked[p->stream];
    for (uint32_t i = a->first, n = a->count; n--; i = q->doubtful[i].next) {
        struct join_packet *before = &here->packets[q->doubtful[i].packet];
        before->is_again |= before->psn == p->psn;
    }
}

static void inquire(struct inquiry *q)
{
    const struct join_side *here = &q->j->side[q->from], *there = &q->j->side[!q->from];
    for (uint32_t i = 0; i < there->count; i++) {
        uint64_t now_ns = join_time_ns(q->j, !q->from, there->packets[i].time_ns);
        while (q->at < q->count && q->doubtful[q->at].time_ns <= now_ns)
            ask(q, q->at++);
        while (q->left < here->count && join_time_ns(q->j, q->from, here->packets[q->left].time_ns) <= now_ns)
            leave(q, &here->packets[q->left++]);
        hear(q, i);
    }
}

/* What was sent and did not come, though nobody says so, may have been missed by a capture that misses other
 * packets. What the receiver asks for it may have had, out of turn, if that capture misses what it asked for
 * first; and what an answer covers, another copy may have brought, if both miss it. */
static void doubt_losses(struct explain_join *j, unsigned from)
{
    const struct join_side *here = &j->side[from];
    bool is_missing_here = missed_of(j, from, true);
    uint32_t missed = missed_of(j, !from, false);
    for (uint32_t i = 0; i < here->count; i++)
        missed += here->packets[i].other == JOIN_NONE && here->packets[i].fate == EXPLAIN_FATE_MISSED_THERE;
    for (uint32_t i = 0; i < here->count && missed; i++) {
        struct join_packet *p = &here->packets[i];
        if (p->other != JOIN_NONE)
            continue;
        if ((p->fate == EXPLAIN_FATE_MISSED_THERE && is_missing_here) ||
            (p->fate == EXPLAIN_FATE_LOST && p->proof != JOIN_NONE))
            p->sure = EXPLAIN_SURE_LIKELY;
        else if (p->fate == EXPLAIN_FATE_LOST && p->sure == EXPLAIN_SURE_LIKELY)
            join_leave_open(p, EXPLAIN_FATE_LOST, EXPLAIN_FATE_MISSED_THERE);
    }
}

static bool is_repeated(const struct join_side *s, const struct join_packet *p)
{
    uint32_t stream = p->role == JOIN_ANSWER ? p->stream ^ 1 : p->stream;
    bool is_cnp = roce_opcodes[p->opcode].flags & ROCE_PKT_CNP; /* all are alike */
    return is_cnp || (p->stream > 1 && s->newest_psn[stream] & JOIN_REPEATED);
}

/* Of a packet that was sent again with the same bytes, a capture may miss the one that came, and have the one
 * that did not. */
static void doubt_arrivals(struct explain_join *j, unsigned from)
{
    struct join_side *here = &j->side[from], *there = &j->side[!from];
    if (!missed_of(j, from, true))
        return;
    for (uint32_t i = 0; i < here->count; i++) {
        struct join_packet *p = &here->packets[i];
        if (p->other == JOIN_NONE || p->is_copy || p->sure != EXPLAIN_SURE_SHOWN ||
            j->lanes[p->lane].from != (int)from || join_has_ids(&j->lanes[p->lane], from))
            continue;
        if (is_repeated(here, p) || is_repeated(there, &there->packets[p->other]))
            p->sure = there->packets[p->other].sure = EXPLAIN_SURE_LIKELY;
    }
}

/* What left behind one that came, and before another: the capture there was on, if packets kept their order,
 * at whatever time it had its first and its last. */
static void doubt_edges(struct explain_join *j, unsigned from)
{
    struct join_side *here = &j->side[from];
    uint32_t first = JOIN_NONE, last = 0;
    for (uint32_t i = 0; i < here->count; i++) {
        const struct join_packet *p = &here->packets[i];
        if (p->other == JOIN_NONE || p->is_copy || p->sure != EXPLAIN_SURE_SHOWN ||
            j->lanes[p->lane].from != (int)from)
            continue;
        first = min_u32(first, i);
        last = i;
    }
    for (uint32_t i = first; i < last && first != JOIN_NONE; i++) {
        struct join_packet *p = &here->packets[i];
        if (p->other == JOIN_NONE && p->fate == EXPLAIN_FATE_OUTSIDE && p->sure == EXPLAIN_SURE_LIKELY &&
            j->lanes[p->lane].from == (int)from)
            join_leave_open(p, EXPLAIN_FATE_OUTSIDE, EXPLAIN_FATE_LOST);
    }
}

/* Of equal packets some came: which of them were lost is not told. Nor is it of one that an equal packet from
 * nowhere may be, as long as nobody asks for it. */
static void leave_equals_open(struct explain_join *j, unsigned from)
{
    const struct join_side *here = &j->side[from];
    for (uint32_t i = 0; i < here->count; i++) {
        struct join_packet *p = &here->packets[i];
        bool is_lost = p->fate == EXPLAIN_FATE_LOST, is_off = p->fate == EXPLAIN_FATE_OUTSIDE;
        bool may_be_here =
            p->equal == JOIN_EQUAL_ALONE && p->proof == JOIN_NONE && p->sure == EXPLAIN_SURE_LIKELY;
        if (p->other == JOIN_NONE && ((is_lost && (p->is_open || may_be_here)) || (is_off && may_be_here)))
            join_leave_open(p, (enum explain_fate)p->fate, EXPLAIN_FATE_ARRIVED);
    }
}

/* Many packets left and did not come, and as many came and did not leave, of the same bytes as others: the
 * clocks were laid so that packets which were sent again are taken for those before them. */
static bool is_askew(const struct explain_join *j, unsigned from)
{
    const struct join_side *here = &j->side[from], *there = &j->side[!from];
    uint32_t sent = 0, lost = 0, strangers = 0;
    for (uint32_t i = 0; i < here->count; i++) {
        const struct join_packet *p = &here->packets[i];
        bool is_ours = j->lanes[p->lane].from == (int)from && !join_has_ids(&j->lanes[p->lane], from);
        sent += is_ours;
        lost += is_ours && p->other == JOIN_NONE && p->fate == EXPLAIN_FATE_LOST;
    }
    for (uint32_t i = 0; i < there->count; i++) {
        const struct join_packet *p = &there->packets[i];
        bool is_theirs = j->lanes[p->lane].from == (int)from && !join_has_ids(&j->lanes[p->lane], from);
        strangers += is_theirs && p->sure != EXPLAIN_SURE_SHOWN && (p->equal || p->is_copy) &&
                     (p->is_copy || p->other == JOIN_NONE);
    }
    return lost >= STRANGERS_LEAST && strangers >= STRANGERS_LEAST && lost >= sent / STRANGERS_SHARE &&
           strangers >= sent / STRANGERS_SHARE;
}

/* What rests on times is likely, no more, where packets went one way only, so that it is a guess which
 * end they left, or where the clock is one of pieces, or leaves pairs out; and nothing where no clock
 * explains them: one was set, or packets were taken for equal ones of another time. An identification shows
 * what it does without times. */
static void doubt(const struct explain_join *j, struct join_packet *p, bool has_ids)
{
    const struct explain_clock *c = &j->summary.clock;
    bool is_open = c->is_inconsistent || c->is_one_way;
    bool is_strange = p->fate == EXPLAIN_FATE_COPY || p->fate == EXPLAIN_FATE_MISSED_HERE;
    if (c->is_inconsistent && !has_ids && (is_strange || p->sure != EXPLAIN_SURE_UNKNOWN))
        join_leave_open(p, p->fate,
                        p->fate == EXPLAIN_FATE_ARRIVED ? EXPLAIN_FATE_LOST : EXPLAIN_FATE_ARRIVED);
    else if (p->sure == EXPLAIN_SURE_SHOWN && (is_open || !has_ids))
        p->sure = EXPLAIN_SURE_LIKELY;
}

static void doubt_times(struct explain_join *j)
{
    const struct explain_clock *c = &j->summary.clock;
    bool is_open = c->is_inconsistent || c->is_one_way || c->piece_count > 1 || c->strays;
    for (unsigned side = 0; side < 2 && is_open; side++)
        for (uint32_t i = 0; i < j->side[side].count; i++) {
            struct join_packet *p = &j->side[side].packets[i];
            int from = j->lanes[p->lane].from;
            doubt(j, p, from >= 0 && join_has_ids(&j->lanes[p->lane], (unsigned)from));
        }
}

int join_judge(struct explain_join *j)
{
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < j->side[side].count; i++)
            if (j->side[side].packets[i].other == JOIN_NONE)
                judge(j, side, &j->side[side].packets[i]);
    for (unsigned from = 0; from < 2; from++) {
        judge_copies(j, from);
        struct inquiry q = {.j = j, .from = from};
        bool is_ready = list_doubtful(&q) && map_streams(&q);
        if (is_ready && q.count)
            inquire(&q);
        free(q.doubtful);
        free(q.asked);
        free(q.twin);
        if (!is_ready)
            return -ENOMEM;
    }
    for (unsigned from = 0; from < 2; from++)
        doubt_losses(j, from);
    for (unsigned from = 0; from < 2; from++) {
        doubt_arrivals(j, from);
        leave_equals_open(j, from);
        doubt_edges(j, from);
    }
    for (unsigned from = 0; from < 2; from++)
        j->summary.clock.is_inconsistent |= is_askew(j, from);
    doubt_times(j);
    return 0;
}
