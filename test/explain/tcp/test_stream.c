/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a TCP stream from segments that come as they like. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/tcp/stream.h"
#include "test/support/random.h"

#define STREAM_BYTES 5000
#define READ_MOST    700

static struct explain_stream begun_at(uint32_t seq)
{
    struct explain_stream s = {0};
    explain_stream_begin(&s, seq);
    return s;
}

static void expect_read(const struct explain_stream *s, const char *what)
{
    uint8_t got[64];
    uint32_t n = (uint32_t)strlen(what);
    cr_assert_eq(explain_stream_read(s, s->next, n, got), n);
    cr_assert_arr_eq(got, what, n);
}

static struct explain_stream_news put(struct explain_stream *s, uint32_t seq, const char *text,
                                      uint64_t number)
{
    uint32_t n = (uint32_t)strlen(text);
    return explain_stream_put(s, seq, (const uint8_t *)text, n, n,
                              (struct explain_stream_origin){number, 1000 * number});
}

Test(tcp_stream, in_order)
{
    struct explain_stream s = begun_at(UINT32_MAX - 2); /* sequence numbers wrap within it */
    struct explain_stream_news news = put(&s, UINT32_MAX - 2, "abcdef", 1);
    cr_assert(news.fresh == 6 && news.again == 0 && news.from == 0 && !news.is_ahead && !news.is_behind);
    news = put(&s, 3, "ghi", 2);
    cr_assert(news.from == 6 && news.fresh == 3);
    expect_read(&s, "abcdefghi");
    cr_assert_eq(explain_stream_origin(&s, 6).number, 2);
    cr_assert_eq(explain_stream_origin(&s, 5).time_ns, 1000);
    cr_assert_eq(explain_stream_origin(&s, 9).number, 0);
    explain_stream_skip(&s, 7);
    cr_assert_eq(explain_stream_there(&s), 2);
    expect_read(&s, "hi");
    explain_stream_free(&s);
}

Test(tcp_stream, out_of_order_and_again)
{
    struct explain_stream s = begun_at(100);
    cr_assert(put(&s, 103, "def", 1).is_ahead);
    cr_assert_eq(explain_stream_hole(&s), 3);
    cr_assert_eq(explain_stream_there(&s), 0);
    struct explain_stream_news news = put(&s, 100, "abcXY", 2);
    cr_assert(news.fresh == 3 && news.again == 2 && news.is_behind && !news.is_ahead);
    expect_read(&s, "abcdef"); /* what came first stays */
    news = put(&s, 98, "--abcdefgh", 3);
    cr_assert(news.fresh == 2 && news.again == 8, "%u %u", news.fresh, news.again);
    expect_read(&s, "abcdefgh");
    explain_stream_skip(&s, 8);
    news = put(&s, 102, "cde", 4);
    cr_assert(news.fresh == 0 && news.again == 3 && !news.is_behind);
    cr_assert_eq(s.kept_bytes, 0);
    explain_stream_free(&s);
}

Test(tcp_stream, hole_that_stays)
{
    struct explain_stream s = begun_at(0);
    put(&s, 0, "ab", 1);
    explain_stream_skip(&s, 2);
    put(&s, 5, "fg", 2);
    cr_assert_eq(explain_stream_hole(&s), 3);
    explain_stream_ack(&s, 4);
    cr_assert_not(explain_stream_hole_stays(&s), "a part of it may still come");
    explain_stream_ack(&s, 5);
    cr_assert(explain_stream_hole_stays(&s));
    explain_stream_skip(&s, 5);
    expect_read(&s, "fg");
    explain_stream_free(&s);
}

