/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/pattern.h"

#include <string.h>

/* splitmix64's finalizer over key and place: what is copied to a wrong place, or left over from another
 * message, has other words. */
static uint64_t word_of(uint64_t key, uint64_t index)
{
    uint64_t z = key * 0x9e3779b97f4a7c15u + index * 0xd1342543de82ef95u + 0x632be59bd9b4e019u;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void cli_pattern_fill(uint64_t key, uint8_t *buf, size_t len_bytes)
{
    for (size_t at = 0; at < len_bytes; at += 8) {
        uint64_t word = word_of(key, at / 8);
        memcpy(buf + at, &word, len_bytes - at < 8 ? len_bytes - at : 8);
    }
}

size_t cli_pattern_compare(uint64_t key, const uint8_t *buf, size_t len_bytes)
{
    for (size_t at = 0; at < len_bytes; at += 8) {
        uint64_t word = word_of(key, at / 8);
        const uint8_t *want = (const uint8_t *)&word;
        size_t n = len_bytes - at < 8 ? len_bytes - at : 8;
        if (memcmp(buf + at, want, n) == 0)
            continue;
        size_t i = 0;
        while (buf[at + i] == want[i])
            i++;
        return at + i;
    }
    return len_bytes;
}
