/* SPDX-License-Identifier: BSD-2-Clause */
/* A hash to know things again by, within one process: fast, and no defence against who chooses its input. */
#ifndef NORNIC_BASE_HASH_H
#define NORNIC_BASE_HASH_H

#include <stdint.h>
#include <string.h>

/* The hash of what `hash` is of (0: of nothing), with `word` behind it. */
static inline uint64_t hash_word(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* The same with `n` bytes behind it. The words are the machine's: the hash is of no use elsewhere. */
static inline uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, uint32_t n)
{
    uint64_t word;
    for (; n >= 8; n -= 8, bytes += 8) {
        memcpy(&word, bytes, 8);
        hash = hash_word(hash, word);
    }
    word = n;
    for (uint32_t i = 0; i < n; i++)
        word = word << 8 | bytes[i];
    return hash_word(hash, word);
}

#endif
