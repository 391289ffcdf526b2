/* SPDX-License-Identifier: BSD-2-Clause */
/* Remote calls over bad wires: fast registration, windows, invalidation from both sides, and one SRQ for
 * all QPs of a node. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "base/base.h"
#include "test/sim/rpc.h"
#include "test/sim/seeds.h"

#define SEEDS 40

struct profile {
    uint32_t loss_ppm, duplicate_ppm, reorder_ppm;
    unsigned pairs;
    unsigned srq_slots; /* 0: any number */
    bool lazy, resize, selective;
};

static struct rpc_config draw(uint64_t seed, const struct profile *p)
{
    struct test_random random = {.state = seed};
    struct rpc_config c = {.pairs = p->pairs, .calls = 12, .lazy = p->lazy, .resize = p->resize};
    c.sim.seed = test_random_next(&random);
    c.sim.port_mtu_bytes = 4200;
    c.sim.ipv6 = test_random_chance(&random, 500000);
    for (unsigned i = 0; i < 2; i++) {
        struct sim_link_config *link = &c.sim.link[i];
        link->delay_ns = test_random_between(&random, 0, 20 * NS_PER_US);
        link->loss_ppm = p->loss_ppm;
        link->duplicate_ppm = p->duplicate_ppm;
        link->stale_ns = test_random_between(&random, 1, NS_PER_MS);
        link->reorder_ppm = p->reorder_ppm;
        link->hold_ns = test_random_between(&random, 100, 60 * NS_PER_US);
    }
    c.srq_slots = p->srq_slots ? p->srq_slots : 1 + test_random_below(&random, RPC_SLOTS_MAX - 1);
    c.signal_all = test_random_chance(&random, 200000);
    c.reorder_pkts = p->selective ? 64 : 0;
    c.attr = (struct nornic_qp_attr){.access_flags = NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE,
                                     .port = 1,
                                     .path_mtu = (enum nornic_mtu)(1 + test_random_below(&random, 5)),
                                     .timeout = 8,
                                     .retry_cnt = 7,
                                     .rnr_retry = 7,
                                     .min_rnr_timer = 1};
    c.attr.max_rd_atomic = c.attr.max_dest_rd_atomic = (uint8_t)(1 + test_random_below(&random, 4));
    c.attr.sq_psn = c.attr.rq_psn = 0xffffff - test_random_below(&random, 100);
    return c;
}

static void run_seeds(const struct profile *profile)
{
    struct sim_seeds seeds;
    struct sim_run *run = calloc(1, sizeof *run);
    struct rpc *rpc = malloc(sizeof *rpc);
    cr_assert(run && rpc);
    sim_seeds_init(&seeds, SEEDS);
    for (uint64_t n = seeds.first; sim_seeds_more(&seeds, n); n++) {
        struct rpc_config config = draw(sim_seeds_begin(&seeds, n), profile);
        config.sim.ladder = seeds.ladder;
        rpc_run(rpc, &run->sim, &config);
        sim_seeds_end(&seeds, n, run);
    }
    free(rpc);
    free(run);
    cr_assert_eq(seeds.failures, 0, "%u seeds failed", seeds.failures);
}

/* covers: ROCE-MR-6, ROCE-MW-4, ROCE-RS-44, ROCE-RS-70 */
Test(rpc, over_a_clean_wire)
{
    run_seeds(&(struct profile){.pairs = 3});
}

/* covers: ROCE-MR-6, ROCE-MW-4, ROCE-RC-14, ROCE-RS-44, ROCE-RS-70 */
Test(rpc, over_a_bad_wire)
{
    run_seeds(&(struct profile){.pairs = 4, .loss_ppm = 20000, .duplicate_ppm = 30000, .reorder_ppm = 20000});
}

/* covers: ROCE-MW-4, ROCE-RS-44 */
Test(rpc, with_selective_retransmission)
{
    run_seeds(&(struct profile){
        .pairs = 2, .loss_ppm = 30000, .duplicate_ppm = 30000, .reorder_ppm = 20000, .selective = true});
}

/* One receive for eight QPs: nearly everything is answered RNR at first. */
/* covers: ROCE-RS-70, ROCE-RS-11 */
Test(rpc, eight_qps_on_one_receive)
{
    run_seeds(&(struct profile){.pairs = 8, .srq_slots = 1, .loss_ppm = 5000});
}

/* covers: ROCE-RS-71 */
Test(rpc, receives_are_posted_when_the_limit_event_asks)
{
    run_seeds(&(struct profile){.pairs = 4, .lazy = true, .loss_ppm = 10000, .reorder_ppm = 10000});
}

/* covers: ROCE-RS-73 */
Test(rpc, srqs_are_resized_on_the_way)
{
    run_seeds(&(struct profile){.pairs = 4, .srq_slots = 5, .resize = true, .loss_ppm = 10000});
}
