/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet from 0 to 1 shows, on the two clocks, the offset plus its time under way; one from 1 to 0 the
 * offset minus its time. So the offset, as a line over time, runs below all points of the first kind and
 * above all of the second: between the lower hull of those and the upper hull of these. The
 * slope with the most room between is taken: a slope that is not the clocks' makes the quickest packets of
 * one end of the capture look slower than they were, and so the room smaller. The line goes through the
 * middle. Its distance from the truth cannot be told from the captures, since a way that is slower in one
 * direction looks like a clock that is ahead. The room is the shortest round trip, and half
 * of it the bound of the error.
 *
 * The room is a concave function of the slope (a minimum of lines less a maximum of lines), so that its
 * greatest value is found by dividing. If no slope leaves room, a clock was set, or its rate was
 * changed: the capture is halved in time until each piece has a line.
 *
 * If no pieces do either, or the room is next to none, a few points are none of the same packet: of one
 * that was sent again with the same bytes each capture has another copy. Then the line is taken that nearly
 * all points leave room for, the quickest sixteenth of each direction aside, and points on its wrong side are
 * left out, if they are so few, and lie among others. */
#include "explain/join/clock.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

#define STEPS       80   /* of a search: (2/3)^80 of the range */
#define SLOPES      64   /* that are tried for other lines */
#define PIECES_DEEP 6    /* halvings: 2^6 pieces at the most */
#define PIECE_LEAST 4    /* points in a piece */
#define STEADY      0.95 /* so much of the room without drift is no reason to speak of drift */
#define STRAYS_OF   16   /* one of so many points may be left out */
#define STRAYS_ROW  3    /* not so many at the begin or end of a direction: there a clock was set */
#define ROOM_LEAST  1000 /* ns: a shorter round trip is none, */
#define ROOM_SHARE  16   /* if nearly all leave room for one so many times as long */
#define ROOM_SHORT  2000 /* ns: one so short is none either, */
#define SHORT_SHARE 4    /* if all but a few points, */
#define FEW_STRAYS  3    /* so many, leave room for one so many times as long */
#define SAMPLES_MAX 512  /* points of a direction by which the line of nearly all is found */

/* Points sorted by x; in a band only those of a hull. */
struct points {
    const struct explain_clock_point *at;
    size_t count;
};

struct band {
    struct points out, back;
};

static double lesser(double a, double b)
{
    return a < b ? a : b;
}

static double greater(double a, double b)
{
    return a > b ? a : b;
}

static int64_t rounded(double value)
{
    return (int64_t)(value < 0 ? value - 0.5 : value + 0.5);
}

/* The hull below (`sign` 1) or above (-1) the points, written to `to`. */
static struct points hull(struct points of, double sign, struct explain_clock_point *to)
{
    size_t n = 0;
    for (size_t i = 0; i < of.count; i++) {
        const struct explain_clock_point *next = &of.at[i];
        while (n >= 2) {
            const struct explain_clock_point *a = &to[n - 2], *b = &to[n - 1];
            double turn = (b->x - a->x) * (next->y - a->y) - (b->y - a->y) * (next->x - a->x);
            if (sign * turn > 0)
                break;
            n--;
        }
        to[n++] = *next;
    }
    return (struct points){to, n};
}

/* The bounds of the offset at x = 0 for a slope: it is less than upper() and more than lower(). */
static double upper(const struct band *b, double slope)
{
    double least = INFINITY;
    for (size_t i = 0; i < b->out.count; i++)
        least = lesser(least, b->out.at[i].y - slope * b->out.at[i].x);
    return least;
}

static double lower(const struct band *b, double slope)
{
    double most = -INFINITY;
    for (size_t i = 0; i < b->back.count; i++)
        most = greater(most, b->back.at[i].y - slope * b->back.at[i].x);
    return most;
}

static double room(const struct band *b, double slope)
{
    return upper(b, slope) - lower(b, slope);
}

