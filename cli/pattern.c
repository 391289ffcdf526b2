/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/pattern.h"

#include <string.h>

/* Odd, so that the words of a message are all different. They begin at a place of 2^64 that the key draws:
 * what is copied to a wrong place, or left over from another message, has other words. An addition a word
 * costs less than the copy of the data. */
#define STEP 0x9e3779b97f4a7c15u

/* The finalizer of splitmix64. */
static uint64_t first_word(uint64_t key)
{
    uint64_t z = (key + 1) * STEP;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
    z = (z ^ z >> 27) * 0x94d049bb133111ebu;
    return z ^ z >> 31;
}

void cli_pattern_fill(uint64_t key, uint8_t *buf, size_t len_bytes)
{
    uint64_t word = first_word(key);
    size_t at = 0;
    for (; at + 8 <= len_bytes; at += 8, word += STEP)
        memcpy(buf + at, &word, 8);
    memcpy(buf + at, &word, len_bytes - at);
}

size_t cli_pattern_compare(uint64_t key, const uint8_t *buf, size_t len_bytes)
{
    uint64_t word = first_word(key), got;
    size_t at = 0;
    for (; at + 8 <= len_bytes; at += 8, word += STEP) {
        memcpy(&got, buf + at, 8);
        if (got != word)
            break;
    }
    const uint8_t *want = (const uint8_t *)&word;
    for (size_t i = 0; i < 8 && at + i < len_bytes; i++)
        if (buf[at + i] != want[i])
            return at + i;
    return len_bytes;
}

size_t cli_pattern_compare_any(const uint64_t *keys, size_t n, const uint8_t *buf, size_t len_bytes)
{
    uint64_t step = 0;
    for (size_t at = 0; at < len_bytes; at += 8, step += STEP) {
        size_t rest = len_bytes - at < 8 ? len_bytes - at : 8, i = 0;
        for (; i < n; i++) {
            uint64_t word = first_word(keys[i]) + step;
            if (memcmp(buf + at, &word, rest) == 0)
                break;
        }
        if (i == n)
            return at;
    }
    return len_bytes;
}
