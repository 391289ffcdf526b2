/* SPDX-License-Identifier: BSD-2-Clause */
/* Hashes to find things again by, within one process. The keyed ones are for tables that peers or
 * captures fill: nobody can choose keys of a table that meet in one place. The plain ones are the same in
 * each process, for engines and for output; they are no defence against chosen input. */
#ifndef NORNIC_BASE_HASH_H
#define NORNIC_BASE_HASH_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* --- keyed --- */

/* SipHash-1-3 with the random key of this process, of the input of `hash` (0: none) with `word`, or `n`
 * bytes, behind it. Results differ from process to process: neither a result nor its order may be printed. */
uint64_t hash_keyed_word(uint64_t hash, uint64_t word);
uint64_t hash_keyed_bytes(uint64_t hash, const uint8_t *bytes, size_t n);
/* SipHash-1-3 of `n` bytes with a key of two words, in the order of this machine. */
uint64_t hash_siphash13(const uint64_t key[2], const uint8_t *bytes, size_t n);

/* --- plain --- */

/* The hash of the input of `hash` (0: none), with `word` behind it. */
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
