/* SPDX-License-Identifier: BSD-2-Clause */
/* The two clocks, and at which end packets begin. Of packets that each capture has once it is certain
 * which is which; the two addresses with the most of them give the clock. From which end an address sends
 * is not asked of anybody: packets of the one show the offset and their way, those of the other the offset
 * less their way, so that only one of the two suppositions leaves room for a clock (clock.c). */
#include "explain/join/match/align.h"

#include <errno.h>
#include <stdlib.h>

#include "base/base.h"
#include "explain/join/keep/group.h"
#include "explain/join/match/neighbours.h"

#define SAMPLES_MAX 1023
#define STRAY_NS    (2 * (int64_t)NS_PER_S) /* so far off is another packet with the same bytes */
#define LEAST_OF    16                      /* one of so many packets may have been taken for another */
#define TRIES_MAX   16                      /* lanes alone that are tried both ways */
#define USUAL_TIMES 8                       /* the slowest packets take so many times as long as 7 of 8 */
#define DRIFT_SHARE 1000                    /* 1/1000 of the time since the first packet, for drift */
#define DRIFT_USUAL 2e-4                    /* 200 ppm: two crystals, each right to 100 */

struct points {
    struct explain_clock_point *at;
    size_t count;
};

/* Whether it is certain which of its packets is which: both captures have one, or, where there is no such
 * group, as many. */
static bool is_plain(const struct explain_join *j, const struct join_group *g)
{
    return g->count[0] && g->count[0] == g->count[1] && (g->count[0] == 1 || j->has_no_single);
}

static int64_t difference_ns(const struct explain_join *j, const struct join_group *g)
{
    return (int64_t)(j->side[1].packets[g->first[1]].time_ns - j->side[0].packets[g->first[0]].time_ns);
}

static uint32_t lane_of(const struct explain_join *j, const struct join_group *g)
{
    return j->side[0].packets[g->first[0]].lane;
}

/* The lane whose path, there and back, has the most packets that tell; JOIN_NONE: none has any. */
static uint32_t best_lane(const struct explain_join *j)
{
    uint32_t best = JOIN_NONE;
    uint64_t best_score = 0;
    for (uint32_t i = 0; i < j->lane_count; i++) {
        const struct join_lane *l = &j->lanes[i];
        bool has_back = l->back != JOIN_NONE && l->back != i;
        uint64_t score =
            ((uint64_t)(has_back ? min_u32(l->matches, j->lanes[l->back].matches) : 0) << 32) + l->matches;
        if (score > best_score) {
            best = i;
            best_score = score;
        }
    }
    return best;
}

