/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawn workloads over XRC: what holds for RC holds here, with the receives, CQ and PD of the SRQs that the
 * messages name. */
#include <criterion/criterion.h>

#include "test/sim/seeds.h"

#define XRC         (1u << NORNIC_QPT_XRC_INI)
#define EVERY_OTHER (XRC | 1u << NORNIC_QPT_UC | 1u << NORNIC_QPT_RC)
#define SEEDS       200

/* covers: ROCE-XRC-1, ROCE-XRC-2, ROCE-XRC-3 */
Test(xrc_operation, calm)
{
    sim_seeds_run(&(struct sim_profile){.services = XRC, .prompt = true}, SEEDS);
}

/* covers: ROCE-XRC-1, ROCE-RS-11 */
Test(xrc_operation, receives_are_late)
{
    sim_seeds_run(&(struct sim_profile){.services = XRC}, SEEDS);
}

/* covers: ROCE-XRC-1 */
Test(xrc_trouble, loss)
{
    sim_seeds_run(&(struct sim_profile){.services = XRC, .loss_ppm = 80000}, SEEDS);
}

/* covers: ROCE-XRC-1, ROCE-XRC-2 */
Test(xrc_trouble, everything_at_once)
{
    sim_seeds_run(&(struct sim_profile){.services = XRC,
                                        .loss_ppm = 30000,
                                        .duplicate_ppm = 50000,
                                        .reorder_ppm = 30000,
                                        .corrupt_ppm = 20000,
                                        .ecn_ppm = 50000},
                  SEEDS);
}

Test(xrc_trouble, beside_rc_and_uc)
{
    sim_seeds_run(&(struct sim_profile){.services = EVERY_OTHER,
                                        .loss_ppm = 20000,
                                        .duplicate_ppm = 20000,
                                        .reorder_ppm = 20000,
                                        .corrupt_ppm = 10000},
                  SEEDS);
}
