/* SPDX-License-Identifier: BSD-2-Clause */
/* Several connections of one pair, from their beginning to their end, for tests of what leaves a link. */
#ifndef NORNIC_TEST_SMCR_CROWD_H
#define NORNIC_TEST_SMCR_CROWD_H

#include <criterion/criterion.h>

#include "test/smcr_pair/pair.h"

/* A pair with `n` connections that node 0 began, at rest. */
static inline struct pair *crowd_begin(const struct pair_config *config, struct pair_conn **conns, unsigned n)
{
    struct pair *pair = pair_new(config);
    for (unsigned i = 0; i < n; i++) {
        conns[i] = pair_connect(pair, 0);
        cr_assert_not_null(conns[i], "%s", pair->failure);
    }
    cr_assert(pair_settle(pair, 10 * PAIR_S), "%s", pair->failure);
    return pair;
}

/* Closes them at both ends, and frees the pair, in which nothing may have gone wrong. */
static inline void crowd_end(struct pair *pair, struct pair_conn **conns, unsigned n)
{
    for (unsigned i = 0; i < n; i++) {
        pair_close(&conns[i]->end[0]);
        pair_close(&conns[i]->end[1]);
    }
    cr_assert(pair_settle(pair, 30 * PAIR_S), "%s", pair->failure);
    const char *failure = pair_free(pair);
    cr_assert_null(failure, "%s", failure);
}

#endif
