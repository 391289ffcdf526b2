/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets as a ladder: lifelines, arrows, words. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/show/ladder.h"

struct drawing {
    struct explain_ladder ladder;
    struct explain_text out;
    struct explain_line_style style;
    uint64_t number, time_ns;
};

static void begin(struct drawing *d)
{
    *d = (struct drawing){.ladder = {.columns = 80}, .style = {.epoch_ns = NS_PER_S}, .time_ns = NS_PER_S};
}

/* A good packet from 10.0.0.`from` to 10.0.0.`to` that means this; what it adds to the drawing. */
static const char *draw(struct drawing *d, uint8_t from, uint8_t to, const struct explain_meaning *m)
{
    struct explain_packet p = {.number = ++d->number,
                               .time_ns = d->time_ns,
                               .kind = EXPLAIN_ROCE,
                               .verdict = ROCE_RX_TAKEN,
                               .roce = {.src = nornic_addr_from_v4((uint8_t[]){10, 0, 0, from}),
                                        .dst = nornic_addr_from_v4((uint8_t[]){10, 0, 0, to})}};
    explain_text_clear(&d->out);
    explain_ladder(&d->out, &d->ladder, &p, m, &d->style);
    d->time_ns += NS_PER_US;
    return d->out.bytes;
}

static struct explain_meaning words(const char *text)
{
    struct explain_meaning m = {0};
    snprintf(m.words, sizeof m.words, "%s", text);
    return m;
}

static struct explain_meaning remark(enum explain_finding_kind kind)
{
    struct explain_meaning m = words("x");
    m.remark_count = 1;
    m.remarks[0].kind = kind;
    return m;
}

Test(ladder, names_stand_above_when_a_lifeline_is_new)
{
    struct drawing d;
    struct explain_meaning m = words("hello");
    begin(&d);
    cr_expect_not_null(strstr(draw(&d, 1, 2, &m), "10.0.0.1"));
    cr_expect_not_null(strstr(d.out.bytes, "10.0.0.2\n"));
    cr_expect_null(strstr(draw(&d, 2, 1, &m), "10.0.0."));
    cr_expect_not_null(strstr(draw(&d, 3, 1, &m), "10.0.0.3"));
    cr_expect_not_null(strstr(d.out.bytes, "10.0.0.1"), "all names are written again");
    explain_text_free(&d.out);
}

Test(ladder, arrows_point_to_whom_the_packet_is_for)
{
    struct drawing d;
    struct explain_meaning m = words("hello");
    begin(&d);
    const char *there = strstr(draw(&d, 1, 2, &m), "    1 ");
    cr_assert_not_null(there);
    cr_expect_not_null(strstr(there, "|-- hello -"));
    cr_expect_not_null(strstr(there, "->|\n"));
    const char *back = draw(&d, 2, 1, &m);
    cr_expect_not_null(strstr(back, "|<-"));
    cr_expect_not_null(strstr(back, " hello --|\n"));
    explain_text_free(&d.out);
}

Test(ladder, the_stroke_says_what_kind_of_packet_it_is)
{
    static const struct {
        enum explain_finding_kind kind;
        const char *arrow;
    } strokes[] = {{EXPLAIN_FIND_ECN_MARK, "-->|"},  {EXPLAIN_FIND_RETRANSMISSION, "==>|"},
                   {EXPLAIN_FIND_DUPLICATE, "==>|"}, {EXPLAIN_FIND_READ_REPLAY, "==>|"},
                   {EXPLAIN_FIND_CM_RETRY, "==>|"},  {EXPLAIN_FIND_RNR, "~~>|"},
                   {EXPLAIN_FIND_NAK_FATAL, "~~>|"}, {EXPLAIN_FIND_NAK_SEQUENCE, "~~>|"},
                   {EXPLAIN_FIND_CM_REJECT, "~~>|"}};
    for (unsigned i = 0; i < array_len(strokes); i++) {
        struct drawing d;
        struct explain_meaning m = remark(strokes[i].kind);
        begin(&d);
        cr_expect_not_null(strstr(draw(&d, 1, 2, &m), strokes[i].arrow), "%s:\n%s",
                           explain_finding_key(strokes[i].kind), d.out.bytes);
        explain_text_free(&d.out);
    }
}

Test(ladder, silence_of_10_ms_is_said)
{
    struct drawing d;
    struct explain_meaning m = words("hello");
    begin(&d);
    draw(&d, 1, 2, &m);
    d.time_ns += 9 * NS_PER_MS;
    cr_expect_null(strstr(draw(&d, 1, 2, &m), "without a packet"));
    d.time_ns += 67 * NS_PER_MS;
    cr_expect_not_null(strstr(draw(&d, 1, 2, &m), ": 67.0 ms without a packet"));
    explain_text_free(&d.out);
}

Test(ladder, a_packet_from_before_the_first_has_a_minus)
{
    struct drawing d;
    struct explain_meaning m = words("hello");
    begin(&d);
    draw(&d, 1, 2, &m);
    d.time_ns = NS_PER_S - NS_PER_MS;
    cr_expect_not_null(strstr(draw(&d, 1, 2, &m), "    2   -0.001000   "), "%s", d.out.bytes);
    cr_expect_null(strstr(d.out.bytes, "without a packet"));
    explain_text_free(&d.out);
}

Test(ladder, words_that_are_too_long_go_on_below_at_a_blank)
{
    struct drawing d;
    struct explain_meaning m = words("0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 end");
    begin(&d);
    cr_expect_not_null(strstr(draw(&d, 1, 2, &m), "0123456789 -"), "%s", d.out.bytes);
    const char *below = strchr(strstr(d.out.bytes, "->|"), '\n');
    cr_expect_not_null(strstr(below, "|   0123456789 0123456789 end"), "%s", d.out.bytes);
    explain_text_free(&d.out);
}

/* The rows below are between the lifelines, too; those of a finding stand in. */
Test(ladder, what_is_long_takes_rows_between_the_lifelines)
{
    struct drawing d;
    struct explain_meaning m = words("short");
    m.remark_count = 1;
    m.remarks[0].kind = EXPLAIN_FIND_TIMEOUT;
    snprintf(m.remarks[0].words, sizeof m.remarks[0].words, "%s",
             "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 end");
    begin(&d);
    cr_expect_not_null(
        strstr(draw(&d, 1, 2, &m),
               "|   ! timeout: 0123456789 0123456789 0123456789           |\n"
               "                    |     0123456789 0123456789 0123456789 end                |\n"),
        "%s", d.out.bytes);
    explain_text_free(&d.out);
}

/* As two programs do that share an address. */
Test(ladder, an_address_that_speaks_with_itself)
{
    struct drawing d;
    struct explain_meaning m = words("hello");
    begin(&d);
    cr_expect_not_null(strstr(draw(&d, 1, 1, &m), "|  hello\n"), "%s", d.out.bytes);
    explain_text_free(&d.out);
}

Test(ladder, beyond_its_lanes_packets_are_told_of_without_an_arrow)
{
    struct drawing d;
    struct explain_meaning m = words("hello");
    begin(&d);
    for (uint8_t to = 2; to <= EXPLAIN_LADDER_LANES; to++)
        draw(&d, 1, to, &m);
    cr_expect_not_null(strchr(draw(&d, 1, EXPLAIN_LADDER_LANES, &m), '>'));
    draw(&d, 1, EXPLAIN_LADDER_LANES + 1, &m);
    cr_expect_null(strchr(d.out.bytes, '>'));
    cr_expect_not_null(strstr(d.out.bytes, "hello"));
    explain_text_free(&d.out);
}
