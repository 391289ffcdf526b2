/* SPDX-License-Identifier: BSD-2-Clause */
/* The fate of TCP segments that the receiver's capture lacks, wholly or in part, by the receiver's
 * acknowledgements. A receiver acknowledges all bytes up to the first that is missing. An acknowledgement of
 * the segment's last byte, before all of its bytes are there, shows that the rest came, and that the capture
 * missed it. Of several segments with these bytes one came; the acknowledgement does not tell them apart. An
 * acknowledgement that ends at the segment's first byte, after later segments have come, shows that the
 * segment did not come. Segments in doubt wait, stream by stream, while the packets of the receiver's capture
 * are read in their order. */
#include "explain/join/fate/acked.h"

#include <errno.h>
#include <stdlib.h>

#include "base/base.h"
#include "explain/join/fate/doubtful.h"

/* A stream of data, from the end of capture `from`. */
struct waiting {
    struct join_waiting doubtful;
    uint32_t came; /* one past the place, in the sender's capture, of the newest that came; 0: none did */
    bool has_ack;
    uint32_t ack; /* with has_ack: the receiver said last that it has all before this */
};

struct inquiry {
    struct explain_join *j;
    unsigned from;
    struct join_doubtful *doubtful;
    uint32_t count, at;
    uint32_t left;           /* of the sender's packets, these have left */
    struct waiting *waiting; /* by 2 * connection + direction */
};

static const struct join_packet *packet_of(const struct inquiry *q, const struct join_doubtful *d)
{
    return &q->j->side[q->from].packets[d->packet];
}

static bool open_inquiry(struct inquiry *q)
{
    const struct join_side *s = &q->j->side[q->from];
    q->doubtful = malloc(((size_t)s->count + 1) * sizeof *q->doubtful);
    q->waiting = calloc(2 * (size_t)q->j->conn_count + 1, sizeof *q->waiting);
    if (!q->doubtful || !q->waiting)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct join_packet *p = &s->packets[i];
        bool is_missing = p->fate.kind == EXPLAIN_FATE_LOST || p->fate.kind == EXPLAIN_FATE_OUTSIDE;
        if (is_missing && p->match.other == JOIN_NONE && p->role == JOIN_SEGMENT && p->tcp.end != p->psn &&
            q->j->lanes[p->lane].from == (int)q->from)
            q->doubtful[q->count++] = (struct join_doubtful){
                .packet = i, .next = JOIN_NONE, .time_ns = join_time_ns(q->j, q->from, p->time_ns)};
    }
    return true;
}

/* How many bytes both have. */
static uint32_t common_bytes(const struct join_packet *a, const struct join_packet *b)
{
    uint32_t first = (int32_t)(a->psn - b->psn) > 0 ? a->psn : b->psn;
    uint32_t end = (int32_t)(a->tcp.end - b->tcp.end) < 0 ? a->tcp.end : b->tcp.end;
    return (int32_t)(end - first) > 0 ? end - first : 0;
}

/* A segment leaves: of those that wait and have bytes of it, it is not told any more which one an
 * acknowledgement is for. */
static bool note_again(const struct inquiry *q, const struct waiting *w, const struct join_packet *p)
{
    bool is_again = false;
    for (uint32_t i = w->doubtful.first, n = w->doubtful.count; n--; i = q->doubtful[i].next) {
        struct join_packet *before = &q->j->side[q->from].packets[q->doubtful[i].packet];
        bool has_common = common_bytes(before, p) > 0;
        before->is_again |= has_common;
        is_again |= has_common;
    }
    return is_again;
}

/* Takes a segment in doubt that leaves. The bytes that the receiver had before tell nothing of it. */
static void ask(struct inquiry *q, uint32_t d)
{
    struct join_packet *p = &q->j->side[q->from].packets[q->doubtful[d].packet];
    struct waiting *w = &q->waiting[p->stream - q->j->side[q->from].tcp_streams];
    p->is_again |= note_again(q, w, p);
    if (w->has_ack && (int32_t)(w->ack - p->tcp.end) >= 0)
        return;
    join_waiting_put(&w->doubtful, q->doubtful, d);
}

