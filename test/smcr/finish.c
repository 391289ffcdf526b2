/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/smcr/finish.h"

#include <criterion/criterion.h>

void finish(struct pair *pair)
{
    const char *why = pair_free(pair);
    cr_assert_null(why, "%s", why);
}

static bool is_over(void *ctx, struct pair *pair)
{
    (void)pair;
    return pair_is_over(ctx);
}

void finish_conn(struct pair *pair, struct pair_conn *c)
{
    pair_close(&c->end[0]);
    pair_run_for(pair, PAIR_MS);
    pair_close(&c->end[1]);
    cr_assert(pair_run_until(pair, is_over, c, PAIR_S), "it does not end");
}
