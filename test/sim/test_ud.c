/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawn crowds of UD queue pairs: what is delivered is right, and delivered to whom it is for; what was lost
 * is silence. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "test/sim/crowd.h"
#include "test/sim/seeds.h"

static void run(const struct crowd_profile *profile, uint64_t count)
{
    struct sim_seeds seeds;
    struct crowd *crowd = malloc(sizeof *crowd);
    cr_assert_not_null(crowd);
    sim_seeds_init(&seeds, count);
    for (uint64_t n = seeds.first; sim_seeds_more(&seeds, n); n++) {
        crowd_run(crowd, profile, sim_seeds_begin(&seeds, n), seeds.ladder);
        sim_seeds_judge(&seeds, n, &crowd->sim);
    }
    free(crowd);
    cr_assert_eq(seeds.failures, 0, "%u seeds failed", seeds.failures);
}

/* covers: ROCE-UD-1, ROCE-UD-4, ROCE-UD-5, ROCE-UD-8, ROCE-UD-22, ROCE-UD-23, ROCE-RX-18, CA17-25 */
Test(ud_operation, everything_arrives_once_on_a_calm_wire)
{
    run(&(struct crowd_profile){.late = false}, 400);
}

/* covers: ROCE-UD-7 */
Test(ud_operation, receives_are_missing_or_too_small)
{
    run(&(struct crowd_profile){.late = true}, 400);
}

/* covers: ROCE-UD-1, ROCE-RX-20 */
Test(ud_trouble, loss_is_silent)
{
    run(&(struct crowd_profile){.link = {.loss_ppm = 300000, .corrupt_ppm = 100000}}, 400);
}

Test(ud_trouble, duplication_and_reordering)
{
    run(&(struct crowd_profile){.link = {.duplicate_ppm = 100000, .reorder_ppm = 200000}}, 400);
}

Test(ud_trouble, everything_at_once)
{
    run(&(struct crowd_profile){.link = {.loss_ppm = 100000,
                                         .duplicate_ppm = 50000,
                                         .reorder_ppm = 100000,
                                         .corrupt_ppm = 50000,
                                         .ecn_ppm = 100000},
                                .late = true},
        400);
}
