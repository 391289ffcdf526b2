/* SPDX-License-Identifier: BSD-2-Clause */
/* `explain --join` of thousands of simulated runs, captured at both ends. `build/test/explain_truth/truth
 * join SEED` repeats a failure. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#include "test/explain_truth/joined.h"

TestSuite(joined_truth, .timeout = 300);

#define COMPLAINTS_MAX 20 /* that are printed */

static void print(void *ctx, uint64_t seed, const char *words)
{
    unsigned *count = ctx;
    if ((*count)++ < COMPLAINTS_MAX)
        fprintf(stderr, "seed %" PRIu64 " %s; rerun: build/test/explain_truth/truth join %" PRIu64 "\n", seed,
                words, seed);
}

Test(joined_truth, what_is_shown_is_true_and_delays_keep_their_bound)
{
    unsigned complaints = 0;
    struct truth_joined_judge judge = {.complain = print, .ctx = &complaints};
    truth_joined_seeds(&judge, 1, 1280);
    const struct truth_joined_score *s = &judge.score;
    cr_expect_eq(complaints, 0);
    cr_expect_eq(s->delay_wrong, 0);
    cr_expect_eq(s->unjoined, 0);
    cr_expect_geq(s->right[0][EXPLAIN_FATE_ARRIVED][EXPLAIN_SURE_SHOWN], 100000);
    cr_expect_geq(s->right[0][EXPLAIN_FATE_LOST][EXPLAIN_SURE_SHOWN], 40);
    cr_expect_geq(s->right[0][EXPLAIN_FATE_COPY][EXPLAIN_SURE_SHOWN], 500);
    cr_expect_geq(s->right[0][EXPLAIN_FATE_MISSED_THERE][EXPLAIN_SURE_SHOWN], 100);
    cr_expect_leq(15 * s->either_right[0][EXPLAIN_FATE_ARRIVED],
                  s->right[0][EXPLAIN_FATE_ARRIVED][EXPLAIN_SURE_LIKELY], "which is which is left open");
    cr_expect_geq(s->overtaken_right, 1000);
    cr_expect_leq(s->overtaken_missed, s->overtaken_right / 50);
}

#define LIKELY_LEAST 96 /* percent of what is told as likely of captures of parts of the run, in all */

/* Where a capture begins late or ends early, the first of two equal packets may be outside of it: what that
 * leaves open is told as likely, or unknown. */
Test(joined_truth, captures_of_parts_tell_what_they_can)
{
    unsigned complaints = 0;
    struct truth_joined_judge judge = {.complain = print, .ctx = &complaints};
    truth_joined_seeds(&judge, 1, 1280);
    uint64_t shown = 0, right = 0, wrong = 0;
    for (unsigned fate = 0; fate < EXPLAIN_FATE_COUNT; fate++) {
        shown += judge.score.right[1][fate][EXPLAIN_SURE_SHOWN];
        right += judge.score.right[1][fate][EXPLAIN_SURE_LIKELY];
        wrong += judge.score.wrong[1][fate][EXPLAIN_SURE_LIKELY];
    }
    cr_expect_eq(complaints, 0);
    cr_expect_geq(shown, 100000);
    cr_expect_geq(100 * right, LIKELY_LEAST * (right + wrong), "%" PRIu64 " of %" PRIu64, right,
                  right + wrong);
    cr_expect_geq(judge.score.either_right[1][EXPLAIN_FATE_COPY],
                  9 * judge.score.either_wrong[1][EXPLAIN_FATE_COPY]);
}

static const uint64_t joined_wrongly[] = {
    820191, /* an answer of another queue pair, which covers what is far behind it */
    55020,  /* an answer to a packet that was sent again, and of which the capture missed a copy */
    36113,  /* three pairs of equal packets that are none of the same, far quicker than most */
    38514,  /* such a pair leaves no room for a round trip, and delays no bound */
    50924,  /* of seven packets one is later than all others, and missed: a NAK asked for it before it came */
    9115839,   /* two links, one of which dies: for two thirds of a second packets go over it one way only */
    920003516, /* such a pair leaves room for half of a round trip, and the bound is twice that */
    9303417,   /* one pair that is not the same packet leaves room for a round trip of 1.4 us only */
    9201602,   /* three queue pairs between two addresses, which a capture from the middle on parts wrongly */
    9028027,   /* nearly all from one PSN on is sent again, both ways */
    930001538, /* of two answers to what came twice that capture misses the first: quicker than all */
    480005980, /* an answer whose addresses were damaged, told as of the other end */
    9355484,   /* the network's second copy of what a NAK asks for comes when that capture is over */
    38588,     /* all that is sent again comes again within the time of the capture, which ends before */
};

