/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a plan and judges it: every byte once and in order, or an end that the application sees and that the
 * plan allows; nothing stuck; everything given back at the end. */
#ifndef NORNIC_TEST_SIM_SMCR_RUN_H
#define NORNIC_TEST_SIM_SMCR_RUN_H

#include "test/sim/smcr_plan.h"
#include "test/sim/smcr_watch.h"

struct smcr_side {
    uint64_t wake_ns;
    bool shut, closed, rst;
    int error;    /* that the application saw */
    bool excused; /* it may end abnormally */
};

struct smcr_run {
    struct smcr_plan plan;
    struct pair *pair;
    struct watch watch;
    struct test_random random;
    uint64_t start_ns;
    unsigned next_trouble;
    struct pair_conn *conn[SMCR_PLAN_CONNS];
    struct smcr_side side[SMCR_PLAN_CONNS][2];
    void (*begins)(void *ctx, struct pair *pair); /* called before anything happens. May be NULL */
    void *begins_ctx;
    /* what came of it */
    unsigned fallbacks, resets;
    uint64_t failovers, bytes;
    char failure[400]; /* empty: all is well */
};

/* Runs `run->plan`. */
void smcr_run(struct smcr_run *run);

/* Draws and runs `count` seeds of a profile, asserts that none failed, prints those that did and how to rerun
 * them. Sums of what happened go to `*total` (may be NULL). */
struct smcr_totals {
    uint64_t runs, fallbacks, resets, failovers, bytes, cdcs, updates;
};
void smcr_seeds_run(const struct smcr_profile *profile, uint64_t count, struct smcr_totals *total);

#endif
