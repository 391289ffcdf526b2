/* SPDX-License-Identifier: BSD-2-Clause */
/* Two queue pairs, many seeds. NORNIC_SEED=N runs one; NORNIC_SEEDS=N so many of each. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "test/iwarp/pair.h"

static void run(enum pair_trouble trouble, uint64_t usual)
{
    const char *one = getenv("NORNIC_SEED"), *many = getenv("NORNIC_SEEDS");
    uint64_t first = one ? strtoull(one, NULL, 10) : 1;
    uint64_t last = one ? first : many ? strtoull(many, NULL, 10) : usual;
    for (uint64_t seed = first; seed <= last; seed++)
        pair_run(seed, trouble);
}

/* covers: IWARP-RDMAP-05, IWARP-RDMAP-13, IWARP-ORD-03, IWARP-ORD-05, IWARP-FLOW-01, IWARP-FLOW-05 */
/* covers: IWARP-FPDU-01, IWARP-FPDU-06, IWARP-MARK-05, IWARP-DDP-09, IWARP-ATOM-07, IWARP-MPA-03 */
/* covers: IWARP-MPA-04 */
Test(pair, random_work_both_ways_over_a_stream_that_is_cut_anywhere)
{
    run(PAIR_FINE, 300);
}

/* covers: IWARP-FPDU-09, IWARP-FPDU-10 */
Test(pair, a_flipped_bit_places_nothing_wrong)
{
    run(PAIR_FLIP, 300);
}

/* covers: IWARP-CONN-02, IWARP-CONN-03, IWARP-MPA-20 */
Test(pair, an_end_of_tcp_anywhere_is_told_once)
{
    run(PAIR_CUT, 300);
}