Test(joined_truth, what_was_told_wrongly_is_not_any_more)
{
    for (size_t i = 0; i < sizeof joined_wrongly / sizeof *joined_wrongly; i++) {
        unsigned complaints = 0;
        struct truth_joined_judge judge = {.complain = print, .ctx = &complaints};
        truth_joined_seeds(&judge, joined_wrongly[i], 1);
        cr_expect_eq(judge.score.runs, 1);
        cr_expect_eq(complaints, 0);
    }
}

#define BURSTS \
    9003035 /* 47 packets one way, and 3 each way 55 ms later, one direction of which a capture lacks */

/* A clock that gains 1000 us a second would explain these captures the other way round, with more room. */
Test(joined_truth, what_bursts_leave_open_is_told_by_the_clocks_that_are_built)
{
    struct truth_joined_judge judge = {0};
    truth_joined_seeds(&judge, BURSTS, 1);
    const struct truth_joined_score *s = &judge.score;
    cr_expect_eq(s->right[1][EXPLAIN_FATE_ARRIVED][EXPLAIN_SURE_LIKELY], 50);
    cr_expect_eq(s->wrong[1][EXPLAIN_FATE_ARRIVED][EXPLAIN_SURE_LIKELY], 0);
    cr_expect_eq(s->right[1][EXPLAIN_FATE_ARRIVED][EXPLAIN_SURE_SHOWN], 0);
}

#define ONE_WAY 9103475 /* the captures have 75 packets of one direction in common */

/* Which end those left is a coin that is thrown: that capture may miss what the other has alone, or it was
 * lost. */
Test(joined_truth, what_went_one_way_is_not_told_to_be_missed)
{
    struct truth_joined_judge judge = {0};
    truth_joined_seeds(&judge, ONE_WAY, 1);
    const struct truth_joined_score *s = &judge.score;
    for (unsigned fate = EXPLAIN_FATE_LOST; fate <= EXPLAIN_FATE_MISSED_HERE; fate++)
        cr_expect_eq(s->right[1][fate][EXPLAIN_SURE_LIKELY] + s->wrong[1][fate][EXPLAIN_SURE_LIKELY], 0);
    cr_expect_eq(s->either_right[1][EXPLAIN_FATE_MISSED_HERE] + s->either_wrong[1][EXPLAIN_FATE_MISSED_HERE],
                 4);
}

#define ASKEW \
    802317 /* packets that were sent again are taken for those before them: many left, and many came, alone */

/* Where the clocks are laid wrongly, what rests on them is left open. */
Test(joined_truth, clocks_that_are_askew_decide_nothing)
{
    struct truth_joined_judge judge = {0};
    truth_joined_seeds(&judge, ASKEW, 1);
    const struct truth_joined_score *s = &judge.score;
    cr_expect_gt(s->either_right[1][EXPLAIN_FATE_LOST], 100);
    cr_expect_leq(s->wrong[1][EXPLAIN_FATE_LOST][EXPLAIN_SURE_LIKELY], 0);
    cr_expect_leq(s->wrong[1][EXPLAIN_FATE_ARRIVED][EXPLAIN_SURE_LIKELY], 0);
}

#define SLOW_COPIES \
    7300562        /* many packets that were sent again are longer under way than any that is known */
#define BURST 1083 /* of 90 packets at once, of which some are missing */

