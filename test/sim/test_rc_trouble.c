/* SPDX-License-Identifier: BSD-2-Clause */
/* RC over bad wires, one kind of trouble at a time and all together, at every path MTU: bytes arrive once and
 * whole, completions come in order, nothing else is touched, and recovery takes no longer than it may. */
#include <criterion/criterion.h>

#include "test/sim/seeds.h"

#define SEEDS_CLEAN   80
#define SEEDS_TROUBLE 200
#define SEEDS_MANY    60

#define AT_EVERY_PMTU(suite, seeds, ...)                                                   \
    Test(suite, pmtu_256)                                                                  \
    {                                                                                      \
        sim_seeds_run(&(struct sim_profile){.pmtu = NORNIC_MTU_256, __VA_ARGS__}, seeds);  \
    }                                                                                      \
    Test(suite, pmtu_512)                                                                  \
    {                                                                                      \
        sim_seeds_run(&(struct sim_profile){.pmtu = NORNIC_MTU_512, __VA_ARGS__}, seeds);  \
    }                                                                                      \
    Test(suite, pmtu_1024)                                                                 \
    {                                                                                      \
        sim_seeds_run(&(struct sim_profile){.pmtu = NORNIC_MTU_1024, __VA_ARGS__}, seeds); \
    }                                                                                      \
    Test(suite, pmtu_2048)                                                                 \
    {                                                                                      \
        sim_seeds_run(&(struct sim_profile){.pmtu = NORNIC_MTU_2048, __VA_ARGS__}, seeds); \
    }                                                                                      \
    Test(suite, pmtu_4096)                                                                 \
    {                                                                                      \
        sim_seeds_run(&(struct sim_profile){.pmtu = NORNIC_MTU_4096, __VA_ARGS__}, seeds); \
    }

AT_EVERY_PMTU(rc_clean, SEEDS_CLEAN, .prompt = true)
AT_EVERY_PMTU(rc_late_receives, SEEDS_CLEAN, .prompt = false)
AT_EVERY_PMTU(rc_little_loss, SEEDS_TROUBLE, .loss_ppm = 20000)
AT_EVERY_PMTU(rc_loss, SEEDS_TROUBLE, .loss_ppm = 200000)
AT_EVERY_PMTU(rc_duplication, SEEDS_TROUBLE, .duplicate_ppm = 300000)
AT_EVERY_PMTU(rc_reordering, SEEDS_TROUBLE, .reorder_ppm = 100000)
AT_EVERY_PMTU(rc_corruption, SEEDS_TROUBLE, .corrupt_ppm = 50000)
AT_EVERY_PMTU(rc_everything, SEEDS_TROUBLE, .loss_ppm = 30000, .duplicate_ppm = 50000, .reorder_ppm = 30000,
              .corrupt_ppm = 20000, .ecn_ppm = 50000)

/* Routers that mark, and drop now and then: CNPs are lost, doubled and late like everything else. */
AT_EVERY_PMTU(rc_congestion, SEEDS_TROUBLE, .cc = true, .ecn_ppm = 500000)
AT_EVERY_PMTU(rc_congested_loss, SEEDS_TROUBLE, .cc = true, .ecn_ppm = 300000, .loss_ppm = 50000,
              .duplicate_ppm = 50000, .reorder_ppm = 30000)

/* 64 QPs at once share the wire, the CQs and the turns of both devices. */
#define MANY .pairs_min = SIM_PAIRS_MAX, .pairs_max = SIM_PAIRS_MAX
AT_EVERY_PMTU(rc_many, SEEDS_MANY, MANY, .loss_ppm = 20000, .duplicate_ppm = 20000, .reorder_ppm = 20000,
              .ecn_ppm = 50000)
AT_EVERY_PMTU(rc_many_congested, SEEDS_MANY, MANY, .cc = true, .loss_ppm = 10000, .ecn_ppm = 300000)

/* More is under way than a scoreboard has room for (roce/requester/board.h): it ends in the middle of messages, and of
 * the answers to READs. */
static void run_far(enum nornic_mtu pmtu, uint64_t seeds)
{
    sim_seeds_run(&(struct sim_profile){.pmtu = pmtu, .far = true, .pairs_max = 2, .loss_ppm = 5000}, seeds);
}

Test(rc_far, pmtu_256)
{
    run_far(NORNIC_MTU_256, 60);
}

Test(rc_far, pmtu_1024)
{
    run_far(NORNIC_MTU_1024, 20);
}