Test(tcp_stream, hole_behind_what_is_there)
{
    struct explain_stream s = begun_at(0);
    put(&s, 0, "ab", 1);
    put(&s, 2, "cd", 2);
    cr_assert(put(&s, 7, "hi", 3).is_ahead);
    cr_assert_eq(explain_stream_hole(&s), 3);
    cr_assert_eq(explain_stream_there(&s), 4);
    cr_assert_eq(explain_stream_segment(&s, 1), 2);
    cr_assert_eq(explain_stream_segment(&s, 3), 4, "none before the hole");
    explain_stream_ack(&s, 9);
    cr_assert(explain_stream_hole_stays(&s));
    explain_stream_skip(&s, s.reach + 3);
    cr_assert_eq(explain_stream_hole(&s), 0);
    expect_read(&s, "hi");
    explain_stream_free(&s);
}

Test(tcp_stream, cut_by_a_snap_length)
{
    uint8_t got[8];
    struct explain_stream s = begun_at(0);
    explain_stream_put(&s, 0, (const uint8_t *)"abc", 6, 3, (struct explain_stream_origin){1, 1});
    put(&s, 6, "gh", 2);
    cr_assert_eq(explain_stream_there(&s), 8);
    cr_assert_eq(explain_stream_read(&s, 0, 8, got), 3);
    cr_assert_eq(explain_stream_read(&s, 4, 4, got), 0);
    cr_assert_eq(explain_stream_read(&s, 6, 2, got), 2);
    cr_assert_arr_eq(got, "gh", 2);
    explain_stream_free(&s);
}

Test(tcp_stream, memory_is_bounded)
{
    static const uint8_t segment[1000];
    struct explain_stream s = begun_at(0);
    bool has_dropped = false;
    for (uint32_t i = 0; i < 20000; i++)
        has_dropped |= explain_stream_put(&s, 10 + i * 1001, segment, 1000, 1000,
                                          (struct explain_stream_origin){i + 1, i})
                           .is_dropped;
    cr_assert(has_dropped);
    cr_assert(explain_stream_hole_stays(&s));
    cr_assert_leq(s.kept_bytes, EXPLAIN_STREAM_BYTES_MAX + 2000);
    cr_assert_eq(put(&s, 0, "a beginning is taken", 20001).fresh, 10);
    explain_stream_free(&s);
}

Test(tcp_stream, stray_segment)
{
    struct explain_stream s = begun_at(0);
    cr_assert(put(&s, UINT32_C(1) << 30 | 5, "x", 1).is_far);
    cr_assert_eq(s.end, 0);
    cr_assert_eq(put(&s, UINT32_MAX - 10, "old", 2).again, 3);
    explain_stream_free(&s);
}

/* Any cuts in any order, again and again, give the same bytes to a reader that takes what is there. */
Test(tcp_stream, random_segments)
{
    for (uint64_t seed = 1; seed <= 60; seed++) {
        struct test_random rnd = {.state = seed};
        uint8_t sent[STREAM_BYTES], got[STREAM_BYTES];
        uint32_t taken = 0, first = (uint32_t)(UINT32_MAX - seed * 40);
        struct explain_stream s = begun_at(first);
        for (unsigned i = 0; i < STREAM_BYTES; i++)
            sent[i] = (uint8_t)test_random_below(&rnd, 256);
        for (unsigned n = 0; taken < STREAM_BYTES; n++) {
            uint32_t from = test_random_below(&rnd, STREAM_BYTES);
            from = n > 3000 || test_random_below(&rnd, 2) ? min_u32(from, taken) : from;
            uint32_t len = 1 + test_random_below(&rnd, 200);
            len = min_u32(len, STREAM_BYTES - from);
            explain_stream_put(&s, first + from, sent + from, len, len,
                               (struct explain_stream_origin){n + 1, n});
            uint32_t there = min_u32((uint32_t)explain_stream_there(&s), READ_MOST);
            cr_assert_eq(explain_stream_read(&s, taken, there, got + taken), there);
            taken += there;
            explain_stream_skip(&s, taken);
        }
        cr_assert_arr_eq(got, sent, STREAM_BYTES);
        cr_assert_eq(s.kept_bytes, 0);
        explain_stream_free(&s);
    }
}
