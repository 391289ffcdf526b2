/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/pattern.h"

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

void cli_pattern_word(uint64_t key, size_t at, uint8_t *word)
{
    uint64_t value = first_word(key) + at / 8 * STEP;
    memcpy(word, &value, 8);
}

/* first_word() backwards: each of its steps can be undone. */
static uint64_t key_of(uint64_t first)
{
    uint64_t z = (first ^ first >> 31 ^ first >> 62) * 0x319642b2d24d8ec3u;
    z = (z ^ z >> 27 ^ z >> 54) * 0x96de1b173f119089u;
    z = z ^ z >> 30 ^ z >> 60;
    return z * 0xf1de83e19937733du - 1;
}

uint64_t cli_pattern_key(const uint8_t *word, size_t at)
{
    uint64_t value;
    memcpy(&value, word, 8);
    return key_of(value - at / 8 * STEP);
}