/* Returns the slope that leaves the most room, as `room_at` measures it. */
static double widest(const struct band *b, double (*room_at)(const struct band *b, double slope))
{
    double low = -EXPLAIN_DRIFT_MAX, high = EXPLAIN_DRIFT_MAX;
    for (unsigned i = 0; i < STEPS; i++) {
        double third = (high - low) / 3;
        if (room_at(b, low + third) < room_at(b, high - third))
            low += third;
        else
            high -= third;
    }
    double slope = (low + high) / 2;
    return room_at(b, 0) >= STEADY * room_at(b, slope) ? 0 : slope;
}

/* The slope farthest from `inside` towards `end` that leaves room at all. */
static double edge(const struct band *b, double inside, double end)
{
    if (room(b, end) >= 0)
        return end;
    for (unsigned i = 0; i < STEPS; i++) {
        double middle = (inside + end) / 2;
        if (room(b, middle) >= 0)
            inside = middle;
        else
            end = middle;
    }
    return inside;
}

/* A range of slopes that ends only at the bounds of clocks, and holds the even one, tells nothing of the
 * drift. The slope that leaves the most room then lies at that end, as the room grows towards it: it is
 * none to take. */
static bool is_drift_open(const struct band *b, double low, double high)
{
    return (low <= -EXPLAIN_DRIFT_MAX || high >= EXPLAIN_DRIFT_MAX) && room(b, 0) >= 0;
}

/* How far at `x` a line that is possible, too, is from the one that is taken. */
static double doubt(const struct band *b, double low, double high, double x, double taken)
{
    double most = 0;
    for (unsigned i = 0; i <= SLOPES; i++) {
        double slope = low + (high - low) * i / SLOPES;
        if (room(b, slope) < 0)
            continue;
        most = greater(most, fabs(upper(b, slope) + slope * x - taken));
        most = greater(most, fabs(lower(b, slope) + slope * x - taken));
    }
    return most;
}

static void add_piece(struct explain_clock *c, double from_x, double offset, double drift)
{
    c->pieces[c->piece_count++] = (struct explain_clock_piece){from_x, offset, drift};
}

