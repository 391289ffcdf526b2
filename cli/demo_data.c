/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/demo_data.h"

#include <string.h>

#define STEP 0x9e3779b97f4a7c15u /* odd: a message has no word twice */

/* The finaliser of splitmix64 (Steele, Lea, Flood 2014). */
uint64_t demo_mix(uint64_t a, uint64_t b)
{
    uint64_t x = a + b * STEP;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

void demo_data_fill(uint8_t *data, uint32_t len_bytes, uint64_t stream, uint64_t index)
{
    uint64_t word = demo_mix(stream, index);
    uint32_t i = 0;

    for (; i + 8 <= len_bytes; i += 8, word += STEP)
        memcpy(data + i, &word, 8);
    memcpy(data + i, &word, len_bytes - i);
}

bool demo_data_is_right(const uint8_t *data, uint32_t len_bytes, uint64_t stream, uint64_t index)
{
    uint64_t word = demo_mix(stream, index), got, differs = 0;
    uint32_t i = 0;

    for (; i + 8 <= len_bytes; i += 8, word += STEP) {
        memcpy(&got, data + i, 8);
        differs |= got ^ word;
    }
    return differs == 0 && memcmp(data + i, &word, len_bytes - i) == 0;
}
