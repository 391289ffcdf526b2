/* SPDX-License-Identifier: BSD-2-Clause */
/* What every room needs and no standard header has: units of time, the lesser of two, the object around a
 * member, powers of two. It leans on nothing and is not installed. */
#ifndef NORNIC_BASE_BASE_H
#define NORNIC_BASE_BASE_H

#include <stddef.h>
#include <stdint.h>

/* Times are unsigned 64-bit nanoseconds throughout; UINT64_MAX (NET_TIME_NONE) is "never". */
#define NS_PER_US UINT64_C(1000)
#define NS_PER_MS UINT64_C(1000000)
#define NS_PER_S  UINT64_C(1000000000)

/* The lesser and the greater of two. */
static inline uint32_t min_u32(uint32_t a, uint32_t b)
{
    return a < b ? a : b;
}

static inline uint32_t max_u32(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline int64_t max_i64(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

/* The object of type `type` whose member `member` is at `pointer`: how a timer or a list node leads back to
 * what it stands in. */
#define container_of(pointer, type, member) ((type *)(void *)((char *)(pointer)-offsetof(type, member)))

/* What a noun ends with behind a number of things: "1 packet", "2 packets". */
static inline const char *plural_s(uint64_t count)
{
    return count == 1 ? "" : "s";
}

/* How many elements an array has. */
#define array_len(array) (sizeof(array) / sizeof(array)[0])

#define swap_values(a, b)           \
    do {                            \
        __typeof__(a) swapped_ = a; \
        a = b;                      \
        b = swapped_;               \
    } while (0)

/* Whether `n` is a power of two. */
static inline _Bool is_pow2(uint64_t n)
{
    return n != 0 && (n & (n - 1)) == 0;
}

/* The lowest power of two that is not below `n` (at most 2^31); 1 for 0. Rings have so many slots, so that an
 * index that wraps at 2^32 finds its slot by a mask. */
static inline uint32_t pow2_up(uint32_t n)
{
    uint32_t p = 1;
    while (p < n)
        p <<= 1;
    return p;
}

#endif
