/* SPDX-License-Identifier: BSD-2-Clause */
/* The fate of a packet that one capture alone has: lost, or only missed by the other capture. Of a request
 * of a reliable service the responder tells: an answer that covers it, before any other copy of it came,
 * says that it arrived; a NAK that asks for it, later than any packet was under way, that it did not. Of
 * answers and of the unreliable services nothing tells, so that "lost" is likely, no more; if the
 * receiver's capture is known to miss packets, it cannot be told.
 *
 * The requests in doubt wait, stream by stream, while the packets of the receiver's capture are read in
 * their order. */
#include "explain/join/fate/fate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/join/fate/acked.h"
#include "explain/join/fate/doubtful.h"
#include "explain/join/keep/segment.h"
#include "roce/opcode.h"
#include "roce/psn.h"
#include "roce/wire.h"

#define PSNS_AHEAD 65536 /* an answer is no farther ahead of a request that waits for one */
#define WHOLE_LEAST \
    64 /* packets of a sender that both captures have: of fewer a capture may miss some unseen */
#define STRANGERS_LEAST 16 /* packets of a sender, */
#define STRANGERS_SHARE 8  /* and so great a part of all, 1/8, that were lost, and that came from nowhere */

/* A stream of the sender's capture. */
struct asked {
    struct join_waiting doubtful; /* of its requests */
    uint32_t covered;             /* one past the newest PSN that an answer covered, */
    uint32_t nak;                 /* of the newest NAK, with KNOWN, until something covers it; 0: none */
    uint32_t arrived;             /* one past the newest that came; with KNOWN; 0: none yet */
    uint32_t twin;                /* the stream of the receiver's capture that it is; 0: not known yet */
    bool is_mixed;                /* the captures part the queue pairs between these addresses differently */
};

#define KNOWN (UINT32_C(1) << 31)

struct inquiry {
    struct explain_join *j;
    unsigned from;
    struct join_doubtful *doubtful;
    uint32_t count, at;
    uint32_t left;       /* of the sender's packets, these have left */
    struct asked *asked; /* by stream of the sender's capture */
    uint32_t *twin;      /* by stream of the receiver's capture: that of the sender's; 0: not known */
};

/* --- by the times alone --- */

static void judge_sent(struct explain_join *j, unsigned from, struct join_packet *p)
{
    const struct join_side *there = &j->side[!from];
    uint64_t left_ns = join_time_ns(j, from, p->time_ns);
    uint64_t first_ns = join_since_ns(j, from, p), last_ns = join_time_ns(j, !from, there->last_ns);
    bool is_inside = left_ns >= first_ns && left_ns + (uint64_t)j->patience_ns[from] <= last_ns;
    p->fate.kind = is_inside ? EXPLAIN_FATE_LOST : EXPLAIN_FATE_OUTSIDE;
    bool is_at_the_edge = left_ns <= last_ns && left_ns + (uint64_t)j->patience_ns[from] >= first_ns;
    p->fate.sure = is_inside || p->match.equal || is_at_the_edge ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_SHOWN;
    /* of equal packets another may have been taken for it */
    if (!is_inside && is_at_the_edge && p->match.equal)
        join_leave_open(p, EXPLAIN_FATE_OUTSIDE, EXPLAIN_FATE_ARRIVED);
}

static void judge_came(struct explain_join *j, unsigned from, struct join_packet *p)
{
    const struct join_side *here = &j->side[from];
    uint64_t came_ns = join_time_ns(j, !from, p->time_ns);
    uint64_t first_ns = join_since_ns(j, !from, p), last_ns = join_time_ns(j, from, here->last_ns);
    bool is_inside = came_ns >= first_ns + (uint64_t)j->patience_ns[from] && came_ns <= last_ns;
    p->fate.sure = EXPLAIN_SURE_SHOWN;
    if (p->captured.is_damaged) {
        p->fate.kind = EXPLAIN_FATE_DAMAGED;
        p->fate.sure = EXPLAIN_SURE_LIKELY;
    } else if (is_inside) {
        p->fate.kind = EXPLAIN_FATE_MISSED_HERE;
        if (p->match.is_doubted || p->match.equal)
            join_leave_open(p, EXPLAIN_FATE_MISSED_HERE, EXPLAIN_FATE_COPY);
        else if (!p->icrc ||
                 p->tcp.is_changed) /* another packet may have become it: nothing vouches for it */
            join_leave_open(p, EXPLAIN_FATE_MISSED_HERE, EXPLAIN_FATE_DAMAGED);
    } else {
        p->fate.kind = EXPLAIN_FATE_OUTSIDE;
        p->fate.sure = EXPLAIN_SURE_LIKELY;
    }
}

