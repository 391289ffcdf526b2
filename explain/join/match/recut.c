/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments of TCP that were cut otherwise between the two captures. A host hands its NIC up to 64 KiB as
 * one segment, which the capture there has, and the NIC cuts it into those of a packet each (TSO); the
 * other NIC, or its driver, puts such together again before the capture there sees them (GRO). So bytes
 * are looked for if segments are not found, by their sequence numbers: one that left came when the last of
 * its bytes had come. It is certain if the data prove it: between two bytes at which segments begin at
 * both ends, the data of those that left and of those that came have the same hash (content.c). */
#include "explain/join/match/recut.h"

#include <errno.h>
#include <stdlib.h>

#include "base/base.h"
#include "explain/join/keep/content.h"

#define LOOK_MAX 4096                /* parts of its bytes that are looked at for one */
#define SLACK_NS (2 * NS_PER_MS)     /* beyond the patience: parts go one by one */
#define STRAY_NS (2 * NS_PER_S)      /* so far off they are of another connection between the same ports */
#define ROUND    (UINT64_C(1) << 32) /* sequence numbers */

/* A segment with data that is in one capture alone. */
struct part {
    uint32_t conn_way, packet; /* conn_way: 2 * connection + direction */
    uint64_t time_ns;          /* by clock 0 */
    uint64_t psn, end;         /* `end`, behind the last byte, may lie beyond ROUND */
    uint64_t end_so_far;       /* the greatest `end` from the first of its conn_way on */
};

struct parts {
    struct part *at;
    uint32_t count;
};

static bool is_alone(const struct explain_join *j, const struct join_packet *p, unsigned from)
{
    return p->role == JOIN_SEGMENT && p->tcp.end != p->psn && p->match.other == JOIN_NONE &&
           j->lanes[p->lane].from == (int)from;
}

static int by_number(uint64_t x, uint64_t y)
{
    return x < y ? -1 : x > y;
}

static int by_time(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->conn_way != y->conn_way)
        return by_number(x->conn_way, y->conn_way);
    return x->time_ns != y->time_ns ? by_number(x->time_ns, y->time_ns) : by_number(x->packet, y->packet);
}

static int by_sequence(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->conn_way != y->conn_way)
        return by_number(x->conn_way, y->conn_way);
    return x->psn != y->psn ? by_number(x->psn, y->psn) : by_time(x, y);
}

static bool list(const struct explain_join *j, unsigned side, unsigned from, struct parts *l)
{
    const struct join_side *s = &j->side[side];
    l->count = 0;
    for (uint32_t i = 0; i < s->count; i++)
        l->count += is_alone(j, &s->packets[i], from);
    l->at = malloc(((size_t)l->count + 1) * sizeof *l->at);
    if (!l->at)
        return false;
    l->count = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct join_packet *p = &s->packets[i];
        if (is_alone(j, p, from))
            l->at[l->count++] = (struct part){.conn_way = p->stream - s->tcp_streams,
                                              .packet = i,
                                              .time_ns = join_time_ns(j, side, p->time_ns),
                                              .psn = p->psn,
                                              .end = (uint64_t)p->psn + (p->tcp.end - p->psn)};
    }
    return true;
}

/* In the order in which they are looked for. */
static void sort_by_sequence(struct parts *l)
{
    qsort(l->at, l->count, sizeof *l->at, by_sequence);
    for (uint32_t i = 0; i < l->count; i++) {
        struct part *p = &l->at[i];
        bool is_first = i == 0 || p[-1].conn_way != p->conn_way;
        p->end_so_far = is_first ? p->end : max_u64(p->end, p[-1].end_so_far);
    }
}

