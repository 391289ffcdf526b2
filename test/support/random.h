/* SPDX-License-Identifier: BSD-2-Clause */
/* A seeded source of random numbers (splitmix64), so that a failing run can be run again. */
#ifndef NORNIC_TEST_SUPPORT_RANDOM_H
#define NORNIC_TEST_SUPPORT_RANDOM_H

#include <stdbool.h>

#include "rdma/mem.h"

struct test_random {
    uint64_t state;
};

uint64_t test_random_next(struct test_random *r);
/* A number below `bound` (not 0). */
uint32_t test_random_below(struct test_random *r, uint32_t bound);
/* A number from `low` to `high`, both included. */
uint64_t test_random_between(struct test_random *r, uint64_t low, uint64_t high);
/* True so many times in a million. */
bool test_random_chance(struct test_random *r, uint32_t ppm);
/* The same source as the engine takes it; keeps `r`. */
struct rdma_random test_random_source(struct test_random *r);

#endif
