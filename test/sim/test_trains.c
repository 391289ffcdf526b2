/* SPDX-License-Identifier: BSD-2-Clause */
/* That the simulation runs over trains: without them all its other tests would pass as well. */
#include <criterion/criterion.h>

#include "test/sim/seeds.h"

Test(trains, half_of_the_seeds_move_them_both_ways)
{
    const struct sim_profile profile = {.opcodes = 1 << NORNIC_WR_RDMA_WRITE | 1 << NORNIC_WR_RDMA_READ,
                                        .pmtu = NORNIC_MTU_256,
                                        .loss_ppm = 10000,
                                        .prompt = true};
    struct sim_seeds seeds;
    struct sim_run *run = malloc(sizeof *run);
    cr_assert_not_null(run);
    sim_seeds_init(&seeds, 40);
    uint64_t with = 0, trains_sent = 0, trains_received = 0;
    for (uint64_t n = seeds.first; sim_seeds_more(&seeds, n); n++) {
        sim_run(run, sim_plan_draw(sim_seeds_begin(&seeds, n), &profile), seeds.ladder);
        sim_seeds_end(&seeds, n, run);
        cr_assert(run->sim.train_pkts || run->sim.trains_sent + run->sim.trains_received == 0);
        with += run->sim.train_pkts > 0;
        trains_sent += run->sim.trains_sent;
        trains_received += run->sim.trains_received;
    }
    free(run);
    cr_assert_eq(seeds.failures, 0);
    if (seeds.count < 40) /* one seed alone */
        return;
    cr_assert(with > 10 && with < 30, "%lu of 40", with);
    cr_assert(trains_sent > 500 && trains_received > 500, "%lu sent, %lu received", trains_sent,
              trains_received);
}
