/* SPDX-License-Identifier: BSD-2-Clause */
/* SMC-R replayed over runs drawn from seeds: whatever the two instances did, the engine in the place of
 * either says the same. The capture holds frames when they are sent, not when they arrive, so that the
 * order of two connections' handshakes, and what dies with a wire, cannot be told from it: one connection,
 * no cuts. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "explain/replay/smc/replay.h"
#include "test/explain/smc_wire.h"
#include "test/sim/seeds.h"
#include "test/sim/smcr_run.h"

TestSuite(smc_replay_seeds, .timeout = 300);

struct seen {
    struct smc_wire wire;
    struct explain_tape tape;
};

struct told {
    uint64_t count;
    char text[600];
};

static void see(void *ctx, const struct pair_end *end, const uint8_t *bytes, size_t n)
{
    struct seen *s = ctx;
    struct net_capture_record record = smc_wire_record(&s->wire, end, bytes, n);
    cr_assert_eq(explain_tape_add(&s->tape, &record), 0);
}

static void begins(void *ctx, struct pair *pair)
{
    struct seen *s = ctx;
    s->wire.pair = pair;
    pair->on_wire = see;
    pair->wire_ctx = s;
}

static void compared(void *ctx, const struct explain_smc_compared *c)
{
    struct told *t = ctx;
    if (!explain_smc_replay_outcome_of(c->outcome)->fails || t->count++)
        return;
    const struct explain_field_diff none = {.layer = "", .field = ""}, *d = c->diff_count ? c->diffs : &none;
    snprintf(t->text, sizeof t->text,
             "#%" PRIu64 " after #%" PRIu64 " link %u connection %u %s: %s %s.%s: %s, %s", c->number,
             c->cause, c->link, c->connection, c->message, explain_smc_replay_outcome_of(c->outcome)->key,
             d->layer, d->field, d->recorded, d->engine);
}

static void replay(const struct explain_tape *tape, unsigned node, struct explain_smc_replay_result *sum,
                   struct told *told)
{
    struct explain_smc_replay_config config = {.compared = compared, .ctx = told};
    struct explain_smc_replay_result result;
    struct nornic_addr addr = nornic_addr_from_v4((const uint8_t[]){10, 77, 0, (uint8_t)(1 + node)});
    struct nornic_error why;
    cr_assert_eq(explain_smc_replay(tape, &addr, &config, &result, &why), 0, "%s", why.text);
    for (unsigned i = 0; i < EXPLAIN_SMC_REPLAY_OUTCOME_COUNT; i++)
        sum->outcomes[i] += result.outcomes[i];
}

/* One seed, from both ends. */
static void run_seed(struct smcr_run *run, const struct smcr_profile *profile, struct sim_seeds *seeds,
                     uint64_t n, struct explain_smc_replay_result *sum)
{
    struct seen seen = {.tape = {0}};
    struct told told = {0};
    memset(run, 0, sizeof *run);
    smcr_plan_draw(&run->plan, sim_seeds_begin(seeds, n), profile);
    run->begins = begins;
    run->begins_ctx = &seen;
    smcr_run(run);
    replay(&seen.tape, 0, sum, &told);
    replay(&seen.tape, 1, sum, &told);
    explain_tape_free(&seen.tape);
    sim_seeds_report(seeds, n, told.count ? told.text : NULL);
}

/* The first `count`, and those of `known` (up to 0), in which a peer has used the room that the recorded end
 * had told it of, and the engine not. */
static void run_seeds(const struct smcr_profile *profile, uint64_t count, const uint64_t *known)
{
    struct sim_seeds seeds;
    struct smcr_run *run = malloc(sizeof *run);
    struct explain_smc_replay_result sum = {0};
    cr_assert_not_null(run);
    sim_seeds_init(&seeds, count);
    for (uint64_t n = seeds.first; sim_seeds_more(&seeds, n); n++)
        run_seed(run, profile, &seeds, n, &sum);
    for (; seeds.count == count && *known != 0; known++)
        run_seed(run, profile, &seeds, *known, &sum);
    free(run);
    cr_expect_gt(sum.outcomes[EXPLAIN_SMC_REPLAY_EQUAL], 10 * seeds.count);
    cr_expect_lt(sum.outcomes[EXPLAIN_SMC_REPLAY_CUT], sum.outcomes[EXPLAIN_SMC_REPLAY_EQUAL] / 10);
    cr_assert_eq(seeds.failures, 0, "%u seeds failed", seeds.failures);
}

Test(smc_replay_seeds, calm)
{
    run_seeds(&(struct smcr_profile){.ports_max = 1, .conns_max = 1, .bytes_max = 60000, .tiny = true}, 100,
              (const uint64_t[]){161, 489, 916, 1405, 0});
}

Test(smc_replay_seeds, urgent)
{
    run_seeds(&(struct smcr_profile){.ports_max = 1, .conns_max = 1, .bytes_max = 30000, .urgent = true}, 100,
              (const uint64_t[]){586, 771, 0});
}
