/* SPDX-License-Identifier: BSD-2-Clause */
/* Two queue pairs, many seeds. NORNIC_SEED=N runs one; NORNIC_SEEDS=N so many of each test. */
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

/* covers: IWARP-RDMAP-05, IWARP-RDMAP-13, IWARP-ORD-03, IWARP-ORD-05, IWARP-FLOW-01, IWARP-FLOW-02 */
/* covers: IWARP-FPDU-01, IWARP-FPDU-06, IWARP-MARK-05, IWARP-DDP-09, IWARP-ATOM-07, IWARP-MPA-03 */
/* covers: IWARP-MPA-04, IWARP-MPA-06, IWARP-MPA-15, IWARP-ECE-02, IWARP-ECE-06, IWARP-FLOW-05 */
/* covers: IWARP-ATOM-08, IWARP-ATOM-09, IWARP-ATOM-10 */
/* covers: IWARP-CM-02, IWARP-CM-09, IWARP-CM-16, IWARP-CM-22, IWARP-CM-23, IWARP-CM-31 */
/* covers: IWARP-CM-34, IWARP-CM-36 */
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

/* covers: IWARP-CONN-02, IWARP-MPA-21, IWARP-VERB-20 */
/* covers: IWARP-CM-37 */
Test(pair, a_program_disconnects_at_any_time)
{
    run(PAIR_CLOSE, 300);
}

/* covers: IWARP-CONN-02, IWARP-VERB-03 */
/* covers: IWARP-CM-37 */
Test(pair, a_program_resets_the_stream_at_any_time)
{
    run(PAIR_RESET, 300);
}

/* covers: IWARP-CONN-04, IWARP-CONN-05, IWARP-RDMAP-12, IWARP-VERB-15 */
/* covers: IWARP-CM-37 */
Test(pair, one_request_in_the_middle_is_refused)
{
    run(PAIR_REFUSED, 300);
}
