/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers that peers see, drawn at random: keys, QPNs, communication ids, tokens. A keyed permutation maps
 * the places of a table to numbers and back, so that a number leads to its place in O(1), and a number tells
 * nothing about the next without the key. Internal to the engines. */
#ifndef NORNIC_RDMA_NUMBERS_H
#define NORNIC_RDMA_NUMBERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rdma/mem.h"

#define RDMA_NUMBERS_ROUNDS 4
#define RDMA_NUMBERS_RECENT 32u /* slots that are found without the permutation; a power of two */

/* A permutation of 0..count - 1: a Feistel network over the least even number of bits that holds `count`. A
 * value beyond `count` is permuted again, until one is below. Zero-initialised: each number is its place. */
struct rdma_numbers {
    uint64_t count; /* 1..2^32 */
    uint64_t key[RDMA_NUMBERS_ROUNDS][2];
    uint8_t half_bits; /* 0: no permutation */
};

/* Draws a permutation of `count` numbers (1..2^32). */
void rdma_numbers_init(struct rdma_numbers *numbers, const struct rdma_random *random, uint64_t count);

/* Maps a place (below `count`) to its number. */
uint32_t rdma_number_of(const struct rdma_numbers *numbers, uint32_t place);

/* Maps a number (below `count`) back to its place. */
uint32_t rdma_number_place(const struct rdma_numbers *numbers, uint32_t number);

/* --- the numbers of a table's slots --- */

/* The places of a table with slots: the slot in the low bits, and above it the generation, which counts the
 * uses of the slot. So a slot has a new number at each use, and `generations` uses bring the first again. */
struct rdma_slot_numbers {
    struct rdma_numbers numbers;
    uint32_t first;       /* the lowest number */
    uint32_t generations; /* of each slot; at least 1 */
    uint32_t begin;       /* the generation of all first uses */
    uint8_t slot_bits;
    atomic_uint_least64_t recent[RDMA_NUMBERS_RECENT]; /* found last: number << 32 | slot + 1; 0: none */
};

/* Draws the numbers first..first + count - 1 for `slots` slots (1..count). */
void rdma_slot_numbers_init(struct rdma_slot_numbers *numbers, const struct rdma_random *random,
                            uint32_t slots, uint32_t first, uint64_t count);

/* Has the numbers count up with the slots from `first`. */
void rdma_slot_numbers_plain(struct rdma_slot_numbers *numbers, uint32_t slots, uint32_t first);

/* Returns the number of the use `use` (0, 1, ...) of a slot. */
uint32_t rdma_slot_number(const struct rdma_slot_numbers *numbers, uint32_t slot, uint32_t use);

/* Finds the slot of a number by the permutation, as rdma_number_slot() does. */
uint32_t rdma_number_slot_anew(const struct rdma_slot_numbers *numbers, uint32_t number);

/* Returns the slot of a number that was found lately, else UINT32_MAX. For the paths of each packet. */
static inline uint32_t rdma_number_slot_recent(const struct rdma_slot_numbers *numbers, uint32_t number)
{
    uint64_t recent =
        atomic_load_explicit(&numbers->recent[number % RDMA_NUMBERS_RECENT], memory_order_relaxed);
    return recent >> 32 == number ? (uint32_t)recent - 1 : UINT32_MAX;
}

/* Returns the slot of a number. It may be beyond the table, and the slot may have another number by now: the
 * caller compares. UINT32_MAX: not a number of the range. Any thread; `numbers` is not of constant memory. */
static inline uint32_t rdma_number_slot(const struct rdma_slot_numbers *numbers, uint32_t number)
{
    uint32_t slot = rdma_number_slot_recent(numbers, number);
    return slot != UINT32_MAX ? slot : rdma_number_slot_anew(numbers, number);
}

#endif
