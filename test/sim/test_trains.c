/* SPDX-License-Identifier: BSD-2-Clause */
/* That the simulation runs over trains, and over UDP sockets: without them all its other tests would pass
 * as well. */
#include <criterion/criterion.h>

#include "test/sim/seeds.h"

#define SEEDS 40

/* What the runs of a test had, in all. */
struct seen {
    uint64_t seeds, with, with_sockets, trains_sent, trains_received, trains_mixed, trains_damaged,
        kernel_drops;
};

/* Runs SEEDS seeds, or as many as were asked for. False: those are too few to say anything about all. */
static bool run_seeds(const struct sim_profile *profile, struct seen *seen)
{
    struct sim_seeds seeds;
    struct sim_run *run = malloc(sizeof *run);
    cr_assert_not_null(run);
    sim_seeds_init(&seeds, SEEDS);
    for (uint64_t n = seeds.first; sim_seeds_more(&seeds, n); n++) {
        sim_run(run, sim_plan_draw(sim_seeds_begin(&seeds, n), profile), seeds.ladder);
        sim_seeds_end(&seeds, n, run);
        const struct sim *sim = &run->sim;
        cr_assert(sim->train_pkts || sim->trains_sent + sim->trains_received == 0);
        seen->with += sim->train_pkts > 0;
        seen->with_sockets += sim->has_sockets;
        seen->trains_sent += sim->trains_sent;
        seen->trains_received += sim->trains_received;
        seen->trains_mixed += sim->has_sockets ? sim->trains_mixed : 0;
        seen->trains_damaged += sim->has_sockets ? sim->trains_damaged : 0;
        seen->kernel_drops += sim->node[0].kernel_drops + sim->node[1].kernel_drops;
    }
    free(run);
    cr_assert_eq(seeds.failures, 0);
    seen->seeds = seeds.count;
    return seeds.count >= SEEDS;
}

Test(trains, half_of_the_seeds_move_them_both_ways)
{
    const struct sim_profile profile = {.opcodes = 1 << NORNIC_WR_RDMA_WRITE | 1 << NORNIC_WR_RDMA_READ,
                                        .pmtu = NORNIC_MTU_256,
                                        .loss_ppm = 10000,
                                        .prompt = true};
    struct seen seen = {0};
    if (!run_seeds(&profile, &seen))
        return;
    cr_assert(4 * seen.with > seen.seeds && 4 * seen.with < 3 * seen.seeds, "%lu of %lu", seen.with,
              seen.seeds);
    /* by chance half of these over sockets, less those with a VLAN (test/sim/sim.c) */
    cr_assert(8 * seen.with_sockets > seen.seeds && 8 * seen.with_sockets < 7 * seen.with, "%lu of %lu",
              seen.with_sockets, seen.with);
    cr_assert(seen.trains_sent > 12 * seen.seeds && seen.trains_received > 12 * seen.seeds,
              "%lu sent, %lu received by %lu seeds", seen.trains_sent, seen.trains_received, seen.seeds);
}

/* Trains of a UDP socket as the worst of wires leaves them: packets of several queue pairs in one, some
 * missing or twice or out of order, and some damaged between good ones. The runs judge that every message
 * arrives once and whole (test/sim/judge.c). */
Test(trains, sockets_take_trains_that_are_mixed_cut_and_damaged)
{
    const struct sim_profile profile = {.opcodes = 1 << NORNIC_WR_RDMA_WRITE | 1 << NORNIC_WR_RDMA_READ,
                                        .pmtu = NORNIC_MTU_256,
                                        .loss_ppm = 10000,
                                        .duplicate_ppm = 10000,
                                        .reorder_ppm = 20000,
                                        .corrupt_ppm = 60000,
                                        .ecn_ppm = 10000,
                                        .pairs_min = 8,
                                        .pairs_max = 16,
                                        .prompt = true};
    struct seen seen = {0};
    if (!run_seeds(&profile, &seen))
        return;
    cr_assert(seen.trains_mixed > 30 && seen.trains_damaged > 5 && seen.kernel_drops > 0,
              "%lu trains, %lu mixed, %lu damaged; %lu frames dropped", seen.trains_received,
              seen.trains_mixed, seen.trains_damaged, seen.kernel_drops);
}