/* How many points lie before x. */
static size_t count_before(struct points p, double x)
{
    size_t low = 0, high = p.count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (p.at[middle].x < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Lays lines through the part of the captures from `from_x` on that the points are of. `scratch` has room
 * for all. */
static void fit_part(struct explain_clock *c, struct points out, struct points back, double from_x,
                     unsigned depth, struct explain_clock_point *scratch)
{
    struct band b = {.out = hull(out, 1, scratch), .back = hull(back, -1, scratch + out.count)};
    double slope = widest(&b, room), gap = room(&b, slope);
    unsigned pieces = c->piece_count;
    if (depth == 0)
        c->room_ns = gap;
    if (gap < 0 && depth < PIECES_DEEP && out.count >= 2 * PIECE_LEAST && back.count >= 2 * PIECE_LEAST) {
        double first = lesser(out.at[0].x, back.at[0].x);
        double middle = (first + greater(out.at[out.count - 1].x, back.at[back.count - 1].x)) / 2;
        size_t o = count_before(out, middle), k = count_before(back, middle);
        struct points out_rest = {out.at + o, out.count - o}, back_rest = {back.at + k, back.count - k};
        if (o && k)
            fit_part(c, (struct points){out.at, o}, (struct points){back.at, k}, from_x, depth + 1, scratch);
        if (out_rest.count && back_rest.count)
            fit_part(c, out_rest, back_rest, o && k ? middle : from_x, depth + 1, scratch);
    }
    if (c->piece_count > pieces)
        return;
    c->is_inconsistent |= gap < 0;
    c->drift_low = gap < 0 ? slope : edge(&b, slope, -EXPLAIN_DRIFT_MAX);
    c->drift_high = gap < 0 ? slope : edge(&b, slope, EXPLAIN_DRIFT_MAX);
    if (is_drift_open(&b, c->drift_low, c->drift_high)) {
        slope = 0;
        gap = room(&b, slope);
        c->room_ns = depth == 0 ? gap : c->room_ns;
    }
    double offset = (upper(&b, slope) + lower(&b, slope)) / 2;
    add_piece(c, from_x, offset, slope);
    double x[2] = {lesser(out.at[0].x, back.at[0].x),
                   greater(out.at[out.count - 1].x, back.at[back.count - 1].x)};
    c->error_ns = greater(c->error_ns, fabs(gap) / 2);
    for (unsigned i = 0; i < 2 && gap >= 0; i++)
        c->error_ns =
            greater(c->error_ns, doubt(&b, c->drift_low, c->drift_high, x[i], offset + slope * x[i]));
}

/* With packets in one direction alone the offset has one bound only. */
static void fit_one_way(struct explain_clock *c, struct points out, struct points back)
{
    double offset = out.count ? upper(&(struct band){.out = out}, 0) : lower(&(struct band){.back = back}, 0);
    c->is_one_way = true;
    c->drift_low = -EXPLAIN_DRIFT_MAX;
    c->drift_high = EXPLAIN_DRIFT_MAX;
    add_piece(c, -INFINITY, offset, 0);
}

/* --- some points are of two packets --- */

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* Returns the bound of the offset for a slope, above (`sign` 1) or below (-1), without the quickest
 * sixteenth of the points. Without points there is no bound. */
static double nearly_all(struct points p, double sign, double slope)
{
    double values[SAMPLES_MAX];
    size_t every = p.count / SAMPLES_MAX + 1, n = 0;
    for (size_t i = 0; i < p.count; i += every)
        values[n++] = sign * (p.at[i].y - slope * p.at[i].x);
    if (n == 0)
        return -sign * INFINITY;
    qsort(values, n, sizeof *values, by_value);
    return sign * values[n / STRAYS_OF];
}

static double nearly_all_room(const struct band *b, double slope)
{
    return nearly_all(b->out, 1, slope) - nearly_all(b->back, -1, slope);
}

/* The points above (`sign` 1) or below (-1) the line, written to `to`; none if those on the other side
 * are too many, or a row of the first or the last. */
static struct points on_side(struct points p, double sign, double slope, double offset,
                             struct explain_clock_point *to)
{
    size_t n = 0, first = p.count, last = 0;
    for (size_t i = 0; i < p.count; i++) {
        if (sign * (p.at[i].y - slope * p.at[i].x - offset) < 0)
            continue;
        to[n++] = p.at[i];
        first = n == 1 ? i : first;
        last = i;
    }
    bool is_kept =
        p.count - n <= p.count / STRAYS_OF && first < STRAYS_ROW && p.count - 1 - last < STRAYS_ROW;
    return (struct points){to, is_kept ? n : 0};
}

/* The line that nearly all points leave room for; `line->strays` are left out. It has no piece if they leave
 * none. 0 or -ENOMEM. */
static int lay_nearly_all(const struct explain_clock *c, struct points out, struct points back,
                          struct explain_clock_point *scratch, struct explain_clock *line)
{
    struct band all = {.out = out, .back = back};
    struct explain_clock_point *kept = malloc((out.count + back.count) * sizeof *kept);
    if (!kept)
        return -ENOMEM;
    double slope = widest(&all, nearly_all_room);
    double offset = (nearly_all(out, 1, slope) + nearly_all(back, -1, slope)) / 2;
    struct points o = on_side(out, 1, slope, offset, kept),
                  k = on_side(back, -1, slope, offset, kept + o.count);
    *line = *c;
    line->piece_count = 0;
    line->is_inconsistent = false;
    line->error_ns = 0;
    line->strays = out.count - o.count + back.count - k.count;
    if (o.count && k.count)
        fit_part(line, o, k, -INFINITY, 0, scratch);
    if (line->piece_count > 1 || line->is_inconsistent)
        line->piece_count = 0;
    free(kept);
    return 0;
}

/* Takes the line that nearly all points leave room for, if they do. 0 or -ENOMEM. */
static int fit_nearly_all(struct explain_clock *c, struct points out, struct points back,
                          struct explain_clock_point *scratch)
{
    struct explain_clock line;
    int err = lay_nearly_all(c, out, back, scratch, &line);
    if (err || !line.piece_count)
        return err;
    bool is_wider = c->is_inconsistent ||
                    (c->room_ns < ROOM_LEAST && line.room_ns >= ROOM_SHARE * ROOM_LEAST) ||
                    (line.strays <= FEW_STRAYS && line.room_ns >= SHORT_SHARE * c->room_ns);
    if (is_wider)
        *c = line;
    return 0;
}

/* One line explains all times. If a few points, which may be of two packets, are all that keeps it from the
 * room that the others leave, it may as well be there. 0 or -ENOMEM. */
static int doubt_few(struct explain_clock *c, struct points out, struct points back,
                     struct explain_clock_point *scratch)
{
    struct explain_clock line;
    int err = lay_nearly_all(c, out, back, scratch, &line);
    if (err || !line.piece_count || line.strays > FEW_STRAYS)
        return err;
    double x[2] = {lesser(out.at[0].x, back.at[0].x),
                   greater(out.at[out.count - 1].x, back.at[back.count - 1].x)};
    for (unsigned i = 0; i < 2 && line.strays; i++) {
        double apart =
            line.pieces[0].offset - c->pieces[0].offset + (line.pieces[0].drift - c->pieces[0].drift) * x[i];
        c->error_ns = greater(c->error_ns, fabs(apart) + line.error_ns);
    }
    return 0;
}

int explain_clock_fit(struct explain_clock *c, const struct explain_clock_point *out, size_t out_count,
                      const struct explain_clock_point *back, size_t back_count)
{
    struct points o = {out, out_count}, k = {back, back_count};
    c->piece_count = 0;
    c->is_one_way = c->is_inconsistent = false;
    c->room_ns = -INFINITY;
    c->error_ns = 0;
    c->strays = 0;
    double first = lesser(out_count ? out[0].x : INFINITY, back_count ? back[0].x : INFINITY);
    c->first_ns = c->epoch_ns + (uint64_t)(int64_t)first;
    if (!out_count || !back_count) {
        fit_one_way(c, o, k);
        return 0;
    }
    struct explain_clock_point *scratch = malloc((out_count + back_count) * sizeof *scratch);
    if (!scratch)
        return -ENOMEM;
    fit_part(c, o, k, -INFINITY, 0, scratch);
    bool is_strange = c->is_inconsistent || (c->piece_count == 1 && c->room_ns < ROOM_SHORT);
    int err = 0;
    if (is_strange)
        err = fit_nearly_all(c, o, k, scratch);
    else if (c->may_stray && c->piece_count == 1)
        err = doubt_few(c, o, k, scratch);
    free(scratch);
    return err;
}

bool explain_clock_has_drift(const struct explain_clock *c)
{
    return c->piece_count == 1 && c->drift_low > -EXPLAIN_DRIFT_MAX && c->drift_high < EXPLAIN_DRIFT_MAX &&
           c->drift_high - c->drift_low <= EXPLAIN_DRIFT_MAX;
}

int64_t explain_clock_ahead_ns(const struct explain_clock *c, uint64_t time_ns)
{
    double x = (double)(int64_t)(time_ns - c->epoch_ns);
    unsigned i = c->piece_count - 1;
    while (i > 0 && c->pieces[i].from_x > x)
        i--;
    return c->base_ns + rounded(c->pieces[i].offset + c->pieces[i].drift * x);
}

uint64_t explain_clock_to_first(const struct explain_clock *c, uint64_t time_ns)
{
    uint64_t near_ns = time_ns - (uint64_t)c->base_ns;
    return time_ns - (uint64_t)explain_clock_ahead_ns(c, near_ns);
}
