/* SPDX-License-Identifier: BSD-2-Clause */
/* Ordinary traffic between two QPs that a test spoils: by its plan, or by what the application does
 * meanwhile. */
#ifndef NORNIC_TEST_SIM_TRAFFIC_H
#define NORNIC_TEST_SIM_TRAFFIC_H

#include "test/sim/seeds.h"

/* Both sides send SENDs, WRITEs and READs in turn; message SIM_TRAFFIC_VICTIM of node 0 has an opcode of the
 * test's choice. */
#define SIM_TRAFFIC_MESSAGES 9
#define SIM_TRAFFIC_VICTIM   5

/* For sim_end_plan.may_fail. */
#define SIM_MAY(status) (1u << (status))

struct sim_traffic {
    enum nornic_wr_opcode victim;
    void (*spoil)(struct sim_plan *plan);
    struct sim_action actions[SIM_ACTIONS_MAX];
    void (*check)(struct sim_run *run); /* before everything is torn down */
};

/* Runs it over many seeds, two thirds of them on a wire that loses frames, and asserts that none failed. */
void sim_traffic_run(const struct sim_traffic *traffic);

#endif