static void judge(struct explain_join *j, unsigned side, struct join_packet *p)
{
    int from = j->lanes[p->lane].from;
    if (from < 0) {
        p->fate.kind = p->captured.is_damaged ? EXPLAIN_FATE_DAMAGED : EXPLAIN_FATE_UNRELATED;
        p->fate.sure =
            p->captured.is_damaged || !join_has_content(j, p) ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_SHOWN;
        if (!p->captured.is_damaged && j->lanes[p->lane].packets[!side])
            join_leave_open(p, EXPLAIN_FATE_OUTSIDE, EXPLAIN_FATE_ARRIVED);
    } else if (from == (int)side) {
        judge_sent(j, side, p);
    } else {
        judge_came(j, (unsigned)from, p);
    }
}

/* Returns the packets that this capture, at the end that they left, is seen to miss, or `is_perhaps`, may
 * be. */
static uint32_t missed_of(const struct explain_join *j, unsigned from, bool is_perhaps)
{
    const struct join_side *there = &j->side[!from];
    uint32_t missed = 0;
    for (uint32_t i = 0; i < there->count; i++) {
        const struct join_packet *p = &there->packets[i];
        missed += p->match.other == JOIN_NONE && p->fate.kind == EXPLAIN_FATE_MISSED_HERE &&
                  (is_perhaps || p->fate.sure != EXPLAIN_SURE_UNKNOWN);
    }
    return missed;
}

/* A packet that may be a copy of the network may as well have been sent by the sender of the first, if that
 * capture misses packets, or was off. */
static void judge_copies(struct explain_join *j, unsigned from)
{
    const struct join_side *here = &j->side[from], *there = &j->side[!from];
    uint64_t last_ns = join_time_ns(j, from, here->last_ns);
    uint32_t missed = missed_of(j, from, true);
    for (uint32_t i = 0; i < there->count; i++) {
        struct join_packet *p = &there->packets[i];
        if (!p->match.is_copy || p->fate.sure == EXPLAIN_SURE_SHOWN || j->lanes[p->lane].from != (int)from)
            continue;
        uint64_t came_ns = join_time_ns(j, !from, p->time_ns), first_ns = join_since_ns(j, !from, p);
        if (came_ns < first_ns + (uint64_t)j->patience_ns[from] || came_ns > last_ns)
            join_leave_open(p, EXPLAIN_FATE_COPY, EXPLAIN_FATE_OUTSIDE);
        else if (missed)
            join_leave_open(p, EXPLAIN_FATE_COPY, EXPLAIN_FATE_MISSED_HERE);
    }
}

/* --- by the responder --- */

/* Lists the requests that are lost or came when nobody looked, as far as the times say, in the order of their
 * leaving. */
static bool list_doubtful(struct inquiry *q)
{
    const struct join_side *s = &q->j->side[q->from];
    q->doubtful = malloc(((size_t)s->count + 1) * sizeof *q->doubtful);
    for (uint32_t i = 0; i < s->count && q->doubtful; i++) {
        const struct join_packet *p = &s->packets[i];
        bool is_missing = p->fate.kind == EXPLAIN_FATE_LOST || p->fate.kind == EXPLAIN_FATE_OUTSIDE;
        if (is_missing && p->match.other == JOIN_NONE && p->role == JOIN_REQUEST && p->stream > 1)
            q->doubtful[q->count++] = (struct join_doubtful){
                .packet = i, .next = JOIN_NONE, .time_ns = join_time_ns(q->j, q->from, p->time_ns)};
    }
    return q->doubtful;
}

