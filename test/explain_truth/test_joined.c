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
    cr_expect_geq(s->right[0][EXPLAIN_FATE_LOST][EXPLAIN_SURE_SHOWN], 50);
    cr_expect_geq(s->right[0][EXPLAIN_FATE_COPY][EXPLAIN_SURE_SHOWN], 500);
    cr_expect_geq(s->right[0][EXPLAIN_FATE_MISSED_THERE][EXPLAIN_SURE_SHOWN], 100);
    cr_expect_geq(s->overtaken_right, 1000);
    cr_expect_leq(s->overtaken_missed, s->overtaken_right / 50);
}

/* Where a capture begins late or ends early, the first of two equal packets may be outside of it. */
Test(joined_truth, captures_of_parts_are_seldom_wrong)
{
    struct truth_joined_judge judge = {0};
    truth_joined_seeds(&judge, 1, 1280);
    uint64_t right = 0, wrong = 0;
    for (unsigned fate = 0; fate < EXPLAIN_FATE_COUNT; fate++) {
        right += judge.score.right[1][fate][EXPLAIN_SURE_SHOWN];
        wrong += judge.score.wrong[1][fate][EXPLAIN_SURE_SHOWN];
    }
    cr_expect_geq(right, 100000);
    cr_expect_leq(wrong, right / 1000);
}
