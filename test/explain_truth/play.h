/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs of the simulated networks of test/sim/, watched. */
#ifndef NORNIC_TEST_EXPLAIN_TRUTH_PLAY_H
#define NORNIC_TEST_EXPLAIN_TRUTH_PLAY_H

#include "test/explain_truth/scene.h"
#include "test/support/random.h"

/* What runs of one capture have in common. */
struct truth_setup {
    bool ipv6, vlan;
    bool random_psns;  /* as hosts draw the first ones; else many are close to the wrap */
    bool selective[2]; /* nodes that have selective retransmission (docs/selective-retransmission.md) */
};

/* Queue pairs of two devices; `seed` decides what is not in `setup`. What the simulation itself finds wrong
 * goes to `failure`. */
void truth_play_rc(struct truth_tape *tape, enum truth_scene_kind kind, const struct truth_setup *setup,
                   uint64_t seed, char *failure, size_t size);
/* Two instances of SMC-R with their TCP connections. */
void truth_play_smc(struct truth_tape *tape, enum truth_scene_kind kind, uint64_t seed, char *failure,
                    size_t size);

#endif
