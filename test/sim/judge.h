/* SPDX-License-Identifier: BSD-2-Clause */
/* What must hold during and after every run. */
#ifndef NORNIC_TEST_SIM_JUDGE_H
#define NORNIC_TEST_SIM_JUDGE_H

#include "test/sim/run.h"

/* How long the work may take at the most, after the start, for the trouble there was until now. */
uint64_t sim_judge_bound_ns(const struct sim_run *run);

/* Fails the run when it is not done within that time, or does not come to rest when it is done. */
void sim_judge_time(struct sim_run *run);

/* After the run: everything came, nothing else was touched, atomics add up, counters are plausible. */
void sim_judge(struct sim_run *run);

#endif
