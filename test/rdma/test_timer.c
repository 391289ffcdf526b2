/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <errno.h>

#include "net/port.h"
#include "rdma/timer.h"
#include "test/support/alloc.h"
#include "test/support/random.h"

#define TIMERS 200

static struct rdma_timers timers;
static struct rdma_timer t[TIMERS];

static void setup(void)
{
    cr_assert_eq(rdma_timers_init(&timers, &rdma_mem_libc, TIMERS), 0);
}

static void teardown(void)
{
    rdma_timers_deinit(&timers, &rdma_mem_libc);
}

TestSuite(timer, .init = setup, .fini = teardown);

Test(timer, nothing_is_armed_at_first)
{
    cr_assert_eq(rdma_timers_next_ns(&timers), NET_TIME_NONE);
    cr_assert_null(rdma_timers_pop(&timers, NET_TIME_NONE));
    cr_assert_not(rdma_timer_armed(&t[0]));
    rdma_timer_cancel(&timers, &t[0]);
    cr_assert_not(rdma_timer_armed(&t[0]));
}

Test(timer, due_at_its_deadline_and_not_before)
{
    rdma_timer_arm(&timers, &t[0], 100);
    cr_assert(rdma_timer_armed(&t[0]));
    cr_assert_eq(rdma_timers_next_ns(&timers), 100);
    cr_assert_null(rdma_timers_pop(&timers, 99));
    cr_assert(rdma_timer_armed(&t[0]));
    cr_assert_eq(rdma_timers_pop(&timers, 100), &t[0]);
    cr_assert_not(rdma_timer_armed(&t[0]));
    cr_assert_null(rdma_timers_pop(&timers, 100));
    cr_assert_eq(rdma_timers_next_ns(&timers), NET_TIME_NONE);
}

Test(timer, arming_again_moves_it_either_way)
{
    rdma_timer_arm(&timers, &t[0], 100);
    rdma_timer_arm(&timers, &t[1], 200);
    rdma_timer_arm(&timers, &t[0], 300);
    cr_assert_eq(timers.count, 2);
    cr_assert_eq(rdma_timers_next_ns(&timers), 200);
    rdma_timer_arm(&timers, &t[0], 50);
    cr_assert_eq(rdma_timers_pop(&timers, 1000), &t[0]);
    cr_assert_eq(rdma_timers_pop(&timers, 1000), &t[1]);
}

Test(timer, a_popped_timer_may_be_armed_again)
{
    rdma_timer_arm(&timers, &t[0], 1);
    for (uint64_t now = 1; now < 10; now++) {
        struct rdma_timer *due = rdma_timers_pop(&timers, now);
        cr_assert_eq(due, &t[0]);
        rdma_timer_arm(&timers, due, now + 1);
        cr_assert_null(rdma_timers_pop(&timers, now));
    }
}

Test(timer, capacity_is_reached_and_zero_is_fine)
{
    for (int i = 0; i < TIMERS; i++)
        rdma_timer_arm(&timers, &t[i], (uint64_t)(TIMERS - i));
    for (int i = TIMERS - 1; i >= 0; i--)
        cr_assert_eq(rdma_timers_pop(&timers, TIMERS), &t[i]);
    struct rdma_timers none;
    cr_assert_eq(rdma_timers_init(&none, &rdma_mem_libc, 0), 0);
    cr_assert_eq(rdma_timers_next_ns(&none), NET_TIME_NONE);
    rdma_timers_deinit(&none, &rdma_mem_libc);
}

Test(timer, a_failing_allocation_is_enomem)
{
    struct test_alloc a;
    struct rdma_timers none;
    test_alloc_init(&a);
    a.fail_at = 1;
    cr_assert_eq(rdma_timers_init(&none, &a.mem, 4), -ENOMEM);
    cr_assert_eq(a.live, 0);
    cr_assert_eq(rdma_timers_init(&none, &a.mem, 4), 0);
    rdma_timers_deinit(&none, &a.mem);
    cr_assert_eq(a.live, 0);
}

/* The earliest deadline of a plain list. */
static uint64_t earliest(void)
{
    uint64_t min = NET_TIME_NONE;
    for (int i = 0; i < TIMERS; i++)
        if (rdma_timer_armed(&t[i]) && t[i].deadline_ns < min)
            min = t[i].deadline_ns;
    return min;
}

/* Random arming, moving, cancelling and popping against a plain list; many equal deadlines. */
Test(timer, agrees_with_a_plain_list)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct test_random rnd = {.state = seed};
        for (int step = 0; step < 2000; step++) {
            struct rdma_timer *timer = &t[test_random_below(&rnd, TIMERS)];
            switch (test_random_below(&rnd, 4)) {
            case 0:
            case 1:
                rdma_timer_arm(&timers, timer, test_random_below(&rnd, 300));
                break;
            case 2:
                rdma_timer_cancel(&timers, timer);
                cr_assert_not(rdma_timer_armed(timer));
                break;
            case 3: {
                uint64_t min = earliest(), now = test_random_below(&rnd, 300);
                struct rdma_timer *due = rdma_timers_pop(&timers, now);
                cr_assert_eq(due != NULL, min <= now, "seed %d step %d", (int)seed, step);
                cr_assert(!due || due->deadline_ns == min, "seed %d step %d", (int)seed, step);
                break;
            }
            }
            cr_assert_eq(rdma_timers_next_ns(&timers), earliest(), "seed %d step %d", (int)seed, step);
        }
        for (int i = 0; i < TIMERS; i++)
            rdma_timer_cancel(&timers, &t[i]);
        cr_assert_eq(timers.count, 0);
    }
}
