/* SPDX-License-Identifier: BSD-2-Clause */
/* The sums of all packets. */
#include "explain/join/fate/sum.h"

#include <errno.h>
#include <stdlib.h>

#include "base/base.h"

/* In the order of their coming: one that left before another that is there already was overtaken. */
static int find_overtaken(struct explain_join *j, unsigned from)
{
    struct join_side *here = &j->side[from], *there = &j->side[!from];
    uint32_t *newest =
        calloc((size_t)here->stream_cap + 1, sizeof *newest); /* by stream: one past its index */
    if (!newest)
        return -ENOMEM;
    for (uint32_t i = 0; i < there->count; i++) {
        struct join_packet *came = &there->packets[i];
        if (came->match.other == JOIN_NONE || came->match.is_copy || j->lanes[came->lane].from != (int)from)
            continue;
        struct join_packet *sent = &here->packets[came->match.other];
        if (sent->stream < 2)
            continue;
        sent->fate.is_overtaken = came->fate.is_overtaken = came->match.other + 1 < newest[sent->stream];
        if (sent->fate.sure == EXPLAIN_SURE_SHOWN)
            newest[sent->stream] = max_u32(newest[sent->stream], came->match.other + 1);
    }
    free(newest);
    return 0;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* How long the packets were under way of which it is certain. */
static int sum_delays(struct explain_join *j, unsigned from)
{
    const struct join_side *here = &j->side[from], *there = &j->side[!from];
    struct explain_join_way *w = &j->summary.way[from];
    int64_t *delays = malloc(((size_t)here->count + 1) * sizeof *delays);
    if (!delays)
        return -ENOMEM;
    for (uint32_t i = 0; i < here->count; i++) {
        const struct join_packet *p = &here->packets[i];
        if (p->match.other != JOIN_NONE && !p->match.is_copy && p->fate.kind == EXPLAIN_FATE_ARRIVED &&
            p->fate.sure == EXPLAIN_SURE_SHOWN && j->lanes[p->lane].from == (int)from)
            delays[w->measured++] =
                join_delay_ns(j, from, p->time_ns, there->packets[p->match.other].time_ns);
    }
    qsort(delays, w->measured, sizeof *delays, by_value);
    if (w->measured) {
        w->min_ns = delays[0];
        w->median_ns = delays[w->measured / 2];
        w->p99_ns = delays[w->measured - 1 - w->measured / 100];
        w->max_ns = delays[w->measured - 1];
    }
    free(delays);
    return 0;
}

/* Counts each packet once: by the capture at its sender, or at its receiver if only that has it. */
static void count(struct explain_join *j, unsigned side)
{
    for (uint32_t i = 0; i < j->side[side].count; i++) {
        const struct join_packet *p = &j->side[side].packets[i];
        if (!join_is_shown_by(j, side, p))
            continue;
        int from = j->lanes[p->lane].from;
        if (from < 0) {
            j->summary.unrelated[side]++;
            continue;
        }
        struct explain_join_way *w = &j->summary.way[from];
        w->packets += !p->match.is_copy;
        if (p->fate.sure == EXPLAIN_SURE_UNKNOWN)
            w->unknown++;
        else
            w->fates[p->fate.kind]++;
        w->overtaken += p->fate.is_overtaken;
    }
}

int join_sum(struct explain_join *j)
{
    int err = 0;
    for (unsigned from = 0; from < 2 && !err; from++)
        err = find_overtaken(j, from);
    for (unsigned from = 0; from < 2 && !err; from++)
        err = sum_delays(j, from);
    for (unsigned side = 0; side < 2; side++) {
        j->summary.packets[side] = j->side[side].count;
        j->summary.records[side] = j->side[side].records;
        j->summary.twice[side] = j->side[side].twice;
        count(j, side);
    }
    return err;
}
