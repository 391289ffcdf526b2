/* SPDX-License-Identifier: BSD-2-Clause */
/* One workload, run to its end and judged. */
#ifndef NORNIC_TEST_SIM_RUN_H
#define NORNIC_TEST_SIM_RUN_H

#include "test/sim/end.h"
#include "test/sim/plan.h"
#include "test/sim/sim.h"

#define SIM_ACTIONS_MAX 4

struct sim_run;

/* Something that the application does in the middle of a run. */
struct sim_action {
    uint64_t at_ns; /* after the start */
    void (*act)(struct sim_run *run);
};

struct sim_run {
    struct sim sim;
    struct sim_plan *plan;
    struct sim_end end[SIM_PAIRS_MAX][2];
    struct rdma_cq *cqs[2][2 * SIM_PAIRS_MAX];
    unsigned cq_count[2];
    struct rdma_xrcd *xrcd[2];                  /* of each node */
    struct sim_action actions[SIM_ACTIONS_MAX]; /* in order of time; unused: act is NULL */
    unsigned next_action;
    uint64_t done_ns; /* the newest completion, after the start */
    uint64_t idle_ns; /* when the clock first moved with everything done, after the start */
};

/* Builds devices, memory, CQs and connected QPs. Owns `plan` from now on. Messages that it holds back go at
 * plan->probe_ns, when the wire has calmed down (actions[0]). */
void sim_run_start(struct sim_run *run, struct sim_plan *plan, bool ladder);
/* Lets time pass until nothing moves any more, or something is wrong. */
void sim_run_until_quiet(struct sim_run *run);
/* Checks what must hold afterwards, frees everything. False: run->sim.failure says what was wrong. */
bool sim_run_finish(struct sim_run *run);

/* All three. */
bool sim_run(struct sim_run *run, struct sim_plan *plan, bool ladder);

#endif
