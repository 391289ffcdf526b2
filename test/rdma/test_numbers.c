/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "rdma/numbers.h"
#include "test/support/random.h"

static struct test_random rnd = {.state = 7};

static struct rdma_numbers draw(uint64_t count)
{
    struct rdma_random random = test_random_source(&rnd);
    struct rdma_numbers numbers;
    rdma_numbers_init(&numbers, &random, count);
    return numbers;
}

Test(numbers, ROCE_MR_2_a_permutation_takes_each_number_once)
{
    static uint8_t seen[70000];
    static const uint32_t more[] = {4096, 16367, 16384, 65519, 65536, 70000};
    for (uint32_t i = 1; i < 700 + sizeof more / sizeof *more; i++) {
        uint32_t count = i < 700 ? i : more[i - 700];
        struct rdma_numbers numbers = draw(count);
        memset(seen, 0, sizeof seen);
        for (uint32_t place = 0; place < count; place++) {
            uint32_t number = rdma_number_of(&numbers, place);
            cr_assert_lt(number, count);
            cr_assert_eq(seen[number]++, 0, "%u comes twice of %u", number, count);
            cr_assert_eq(rdma_number_place(&numbers, number), place);
        }
    }
}

Test(numbers, ROCE_MR_2_a_permutation_of_all_32_bits_has_an_inverse)
{
    struct rdma_numbers numbers = draw(UINT64_C(1) << 32);
    for (uint32_t i = 0; i < 100000; i++) {
        uint32_t place = i * 42953;
        cr_assert_eq(rdma_number_place(&numbers, rdma_number_of(&numbers, place)), place);
    }
}

/* Each of 2^24 differences is as likely as another. Among 2,000 steps some 0.1 repeat; 8 or more do with a
 * chance below 1 in 10^10. */
Test(numbers, ROCE_MR_2_differences_of_successive_numbers_do_not_repeat)
{
    enum { STEPS = 2000 };
    static uint32_t steps[STEPS];
    for (unsigned run = 0; run < 10; run++) {
        struct rdma_numbers numbers = draw(1 << 24);
        unsigned repeats = 0;
        for (uint32_t i = 0; i < STEPS; i++) {
            steps[i] = (rdma_number_of(&numbers, i + 1) - rdma_number_of(&numbers, i)) & 0xffffff;
            for (uint32_t j = 0; j < i; j++)
                repeats += steps[i] == steps[j];
        }
        cr_assert_lt(repeats, 8, "%u of %d differences repeat", repeats, STEPS);
    }
}

Test(numbers, ROCE_MR_2_a_slot_has_another_number_at_each_use)
{
    enum { SLOTS = 100, COUNT = 1000, FIRST = 17 };
    struct rdma_random random = test_random_source(&rnd);
    struct rdma_slot_numbers numbers;
    rdma_slot_numbers_init(&numbers, &random, SLOTS, FIRST, COUNT);
    cr_assert_eq(numbers.generations, (COUNT - SLOTS) / 128 + 1);
    uint8_t seen[COUNT] = {0};
    for (uint32_t slot = 0; slot < SLOTS; slot++) {
        for (uint32_t use = 0; use < numbers.generations; use++) {
            uint32_t number = rdma_slot_number(&numbers, slot, use);
            cr_assert(number >= FIRST && number < FIRST + COUNT && !seen[number - FIRST]++);
            cr_assert_eq(rdma_number_slot(&numbers, number), slot);
        }
        cr_assert_eq(rdma_slot_number(&numbers, slot, numbers.generations),
                     rdma_slot_number(&numbers, slot, 0));
    }
    cr_assert_eq(rdma_number_slot(&numbers, FIRST - 1), UINT32_MAX);
    cr_assert_eq(rdma_number_slot(&numbers, FIRST + COUNT), UINT32_MAX);
}

Test(numbers, a_full_range_has_one_generation)
{
    struct rdma_random random = test_random_source(&rnd);
    struct rdma_slot_numbers numbers;
    rdma_slot_numbers_init(&numbers, &random, 0xffffff, 1, 0xffffff);
    cr_assert_eq(numbers.generations, 1);
    for (uint32_t slot = 0; slot < 0xffffff; slot += 9973)
        cr_assert_eq(rdma_number_slot(&numbers, rdma_slot_number(&numbers, slot, 3)), slot);
}

Test(numbers, plain_numbers_count_up)
{
    struct rdma_slot_numbers numbers;
    rdma_slot_numbers_plain(&numbers, 5, 17);
    cr_assert_eq(rdma_slot_number(&numbers, 4, 9), 21);
    cr_assert_eq(rdma_number_slot(&numbers, 21), 4);
    cr_assert_eq(rdma_number_slot(&numbers, 22), UINT32_MAX);
}
