/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/numbers.h"

/* The round function: two multiplications by secret odd factors, with the high bits mixed into the low ones
 * between them. The upper half of the product is its most mixed part. */
static inline uint32_t mix(const uint64_t key[2], uint32_t half)
{
    uint64_t z = (half ^ key[1]) * key[0];
    z = (z ^ z >> 32) * key[1];
    return (uint32_t)(z >> 40);
}

static inline uint32_t permute(const struct rdma_numbers *n, uint32_t value)
{
    const uint32_t mask = (UINT32_C(1) << n->half_bits) - 1;
    uint32_t left = value >> n->half_bits, right = value & mask;
    for (unsigned i = 0; i < RDMA_NUMBERS_ROUNDS; i++) {
        uint32_t next = left ^ (mix(n->key[i], right) & mask);
        left = right;
        right = next;
    }
    return left << n->half_bits | right;
}

static inline uint32_t unpermute(const struct rdma_numbers *n, uint32_t value)
{
    const uint32_t mask = (UINT32_C(1) << n->half_bits) - 1;
    uint32_t left = value >> n->half_bits, right = value & mask;
    for (unsigned i = RDMA_NUMBERS_ROUNDS; i-- > 0;) {
        uint32_t before = right ^ (mix(n->key[i], left) & mask);
        right = left;
        left = before;
    }
    return left << n->half_bits | right;
}

void rdma_numbers_init(struct rdma_numbers *numbers, const struct rdma_random *random, uint64_t count)
{
    *numbers = (struct rdma_numbers){.count = count, .half_bits = 1};
    while (UINT64_C(1) << 2 * numbers->half_bits < count)
        numbers->half_bits++;
    for (unsigned i = 0; i < RDMA_NUMBERS_ROUNDS; i++)
        for (unsigned j = 0; j < 2; j++)
            numbers->key[i][j] = random->next(random->ctx) | 1;
}

uint32_t rdma_number_of(const struct rdma_numbers *numbers, uint32_t place)
{
    if (!numbers->half_bits)
        return place;
    do
        place = permute(numbers, place);
    while (place >= numbers->count);
    return place;
}

uint32_t rdma_number_place(const struct rdma_numbers *numbers, uint32_t number)
{
    if (!numbers->half_bits)
        return number;
    do
        number = unpermute(numbers, number);
    while (number >= numbers->count);
    return number;
}

/* --- the numbers of a table's slots --- */

void rdma_slot_numbers_init(struct rdma_slot_numbers *numbers, const struct rdma_random *random,
                            uint32_t slots, uint32_t first, uint64_t count)
{
    *numbers = (struct rdma_slot_numbers){.first = first};
    rdma_numbers_init(&numbers->numbers, random, count);
    while (UINT64_C(1) << numbers->slot_bits < slots)
        numbers->slot_bits++;
    uint64_t more = (count - slots) >> numbers->slot_bits;
    numbers->generations = (uint32_t)(more < UINT32_MAX ? more : UINT32_MAX - 1) + 1;
    numbers->begin = (uint32_t)random->next(random->ctx) % numbers->generations;
}

uint32_t rdma_slot_number(const struct rdma_slot_numbers *numbers, uint32_t slot, uint32_t use)
{
    uint64_t generation = ((uint64_t)numbers->begin + use) % numbers->generations;
    return numbers->first +
           rdma_number_of(&numbers->numbers, (uint32_t)(generation << numbers->slot_bits) | slot);
}

uint32_t rdma_number_slot_anew(const struct rdma_slot_numbers *numbers, uint32_t number)
{
    uint32_t at = number - numbers->first;
    if (at >= numbers->numbers.count)
        return UINT32_MAX;
    uint32_t slot =
        rdma_number_place(&numbers->numbers, at) & (uint32_t)((UINT64_C(1) << numbers->slot_bits) - 1);
    struct rdma_slot_numbers *own = (struct rdma_slot_numbers *)(uintptr_t)numbers;
    atomic_store_explicit(&own->recent[number % RDMA_NUMBERS_RECENT], (uint64_t)number << 32 | (slot + 1),
                          memory_order_relaxed);
    return slot;
}

void rdma_slot_numbers_plain(struct rdma_slot_numbers *numbers, uint32_t slots, uint32_t first)
{
    *numbers = (struct rdma_slot_numbers){.numbers.count = slots, .first = first, .generations = 1};
    while (UINT64_C(1) << numbers->slot_bits < slots)
        numbers->slot_bits++;
}
