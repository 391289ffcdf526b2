/* SPDX-License-Identifier: BSD-2-Clause */
/* Two captures laid together: how far the clock of one is ahead of the other's, from times that are drawn
 * here. */
#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/join/clock.h"
#include "explain/join/show.h"
#include "test/support/random.h"

#define POINTS 2000

/* Packets over `span_ns`, each way with a least delay and jitter of its own; clock 1 as the arguments say. */
struct clocks {
    struct explain_clock_point out[POINTS], back[POINTS];
    struct explain_clock clock;
};

struct path {
    double span_ns, offset_ns, drift;
    double least_ns[2], jitter_ns[2];
};

static double draw(struct test_random *r, double most)
{
    return most * (double)test_random_below(r, 1000001) / 1e6;
}

static void play(struct clocks *c, const struct path *p, uint64_t seed)
{
    struct test_random r = {.state = seed};
    for (unsigned i = 0; i < POINTS; i++) {
        double t = p->span_ns * i / POINTS;
        double out = p->least_ns[0] + draw(&r, p->jitter_ns[0]),
               back = p->least_ns[1] + draw(&r, p->jitter_ns[1]);
        c->out[i] = (struct explain_clock_point){t, out + p->offset_ns + p->drift * (t + out)};
        c->back[i] = (struct explain_clock_point){t + back, p->offset_ns + p->drift * t - back};
    }
    c->clock = (struct explain_clock){0};
    cr_assert_eq(explain_clock_fit(&c->clock, c->out, POINTS, c->back, POINTS), 0);
}

static double error_at(const struct clocks *c, const struct path *p, double t)
{
    double is = p->offset_ns + p->drift * t;
    return fabs((double)explain_clock_ahead_ns(&c->clock, (uint64_t)t) - is);
}

/* Nobody can tell a slow way from a clock that is ahead; but by more than half of the round trip nobody is
 * wrong. */
Test(clock, offset_and_drift_are_found_within_the_bound_whatever_the_ways)
{
    struct clocks *c = malloc(sizeof *c);
    for (uint64_t seed = 1; seed <= 200; seed++) {
        struct test_random r = {.state = seed * 11};
        struct path p = {.span_ns = 1e6 + draw(&r, 60e9),
                         .offset_ns = draw(&r, 2e9) - 1e9,
                         .drift = draw(&r, 2e-4) - 1e-4};
        for (unsigned way = 0; way < 2; way++) {
            p.least_ns[way] = 1000 + draw(&r, 50000);
            p.jitter_ns[way] = draw(&r, way ? 200000 : 5000);
        }
        play(c, &p, seed);
        cr_assert_eq(c->clock.piece_count, 1);
        cr_assert_not(c->clock.is_inconsistent);
        for (unsigned at = 0; at < 3; at++)
            cr_expect_leq(error_at(c, &p, p.span_ns * at / 2), c->clock.error_ns + 2, "seed %u at %u",
                          (unsigned)seed, at);
        cr_expect(p.drift >= c->clock.drift_low - 1e-9 && p.drift <= c->clock.drift_high + 1e-9, "seed %u",
                  (unsigned)seed);
    }
    free(c);
}

Test(clock, a_long_capture_with_little_jitter_gives_the_drift)
{
    struct clocks *c = malloc(sizeof *c);
    struct path p = {.span_ns = 100e9,
                     .offset_ns = 5e6,
                     .drift = 17e-6,
                     .least_ns = {20000, 20000},
                     .jitter_ns = {3000, 3000}};
    play(c, &p, 3);
    cr_expect_float_eq(c->clock.pieces[0].drift, 17e-6, 1e-7);
    cr_expect_leq(error_at(c, &p, 50e9), 2000, "ways are alike here");
    cr_expect_leq(c->clock.error_ns, 25000);
    cr_expect(explain_clock_has_drift(&c->clock));
    free(c);
}

/* A queue fills one way while another empties: the clocks are even, and the slope of 1000 us a second, at
 * which clocks end, leaves the most room. That tells nothing of the drift, and delays are not measured by
 * it. */
