/* SPDX-License-Identifier: BSD-2-Clause */
/* A capture joined with what a test makes of it at the other end, and the places of all its records. */
#ifndef NORNIC_TEST_EXPLAIN_JOIN_ENDS_H
#define NORNIC_TEST_EXPLAIN_JOIN_ENDS_H

#include <criterion/criterion.h>
#include <stdlib.h>

#include "explain/join/join.h"

#define ENDS_PLACES_MAX 2048

struct ends {
    struct explain_join *join;
    uint64_t count[2]; /* records given of each capture */
    unsigned cut;      /* segments that are two at the other end */
    struct explain_join_place places[ENDS_PLACES_MAX];
    unsigned place_count;
};

/* When both captures are given: all places. */
static inline void ends_finish(struct ends *e)
{
    struct nornic_error why;
    cr_assert_eq(explain_join_finish(e->join, &why), 0, "%s", why.text);
    while (e->place_count < ENDS_PLACES_MAX && explain_join_step(e->join, &e->places[e->place_count]))
        e->place_count++;
    cr_assert_lt(e->place_count, ENDS_PLACES_MAX);
}

static inline void ends_free(struct ends *e)
{
    explain_join_destroy(e->join);
    free(e);
}

/* The place of record `n` of capture 0. */
static inline const struct explain_join_place *ends_place_of(const struct ends *e, uint64_t n)
{
    for (unsigned i = 0; i < e->place_count; i++)
        if (e->places[i].record[0] == n)
            return &e->places[i];
    cr_expect_fail("record %u is not shown", (unsigned)n);
    return &e->places[0];
}

#endif
