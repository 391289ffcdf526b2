/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets that a capture holds more than once. The analysis, which reads once, knows most of them: those
 * seen at another place of their way, those of a stretch that comes again as a whole, and those that
 * came too soon behind their equals to have been sent again (explain/flow/twice/twice.h). What it leaves open
 * is decided here, when all of both captures is read: where nearly all packets of a capture have an
 * equal shortly behind them, and the analysis, or the other capture, which has them once, says that no
 * sender sent them twice, the capture sees each packet several times. Then each equal that comes as long
 * behind as they usually do is left out. What a sender sent again, or the network copied, is there as
 * often as packets are, and stays. */
#include "explain/join/keep/twice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/join/keep/group.h"

#define TIMES_MAX  3                 /* so often a capture sees a packet, or so often twice */
#define APART_NS   (2 * NS_PER_MS)   /* between two of them */
#define SOON_NS    (500 * NS_PER_US) /* before any sender's timer runs out */
#define FEW        8                 /* of fewer packets all have to be there again */
#define SELDOM     32                /* a capture misses one of so many, or less */
#define HEADS_LOOK 64                /* equals before one that are looked at */
#define ROUND_NS   1000              /* to which the times of some captures are rounded */

/* A packet, and how often it was there. */
struct head {
    uint32_t packet, times;
    uint64_t time_ns;
};

/* Different packets of a lane, and those of them that were seen as often as they have to be. */
struct lane_count {
    uint32_t packets, whole;
};

struct doubling {
    struct explain_join *j;
    unsigned side;
    uint32_t times;             /* so often the capture sees each packet */
    uint64_t least_ns, most_ns; /* another sight of a packet is as long behind the first */
    struct head *heads;         /* of one group */
    struct lane_count *lanes;
    uint64_t packets, whole; /* different ones; those seen `times` times, */
    uint64_t over;           /* those that the capture was over for before */
    uint64_t even, odd;      /* sets of equals of a multiple of `times`, and others */
    uint64_t *behind_ns;     /* of the others behind the first */
    uint32_t behind_count;
};

static struct join_packet *packet_at(const struct doubling *d, uint32_t i)
{
    return &d->j->side[d->side].packets[i];
}

/* The oldest packet of the group that may be this one; `count`: there is none. */
static uint32_t head_of(const struct doubling *d, uint32_t count, uint64_t time_ns)
{
    uint32_t at = count > HEADS_LOOK ? count - HEADS_LOOK : 0;
    for (; at < count; at++) {
        const struct head *h = &d->heads[at];
        if (h->times < d->times && time_ns >= h->time_ns + d->least_ns && time_ns <= h->time_ns + d->most_ns)
            break;
    }
    return at;
}

/* Tells the packets of the group from those that are others once more. Returns how many there are. */
static uint32_t pair(struct doubling *d, const struct join_group *g)
{
    const struct join_side *s = &d->j->side[d->side];
    uint32_t count = 0;
    for (uint32_t i = g->first[d->side]; i != JOIN_NONE; i = s->next[i]) {
        uint64_t time_ns = s->packets[i].time_ns;
        uint32_t at = head_of(d, count, time_ns);
        packet_at(d, i)->captured.is_twice = at < count;
        if (at == count) {
            d->heads[count++] = (struct head){.packet = i, .times = 1, .time_ns = time_ns};
            continue;
        }
        d->heads[at].times++;
        if (g->count[d->side] == d->times) /* of one packet, then, and not of two that are equal */
            d->behind_ns[d->behind_count++] = time_ns - d->heads[at].time_ns;
    }
    return count;
}

/* The capture was over before all sights of it could come. */
static bool is_over(const struct doubling *d, const struct head *h)
{
    return h->time_ns + d->most_ns > d->j->side[d->side].last_ns;
}

/* Pairs the heads that are left over, if they come about as late as the others. Returns how many remain. */
static uint32_t pair_rest(struct doubling *d, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        struct head *before = kept ? &d->heads[kept - 1] : NULL, at = d->heads[i];
        if (before && before->times + at.times <= d->times && !is_over(d, before) &&
            at.time_ns >= before->time_ns && at.time_ns - before->time_ns <= 2 * d->most_ns) {
            before->times += at.times;
            packet_at(d, at.packet)->captured.is_twice = true;
        } else {
            d->heads[kept++] = at;
        }
    }
    return kept;
}

/* A packet: whether it is whole, or the capture was over before it could be. */
static void count(struct doubling *d, const struct head *h)
{
    struct join_packet *p = packet_at(d, h->packet);
    bool is_whole = h->times == d->times;
    p->captured.is_twice = p->seen == JOIN_SEEN_TWICE && h->times == 1;
    if (!is_whole && is_over(d, h)) {
        d->over++;
        return;
    }
    d->packets++;
    d->whole += is_whole;
    d->lanes[p->lane].packets++;
    d->lanes[p->lane].whole += is_whole;
}

static void pair_all(struct doubling *d, bool has_rest)
{
    d->packets = d->whole = d->over = d->even = d->odd = 0;
    d->behind_count = 0;
    memset(d->lanes, 0, d->j->lane_count * sizeof *d->lanes);
    for (uint32_t i = 0; i < d->j->group_count; i++) {
        uint32_t heads = pair(d, &d->j->groups[i]);
        if (has_rest)
            heads = pair_rest(d, heads);
        if (heads && !is_over(d, &d->heads[heads - 1]))
            (*(d->j->groups[i].count[d->side] % d->times ? &d->odd : &d->even))++;
        for (uint32_t h = 0; h < heads; h++)
            count(d, &d->heads[h]);
    }
}

