/* SPDX-License-Identifier: BSD-2-Clause */
/* Two SMC-R instances on a bad network, whole: handshakes, link groups, data, links that die and come back,
 * every way to end. Each seed is a plan (test/sim/smcr_plan.h), every CDC of it is held against the model of
 * test/sim/smcr_watch.h. */
#include <criterion/criterion.h>

#include "test/sim/smcr_run.h"

/* covers: SMCR-ARC-02, SMCR-FC-11, SMCR-CDC-03, SMCR-CDC-05, SMCR-CDC-10, SMCR-CDC-11, SMCR-DAT-03,
 * SMCR-DAT-10, SMCR-WIN-01, SMCR-WIN-08, SMCR-CLS-03, SMCR-CLS-06 */
Test(smcr, one_port_calm_network)
{
    struct smcr_profile p = {.ports_max = 1, .conns_max = 4, .bytes_max = 300000, .tiny = true};
    struct smcr_totals t;
    smcr_seeds_run(&p, 2000, &t);
    cr_assert_eq(t.failovers, 0);
}

/* covers: SMCR-ENG-09, SMCR-DAT-11, SMCR-ARC-08 */
Test(smcr, loss_below_is_healed_below)
{
    struct smcr_profile p = {
        .ports_max = 2, .conns_max = 3, .bytes_max = 60000, .loss_ppm_max = 60000, .both_ways = true};
    smcr_seeds_run(&p, 1500, NULL);
}

/* covers: SMCR-URG-01, SMCR-URG-04, SMCR-URG-07 */
Test(smcr, urgent_data_among_the_other)
{
    struct smcr_profile p = {
        .ports_max = 1, .conns_max = 3, .bytes_max = 60000, .urgent = true, .tiny = true};
    smcr_seeds_run(&p, 1500, NULL);
}

/* covers: SMCR-CLS-09, SMCR-CLS-10, SMCR-ABT-06, SMCR-RMB-09 */
Test(smcr, every_way_to_end)
{
    struct smcr_profile p = {
        .ports_max = 2, .conns_max = 6, .bytes_max = 60000, .endings = true, .both_ways = true, .tiny = true};
    struct smcr_totals t;
    smcr_seeds_run(&p, 2000, &t);
    cr_assert_gt(t.resets, t.runs / 10, "resets are part of it");
}

/* covers: SMCR-FOV-02, SMCR-FOV-05, SMCR-FOV-07, SMCR-FOV-09, SMCR-FOV-12, SMCR-FOV-14, SMCR-FOV-17,
 * SMCR-ARC-26, SMCR-REC-31 */
Test(smcr, SMCR_FOV_14_a_port_dies_and_nobody_notices)
{
    struct smcr_profile p = {
        .ports_max = 3, .conns_max = 6, .bytes_max = 300000, .cuts = true, .both_ways = true};
    struct smcr_totals t;
    smcr_seeds_run(&p, 1500, &t);
    cr_assert_gt(t.failovers, t.runs / 8, "failovers are what it is about: %d", (int)t.failovers);
}

/* covers: SMCR-FOV-16, SMCR-ARC-04, SMCR-LGT-06 */
Test(smcr, SMCR_FOV_16_all_ports_may_die)
{
    struct smcr_profile p = {.ports_max = 3,
                             .conns_max = 6,
                             .bytes_max = 100000,
                             .cuts = true,
                             .all_cuts = true,
                             .endings = true,
                             .both_ways = true};
    smcr_seeds_run(&p, 1000, NULL);
}

Test(smcr, memory_runs_out)
{
    struct smcr_profile p = {
        .ports_max = 2, .conns_max = 4, .bytes_max = 30000, .nomem = true, .both_ways = true};
    smcr_seeds_run(&p, 1000, NULL);
}
