/* SPDX-License-Identifier: BSD-2-Clause */
/* Segments of TCP that were cut otherwise between the two captures. A host hands its NIC up to 64 KiB as
 * one segment, which the capture there has, and the NIC cuts it into those of a packet each (TSO); the
 * other NIC, or its driver, puts such together again before the capture there sees them (GRO). So bytes
 * are looked for where segments are not found: one that left came when the last of its bytes had come. */
#include <errno.h>
#include <stdlib.h>

#include "base/base.h"
#include "explain/join/inner.h"

#define PASSES   4               /* over the parts of a segment, as they may have overtaken each other */
#define LOOK_MAX 4096            /* parts that are looked at for one */
#define SLACK_NS (2 * NS_PER_MS) /* beyond the patience: parts go one by one */
#define STRAY_NS (2 * NS_PER_S)  /* so far off they are of another connection between the same ports */

/* A segment with data that is in one capture alone. */
struct part {
    uint32_t conn_way, packet; /* conn_way: 2 * connection + direction */
    uint64_t time_ns;          /* by clock 0 */
};

struct parts {
    struct part *at;
    uint32_t count;
};

static bool is_alone(const struct explain_join *j, const struct join_packet *p, unsigned from)
{
    return p->role == JOIN_SEGMENT && p->end != p->psn && p->other == JOIN_NONE &&
           j->lanes[p->lane].from == (int)from;
}

static int in_order(const void *a, const void *b)
{
    const struct part *x = a, *y = b;
    if (x->conn_way != y->conn_way)
        return x->conn_way < y->conn_way ? -1 : 1;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    return x->packet < y->packet ? -1 : x->packet > y->packet;
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
            l->at[l->count++] =
                (struct part){p->stream - s->tcp_streams, i, join_time_ns(j, side, p->time_ns)};
    }
    qsort(l->at, l->count, sizeof *l->at, in_order);
    return true;
}

/* What a segment that left covers of its bytes, one part after the other. */
struct cover {
    uint32_t next, bytes, last; /* last: the part that completed what there is so far; JOIN_NONE */
};

static void cover_with(struct explain_join *j, unsigned from, uint32_t sent, uint32_t came, struct cover *c)
{
    const struct join_packet *s = &j->side[from].packets[sent];
    struct join_packet *p = &j->side[!from].packets[came];
    bool follows = (int32_t)(c->next - p->psn) >= 0 && (int32_t)(p->end - c->next) > 0;
    if (!follows || c->next == s->end)
        return;
    uint32_t to = (int32_t)(p->end - s->end) < 0 ? p->end : s->end;
    c->bytes += to - c->next;
    c->next = to;
    c->last = came;
    if (p->other == JOIN_NONE) {
        p->other = sent;
        p->fate = EXPLAIN_FATE_ARRIVED;
        p->sure = EXPLAIN_SURE_LIKELY;
    }
}

/* Looks for the bytes of `s` among what came; the first part that may be one of it is at `*first`. */
static void find_parts(struct explain_join *j, unsigned from, const struct part *s, const struct parts *came,
                       uint32_t *first)
{
    struct join_packet *p = &j->side[from].packets[s->packet];
    bool is_repeated = (j->side[from].newest_psn[p->stream] |
                        j->side[!from].newest_psn[j->side[!from].tcp_streams + s->conn_way]) &
                       JOIN_REPEATED;
    uint64_t until_ns =
        s->time_ns + (is_repeated ? (uint64_t)j->patience_ns[from] + SLACK_NS : (uint64_t)STRAY_NS);
    struct cover c = {.next = p->psn, .last = JOIN_NONE};
    while (*first < came->count &&
           (came->at[*first].conn_way < s->conn_way ||
            (came->at[*first].conn_way == s->conn_way && came->at[*first].time_ns < s->time_ns)))
        (*first)++;
    for (unsigned pass = 0; pass < PASSES && c.next != p->end; pass++)
        for (uint32_t i = *first; i < came->count && i - *first < LOOK_MAX; i++) {
            if (came->at[i].conn_way != s->conn_way || came->at[i].time_ns > until_ns)
                break;
            cover_with(j, from, s->packet, came->at[i].packet, &c);
        }
    if (c.next != p->end) {
        p->part_bytes = c.bytes;
        return;
    }
    p->other = c.last;
    p->fate = EXPLAIN_FATE_ARRIVED;
    p->sure = is_repeated ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_SHOWN;
}

int join_match_recut(struct explain_join *j)
{
    for (unsigned from = 0; from < 2; from++) {
        struct parts sent = {0}, came = {0};
        bool is_listed = list(j, from, from, &sent) && list(j, !from, from, &came);
        uint32_t first = 0;
        for (uint32_t i = 0; is_listed && i < sent.count; i++)
            find_parts(j, from, &sent.at[i], &came, &first);
        free(sent.at);
        free(came.at);
        if (!is_listed)
            return -ENOMEM;
    }
    return 0;
}
