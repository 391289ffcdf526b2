/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "test/sim/traffic.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define SEEDS 25

static struct sim_plan *plan_traffic(uint64_t seed, enum nornic_wr_opcode victim)
{
    struct sim_plan *plan = sim_plan_create(seed);
    struct test_random *random = &plan->random;
    uint32_t loss_ppm = seed % 3 ? 20000 : 0;
    enum nornic_mtu mtu = (enum nornic_mtu)(1 + seed % 5);
    for (unsigned node = 0; node < 2; node++) {
        struct sim_end_plan *end = &plan->end[0][node];
        plan->config.link[node] = (struct sim_link_config){
            .delay_ns = test_random_between(random, 0, 20 * NS_PER_US), .loss_ppm = loss_ppm};
        end->attr.path_mtu = mtu;
        end->sq_sig_all = test_random_chance(random, 500000);
        for (unsigned i = 0; i < SIM_TRAFFIC_MESSAGES; i++) {
            static const enum nornic_wr_opcode round[] = {NORNIC_WR_SEND, NORNIC_WR_RDMA_WRITE,
                                                          NORNIC_WR_RDMA_READ};
            enum nornic_wr_opcode opcode = node == 0 && i == SIM_TRAFFIC_VICTIM ? victim : round[i % 3];
            struct sim_message *m = sim_plan_message(
                plan, 0, node, opcode, 1 + test_random_below(random, 4 * sim_plan_mtu(plan, 0)));
            if (test_random_chance(random, 300000) && i != SIM_TRAFFIC_VICTIM &&
                i + 1 != SIM_TRAFFIC_MESSAGES)
                m->flags &= ~(uint32_t)NORNIC_SEND_SIGNALED;
        }
    }
    plan->config.ipv6 = seed & 1;
    sim_plan_time(plan);
    return plan;
}

void sim_traffic_run(const struct sim_traffic *traffic)
{
    struct sim_seeds seeds;
    struct sim_run *run = malloc(sizeof *run);
    cr_assert_not_null(run);
    sim_seeds_init(&seeds, SEEDS);
    for (uint64_t n = seeds.first; sim_seeds_more(&seeds, n); n++) {
        struct sim_plan *plan = plan_traffic(sim_seeds_begin(&seeds, n), traffic->victim);
        traffic->spoil(plan);
        sim_run_start(run, plan, seeds.ladder);
        memcpy(run->actions, traffic->actions, sizeof run->actions);
        sim_run_until_quiet(run);
        if (!run->sim.failed)
            traffic->check(run);
        sim_run_finish(run);
        sim_seeds_end(&seeds, n, run);
    }
    free(run);
    cr_assert_eq(seeds.failures, 0, "%u seeds failed", seeds.failures);
}
