/* SPDX-License-Identifier: BSD-2-Clause */
/* Simulated runs with a capture at each end, whose clocks differ: what the join says of them, held against
 * what happened. */
#ifndef NORNIC_TEST_EXPLAIN_TRUTH_JOINED_H
#define NORNIC_TEST_EXPLAIN_TRUTH_JOINED_H

#include <stdio.h>

#include "explain/join/join.h"
#include "test/explain_truth/scene.h"

struct truth_joined_score {
    uint64_t runs, packets, delays;
    /* [0]: both captures have the whole run, but for packets that they missed; [1]: one begins late or
     * ends early. By fate and enum explain_sure. */
    uint64_t right[2][EXPLAIN_FATE_COUNT][3], wrong[2][EXPLAIN_FATE_COUNT][3];
    /* sure UNKNOWN: one of the two is true; by the first */
    uint64_t either_right[2][EXPLAIN_FATE_COUNT], either_wrong[2][EXPLAIN_FATE_COUNT];
    uint64_t overtaken_right, overtaken_wrong, overtaken_missed;
    uint64_t delay_wrong, clock_wrong; /* beyond the bound that was stated */
    uint64_t unjoined;                 /* nothing in common, though both have a packet */
    uint64_t doubled;             /* runs joined once more with a capture that holds its packets twice, */
    uint64_t compared, otherwise; /* packets of these, and of which another fate is told than before */
    uint64_t less_sure;           /* or the same, but more or less surely */
    uint64_t doubled_wrong;       /* told of these as shown, and not true */
    uint64_t left_out;            /* as packets that a capture holds twice, which none did */
};

struct truth_joined_judge {
    struct truth_joined_score score;
    bool doubles; /* join each run once more, with the packets of one capture or both twice */
    /* Told of what is wrong; NULL: nobody. */
    void (*complain)(void *ctx, uint64_t seed, const char *words);
    void *ctx;
};

/* Plays and judges seeds first..first + runs - 1. */
void truth_joined_seeds(struct truth_joined_judge *judge, uint64_t first, uint64_t runs);
/* Writes the two captures of a seed; `doubles`: with packets twice. 0 or -errno. */
int truth_joined_write(uint64_t seed, bool doubles, const char *const paths[2]);
/* Writes the table in Markdown. */
void truth_joined_print(const struct truth_joined_score *score, FILE *out);

#endif