/* What came from nowhere may be what left and did not come. */
Test(joined_truth, what_came_from_nowhere_may_be_what_left)
{
    struct truth_joined_judge judge = {0};
    truth_joined_seeds(&judge, SLOW_COPIES, 1);
    cr_expect_leq(judge.score.wrong[0][EXPLAIN_FATE_LOST][EXPLAIN_SURE_LIKELY], 20);
    cr_expect_geq(judge.score.either_right[0][EXPLAIN_FATE_LOST], 90);
}

#define BEHIND_ONE 106 /* a packet left behind one that came, as the other capture seems to be over */

Test(joined_truth, between_two_that_came_the_other_capture_was_on)
{
    struct truth_joined_judge judge = {0}, behind = {0};
    truth_joined_seeds(&behind, BEHIND_ONE, 1);
    cr_expect_eq(behind.score.either_right[1][EXPLAIN_FATE_OUTSIDE], 1);
    cr_expect_eq(behind.score.wrong[1][EXPLAIN_FATE_OUTSIDE][EXPLAIN_SURE_LIKELY], 0);
    truth_joined_seeds(&judge, BURST, 1);
    cr_expect_geq(judge.score.either_right[0][EXPLAIN_FATE_OUTSIDE], 30);
    cr_expect_eq(judge.score.wrong[0][EXPLAIN_FATE_OUTSIDE][EXPLAIN_SURE_LIKELY], 0);
}

static const uint64_t with_equals[] = {31000508, 31001476, 31001789, 31002508};

/* What seems to have come from nowhere, or to be a copy, may be one of several equal packets that left: of
 * those both captures have, one was taken for another. */
Test(joined_truth, what_came_from_nowhere_may_be_one_that_both_have)
{
    for (size_t i = 0; i < sizeof with_equals / sizeof *with_equals; i++) {
        struct truth_joined_judge judge = {0};
        truth_joined_seeds(&judge, with_equals[i], 1);
        const struct truth_joined_score *s = &judge.score;
        uint64_t right = 0, wrong = 0;
        for (unsigned part = 0; part < 2; part++) {
            right +=
                s->either_right[part][EXPLAIN_FATE_COPY] + s->either_right[part][EXPLAIN_FATE_MISSED_HERE];
            wrong +=
                s->either_wrong[part][EXPLAIN_FATE_COPY] + s->either_wrong[part][EXPLAIN_FATE_MISSED_HERE];
        }
        cr_expect_gt(right, 5);
        cr_expect_eq(wrong, 0, "seed %" PRIu64 ": %" PRIu64, with_equals[i], wrong);
    }
}

static const uint64_t with_strays[] = {2397, 6028,
                                       7305}; /* a few pairs of equal packets are none of the same */

/* A few pairs that are not the same packet do not hide where the clocks stand. */
Test(joined_truth, clocks_are_those_of_nearly_all_packets)
{
    for (size_t i = 0; i < sizeof with_strays / sizeof *with_strays; i++) {
        struct truth_joined_judge judge = {0};
        truth_joined_seeds(&judge, with_strays[i], 1);
        const struct truth_joined_score *s = &judge.score;
        cr_expect_geq(s->right[1][EXPLAIN_FATE_ARRIVED][EXPLAIN_SURE_LIKELY], 300);
        cr_expect_leq(s->wrong[1][EXPLAIN_FATE_ARRIVED][EXPLAIN_SURE_LIKELY],
                      s->right[1][EXPLAIN_FATE_ARRIVED][EXPLAIN_SURE_LIKELY] / 20);
        cr_expect_eq(s->either_wrong[1][EXPLAIN_FATE_LOST], 0);
    }
}

/* A tap that sees each packet at two places, always as far apart or not: what is told of a packet does not
 * depend on it, but where equal packets are sent within the tap's jitter. */
Test(joined_truth, captures_that_hold_their_packets_twice_tell_the_same)
{
    struct truth_joined_judge judge = {.doubles = true};
    truth_joined_seeds(&judge, 1, 640);
    const struct truth_joined_score *s = &judge.score;
    cr_expect_geq(s->doubled, 600);
    cr_expect_leq(100 * s->otherwise, s->compared, "%" PRIu64 " of %" PRIu64, s->otherwise, s->compared);
    cr_expect_eq(s->doubled_wrong, 0);
    cr_expect_eq(s->left_out, 0);
}