/* How many lie before this byte, or begin at it. */
static uint32_t count_until(const struct parts *l, uint32_t conn_way, uint64_t psn)
{
    uint32_t low = 0, high = l->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct part *p = &l->at[middle];
        if (p->conn_way < conn_way || (p->conn_way == conn_way && p->psn <= psn))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* --- the bytes of one segment --- */

/* A segment that left, and how far it is found. */
struct search {
    struct explain_join *j;
    unsigned from;
    const struct parts *came;
    const struct part *sent;
    uint64_t until_ns; /* later it is not this segment's */
    uint32_t next;     /* byte to find, */
    uint32_t bytes;    /* so many are found, */
    uint32_t last;     /* the last of which came in this part; JOIN_NONE */
    uint32_t looks;    /* parts that may be looked at */
};

static struct join_packet *sent_packet(const struct search *s)
{
    return &s->j->side[s->from].packets[s->sent->packet];
}

static struct join_packet *came_packet(const struct search *s, uint32_t part)
{
    return &s->j->side[!s->from].packets[s->came->at[part].packet];
}

/* Returns whether it may have brought bytes of the segment. One of the same bytes with other data is another,
 * or was changed on the way. */
static bool may_be_of(struct search *s, uint32_t part)
{
    const struct part *p = &s->came->at[part];
    const struct join_packet *sent = sent_packet(s);
    struct join_packet *came = came_packet(s, part);
    if (p->time_ns < s->sent->time_ns || p->time_ns > s->until_ns)
        return false;
    bool is_other = came->psn == sent->psn && came->tcp.end == sent->tcp.end && came->icrc && sent->icrc &&
                    came->icrc != sent->icrc;
    came->tcp.is_changed |= is_other;
    return !is_other;
}

/* The first in time that has this byte; JOIN_NONE. */
static uint32_t part_with(struct search *s, uint64_t byte)
{
    uint32_t found = JOIN_NONE;
    for (uint32_t i = count_until(s->came, s->sent->conn_way, byte); i-- > 0 && s->looks; s->looks--) {
        const struct part *p = &s->came->at[i];
        if (p->conn_way != s->sent->conn_way || p->end_so_far <= byte)
            break;
        if (p->end > byte && may_be_of(s, i) && (found == JOIN_NONE || by_time(p, &s->came->at[found]) < 0))
            found = i;
    }
    return found;
}

/* The first in sequence that begins behind `byte` and before `end`; JOIN_NONE. */
static uint32_t part_behind(struct search *s, uint64_t byte, uint64_t end)
{
    uint32_t i = count_until(s->came, s->sent->conn_way, byte);
    for (; i < s->came->count && s->looks; i++, s->looks--) {
        const struct part *p = &s->came->at[i];
        if (p->conn_way != s->sent->conn_way || p->psn >= end)
            break;
        if (may_be_of(s, i))
            return i;
    }
    return JOIN_NONE;
}

/* Returns the part that has the next byte, or, if none has, another one; JOIN_NONE: there is none. */
static uint32_t next_part(struct search *s)
{
    uint64_t end = (uint64_t)s->next + (sent_packet(s)->tcp.end - s->next);
    uint32_t part = part_with(s, s->next);
    if (part == JOIN_NONE)
        part = part_with(s, s->next + ROUND);
    if (part == JOIN_NONE)
        part = part_behind(s, s->next, end);
    if (part == JOIN_NONE && end > ROUND) {
        part = part_with(s, ROUND);
        if (part == JOIN_NONE)
            part = part_with(s, 0);
        if (part == JOIN_NONE)
            part = part_behind(s, 0, end - ROUND);
    }
    return part;
}

static void take(struct search *s, uint32_t part)
{
    const struct join_packet *sent = sent_packet(s);
    struct join_packet *came = came_packet(s, part);
    uint32_t until = (int32_t)(came->tcp.end - sent->tcp.end) < 0 ? came->tcp.end : sent->tcp.end;
    if ((int32_t)(came->psn - s->next) > 0)
        s->next = came->psn;
    s->bytes += until - s->next;
    s->next = until;
    if (s->last == JOIN_NONE || by_time(&s->came->at[part], &s->came->at[s->last]) > 0)
        s->last = part;
    if (came->match.other == JOIN_NONE) {
        came->match.other = s->sent->packet;
        came->fate.kind = EXPLAIN_FATE_ARRIVED;
        came->fate.sure = EXPLAIN_SURE_LIKELY;
    }
}

/* --- the proof of the data --- */

/* Segments that left one behind the other, and the parts that they came in, up to the byte at which one of
 * either ends. */
struct weld {
    bool is_whole;  /* nothing is missing so far, and all data are known */
    uint32_t first; /* of the segments that left */
    uint32_t part;  /* the last of the parts; JOIN_NONE: none yet */
    uint32_t conn_way, sent_end, came_end;
    uint32_t sent_hash, came_hash;
};

static void begin_weld(struct weld *w, const struct search *s, uint32_t sent)
{
    const struct join_packet *p = sent_packet(s);
    bool goes_on = w->is_whole && w->conn_way == s->sent->conn_way && w->sent_end == p->psn &&
                   w->sent_end != w->came_end;
    if (!goes_on)
        *w = (struct weld){.is_whole = true,
                           .first = sent,
                           .part = JOIN_NONE,
                           .conn_way = s->sent->conn_way,
                           .sent_end = p->psn,
                           .came_end = p->psn,
                           .sent_hash = JOIN_HASH_EMPTY,
                           .came_hash = JOIN_HASH_EMPTY};
}

static void weld_part(struct weld *w, const struct search *s, uint32_t part)
{
    const struct join_packet *p = came_packet(s, part);
    if (part == w->part) /* it has bytes of the segment before as well */
        return;
    w->is_whole &= p->psn == w->came_end && p->icrc;
    w->came_hash = join_hash_both(w->came_hash, p->icrc, p->tcp.end - p->psn);
    w->came_end = p->tcp.end;
    w->part = part;
}

/* The segment is found, or is not; `sent` are all that left, of which this one is `at`. */
static void end_weld(struct weld *w, const struct search *s, const struct parts *sent, uint32_t at,
                     bool is_repeated)
{
    const struct join_packet *p = sent_packet(s);
    w->is_whole &= s->bytes == p->tcp.end - p->psn && p->icrc;
    w->sent_hash = join_hash_both(w->sent_hash, p->icrc, p->tcp.end - p->psn);
    w->sent_end = p->tcp.end;
    if (!w->is_whole || w->sent_end != w->came_end)
        return;
    for (uint32_t i = w->first; i <= at; i++) {
        struct join_packet *one = &s->j->side[s->from].packets[sent->at[i].packet];
        if (w->sent_hash != w->came_hash)
            join_leave_open(one, EXPLAIN_FATE_DAMAGED, EXPLAIN_FATE_ARRIVED);
        else if (!is_repeated)
            one->fate.sure = EXPLAIN_SURE_SHOWN;
    }
}

/* Looks for the bytes of segment `at`. */
static void find_parts(struct explain_join *j, unsigned from, const struct parts *sent, uint32_t at,
                       const struct parts *came, struct weld *w)
{
    const struct part *part = &sent->at[at];
    struct join_packet *p = &j->side[from].packets[part->packet];
    bool is_repeated = (j->side[from].newest_psn[p->stream] |
                        j->side[!from].newest_psn[j->side[!from].tcp_streams + part->conn_way]) &
                       JOIN_REPEATED;
    uint64_t room_ns = is_repeated ? (uint64_t)j->patience_ns[from] + SLACK_NS : (uint64_t)STRAY_NS;
    struct search s = {.j = j,
                       .from = from,
                       .came = came,
                       .sent = part,
                       .until_ns = part->time_ns + room_ns,
                       .next = p->psn,
                       .last = JOIN_NONE,
                       .looks = LOOK_MAX};
    begin_weld(w, &s, at);
    while (s.next != p->tcp.end) {
        uint32_t found = next_part(&s);
        if (found == JOIN_NONE)
            break;
        take(&s, found);
        weld_part(w, &s, found);
    }
    if (s.bytes == p->tcp.end - p->psn) {
        p->match.other = came->at[s.last].packet;
        p->fate.kind = EXPLAIN_FATE_ARRIVED;
        p->fate.sure = EXPLAIN_SURE_LIKELY;
    } else {
        p->tcp.part_bytes = s.bytes;
    }
    end_weld(w, &s, sent, at, is_repeated);
}

int join_match_recut(struct explain_join *j)
{
    for (unsigned from = 0; from < 2; from++) {
        struct parts sent = {0}, came = {0};
        struct weld weld = {0};
        bool is_listed = list(j, from, from, &sent) && list(j, !from, from, &came);
        if (is_listed) {
            qsort(sent.at, sent.count, sizeof *sent.at, by_time);
            sort_by_sequence(&came);
        }
        for (uint32_t i = 0; is_listed && i < sent.count; i++)
            find_parts(j, from, &sent, i, &came, &weld);
        free(sent.at);
        free(came.at);
        if (!is_listed)
            return -ENOMEM;
    }
    return 0;
}