Test(clock, a_range_that_ends_where_clocks_do_is_no_drift)
{
    struct clocks *c = malloc(sizeof *c);
    struct path even = {.span_ns = 50e6, .offset_ns = 5.5e9};
    for (unsigned i = 0; i < POINTS; i++) {
        double t = even.span_ns * i / POINTS, filled = 50000.0 * i / POINTS;
        c->out[i] = (struct explain_clock_point){t, even.offset_ns + filled};
        c->back[i] = (struct explain_clock_point){t, even.offset_ns - (50000 - filled)};
    }
    c->clock = (struct explain_clock){0};
    cr_assert_eq(explain_clock_fit(&c->clock, c->out, POINTS, c->back, POINTS), 0);
    cr_expect_not(explain_clock_has_drift(&c->clock));
    cr_expect_eq(c->clock.pieces[0].drift, 0);
    cr_expect_leq(error_at(c, &even, 0), 100);
    cr_expect_leq(error_at(c, &even, even.span_ns), 100);
    free(c);
}

/* A clock that is set in the middle: no line explains both halves. */
Test(clock, a_step_makes_pieces)
{
    struct clocks *c = malloc(sizeof *c);
    struct path p = {.span_ns = 10e9, .least_ns = {20000, 20000}, .jitter_ns = {5000, 5000}};
    play(c, &p, 5);
    for (unsigned i = POINTS / 2; i < POINTS; i++) {
        c->out[i].y += 3e6;
        c->back[i].y += 3e6;
    }
    cr_assert_eq(explain_clock_fit(&c->clock, c->out, POINTS, c->back, POINTS), 0);
    cr_expect_geq(c->clock.piece_count, 2);
    cr_expect_leq(c->clock.piece_count, EXPLAIN_CLOCK_PIECES_MAX);
    cr_expect_leq(fabs((double)explain_clock_ahead_ns(&c->clock, (uint64_t)1e9)), 25000);
    cr_expect_leq(fabs((double)explain_clock_ahead_ns(&c->clock, (uint64_t)9e9) - 3e6), 25000);
    free(c);
}

/* Of a packet that was sent again each capture has another copy: it seems to have come before it left. */
Test(clock, pairs_of_two_packets_are_left_out)
{
    struct clocks *c = malloc(sizeof *c);
    struct path p = {
        .span_ns = 10e9, .offset_ns = 7e6, .least_ns = {20000, 20000}, .jitter_ns = {5000, 5000}};
    play(c, &p, 6);
    c->out[0].y -= 200e6;
    c->out[POINTS / 2].y -= 3e6;
    c->back[POINTS / 3].y += 5e6;
    cr_assert_eq(explain_clock_fit(&c->clock, c->out, POINTS, c->back, POINTS), 0);
    cr_expect_eq(c->clock.strays, 3);
    cr_expect_eq(c->clock.piece_count, 1);
    cr_expect_not(c->clock.is_inconsistent);
    cr_expect_leq(error_at(c, &p, 1e9), 25000);
    cr_expect_leq(error_at(c, &p, 9e9), 25000);
    free(c);
}

/* Plays round trips of 40 us over ways without jitter, and one packet in the middle that is quicker by
 * that. */
static void play_one_quicker(struct clocks *c, const struct path *p, double by_ns, bool may_stray)
{
    play(c, p, 8);
    c->back[POINTS / 2].y += by_ns;
    c->clock = (struct explain_clock){.may_stray = may_stray};
    cr_assert_eq(explain_clock_fit(&c->clock, c->out, POINTS, c->back, POINTS), 0);
}

/* One pair of two packets leaves room for a round trip of 1.4 us only, all others for one of 40. */
Test(clock, a_pair_that_leaves_next_to_no_room_is_left_out)
{
    struct clocks *c = malloc(sizeof *c);
    struct path p = {.span_ns = 10e9, .offset_ns = 7e6, .least_ns = {20000, 20000}};
    play_one_quicker(c, &p, 38600, false);
    cr_expect_eq(c->clock.strays, 1);
    cr_expect_leq(fabs(c->clock.error_ns - 20000), 1000);
    free(c);
}

