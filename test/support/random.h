/* SPDX-License-Identifier: BSD-2-Clause */
/* A seeded source of random numbers (splitmix64), so that a failing run can be run again. */
#ifndef NORNIC_TEST_SUPPORT_RANDOM_H
#define NORNIC_TEST_SUPPORT_RANDOM_H

#include "rdma/mem.h"

struct test_random {
    uint64_t state;
};

uint64_t test_random_next(struct test_random *r);
/* A number below `bound` (not 0). */
uint32_t test_random_below(struct test_random *r, uint32_t bound);
/* The same source as the engine takes it; keeps `r`. */
struct rdma_random test_random_source(struct test_random *r);

#endif
