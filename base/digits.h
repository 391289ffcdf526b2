/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers as text without printf(), for writers of a million lines. Nothing here ends with a NUL. */
#ifndef NORNIC_BASE_DIGITS_H
#define NORNIC_BASE_DIGITS_H

#include <stdint.h>
#include <string.h>

#define DIGITS_MAX 20 /* of 64 bits in decimal */

/* `value` in decimal at `to`, which has room for DIGITS_MAX. Returns one past the last digit. */
static inline char *digits_put(char *to, uint64_t value)
{
    char digits[DIGITS_MAX];
    unsigned at = DIGITS_MAX;
    if (value < 10) { /* most fields */
        *to = (char)('0' + value);
        return to + 1;
    }
    do
        digits[--at] = (char)('0' + value % 10);
    while (value /= 10);
    memcpy(to, digits + at, DIGITS_MAX - at);
    return to + (DIGITS_MAX - at);
}

/* The lowest `count` (at most 16) hex digits of `value` at `to`. Returns one past the last. */
static inline char *digits_put_hex(char *to, uint64_t value, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        *to++ = "0123456789abcdef"[value >> 4 * (count - 1 - i) & 15];
    return to;
}

#endif
