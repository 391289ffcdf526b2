/* SPDX-License-Identifier: BSD-2-Clause */
/* The memory of a flow: rings that cost as much as they hold. */
#include <criterion/criterion.h>

#include "base/base.h"
#include "explain/flow/half/half.h"
#include "roce/psn.h"

static struct explain_sent *send_psn(struct explain_half *half, uint32_t psn)
{
    static uint64_t number;
    struct explain_sent *s = explain_sent_slot(&half->history, psn, EXPLAIN_SENT_LEAST);
    cr_assert_not_null(s);
    cr_assert_eq(s->psn, psn);
    s->number = ++number;
    return s;
}

Test(history, two_psns_far_apart_cost_no_more_than_two_neighbours)
{
    static const uint32_t distances[] = {1, 64, 4096, 8192, 65536, 1 << 23};
    for (unsigned i = 0; i < sizeof distances / sizeof *distances; i++) {
        struct explain_half half = {0};
        send_psn(&half, 7);
        send_psn(&half, 7 + distances[i]);
        cr_expect_lt(explain_half_bytes(&half), 1024, "%u", distances[i]);
        cr_expect_not_null(explain_sent_find(&half.history, 7), "%u", distances[i]);
        cr_expect_not_null(explain_sent_find(&half.history, 7 + distances[i]), "%u", distances[i]);
        cr_expect_null(explain_sent_find(&half.history, 8 + distances[i]));
        explain_half_free(&half);
    }
}

Test(history, the_newest_64_stay_when_they_are_answered_and_older_ones_go)
{
    struct explain_half half = {0};
    for (uint32_t psn = 0xfffff0; psn != 0xfffff0 + 1000; psn++)
        send_psn(&half, psn & ROCE_PSN_MASK)->is_answered = true;
    uint32_t last = (0xfffff0 + 999) & ROCE_PSN_MASK;
    for (uint32_t back = 0; back < 64; back++)
        cr_expect_not_null(explain_sent_find(&half.history, last - back));
    cr_expect_null(explain_sent_find(&half.history, last - 64));
    cr_expect_lt(explain_half_bytes(&half), 64 * 128);
    explain_half_free(&half);
}

Test(history, what_may_be_forgotten_is_not_said_to_be_unseen)
{
    struct explain_half half = {0};
    for (uint32_t psn = 0; psn < 1000; psn++)
        if (psn != 500 && psn != 990)
            send_psn(&half, psn)->is_answered = true;
    cr_expect(explain_was_not_asked(&half, 990));
    cr_expect(explain_was_not_asked(&half, 1000));
    cr_expect_not(explain_was_not_asked(&half, 500));
    cr_expect_not(explain_was_not_asked(&half, 499));
    cr_expect_not(explain_was_not_asked(&half, 999));
    explain_half_free(&half);
}

Test(history, what_is_not_answered_is_kept_up_to_8192_packets)
{
    struct explain_half half = {0};
    for (uint32_t psn = 0; psn < 20000; psn++)
        send_psn(&half, psn);
    cr_expect_not_null(explain_sent_find(&half.history, 20000 - 8192));
    cr_expect_null(explain_sent_find(&half.history, 20000 - 8193));
    for (uint32_t psn = 20000 - 8192; psn < 20000; psn++)
        cr_assert_not_null(explain_sent_find(&half.history, psn), "%u", psn);
    explain_half_free(&half);
}

Test(history, an_acknowledgement_answers_a_range_however_wide_and_nothing_else)
{
    static const uint32_t psns[] = {5, 0xfffffe, 2, 0x400000};
    struct explain_half half = {0};
    for (unsigned i = 0; i < 4; i++)
        send_psn(&half, psns[i]);
    explain_sent_answered(&half.history, 0xfffff0, 3); /* across the wrap */
    cr_expect(!explain_sent_find(&half.history, 5)->is_answered);
    cr_expect(explain_sent_find(&half.history, 0xfffffe)->is_answered);
    cr_expect(explain_sent_find(&half.history, 2)->is_answered);
    cr_expect(!explain_sent_find(&half.history, 0x400000)->is_answered);
    explain_sent_answered(&half.history, 4, 6); /* few */
    cr_expect(explain_sent_find(&half.history, 5)->is_answered);
    explain_half_free(&half);
}

Test(history, reads_are_found_by_any_of_their_psns_the_newest_first)
{
    struct explain_half half = {0};
    cr_expect_null(explain_read_aged(&half.reads, 1));
    for (uint32_t i = 0; i < 100; i++) {
        struct explain_read *r = explain_read_add(&half.reads);
        *r = (struct explain_read){.number = i + 1, .psn = 10 * i, .span = 20};
    }
    cr_expect_eq(explain_read_aged(&half.reads, 1)->number, 100);
    cr_expect_eq(explain_read_aged(&half.reads, 64)->number, 37);
    cr_expect_null(explain_read_aged(&half.reads, 65));
    cr_expect_eq(explain_read_find(&half.reads, 985)->number, 99);
    cr_expect_eq(explain_read_find(&half.reads, 1009)->number, 100);
    cr_expect_null(explain_read_find(&half.reads, 1010));
    cr_expect_null(explain_read_find(&half.reads, 359));
    explain_half_free(&half);
}

Test(history, answers_are_a_ring)
{
    struct explain_half half = {0};
    for (uint64_t i = 1; i <= 3 * EXPLAIN_ANSWERS_MAX + 1; i++)
        explain_answer_add(&half.answers)->number = i;
    uint64_t least = UINT64_MAX;
    for (unsigned i = 0; i < EXPLAIN_ANSWERS_MAX; i++)
        least = min_u64(least, half.answers.kept[i].number);
    cr_expect_eq(least, 2 * EXPLAIN_ANSWERS_MAX + 2);
    explain_half_free(&half);
}
