/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether the upper halves of the vector registers are in use, as the processor says it. */
#ifndef NORNIC_TEST_SUPPORT_UPPER_HALVES_H
#define NORNIC_TEST_SUPPORT_UPPER_HALVES_H

#include <stdbool.h>
#include <stdint.h>

#ifdef __x86_64__
#include <cpuid.h>

#define IN_USE_YMM 4u  /* XINUSE, Intel SDM vol. 1, 13.6: the upper halves of the YMM registers */
#define IN_USE_ZMM 64u /* and of the first 16 ZMM registers */

/* False as well on a processor that has no wide registers, or does not say which are in use. */
static inline bool upper_halves_are_in_use(void)
{
    unsigned a, b, c, d;
    uint32_t low = 0, high;
    if (__builtin_cpu_supports("avx") && __get_cpuid_count(0xd, 1, &a, &b, &c, &d) && a & 4)
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
    return low & (IN_USE_YMM | IN_USE_ZMM);
}
#else
static inline bool upper_halves_are_in_use(void)
{
    return false;
}
#endif

#endif
