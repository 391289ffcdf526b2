/* SPDX-License-Identifier: BSD-2-Clause */
/* What has to follow ISA-L's CRC functions. Their AVX-512 code returns with the upper halves of the vector
 * registers in use (it has no VZEROUPPER, which the System V ABI of x86-64 asks for), and what runs behind
 * it pays for that until somebody gives them up: the C library's vector code, and the kernel where it saves
 * the registers (docs/performance.md). */
#ifndef NORNIC_BASE_UPPER_HALVES_H
#define NORNIC_BASE_UPPER_HALVES_H

#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("avx"))) static inline void base_zero_upper_halves(void)
{
    _mm256_zeroupper();
}

/* Some nanoseconds; nothing where the processor has no wide registers. */
static inline void base_give_up_upper_halves(void)
{
    if (__builtin_cpu_supports("avx"))
        base_zero_upper_halves();
}
#else
static inline void base_give_up_upper_halves(void)
{
}
#endif

#endif
