/* SPDX-License-Identifier: BSD-2-Clause */
/* Alert tokens. */
#include <criterion/criterion.h>
#include <stdlib.h>

#include "smcr/conn/conn.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

struct world {
    struct smcr smcr;
    struct smcr_group group;
    struct test_alloc alloc;
    struct test_random random;
};

static struct world *world_new(void)
{
    struct world *w = calloc(1, sizeof *w);
    cr_assert_not_null(w);
    test_alloc_init(&w->alloc);
    w->random.state = 5;
    w->smcr.mem = w->alloc.mem;
    w->smcr.config.random = test_random_source(&w->random);
    w->group.smcr = &w->smcr;
    return w;
}

static void world_free(struct world *w)
{
    smcr_token_deinit(&w->group);
    cr_assert_eq(w->alloc.live, 0);
    free(w);
}

/* covers: SMCR-CLC-37, SMCR-RMB-12 */
Test(token, SMCR_CLC_37_a_token_of_an_earlier_use_finds_nobody)
{
    struct world *w = world_new();
    static struct smcr_conn a, b;
    uint32_t old = smcr_token_get(&w->group, &a);
    cr_assert_neq(old, 0);
    cr_assert_eq(smcr_token_find(&w->group, old), &a);
    smcr_token_put(&w->group, old);
    cr_assert_null(smcr_token_find(&w->group, old));
    for (unsigned i = 0; i < 70000; i++) { /* the index comes round, its generation does not soon */
        uint32_t token = smcr_token_get(&w->group, &b);
        cr_assert_neq(token, old, "after %u", i);
        cr_assert_eq(smcr_token_find(&w->group, token), &b);
        cr_assert_null(smcr_token_find(&w->group, old), "after %u", i);
        smcr_token_put(&w->group, token);
    }
    world_free(w);
}

/* covers: SMCR-CDC-06 */
Test(token, SMCR_CDC_06_what_was_never_given_finds_nobody)
{
    struct world *w = world_new();
    static struct smcr_conn a;
    cr_assert_null(smcr_token_find(&w->group, 0), "before there is a table");
    uint32_t token = smcr_token_get(&w->group, &a);
    cr_assert_null(smcr_token_find(&w->group, 0));
    cr_assert_null(smcr_token_find(&w->group, token + 1));
    cr_assert_null(smcr_token_find(&w->group, token | 0xffff), "an index beyond the table");
    cr_assert_null(smcr_token_find(&w->group, token ^ 0x10000), "another generation");
    smcr_token_put(&w->group, token ^ 0x10000); /* not that one */
    cr_assert_eq(smcr_token_find(&w->group, token), &a);
    world_free(w);
}

Test(token, tokens_of_thousands_are_distinct_and_found)
{
    enum { N = 5000 };
    struct world *w = world_new();
    struct smcr_conn *conns = calloc(N, sizeof *conns);
    uint32_t *tokens = calloc(N, sizeof *tokens);
    for (unsigned i = 0; i < N; i++)
        cr_assert_neq(tokens[i] = smcr_token_get(&w->group, &conns[i]), 0);
    for (unsigned i = 0; i < N; i++)
        cr_assert_eq(smcr_token_find(&w->group, tokens[i]), &conns[i]);
    free(conns);
    free(tokens);
    world_free(w);
}

Test(token, memory_that_is_not_there_gives_no_token)
{
    struct world *w = world_new();
    static struct smcr_conn a;
    for (unsigned call = 1; call <= 2; call++) {
        w->alloc.calls = 0;
        w->alloc.fail_at = call;
        if (call == 2)
            smcr_token_deinit(&w->group);
        cr_assert_eq(smcr_token_get(&w->group, &a), 0, "call %u", call);
    }
    w->alloc.fail_at = 0;
    cr_assert_neq(smcr_token_get(&w->group, &a), 0);
    world_free(w);
}