/* These streams are one, as a packet of either shows. Of a capture that begins in the middle the analysis
 * may take packets of one queue pair for those of another: then their streams are several of the other
 * capture. */
static void pair_streams(struct inquiry *q, uint32_t here, uint32_t there)
{
    struct asked *a = &q->asked[here];
    uint32_t known = q->twin[there];
    if ((known && known != here) || (a->twin && a->twin != there)) {
        a->is_mixed = q->asked[here ^ 1].is_mixed = true;
        q->asked[known].is_mixed = q->asked[known ^ 1].is_mixed = true;
    }
    if (!known) {
        q->twin[there] = here;
        q->twin[there ^ 1] = here ^ 1;
    }
    if (!a->twin) {
        a->twin = there;
        q->asked[here ^ 1].twin = there ^ 1;
    }
}

/* Which stream of the receiver's capture is which of the sender's. */
static bool map_streams(struct inquiry *q)
{
    const struct join_side *here = &q->j->side[q->from], *there = &q->j->side[!q->from];
    q->asked = calloc((size_t)here->stream_cap + 2, sizeof *q->asked);
    q->twin = calloc((size_t)there->stream_cap + 1, sizeof *q->twin);
    if (!q->asked || !q->twin)
        return false;
    for (uint32_t i = 0; i < here->count; i++) {
        const struct join_packet *p = &here->packets[i];
        if (p->match.other != JOIN_NONE && !p->match.is_copy && p->stream > 1 &&
            there->packets[p->match.other].stream)
            pair_streams(q, p->stream, there->packets[p->match.other].stream);
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
        p->match.is_doubted = true;
    for (uint32_t i = a->doubtful.first, n = a->doubtful.count; n--; i = q->doubtful[i].next) {
        struct join_packet *before = &q->j->side[q->from].packets[q->doubtful[i].packet];
        if (before->psn == p->psn)
            before->is_again = p->is_again = true;
    }
    join_waiting_put(&a->doubtful, q->doubtful, d);
}

/* The meaning of an answer for a request. */
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

/* Applies an answer to a waiting request; true: it need not wait any more. */
static bool conclude(struct inquiry *q, const struct join_doubtful *d, uint32_t answer)
{
    struct join_packet *p = &q->j->side[q->from].packets[d->packet];
    const struct join_packet *by = &q->j->side[!q->from].packets[answer];
    const struct join_side *here = &q->j->side[q->from];
    uint64_t now_ns = join_time_ns(q->j, !q->from, by->time_ns);
    bool was_again = p->is_again;
    switch (tell(by, p)) {
    case TALE_NONE:
        p->match.is_doubted |=
            by->syndrome == ROCE_SYNDROME_NAK_PSN_SEQ; /* if it came, it was dropped: out of order */
        return false;
    case TALE_ARRIVED:
        if (p->fate.kind != EXPLAIN_FATE_LOST)
            return true;
        /* a copy that left when the capture there was over may have come, too */
        if (!p->is_again && !p->match.is_doubted && now_ns <= join_time_ns(q->j, q->from, here->last_ns)) {
            p->fate.kind = EXPLAIN_FATE_MISSED_THERE;
            p->fate.sure = q->asked[p->stream].is_mixed ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_SHOWN;
            p->fate.proof = answer;
            p->fate.says = JOIN_SAYS_COVERS;
        }
        return true;
    case TALE_MISSING:
        p->is_again = true; /* answers that cover it from now on may be for another copy */
        if (now_ns < d->time_ns + (uint64_t)q->j->longest_ns[q->from])
            return false;
        if (p->fate.kind != EXPLAIN_FATE_LOST)
            return true;
        p->fate.sure = p->match.is_doubted || was_again || q->asked[p->stream].is_mixed ? EXPLAIN_SURE_LIKELY
                                                                                        : EXPLAIN_SURE_SHOWN;
        p->fate.proof = answer;
        p->fate.says = JOIN_SAYS_ASKS;
        return true;
    }
    return false;
}

/* A packet that comes to those that wait. */
struct hearing {
    struct inquiry *q;
    uint32_t packet;
    bool is_answer; /* or it is the packet itself */
};

/* Returns whether the packet settles one that waits. */
static bool settles(void *ctx, struct join_doubtful *d)
{
    const struct hearing *h = ctx;
    const struct explain_join *j = h->q->j;
    return h->is_answer
               ? conclude(h->q, d, h->packet)
               : j->side[h->q->from].packets[d->packet].psn == j->side[!h->q->from].packets[h->packet].psn;
}

/* The next packet of the receiver's capture. */
static void hear(struct inquiry *q, uint32_t i)
{
    const struct join_packet *p = &q->j->side[!q->from].packets[i];
    if (p->stream < 2 || p->captured.is_damaged || p->match.is_copy)
        return;
    bool is_answer = p->role == JOIN_ANSWER;
    uint32_t stream = q->twin[is_answer ? p->stream ^ 1 : p->stream];
    if ((p->role != JOIN_REQUEST && !is_answer) || stream < 2 ||
        (q->j->lanes[p->lane].from == (int)q->from) == is_answer)
        return;
    struct asked *a = &q->asked[stream];
    if (a->doubtful.count)
        join_waiting_settle(&a->doubtful, q->doubtful, settles, &(struct hearing){q, i, is_answer});
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

/* A request leaves that came. The requests that wait and have its PSN are not the only ones any more: an
 * answer that covers them may be for this one, or for a copy of it that the capture there missed. */
static void leave(struct inquiry *q, const struct join_packet *p)
{
    const struct join_side *here = &q->j->side[q->from];
    if (p->stream < 2 || p->role != JOIN_REQUEST || p->match.other == JOIN_NONE)
        return;
    const struct asked *a = &q->asked[p->stream];
    for (uint32_t i = a->doubtful.first, n = a->doubtful.count; n--; i = q->doubtful[i].next) {
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

/* How many packets from that end both captures have, up to WHOLE_LEAST. */
static uint32_t count_common(const struct explain_join *j, unsigned from)
{
    const struct join_side *here = &j->side[from];
    uint32_t common = 0;
    for (uint32_t i = 0; i < here->count && common < WHOLE_LEAST; i++)
        common +=
            here->packets[i].match.other != JOIN_NONE && j->lanes[here->packets[i].lane].from == (int)from;
    return common;
}

/* Whether that capture has nothing of connected queue pairs between these addresses, as one that was taken
 * with a filter for the CM or TCP alone. */
static bool has_no_qps(const struct explain_join *j, unsigned side, const struct join_packet *p)
{
    const struct join_lane *l = &j->lanes[p->lane];
    return join_is_of_qp(p->role) && !l->has_qps[side] &&
           !(l->back != JOIN_NONE && j->lanes[l->back].has_qps[side]);
}

/* Whether the capture at its receiver is over before these two have spoken their last: a packet that was
 * not there when the receiver asked for it may be late, or have a late copy, and come then. */
static bool is_over_before(const struct explain_join *j, unsigned from, const struct join_packet *p)
{
    const struct join_lane *l = &j->lanes[p->lane];
    uint64_t last_ns = l->last_ns[from];
    if (l->back != JOIN_NONE)
        last_ns = max_u64(last_ns, j->lanes[l->back].last_ns[from]);
    return join_time_ns(j, from, last_ns) >
           join_time_ns(j, !from, j->side[!from].last_ns) + (uint64_t)j->patience_ns[from];
}

/* A packet that was sent and did not come, though nothing says so, may have been missed by a capture that
 * misses other packets, or all of their kind. The receiver may have had a packet that it asks for, out of
 * turn, if that capture misses the packet that it asked for first, or soon behind, if it misses that: a
 * capture of a few packets may, though none of them shows it. And another copy may have brought the packet
 * that an answer covers, if both miss it. */
static void doubt_losses(struct explain_join *j, unsigned from)
{
    const struct join_side *here = &j->side[from];
    bool is_whole = count_common(j, from) >= WHOLE_LEAST;
    bool is_missing_here = missed_of(j, from, true);
    uint32_t missed = missed_of(j, !from, false);
    for (uint32_t i = 0; i < here->count; i++)
        missed += here->packets[i].match.other == JOIN_NONE &&
                  here->packets[i].fate.kind == EXPLAIN_FATE_MISSED_THERE;
    for (uint32_t i = 0; i < here->count; i++) {
        struct join_packet *p = &here->packets[i];
        bool is_missed = missed || has_no_qps(j, !from, p);
        if (p->match.other != JOIN_NONE)
            continue;
        if (p->fate.kind == EXPLAIN_FATE_LOST && p->fate.sure == EXPLAIN_SURE_SHOWN &&
            is_over_before(j, from, p))
            p->fate.sure = EXPLAIN_SURE_LIKELY;
        if (!is_missed && is_whole)
            continue;
        if ((p->fate.kind == EXPLAIN_FATE_MISSED_THERE && is_missing_here) ||
            (p->fate.kind == EXPLAIN_FATE_LOST && p->fate.proof != JOIN_NONE))
            p->fate.sure = EXPLAIN_SURE_LIKELY;
        else if (is_missed && p->fate.kind == EXPLAIN_FATE_LOST && p->fate.sure == EXPLAIN_SURE_LIKELY)
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
        if (p->match.other == JOIN_NONE || p->match.is_copy || p->fate.sure != EXPLAIN_SURE_SHOWN ||
            j->lanes[p->lane].from != (int)from || join_has_ids(&j->lanes[p->lane], from))
            continue;
        if (is_repeated(here, p) || is_repeated(there, &there->packets[p->match.other]))
            p->fate.sure = there->packets[p->match.other].fate.sure = EXPLAIN_SURE_LIKELY;
    }
}

/* A packet that left behind one that came, and before another: the capture there was on, if packets kept
 * their order, at whatever time it had its first and its last, and nothing was let go of. */
static void doubt_edges(struct explain_join *j, unsigned from)
{
    struct join_side *here = &j->side[from];
    uint64_t first_ns = join_time_ns(j, !from, j->side[!from].first_ns);
    uint32_t first = JOIN_NONE, last = 0;
    for (uint32_t i = 0; i < here->count; i++) {
        const struct join_packet *p = &here->packets[i];
        if (p->match.other == JOIN_NONE || p->match.is_copy || p->fate.sure != EXPLAIN_SURE_SHOWN ||
            j->lanes[p->lane].from != (int)from)
            continue;
        first = min_u32(first, i);
        last = i;
    }
    for (uint32_t i = first; i < last && first != JOIN_NONE; i++) {
        struct join_packet *p = &here->packets[i];
        if (p->match.other == JOIN_NONE && p->fate.kind == EXPLAIN_FATE_OUTSIDE &&
            p->fate.sure == EXPLAIN_SURE_LIKELY && j->lanes[p->lane].from == (int)from &&
            join_since_ns(j, from, p) == first_ns)
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
        bool is_lost = p->fate.kind == EXPLAIN_FATE_LOST, is_off = p->fate.kind == EXPLAIN_FATE_OUTSIDE;
        bool may_be_here = p->match.equal == JOIN_EQUAL_ALONE && p->fate.proof == JOIN_NONE &&
                           p->fate.sure == EXPLAIN_SURE_LIKELY;
        if (p->match.other == JOIN_NONE &&
            ((is_lost && (p->match.is_open || may_be_here)) || (is_off && may_be_here)))
            join_leave_open(p, (enum explain_fate)p->fate.kind, EXPLAIN_FATE_ARRIVED);
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
        lost += is_ours && p->match.other == JOIN_NONE && p->fate.kind == EXPLAIN_FATE_LOST;
    }
    for (uint32_t i = 0; i < there->count; i++) {
        const struct join_packet *p = &there->packets[i];
        bool is_theirs = j->lanes[p->lane].from == (int)from && !join_has_ids(&j->lanes[p->lane], from);
        strangers += is_theirs && p->fate.sure != EXPLAIN_SURE_SHOWN &&
                     (p->match.equal || p->match.is_copy) &&
                     (p->match.is_copy || p->match.other == JOIN_NONE);
    }
    return lost >= STRANGERS_LEAST && strangers >= STRANGERS_LEAST && lost >= sent / STRANGERS_SHARE &&
           strangers >= sent / STRANGERS_SHARE;
}

/* A fate that rests on times is likely, no more, if packets went one way only, or in bursts, so that it is a
 * guess which end they left, or if the clock is one of pieces, or leaves pairs out. It is nothing if no clock
 * explains them: one was set, or packets were taken for equal ones of another time. A packet that was sent
 * again, in a capture that holds its packets twice, may have been left out for another. An identification is
 * evidence without times. */
static void doubt(const struct explain_join *j, unsigned side, struct join_packet *p)
{
    const struct explain_clock *c = &j->summary.clock;
    const struct join_lane *l = &j->lanes[p->lane];
    bool has_ids = l->from >= 0 && join_has_ids(l, (unsigned)l->from);
    bool is_guess = c->is_inconsistent || c->is_one_way || j->summary.is_either_way || l->is_guessed;
    bool is_thinned = (j->side[0].twice || j->side[1].twice) &&
                      (is_repeated(&j->side[side], p) ||
                       (p->match.other != JOIN_NONE &&
                        is_repeated(&j->side[!side], &j->side[!side].packets[p->match.other])));
    bool is_by_times = !has_ids && (c->piece_count > 1 || c->strays || is_thinned);
    bool is_strange = p->fate.kind == EXPLAIN_FATE_COPY || p->fate.kind == EXPLAIN_FATE_MISSED_HERE;
    if (c->is_inconsistent && !has_ids && (is_strange || p->fate.sure != EXPLAIN_SURE_UNKNOWN))
        join_leave_open(p, p->fate.kind,
                        p->fate.kind == EXPLAIN_FATE_ARRIVED ? EXPLAIN_FATE_LOST : EXPLAIN_FATE_ARRIVED);
    else if (j->is_blind && p->fate.sure != EXPLAIN_SURE_UNKNOWN &&
             (p->fate.kind == EXPLAIN_FATE_LOST || p->fate.kind == EXPLAIN_FATE_MISSED_HERE))
        join_leave_open(p, p->fate.kind,
                        p->fate.kind == EXPLAIN_FATE_LOST ? EXPLAIN_FATE_MISSED_HERE : EXPLAIN_FATE_LOST);
    else if (p->fate.sure == EXPLAIN_SURE_SHOWN && (is_guess || is_by_times))
        p->fate.sure = EXPLAIN_SURE_LIKELY;
}

static void doubt_times(struct explain_join *j)
{
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < j->side[side].count; i++)
            doubt(j, side, &j->side[side].packets[i]);
}

/* Without identifications, an open fate of one of several equal packets rests on which of them is which:
 * that it is one of those which left and came stays open as well. */
static void doubt_equals(struct explain_join *j)
{
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < j->side[side].count; i++) {
            struct join_packet *p = &j->side[side].packets[i];
            const struct join_lane *l = &j->lanes[p->lane];
            bool has_ids = l->from >= 0 && join_has_ids(l, (unsigned)l->from);
            p->fate.may_be_equal =
                p->fate.sure == EXPLAIN_SURE_UNKNOWN && !has_ids && (p->match.equal || p->match.is_copy) &&
                p->fate.kind != EXPLAIN_FATE_ARRIVED && p->fate.or_kind != EXPLAIN_FATE_ARRIVED;
        }
}

int join_judge(struct explain_join *j)
{
    for (unsigned side = 0; side < 2; side++)
        for (uint32_t i = 0; i < j->side[side].count; i++)
            if (j->side[side].packets[i].match.other == JOIN_NONE)
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
        if (!is_ready || join_judge_segments(j, from) != 0)
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
    doubt_equals(j);
    return 0;
}
