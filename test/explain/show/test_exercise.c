/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "explain/show/exercise.h"

/* Every exercise has all its parts, none cut, and says how its answer is found. */
Test(exercise, each_is_whole)
{
    struct explain_exercise e;
    unsigned count = 0;
    for (const char *place = NULL; explain_exercise_next(&place, &e); count++) {
        struct nornic_error why;
        cr_expect(strchr(e.name, '-') && e.name[0] && strlen(e.name) < sizeof e.name - 1, "%s", e.name);
        cr_expect(strstr(e.capture, ".pcap"), "%s: %s", e.name, e.capture);
        cr_expect(e.ask[0] && strlen(e.ask) < sizeof e.ask - 1, "%s: %s", e.name, e.ask);
        cr_expect(e.hint[0] && strlen(e.hint) < sizeof e.hint - 1, "%s: %s", e.name, e.hint);
        cr_expect(e.because[0] && strlen(e.because) < sizeof e.because - 1, "%s: %s", e.name, e.because);
        struct explain_answer *answer = explain_answer_parse(e.answer, &why);
        cr_expect(answer, "%s: %s", e.name, why.text);
        explain_answer_free(answer);
    }
    cr_expect_geq(count, 30);
}

Test(exercise, what_is_no_way_to_an_answer_is_refused)
{
    static const char *const specs[] = {"",
                                        "packet",
                                        "packets",
                                        "frob n == 1",
                                        "packet frob == 1",
                                        "field bth.psn n == 1",
                                        "field bth of n == 1",
                                        "field bth.frob of n == 1",
                                        "field ip6.src of n == 1",
                                        "time n == 1",
                                        "time n == 1 then",
                                        "time n == 1 then frob",
                                        "time frob then n == 1"};
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct nornic_error why = {0};
        cr_expect_null(explain_answer_parse(specs[i], &why), "%s", specs[i]);
        cr_expect(why.text[0], "%s", specs[i]);
    }
}

/* Packets 1 to 9, one a millisecond; those of `flow` match. */
static struct explain_answer *answer_of(const char *spec)
{
    struct nornic_error why;
    struct explain_answer *answer = explain_answer_parse(spec, &why);
    cr_assert(answer, "%s", why.text);
    for (uint64_t n = 1; n <= 9; n++) {
        struct explain_packet p = {.number = n, .time_ns = n * 1000000};
        struct explain_meaning m = {.flow = n % 3 == 0};
        explain_answer_packet(answer, &p, &m);
    }
    return answer;
}

static void expect(const char *spec, const char *text, const char *right, const char *wrong)
{
    struct explain_answer *answer = answer_of(spec);
    struct explain_text out = {0};
    cr_expect(explain_answer_is_found(answer));
    explain_answer_text(answer, &out);
    cr_expect_str_eq(out.bytes, text);
    cr_expect(explain_answer_is_right(answer, text), "%s: %s", spec, text);
    cr_expect(explain_answer_is_right(answer, right), "%s: %s", spec, right);
    cr_expect(!explain_answer_is_right(answer, wrong), "%s: %s", spec, wrong);
    cr_expect(!explain_answer_is_right(answer, ""), "%s", spec);
    explain_text_free(&out);
    explain_answer_free(answer);
}

Test(exercise, each_form_has_its_answer)
{
    expect("packet flow == 1", "3", " #3 ", "3 6");
    expect("packets flow == 1", "3 6 9", "9,#6, 3", "3 6 6");
    expect("packets flow == 1", "3 6 9", "0x9 6 3", "3 6 9 12");
    expect("count flow == 1", "3", "0x3", "3x");
    expect("count flow == 7", "0", "0", "1");
    expect("count flow == 1", "3", "3 packets", "3 ms");
    expect("count n <= 8", "8", "08", "010");
    expect("packet n == 8", "8", "#8 ", "8 7");
    expect("count n <= 8", "8", "8 bytes\n", "8 KiB");
    expect("count n <= 8", "8", "8", "8 packets more");
    expect("time flow == 1 then flow == 1", "3 ms", "3.1", "3 s");
    expect("time n == 2 then n == 9", "7 ms", "6.7 ms", "6.6 ms");
    expect("time n == 2 then n == 9", "7 ms", "7000 us", "7 us");
    expect("time n == 2 then n == 9", "7 ms", " 0.007 S ", "7 msx");
}

Test(exercise, a_capture_may_have_no_answer)
{
    static const char *const specs[] = {"packet flow == 7", "packets flow == 7", "field bth.psn of n == 1",
                                        "time n == 9 then n == 2"};
    for (unsigned i = 0; i < sizeof specs / sizeof *specs; i++) {
        struct explain_answer *answer = answer_of(specs[i]);
        cr_expect(!explain_answer_is_found(answer), "%s", specs[i]);
        cr_expect(!explain_answer_is_right(answer, "0"), "%s", specs[i]);
        explain_answer_free(answer);
    }
}