/* Of the packets that are there `times` times so many are known by the analysis. */
static bool is_known(const struct doubling *d)
{
    const struct join_side *s = &d->j->side[d->side];
    uint64_t known = 0;
    for (uint32_t i = 0; i < s->count; i++)
        known += s->packets[i].seen != JOIN_SEEN_NEW;
    return 2 * known >= (d->times - 1) * d->whole;
}

/* Whether the other capture has less often what this one has several times. */
static bool is_once_there(const struct doubling *d)
{
    uint64_t both = 0, once = 0;
    for (uint32_t i = 0; i < d->j->group_count; i++) {
        const struct join_group *g = &d->j->groups[i];
        if (!g->count[!d->side] || g->count[d->side] < d->times)
            continue;
        both++;
        once += g->count[d->side] >= d->times * g->count[!d->side];
    }
    return both >= FEW && 4 * once >= 3 * both;
}

/* Of a few sets at least the capture saw the end: where sights lie as far apart as it is long, it sees
 * none. */
static bool are_nearly_all(const struct doubling *d)
{
    if (d->over > d->packets || d->even < 3 * d->odd || d->even < (d->packets < FEW ? 1 : FEW / 2))
        return false;
    return d->packets >= FEW ? 4 * d->whole >= 3 * d->packets : d->whole > 1 && d->whole == d->packets;
}

/* Whether what comes from either end does so: who sends all of his requests again, so soon, is not asked
 * to by as many answers. Of what is sent again for a gap, the packets before it are not. */
static bool are_both_ways(const struct doubling *d)
{
    bool has_both = false;
    bool has_exceptions = d->odd > d->even / SELDOM || d->packets - d->whole > d->packets / SELDOM;
    if (d->most_ns > SOON_NS || has_exceptions)
        return false;
    for (uint32_t i = 0; i < d->j->lane_count; i++) {
        const struct lane_count *l = &d->lanes[i];
        uint32_t back = d->j->lanes[i].back;
        if (l->packets < FEW / 2)
            continue;
        if (4 * l->whole < 3 * l->packets)
            return false;
        has_both |= back != JOIN_NONE && back != i && d->lanes[back].packets >= FEW / 2;
    }
    return has_both;
}

static int by_value(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return x < y ? -1 : x > y;
}

/* The distances of half of them, and room for the others by how much these differ, or by what the clock does
 * not tell. */
static void measure(struct doubling *d)
{
    uint32_t n = d->behind_count;
    uint64_t parts_ns = 0;
    qsort(d->behind_ns, n, sizeof *d->behind_ns, by_value);
    for (uint32_t i = 0; i < n; i++)
        parts_ns |= d->behind_ns[i] % ROUND_NS;
    uint64_t low_ns = d->behind_ns[n / 4], high_ns = d->behind_ns[n - 1 - n / 4];
    uint64_t room_ns = 2 * (high_ns - low_ns) + (parts_ns ? 0 : ROUND_NS);
    d->least_ns = low_ns > room_ns ? low_ns - room_ns : 0;
    d->most_ns = high_ns + room_ns;
}

/* Marks what the capture holds once more. */
static void mark(struct doubling *d)
{
    struct join_side *s = &d->j->side[d->side];
    for (d->times = 2; d->times <= TIMES_MAX; d->times++) {
        d->least_ns = 0;
        d->most_ns = APART_NS;
        pair_all(d, false);
        if (!d->behind_count)
            continue;
        measure(d);
        pair_all(d, true);
        if (are_nearly_all(d) && (is_known(d) || is_once_there(d) || are_both_ways(d)))
            return;
    }
    uint32_t known = 0;
    for (uint32_t i = 0; i < s->count; i++)
        known += s->packets[i].seen == JOIN_SEEN_TWICE;
    for (uint32_t i = 0; i < s->count; i++) /* of a few the network made a copy, and changed it */
        s->packets[i].captured.is_twice =
            s->packets[i].seen == JOIN_SEEN_TWICE && (known >= FEW || FEW * known >= s->count);
}

static bool has_equals(const struct explain_join *j, unsigned side)
{
    for (uint32_t i = 0; i < j->group_count; i++)
        if (j->groups[i].count[side] > 1)
            return true;
    return false;
}

static uint32_t drop(struct join_side *s)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->packets[i].captured.is_twice)
            continue;
        s->packets[kept] = s->packets[i];
        s->packets[kept++].seen = JOIN_SEEN_NEW; /* what it was once more is gone */
    }
    uint32_t dropped = s->count - kept;
    s->twice += dropped;
    s->count = kept;
    return dropped;
}

int join_drop_twice(struct explain_join *j, bool *has_dropped)
{
    uint32_t dropped = 0;
    *has_dropped = false;
    for (unsigned side = 0; side < 2; side++) {
        uint32_t count = j->side[side].count;
        struct doubling d = {.j = j, .side = side};
        if (!has_equals(j, side))
            continue;
        d.heads = malloc(((size_t)count + 1) * sizeof *d.heads);
        d.behind_ns = malloc(((size_t)count + 1) * sizeof *d.behind_ns);
        d.lanes = malloc(((size_t)j->lane_count + 1) * sizeof *d.lanes);
        bool is_ready = d.heads && d.behind_ns && d.lanes;
        if (is_ready)
            mark(&d);
        free(d.heads);
        free(d.behind_ns);
        free(d.lanes);
        if (!is_ready)
            return -ENOMEM;
    }
    for (unsigned side = 0; side < 2; side++)
        dropped += drop(&j->side[side]);
    *has_dropped = dropped;
    return 0;
}
