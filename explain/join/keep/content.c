/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash of data that the hashes of its parts give, wherever it is cut: the value of a polynomial whose
 * coefficients are the bytes, behind a leading 1, modulo the greatest prime of 32 bits. */
#include "explain/join/keep/content.h"

#define PRIME UINT64_C(4294967291)
#define BASE  UINT64_C(2654435769)
#define STEP  8 /* bytes between two divisions: so many products of 40 bits add up to less than 64 */

/* BASE to that power. */
static uint64_t power(uint32_t exponent)
{
    uint64_t result = 1, square = BASE;
    for (; exponent; exponent >>= 1) {
        if (exponent & 1)
            result = result * square % PRIME;
        square = square * square % PRIME;
    }
    return result;
}

uint32_t join_hash_data(const uint8_t *bytes, uint32_t n)
{
    uint64_t powers[STEP + 1] = {1}, hash = JOIN_HASH_EMPTY;
    for (unsigned i = 1; i <= STEP; i++)
        powers[i] = powers[i - 1] * BASE % PRIME;
    for (; n >= STEP; n -= STEP, bytes += STEP) {
        hash = hash * powers[STEP] % PRIME;
        for (unsigned i = 0; i < STEP; i++)
            hash += bytes[i] * powers[STEP - 1 - i];
        hash %= PRIME;
    }
    for (uint32_t i = 0; i < n; i++)
        hash = (hash * BASE + bytes[i]) % PRIME;
    return (uint32_t)hash;
}

uint32_t join_hash_both(uint32_t first, uint32_t second, uint32_t second_bytes)
{
    uint64_t ahead = first + PRIME - JOIN_HASH_EMPTY;
    return (uint32_t)((ahead % PRIME * power(second_bytes) + second) % PRIME);
}
