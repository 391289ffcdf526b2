/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as text without printf(), for writers of a million lines. Nothing here ends with a NUL. */
#ifndef NORNIC_BASE_DIGITS_H
#define NORNIC_BASE_DIGITS_H

#include <stdint.h>

#define DIGITS_MAX 20 /* of 64 bits in decimal */

/* `value` in decimal at `to`, which has room for DIGITS_MAX. Returns one past the last digit. */
static inline char *digits_put(char *to, uint64_t value)
{
    unsigned count = 1;
    for (uint64_t more = 10; count < DIGITS_MAX && value >= more; more *= 10)
        count++;
    for (char *at = to + count; at > to; value /= 10)
        *--at = (char)('0' + value % 10);
    return to + count;
}

/* The lowest `count` (at most 16) hex digits of `value` at `to`. Returns one past the last. */
static inline char *digits_put_hex(char *to, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        *to++ = "0123456789abcdef"[value >> 4 * (count - 1 - i) & 15];
    return to;
}

#endif