/* A segment leaves that came. */
static void leave(const struct inquiry *q, const struct join_packet *p)
{
    if (p->role == JOIN_SEGMENT && p->match.other != JOIN_NONE && p->tcp.end != p->psn &&
        q->j->lanes[p->lane].from == (int)q->from)
        note_again(q, &q->waiting[p->stream - q->j->side[q->from].tcp_streams], p);
}

/* The receiver has all of a segment, and its capture has not. */
static void miss(const struct inquiry *q, struct join_packet *p, uint32_t answer, uint64_t now_ns)
{
    const struct join_side *here = &q->j->side[q->from];
    if (p->fate.kind != EXPLAIN_FATE_LOST)
        return;
    /* a copy that left when the capture there was over may have come, too */
    if (p->is_again || now_ns > join_time_ns(q->j, q->from, here->last_ns)) {
        join_leave_open(p, EXPLAIN_FATE_LOST, EXPLAIN_FATE_MISSED_THERE);
        return;
    }
    p->fate.kind = EXPLAIN_FATE_MISSED_THERE;
    p->fate.sure = EXPLAIN_SURE_SHOWN;
    p->fate.proof = answer;
    p->fate.says = JOIN_SAYS_COVERS;
}

/* Applies `answer` to a segment that waits; true: it need not wait any more. */
static bool conclude(struct inquiry *q, const struct join_doubtful *d, uint32_t answer,
                     const struct waiting *w)
{
    struct join_packet *p = &q->j->side[q->from].packets[d->packet];
    const struct join_packet *by = &q->j->side[!q->from].packets[answer];
    uint64_t now_ns = join_time_ns(q->j, !q->from, by->time_ns);
    if ((int32_t)(by->tcp.ack - p->tcp.end) >= 0) {
        miss(q, p, answer, now_ns);
        return true;
    }
    bool is_late = now_ns >= d->time_ns + (uint64_t)q->j->longest_ns[q->from];
    bool is_missing = by->tcp.ack == p->psn && w->came > d->packet + 1 && is_late;
    if (!is_missing || p->fate.kind != EXPLAIN_FATE_LOST)
        return is_missing;
    p->fate.sure = p->is_again ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_SHOWN;
    p->fate.proof = answer;
    p->fate.says = JOIN_SAYS_ASKS;
    return true;
}

/* A packet that comes to those that wait. */
struct hearing {
    struct inquiry *q;
    struct waiting *w;
    uint32_t packet;
    bool is_answer; /* or it has data */
};

/* Returns whether the packet settles one that waits. */
static bool settles(void *ctx, struct join_doubtful *d)
{
    const struct hearing *h = ctx;
    const struct join_packet *p = packet_of(h->q, d);
    if (h->is_answer)
        return conclude(h->q, d, h->packet, h->w);
    d->bytes += common_bytes(p, &h->q->j->side[!h->q->from].packets[h->packet]);
    return d->bytes >= p->tcp.end - p->psn;
}

/* The next packet of the receiver's capture. */
static void hear(struct inquiry *q, uint32_t i)
{
    const struct join_packet *p = &q->j->side[!q->from].packets[i];
    if (p->role != JOIN_SEGMENT)
        return;
    uint32_t way = p->stream - q->j->side[!q->from].tcp_streams;
    bool is_answer = q->j->lanes[p->lane].from != (int)q->from;
    struct waiting *w = &q->waiting[is_answer ? way ^ 1 : way];
    if (!is_answer && p->match.other != JOIN_NONE && !p->match.is_copy && p->tcp.end != p->psn)
        w->came = max_u32(w->came, p->match.other + 1);
    if (is_answer ? p->tcp.has_ack : p->tcp.end != p->psn)
        join_waiting_settle(&w->doubtful, q->doubtful, settles, &(struct hearing){q, w, i, is_answer});
    if (is_answer && p->tcp.has_ack) {
        w->has_ack = true;
        w->ack = p->tcp.ack;
    }
}

/* Reads the packets of the receiver's capture in their order. */
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

int join_judge_segments(struct explain_join *j, unsigned from)
{
    struct inquiry q = {.j = j, .from = from};
    bool is_open = open_inquiry(&q);
    if (is_open && q.count)
        inquire(&q);
    free(q.doubtful);
    free(q.waiting);
    return is_open ? 0 : -ENOMEM;
}