static int by_value(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* About how far the clocks are apart: the median of some of the lane's packets. */
static int64_t median_difference(const struct explain_join *j, uint32_t lane)
{
    int64_t samples[SAMPLES_MAX];
    uint32_t every = j->lanes[lane].matches / SAMPLES_MAX + 1, seen = 0, n = 0;
    for (uint32_t i = 0; i < j->group_count; i++)
        if (is_plain(j, &j->groups[i]) && lane_of(j, &j->groups[i]) == lane && seen++ % every == 0)
            samples[n++] = difference_ns(j, &j->groups[i]);
    if (!n)
        return 0;
    qsort(samples, n, sizeof *samples, by_value);
    return samples[n / 2];
}

static int by_x(const void *a, const void *b)
{
    const struct explain_clock_point *p = a, *q = b;
    return p->x < q->x ? -1 : p->x > q->x;
}

/* Groups are in the order of capture 0, whose times seldom go back. */
static void sort(struct points *p)
{
    for (size_t i = 1; i < p->count; i++)
        if (p->at[i].x < p->at[i - 1].x) {
            qsort(p->at, p->count, sizeof *p->at, by_x);
            return;
        }
}

/* Whether the lane is known to come from the end of that capture. */
static bool is_from(const struct join_lane *l, int from)
{
    return l->from == from && !l->is_guessed;
}

/* Points of the lane, or where `lane` is JOIN_NONE of all lanes that come from the end of capture `from` (-1:
 * of none). */
static bool take_points(const struct explain_join *j, uint32_t lane, int from, struct points *p)
{
    const struct explain_clock *c = &j->summary.clock;
    uint64_t most = lane == JOIN_NONE ? 0 : j->lanes[lane].matches;
    for (uint32_t i = 0; i < j->lane_count && lane == JOIN_NONE && from >= 0; i++)
        most += is_from(&j->lanes[i], from) ? j->lanes[i].matches : 0;
    p->count = 0;
    p->at = malloc(((size_t)most + 1) * sizeof *p->at);
    if (!p->at || !most)
        return p->at;
    for (uint32_t i = 0; i < j->group_count; i++) {
        const struct join_group *g = &j->groups[i];
        if (!is_plain(j, g) ||
            (lane == JOIN_NONE ? !is_from(&j->lanes[lane_of(j, g)], from) : lane_of(j, g) != lane))
            continue;
        int64_t x = (int64_t)(j->side[0].packets[g->first[0]].time_ns - c->epoch_ns);
        int64_t y = difference_ns(j, g) - c->base_ns;
        if (llabs(y) <= STRAY_NS + llabs(x) / DRIFT_SHARE)
            p->at[p->count++] = (struct explain_clock_point){(double)x, (double)y};
    }
    sort(p);
    return true;
}

/* Whether it explains all times with one line. */
static bool is_whole(const struct explain_clock *c)
{
    return c->room_ns >= 0 && !c->strays;
}

/* Whether clocks as they are built run so differently that it can be that line. */
static bool is_usual(const struct explain_clock *c)
{
    return is_whole(c) && c->drift_low <= DRIFT_USUAL && c->drift_high >= -DRIFT_USUAL;
}

/* Whether the one supposition explains the times better than the other: without leaving any out, with
 * clocks as they are built, or else with more room. */
static bool is_better(const struct explain_clock *one, const struct explain_clock *other)
{
    if (is_whole(one) != is_whole(other))
        return is_whole(one);
    if (is_usual(one) != is_usual(other))
        return is_usual(one);
    return one->room_ns > other->room_ns;
}

/* Tries both suppositions: the lane comes from the end of capture 0, or goes there. In a capture of two
 * bursts, one each way, clocks that drift enough between them explain both: then the better one is a
 * guess. */
static int fit(struct explain_join *j, uint32_t lane, const struct points *there, const struct points *back)
{
    struct explain_clock *c = &j->summary.clock, other = *c;
    int err = explain_clock_fit(c, there->at, there->count, back->at, back->count);
    if (!err)
        err = explain_clock_fit(&other, back->at, back->count, there->at, there->count);
    if (err)
        return err;
    j->summary.is_either_way = !c->is_one_way && is_whole(c) && is_whole(&other);
    j->is_blind = c->is_one_way || (j->summary.is_either_way && is_usual(c) == is_usual(&other));
    bool is_turned = !c->is_one_way && is_better(&other, c);
    if (is_turned)
        *c = other;
    j->lanes[lane].from = is_turned;
    if (j->lanes[lane].back != JOIN_NONE)
        j->lanes[j->lanes[lane].back].from = !is_turned;
    return 0;
}

/* The clock by all lanes of which it is known where they come from. 0 or -ENOMEM. */
static int fit_known(const struct explain_join *j, struct explain_clock *c)
{
    struct points out = {0}, in = {0};
    bool is_taken = take_points(j, JOIN_NONE, 0, &out);
    is_taken &= take_points(j, JOIN_NONE, 1, &in);
    int err = is_taken ? explain_clock_fit(c, out.at, out.count, in.at, in.count) : -ENOMEM;
    free(out.at);
    free(in.at);
    return err;
}

/* Of a lane's packets; 0: there is none, or JOIN_NONE. */
static double mean_ns(const struct explain_join *j, uint32_t lane)
{
    const struct join_lane *l = lane == JOIN_NONE ? NULL : &j->lanes[lane];
    return l && l->told ? l->sum_ns / l->told : 0;
}

/* Whether it comes from the end of capture 1, as far as a guess goes: from that of capture 0 it would be
 * quicker than its way back. */
static bool may_be_turned(const struct explain_join *j, uint32_t lane)
{
    return mean_ns(j, lane) < mean_ns(j, j->lanes[lane].back);
}

static void set_from(struct explain_join *j, struct join_lane *l, int from, bool is_guessed)
{
    l->from = from;
    l->is_guessed = is_guessed;
    if (l->back == JOIN_NONE || &j->lanes[l->back] == l)
        return;
    j->lanes[l->back].from = !from;
    j->lanes[l->back].is_guessed = is_guessed;
}

/* A lane, and its way back, that share no address with others: their packets, too, can only have come
 * after they left, which clocks explain for one of the two suppositions. Where they explain both it is a
 * guess: what its packets take, and those of the way back, adds up to round trips, as long as the clocks'
 * drift is small. */
static int try_lane(struct explain_join *j, uint32_t lane)
{
    struct join_lane *l = &j->lanes[lane];
    struct explain_clock clocks[2] = {j->summary.clock, j->summary.clock};
    int err = 0;
    for (int from = 0; from < 2 && !err; from++) {
        set_from(j, l, from, false);
        err = fit_known(j, &clocks[from]);
    }
    bool is_guessed = is_whole(&clocks[0]) == is_whole(&clocks[1]);
    set_from(j, l, is_guessed ? may_be_turned(j, lane) : is_whole(&clocks[1]), is_guessed);
    return err;
}

/* How long the packets of each lane take, if they come from the end of capture 0. */
static void sum_lanes(struct explain_join *j)
{
    for (uint32_t i = 0; i < j->group_count; i++) {
        const struct join_group *g = &j->groups[i];
        if (!g->count[0] || g->count[0] != g->count[1])
            continue;
        int64_t delay = join_delay_ns(j, 0, j->side[0].packets[g->first[0]].time_ns,
                                      j->side[1].packets[g->first[1]].time_ns);
        struct join_lane *l = &j->lanes[lane_of(j, g)];
        if (llabs(delay) < STRAY_NS) {
            l->told++;
            l->sum_ns += (double)delay;
        }
    }
}

/* Which way the other lanes go: as those that share an address with them, or as the clocks allow. */
static int tell_lanes(struct explain_join *j)
{
    struct join_neighbours *n = join_neighbours_create(j);
    unsigned tries = 0;
    int err = n ? 0 : -ENOMEM;
    sum_lanes(j);
    for (uint32_t i = 0; i < j->lane_count && !err; i++)
        join_tell_neighbours(j, n, i);
    for (uint32_t i = 0; i < j->lane_count && !err; i++) {
        struct join_lane *l = &j->lanes[i];
        if (l->from >= 0 || !l->told)
            continue;
        if (tries++ < TRIES_MAX)
            err = try_lane(j, i);
        else
            set_from(j, l, may_be_turned(j, i), true);
        join_tell_neighbours(j, n, i);
    }
    join_neighbours_destroy(n);
    return err;
}

/* Other lanes may be quicker than the one that the clock was found by: then the line that it left open is
 * narrowed by theirs, so that their packets do not seem to come before they left. */
static int fit_all(struct explain_join *j, uint32_t lane, uint32_t back)
{
    struct explain_clock all = j->summary.clock;
    bool has_more = false;
    for (uint32_t i = 0; i < j->lane_count; i++)
        has_more |=
            i != lane && i != back && j->lanes[i].matches && j->lanes[i].from >= 0 && !j->lanes[i].is_guessed;
    if (!has_more)
        return 0;
    int err = fit_known(j, &all);
    if (!err && !all.is_one_way && !all.is_inconsistent && all.piece_count <= j->summary.clock.piece_count &&
        (!all.strays || j->summary.clock.strays))
        j->summary.clock = all;
    return err;
}

/* The delays from that end of the packets that each capture has once, or of which the receiver's has
 * copies: those of the last. Returns how many. */
static size_t list_delays(const struct explain_join *j, unsigned from, int64_t *delays)
{
    size_t n = 0;
    for (uint32_t i = 0; i < j->group_count; i++) {
        const struct join_group *g = &j->groups[i];
        if (g->count[from] != 1 || !g->count[!from] || j->lanes[lane_of(j, g)].from != (int)from)
            continue;
        int64_t delay = join_delay_ns(j, from, j->side[from].packets[g->first[from]].time_ns,
                                      j->side[!from].packets[g->last[!from]].time_ns);
        if (delay < STRAY_NS)
            delays[n++] = delay;
    }
    return n;
}

/* How long a packet may be under way. Even of packets that each capture has once a few are not the same:
 * of a packet and its repetition one capture may miss the one and the other the other. So the longest is
 * that of nearly all, with room. */
static int tell_patience(struct explain_join *j)
{
    int64_t *delays = malloc(((size_t)j->group_count + 1) * sizeof *delays);
    if (!delays)
        return -ENOMEM;
    for (unsigned from = 0; from < 2; from++) {
        size_t n = list_delays(j, from, delays);
        qsort(delays, n, sizeof *delays, by_value);
        int64_t usual = n ? delays[n * 7 / 8] : 0, most = n ? delays[n - 1] : 0;
        int64_t limit = USUAL_TIMES * usual + (int64_t)(20 * NS_PER_US);
        j->usual_ns[from] = usual;
        j->least_ns[from] = n >= LEAST_OF ? delays[n / LEAST_OF] : 0;
        j->longest_ns[from] = most < limit ? most : limit;
        j->patience_ns[from] = 2 * j->longest_ns[from] + (int64_t)(100 * NS_PER_US);
    }
    free(delays);
    return 0;
}

static void count_matches(struct explain_join *j)
{
    j->has_no_single = true;
    for (uint32_t i = 0; i < j->group_count && j->has_no_single; i++)
        j->has_no_single = !(j->groups[i].count[0] == 1 && j->groups[i].count[1] == 1);
    for (uint32_t i = 0; i < j->group_count; i++)
        if (is_plain(j, &j->groups[i]))
            j->lanes[lane_of(j, &j->groups[i])].matches++;
}

/* Whether packets were lost, or missed, of senders that send the same bytes again: then a packet may have
 * been taken for its repetition. */
static bool may_stray(const struct explain_join *j)
{
    for (uint32_t i = 0; i < j->group_count; i++) {
        const struct join_group *g = &j->groups[i];
        unsigned side = g->count[0] == 0;
        const struct join_lane *l = &j->lanes[j->side[side].packets[g->first[side]].lane];
        if (g->count[0] != g->count[1] && !(join_has_ids(l, 0) && join_has_ids(l, 1)))
            return true;
    }
    return false;
}

int join_align(struct explain_join *j)
{
    count_matches(j);
    uint32_t lane = best_lane(j);
    if (lane == JOIN_NONE)
        return -ENODATA;
    struct explain_clock *c = &j->summary.clock;
    struct points there, back;
    uint32_t other = j->lanes[lane].back == lane ? JOIN_NONE : j->lanes[lane].back;
    c->epoch_ns = j->side[0].first_ns;
    c->base_ns = median_difference(j, lane);
    c->may_stray = may_stray(j);
    bool is_taken = take_points(j, lane, -1, &there);
    is_taken &= take_points(j, other, -1, &back);
    int err = is_taken ? fit(j, lane, &there, &back) : -ENOMEM;
    free(there.at);
    free(back.at);
    if (err)
        return err;
    err = tell_lanes(j);
    if (!err)
        err = fit_all(j, lane, other);
    return err ? err : tell_patience(j);
}
