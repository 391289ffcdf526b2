/* SPDX-License-Identifier: BSD-2-Clause */
/* 24-bit sequence numbers: PSN, MSN, SSN. The only place that knows how they wrap (ROCE section 0,
 * ROCE-RC-4). */
#ifndef NORNIC_ROCE_PSN_H
#define NORNIC_ROCE_PSN_H

#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

#define ROCE_PSN_MASK 0xffffffu

static inline uint32_t roce_psn_add(uint32_t psn, uint32_t n)
{
    return (psn + n) & ROCE_PSN_MASK;
}

/* How far `a` is after `b`: -2^23 .. 2^23 - 1. */
static inline int32_t roce_psn_diff(uint32_t a, uint32_t b)
{
    return (int32_t)((a - b) << 8) >> 8;
}

NORNIC_END_DECLS

#endif
