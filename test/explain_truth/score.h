/* SPDX-License-Identifier: BSD-2-Clause */
/* What the judged runs add up to, as the table of docs/explain.md. */
#ifndef NORNIC_TEST_EXPLAIN_TRUTH_SCORE_H
#define NORNIC_TEST_EXPLAIN_TRUTH_SCORE_H

#include <stdio.h>

#include "test/explain_truth/judge.h"

#define TRUTH_RUNS 3200 /* of the test and of the table */

/* Plays and judges seeds first..first + runs - 1. Simulations that went wrong themselves are complained of,
 * and their number is returned. */
unsigned truth_score_seeds(struct truth_judge *judge, uint64_t first, uint64_t runs);

/* Writes the table in Markdown. */
void truth_score_print(const struct truth_score *score, FILE *out);

#endif
