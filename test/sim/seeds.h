/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs a test over many seeds. NORNIC_SEED=N runs seed N alone and prints its packets; NORNIC_SEEDS=N runs N
 * seeds of every test instead of its own number. */
#ifndef NORNIC_TEST_SIM_SEEDS_H
#define NORNIC_TEST_SIM_SEEDS_H

#include "test/sim/run.h"

struct sim_seeds {
    uint64_t first, count;
    bool ladder;
    uint64_t salt; /* the test's own: equal numbers are different workloads in different tests */
    unsigned failures;
    unsigned exhausted; /* runs in which a QP gave up lawfully */
};

/* Takes the environment into account. */
void sim_seeds_init(struct sim_seeds *seeds, uint64_t count);

/* Whether to run seed number `n`: not when too many have failed. */
bool sim_seeds_more(const struct sim_seeds *seeds, uint64_t n);

/* What to hand to sim_plan_create() or sim_plan_draw() for seed number `n`; remembers n for a crash. */
uint64_t sim_seeds_begin(struct sim_seeds *seeds, uint64_t n);

/* Prints seed, `why` it failed (NULL: it did not) and how to run it again. */
void sim_seeds_report(struct sim_seeds *seeds, uint64_t n, const char *why);
/* The same of a simulation. */
void sim_seeds_judge(struct sim_seeds *seeds, uint64_t n, const struct sim *sim);
/* The same of a run, and counts it if a QP gave up. */
void sim_seeds_end(struct sim_seeds *seeds, uint64_t n, const struct sim_run *run);

/* Draws and runs `count` workloads of a profile and asserts that none failed. */
void sim_seeds_run(const struct sim_profile *profile, uint64_t count);

#endif
