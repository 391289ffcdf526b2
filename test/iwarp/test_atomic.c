/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/atomic.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "base/base.h"
#include "test/support/random.h"

#define ONES UINT64_MAX

static uint64_t fetch_add(uint64_t original, uint64_t add, uint64_t mask)
{
    /* the fields that an addition ignores hold anything */
    const struct iwarp_atomic_req req = {
        .aopcode = IWARP_FETCH_ADD, .data = add, .mask = mask, .compare = 0x55, .compare_mask = ONES};
    return iwarp_atomic_result(original, &req);
}

static uint64_t cmp_swap(uint64_t original, uint64_t compare, uint64_t compare_mask, uint64_t swap,
                         uint64_t swap_mask)
{
    const struct iwarp_atomic_req req = {.aopcode = IWARP_CMP_SWAP,
                                         .data = swap,
                                         .mask = swap_mask,
                                         .compare = compare,
                                         .compare_mask = compare_mask};
    return iwarp_atomic_result(original, &req);
}

/* covers: IWARP-ATOM-09, IWARP-ATOM-10 */
Test(atomic, additions_as_worked_by_hand)
{
    static const uint64_t rows[][4] = {
        {0xffffffffffffffff, 1, 0, 0},
        {0x00000000ffffffff, 1, 0, 0x0000000100000000},
        {0x00000000ffffffff, 1, 0x80000000, 0},
        {0x0001ffff7fff00ff, 0x0001000100010001, 0x8000800080008000, 0x0002000080000100},
        {0x00ff00ff00ff00ff, 0x0001000100010001, 0x8000800080008000, 0x0100010001000100},
        {0x0123456789abcdef, 0x1111111111111111, ONES, 0x1032547698badcfe},
        {0x7fffffffffffffff, 1, 0x8000000000000000, 0x8000000000000000},
    };
    for (size_t i = 0; i < array_len(rows); i++)
        cr_expect_eq(fetch_add(rows[i][0], rows[i][1], rows[i][2]), rows[i][3], "row %zu", i);
}

/* Bit by bit, as the text says it: a carry does not leave its field. */
static uint64_t add_serially(uint64_t a, uint64_t b, uint64_t mask)
{
    uint64_t sum = 0;
    unsigned carry = 0;
    for (unsigned i = 0; i < 64; i++) {
        unsigned bits = (unsigned)(a >> i & 1) + (unsigned)(b >> i & 1) + carry;
        sum |= (uint64_t)(bits & 1) << i;
        carry = mask >> i & 1 ? 0 : bits >> 1;
    }
    return sum;
}

/* covers: IWARP-ATOM-09 */
/* covers: IWARP-CM-31 */
Test(atomic, additions_agree_with_bit_by_bit_ones)
{
    struct test_random rnd = {.state = 1};
    for (int i = 0; i < 100000; i++) {
        uint64_t a = test_random_next(&rnd), b = test_random_next(&rnd), mask = test_random_next(&rnd);
        mask &= i % 3 ? test_random_next(&rnd) : ONES;
        cr_assert_eq(fetch_add(a, b, mask), add_serially(a, b, mask), "%lx + %lx by %lx", a, b, mask);
    }
}

/* covers: IWARP-ATOM-08, IWARP-AMB-10 */
Test(atomic, swaps)
{
    const struct iwarp_atomic_req swap = {.aopcode = IWARP_SWAP, .data = 7, .compare = 1};
    cr_expect_eq(iwarp_atomic_result(41, &swap), 7, "masks and comparison do not matter");
    cr_expect_eq(cmp_swap(0x1122334455667788, 0x88, 0xff, 0xaabbccddeeff0011, 0xff00000000000000),
                 0xaa22334455667788);
    cr_expect_eq(cmp_swap(5, 6, ONES, 9, ONES), 5);
    cr_expect_eq(cmp_swap(5, 5, ONES, 9, ONES), 9);
    cr_expect_eq(cmp_swap(0x1122334455667788, 0, 0, ONES, 0xffffffff), 0x11223344ffffffff);
    cr_expect_eq(cmp_swap(5, 5, ONES, 9, 0), 5, "a swap mask of 0 changes nothing");
}

/* covers: IWARP-ATOM-03 */
/* covers: IWARP-CM-28 */
Test(atomic, memory_holds_the_result_and_the_original_comes_back)
{
    uint64_t word = 40;
    const struct iwarp_atomic_req add = {.aopcode = IWARP_FETCH_ADD, .data = 2};
    cr_expect_eq(iwarp_atomic_execute(&word, &add), 40);
    cr_expect_eq(word, 42);
    const struct iwarp_atomic_req swap = {
        .aopcode = IWARP_CMP_SWAP, .data = 100, .mask = ONES, .compare = 41, .compare_mask = ONES};
    cr_expect_eq(iwarp_atomic_execute(&word, &swap), 42);
    cr_expect_eq(word, 42);
}

/* How often one thread must have come between two adds of another before the sum says anything: where the
 * threads share a processor that takes some seconds. */
#define MEETINGS 1000

static uint64_t shared_word;
static atomic_uint meetings;
static pthread_barrier_t start;

/* Adds one until the threads have met often enough; returns how often. */
static uint64_t add_until_met(uint64_t (*add_one)(void))
{
    uint64_t added = 0, next = 0;
    pthread_barrier_wait(&start);
    while (atomic_load_explicit(&meetings, memory_order_relaxed) < MEETINGS) {
        uint64_t original = add_one();
        if (added++ && original != next)
            atomic_fetch_add(&meetings, 1);
        next = original + 1;
    }
    return added;
}

/* What a RoCE queue pair of the same memory does. */
static uint64_t add_plainly(void)
{
    return __atomic_fetch_add(&shared_word, 1, __ATOMIC_SEQ_CST);
}

static uint64_t add_by_request(void)
{
    const struct iwarp_atomic_req add = {.aopcode = IWARP_FETCH_ADD, .data = 1};
    return iwarp_atomic_execute(&shared_word, &add);
}

struct adder {
    pthread_t thread;
    bool is_plain;
    uint64_t added;
};

static void *adder_runs(void *arg)
{
    struct adder *adder = arg;
    adder->added = add_until_met(adder->is_plain ? add_plainly : add_by_request);
    return NULL;
}

/* covers: IWARP-ATOM-04 */
/* covers: IWARP-CM-29 */
Test(atomic, nothing_is_lost_among_threads)
{
    struct adder adders[4] = {0};
    uint64_t added = 0;
    pthread_barrier_init(&start, NULL, 4);
    for (int i = 0; i < 4; i++) {
        adders[i].is_plain = i & 1;
        cr_assert_eq(pthread_create(&adders[i].thread, NULL, adder_runs, &adders[i]), 0);
    }
    for (int i = 0; i < 4; i++) {
        pthread_join(adders[i].thread, NULL);
        added += adders[i].added;
    }
    cr_expect_eq(shared_word, added);
}