/* One leaves room for a round trip of 15 us: it may be the quickest packet, or of two packets. Where none
 * is sent twice with the same bytes it is the quickest. */
Test(clock, a_pair_apart_from_all_others_makes_the_bound_wider_where_it_may_be_of_two_packets)
{
    struct clocks *c = malloc(sizeof *c);
    struct path p = {.span_ns = 10e9, .offset_ns = 7e6, .least_ns = {20000, 20000}};
    double error_ns[2];
    for (unsigned may_stray = 0; may_stray < 2; may_stray++) {
        play_one_quicker(c, &p, 25000, may_stray);
        cr_expect_eq(c->clock.strays, 0);
        error_ns[may_stray] = c->clock.error_ns;
    }
    cr_expect_geq(error_ns[1], 12500 + 20000,
                  "the true line is 12.5 us away, and half of the round trip may be off");
    cr_expect_leq(error_ns[0], error_ns[1] - 5000);
    free(c);
}

/* All packets of one direction from there on seem to come before they left: that is a clock. */
Test(clock, a_step_shortly_before_the_end_leaves_none_out)
{
    struct clocks *c = malloc(sizeof *c);
    struct path p = {.span_ns = 10e9, .least_ns = {20000, 20000}, .jitter_ns = {5000, 5000}};
    play(c, &p, 7);
    for (unsigned i = POINTS - POINTS / 32; i < POINTS; i++)
        c->out[i].y -= 3e6;
    cr_assert_eq(explain_clock_fit(&c->clock, c->out, POINTS, c->back, POINTS), 0);
    cr_expect_eq(c->clock.strays, 0);
    cr_expect(c->clock.is_inconsistent || c->clock.piece_count > 1);
    free(c);
}

Test(clock, one_way_alone_is_said_and_the_quickest_takes_no_time)
{
    struct explain_clock_point out[] = {{0, 700}, {1e6, 500}, {2e6, 900}};
    struct explain_clock c = {0};
    cr_assert_eq(explain_clock_fit(&c, out, 3, NULL, 0), 0);
    cr_expect(c.is_one_way);
    cr_expect_eq(explain_clock_ahead_ns(&c, 1000000), 500);
}

/* Half a second behind the first record of the capture, where the slope would make 50 us of it. */
Test(clock, it_is_told_where_the_first_packet_is_that_both_have)
{
    const struct explain_clock_point out[] = {{5e8, 100}, {5.1e8, 1100}},
                                     back[] = {{5e8, -100}, {5.1e8, 900}};
    const char *const names[2] = {"a", "b"};
    struct explain_join_summary sums = {.packets = {4, 4}};
    struct explain_text text = {0};
    cr_assert_eq(explain_clock_fit(&sums.clock, out, 2, back, 2), 0);
    cr_expect_eq(sums.clock.first_ns, 500000000);
    explain_join_sums_json(&text, &sums, names);
    cr_expect(strstr(text.bytes, "\"ahead_ns\":0,"), "%s", text.bytes);
    explain_text_free(&text);
}

Test(clock, times_of_the_one_are_times_of_the_other_and_back)
{
    struct explain_clock c = {.epoch_ns = 5 * NS_PER_S,
                              .base_ns = -3 * (int64_t)NS_PER_S,
                              .piece_count = 1,
                              .pieces = {{.from_x = -INFINITY, .offset = 1234, .drift = 50e-6}}};
    for (uint64_t t = 5 * NS_PER_S; t < 50 * NS_PER_S; t += 7777777777) {
        uint64_t other = t + (uint64_t)explain_clock_ahead_ns(&c, t);
        cr_expect_leq(llabs((int64_t)(explain_clock_to_first(&c, other) - t)), 200);
    }
}
