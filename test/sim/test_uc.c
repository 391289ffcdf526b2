/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawn workloads over UC, and over UC and RC side by side: what completes is right and whole, what was lost
 * is silence, and afterwards a message gets through. */
#include <criterion/criterion.h>

#include "test/sim/seeds.h"

#define UC        (1u << NORNIC_QPT_UC)
#define UC_AND_RC (1u << NORNIC_QPT_UC | 1u << NORNIC_QPT_RC)

/* covers: ROCE-UC-1, ROCE-UC-6 */
Test(uc_operation, everything_arrives_on_a_calm_wire)
{
    sim_seeds_run(&(struct sim_profile){.services = UC, .prompt = true}, 200);
}

/* covers: ROCE-UC-2, ROCE-UC-4, ROCE-UC-5 */
Test(uc_operation, receives_are_late)
{
    sim_seeds_run(&(struct sim_profile){.services = UC}, 200);
}

/* covers: ROCE-UC-2, ROCE-UC-3, ROCE-UC-4, ROCE-UC-6 */
Test(uc_trouble, loss)
{
    sim_seeds_run(&(struct sim_profile){.services = UC, .loss_ppm = 200000}, 300);
}

/* covers: ROCE-UC-2, ROCE-UC-3 */
Test(uc_trouble, duplication_and_reordering)
{
    sim_seeds_run(&(struct sim_profile){.services = UC, .duplicate_ppm = 100000, .reorder_ppm = 100000}, 300);
}

Test(uc_trouble, everything_at_once)
{
    sim_seeds_run(&(struct sim_profile){.services = UC,
                                        .loss_ppm = 50000,
                                        .duplicate_ppm = 50000,
                                        .reorder_ppm = 50000,
                                        .corrupt_ppm = 30000,
                                        .ecn_ppm = 100000},
                  300);
}

Test(uc_trouble, beside_rc_on_one_wire)
{
    sim_seeds_run(&(struct sim_profile){.services = UC_AND_RC,
                                        .loss_ppm = 20000,
                                        .duplicate_ppm = 20000,
                                        .reorder_ppm = 20000,
                                        .corrupt_ppm = 10000},
                  200);
}
