/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>

#include "roce/requester/window.h"

#define PSN 0xfffff0u /* the sequence numbers wrap in every test */

static struct roce_window w;

static void setup(void)
{
    roce_window_init(&w, 512, PSN);
}

TestSuite(window, .init = setup);

static uint32_t at(uint32_t i)
{
    return roce_psn_add(PSN, i);
}

/* covers: ROCE-RC-4 */
Test(window, is_the_devices_until_a_timeout)
{
    cr_assert_eq(w.pkts, 512);
    roce_window_progress(&w, at(100), at(300));
    cr_assert_eq(w.pkts, 512);
}

Test(window, a_timeout_leaves_a_quarter_and_never_nothing)
{
    static const uint32_t want[] = {128, 32, 8, 2, 1, 1};
    for (unsigned i = 0; i < 6; i++) {
        roce_window_timeout(&w, at(512));
        cr_assert_eq(w.pkts, want[i]);
    }
}

/* They come out of the queue that was too long. */
Test(window, acks_of_what_was_sent_before_do_not_open_it)
{
    roce_window_timeout(&w, at(512));
    for (uint32_t i = 0; i <= 512; i += 64)
        roce_window_progress(&w, at(i), at(512));
    cr_assert_eq(w.pkts, 128);
    roce_window_progress(&w, at(513), at(600));
    cr_assert_eq(w.pkts, 256);
}

Test(window, grows_once_in_a_round_trip_and_slower_above_half_of_what_was_too_much)
{
    roce_window_timeout(&w, at(512));
    roce_window_timeout(&w, at(512)); /* 32, and half of 128 */
    static const uint32_t want[] = {64, 65, 66, 67};
    uint32_t una = 512, hi = 512 + 32; /* a whole window is under way */
    for (unsigned round = 0; round < 4; round++) {
        uint32_t sent = hi + want[round];
        for (una++; una <= hi; una++) {
            roce_window_progress(&w, at(una), at(hi));
            cr_assert_eq(w.pkts, want[round], "round %u", round);
        }
        una = hi;
        hi = sent;
    }
}

Test(window, grows_up_to_the_devices)
{
    roce_window_timeout(&w, at(0));
    for (uint32_t i = 1; i < 2000; i++)
        roce_window_progress(&w, at(2 * i), at(2 * i));
    cr_assert_eq(w.pkts, 512);
}
