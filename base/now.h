/* SPDX-License-Identifier: BSD-2-Clause */
/* CLOCK_MONOTONIC, for what is linked into programs of others and needs the C library alone. */
#ifndef NORNIC_BASE_NOW_H
#define NORNIC_BASE_NOW_H

#include <stdint.h>
#include <time.h>

static inline uint64_t base_now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * UINT64_C(1000000000) + (uint64_t)now.tv_nsec;
}

#endif
