/* SPDX-License-Identifier: BSD-2-Clause */
/* Rings have a power of two of slots, so that an index that wraps at 2^32 finds its slot by a mask. */
#ifndef NORNIC_RDMA_POW2_H
#define NORNIC_RDMA_POW2_H

#include <stdint.h>

/* The lowest power of two that is not below `n` (at most 2^31); 1 for 0. */
static inline uint32_t rdma_pow2_up(uint32_t n)
{
    uint32_t p = 1;
    while (p < n)
        p <<= 1;
    return p;
}

#endif
