/* SPDX-License-Identifier: BSD-2-Clause */
/* Packets as lines of text. What the lines say of real captures, pcaps/golden holds. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/show/line.h"

static void expect_time(uint64_t epoch_ns, uint64_t time_ns, const char *text)
{
    struct explain_text out = {0};
    explain_line_time(&out, time_ns, &(struct explain_line_style){.epoch_ns = epoch_ns});
    cr_expect_str_eq(out.bytes, text);
    explain_text_free(&out);
}

Test(line, times_are_seconds_to_the_microsecond)
{
    expect_time(0, 0, "   0.000000");
    expect_time(5 * NS_PER_S, 5 * NS_PER_S + 1203999, "   0.001203");
    expect_time(1, 1 + 12345 * NS_PER_S, "12345.000000");
}

/* Records of a capture may stand in any order, and clocks are set back. */
Test(line, what_was_recorded_before_the_first_packet_has_a_minus)
{
    expect_time(5 * NS_PER_S, 5 * NS_PER_S - 1 * NS_PER_US, "  -0.000001");
    expect_time(1000 * NS_PER_S, 2 * NS_PER_S - 302470 * NS_PER_US, "-998.302470");
}

/* A packet that is no RoCE, recorded before the first one, with a remark of each severity. */
static void put_line(struct explain_text *out, bool colour)
{
    struct explain_packet p = {.number = 2, .time_ns = 999 * NS_PER_MS, .kind = EXPLAIN_OTHER};
    struct explain_meaning m = {
        .remark_count = 3,
        .remarks = {{.kind = EXPLAIN_FIND_ECN_MARK, .words = "a note"},
                    {.kind = EXPLAIN_FIND_RNR, .words = "a warning", .rule = "ROCE-RS-11"},
                    {.kind = EXPLAIN_FIND_MALFORMED, .words = "a violation"}}};
    explain_line(out, &p, &m, &(struct explain_line_style){.colour = colour, .epoch_ns = NS_PER_S});
}

Test(line, notes_stay_unsaid_and_the_rest_stands_below_with_its_rule)
{
    struct explain_text out = {0};
    put_line(&out, false);
    cr_expect_str_eq(out.bytes, "    2   -0.001000  a frame that is not read (0 bytes)\n"
                                "      rnr: a warning (ROCE-RS-11)\n"
                                "      malformed: a violation\n");
    explain_text_free(&out);
}

Test(line, the_colour_is_that_of_the_worst_and_ends_with_each_line)
{
    struct explain_text out = {0};
    put_line(&out, true);
    unsigned red = 0, plain = 0;
    for (const char *at = out.bytes; (at = strstr(at, "\033[31m")); at++)
        red++;
    for (const char *at = out.bytes; (at = strstr(at, "\033[0m")); at++)
        plain++;
    cr_expect_eq(red, 3);
    cr_expect_eq(plain, 3);
    explain_text_free(&out);
}
