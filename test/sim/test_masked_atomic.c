/* SPDX-License-Identifier: BSD-2-Clause */
/* Masked atomics among other work: each is executed once, in its place, and returns what was there. */
#include <criterion/criterion.h>

#include "test/sim/seeds.h"

#define MASKED (1u << NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP | 1u << NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD)
#define MIXED  (MASKED | ((2u << NORNIC_WR_ATOMIC_FETCH_AND_ADD) - 1))

Test(masked_atomic, alone_under_loss_and_duplication)
{
    sim_seeds_run(&(struct sim_profile){.opcodes = MASKED, .loss_ppm = 30000, .duplicate_ppm = 50000}, 150);
}

Test(masked_atomic, among_everything_under_everything)
{
    sim_seeds_run(&(struct sim_profile){.opcodes = MIXED,
                                        .loss_ppm = 20000,
                                        .duplicate_ppm = 30000,
                                        .reorder_ppm = 20000,
                                        .corrupt_ppm = 10000},
                  150);
}
