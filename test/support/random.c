/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/random.h"

uint64_t test_random_next(struct test_random *r)
{
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint32_t test_random_below(struct test_random *r, uint32_t bound)
{
    return (uint32_t)(test_random_next(r) % bound);
}

uint64_t test_random_between(struct test_random *r, uint64_t low, uint64_t high)
{
    return low + test_random_next(r) % (high - low + 1);
}

bool test_random_chance(struct test_random *r, uint32_t ppm)
{
    return test_random_below(r, 1000000) < ppm;
}

static uint64_t source_next(void *ctx)
{
    return test_random_next(ctx);
}

struct rdma_random test_random_source(struct test_random *r)
{
    return (struct rdma_random){.next = source_next, .ctx = r};
}
