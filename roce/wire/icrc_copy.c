/* SPDX-License-Identifier: BSD-2-Clause */
/* Copy and CRC in one pass: each piece of the payload is in a register once, from which it is both stored and
 * folded into the CRC. Two passes, each as fast as a library makes it, take twice as long
 * (docs/performance.md).
 *
 * How a CRC is folded is told by Gopal, Ozturk, Guilford and others, "Fast CRC Computation for Generic
 * Polynomials Using PCLMULQDQ Instruction" (Intel, 2009). 16 bytes with d bits behind them count as much as
 * what stands d bits further on does when the products of their halves with x^(d + 64) and x^d, both modulo
 * the polynomial, are added to it (XOR). Bits are reflected here, for which the exponents are 32 less and the
 * constants move by a bit; and the half that comes first in memory, the one of the higher powers, is the
 * lower half of a register. */
#include "roce/wire/icrc_copy.h"

#include <stdbool.h>
#include <string.h>

#include "roce/wire/icrc_parts.h"
#include "roce/wire.h"

/* In two passes. */
static uint32_t copy_first(uint32_t below, uint8_t *bth, const uint8_t *from, size_t len_bytes)
{
    memcpy(bth + ROCE_BTH_BYTES, from, len_bytes);
    return roce_icrc_above(below, bth, ROCE_BTH_BYTES + len_bytes);
}

#ifdef __x86_64__
#include <immintrin.h>

#define WIDE       __attribute__((target("avx512f,vpclmulqdq,pclmul,sse4.1")))
#define WIDE_BYTES 64u
#define STEP_BYTES (4 * WIDE_BYTES)

#define MASKED UINT64_C(0xff00000000) /* the byte of the BTH that reads as ones: ROCE-ICRC-6 */

/* For a distance of so many bits: x^(d - 32) and x^(d + 32), as the upper and the lower half of a register.
 */
#define BY_128  0x0ccaa009e, 0x1751997d0
#define BY_256  0x15a546366, 0x0f1da05aa
#define BY_384  0x174359406, 0x03db1ecdc
#define BY_512  0x1c6e41596, 0x154442bd4
#define BY_1024 0x14a7fe880, 0x1e88ef372
#define BY_2048 0x1322d1430, 0x11542778a
#define X_64    0x163cd6124

/* Barrett's reduction: the quotient of x^64 and the polynomial, and the polynomial. */
#define REDUCTION 0x1f7011641, 0x1db710641

#define XOR_OF_THREE 0x96 /* as the truth table that VPTERNLOG wants */

WIDE static inline __m512i four_of(long long upper, long long lower)
{
    return _mm512_broadcast_i32x4(_mm_set_epi64x(upper, lower));
}

/* Four pieces of 16 bytes, each added to what stands some bits further on. */
WIDE static inline __m512i fold(__m512i pieces, __m512i by, __m512i further_on)
{
    return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(pieces, by, 0x00),
                                     _mm512_clmulepi64_epi128(pieces, by, 0x11), further_on, XOR_OF_THREE);
}

WIDE static inline __m512i copy_64(uint8_t *to, const uint8_t *from)
{
    __m512i bytes = _mm512_loadu_si512(from);
    _mm512_storeu_si512(to, bytes);
    return bytes;
}

/* The BTH, with the CRC so far and 4 bytes of 0 in front of it, as what it adds to the 16 bytes behind it. */
WIDE static inline __m128i fold_bth(uint32_t below, const uint8_t *bth)
{
    uint64_t start;
    uint32_t end;
    memcpy(&start, bth, sizeof start);
    memcpy(&end, bth + sizeof start, sizeof end);
    start = (start | MASKED) ^ (uint32_t)~below;
    uint64_t upper = (uint64_t)end << 32 | start >> 32, lower = start << 32;
    __m128i piece = _mm_set_epi64x((long long)upper, (long long)lower);
    __m128i by = _mm_set_epi64x(BY_128);
    return _mm_xor_si128(_mm_clmulepi64_si128(piece, by, 0x00), _mm_clmulepi64_si128(piece, by, 0x11));
}

/* The last four pieces as one. */
WIDE static inline __m128i fold_lanes(__m512i pieces)
{
    __m512i by = _mm512_set_epi64(0, 0, BY_128, BY_256, BY_384);
    __m512i moved = fold(pieces, by, _mm512_setzero_si512());
    __m128i first = _mm_xor_si128(_mm512_castsi512_si128(moved), _mm512_extracti32x4_epi32(moved, 1));
    __m128i last = _mm_xor_si128(_mm512_extracti32x4_epi32(moved, 2), _mm512_extracti32x4_epi32(pieces, 3));
    return _mm_xor_si128(first, last);
}

/* What is left of 128 bits, with 32 bits of 0 behind them, modulo the polynomial. */
WIDE static inline uint32_t reduce(__m128i piece)
{
    const __m128i low_32 = _mm_set_epi32(0, 0, 0, -1), by = _mm_set_epi64x(REDUCTION);
    piece =
        _mm_xor_si128(_mm_srli_si128(piece, 8), _mm_clmulepi64_si128(piece, _mm_set_epi64x(BY_128), 0x10));
    piece = _mm_xor_si128(_mm_srli_si128(piece, 4),
                          _mm_clmulepi64_si128(_mm_and_si128(piece, low_32), _mm_set_epi64x(0, X_64), 0x00));
    __m128i times = _mm_clmulepi64_si128(_mm_and_si128(piece, low_32), by, 0x10);
    piece = _mm_xor_si128(piece, _mm_clmulepi64_si128(_mm_and_si128(times, low_32), by, 0x00));
    return (uint32_t)_mm_extract_epi32(piece, 1);
}

/* `len_bytes`: one or more times STEP_BYTES. Each of four registers takes every fourth 64 bytes, so that none
 * waits for another. */
WIDE static uint32_t copy_wide(uint32_t below, uint8_t *bth, const uint8_t *from, size_t len_bytes)
{
    const __m512i by_512 = four_of(BY_512), by_1024 = four_of(BY_1024), by_2048 = four_of(BY_2048);
    uint8_t *to = bth + ROCE_BTH_BYTES;
    __m512i sums[4];
    for (unsigned i = 0; i < 4; i++)
        sums[i] = copy_64(to + i * WIDE_BYTES, from + i * WIDE_BYTES);
    sums[0] = _mm512_xor_si512(sums[0], _mm512_zextsi128_si512(fold_bth(below, bth)));
    for (size_t at = STEP_BYTES; at < len_bytes; at += STEP_BYTES)
        for (unsigned i = 0; i < 4; i++)
            sums[i] = fold(sums[i], by_2048, copy_64(to + at + i * WIDE_BYTES, from + at + i * WIDE_BYTES));
    sums[1] = fold(sums[0], by_512, sums[1]);
    sums[3] = fold(sums[2], by_512, sums[3]);
    uint32_t crc = ~reduce(fold_lanes(fold(sums[1], by_1024, sums[3])));
    _mm256_zeroupper(); /* base/upper_halves.h */
    return crc;
}

static bool is_wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("vpclmulqdq");
}

uint32_t roce_icrc_copy(uint32_t below, uint8_t *bth, const uint8_t *from, size_t len_bytes)
{
    bool is_whole = len_bytes && len_bytes % STEP_BYTES == 0;
    return (is_whole && is_wide() ? copy_wide : copy_first)(below, bth, from, len_bytes);
}
#else
uint32_t roce_icrc_copy(uint32_t below, uint8_t *bth, const uint8_t *from, size_t len_bytes)
{
    return copy_first(below, bth, from, len_bytes);
}
#endif
