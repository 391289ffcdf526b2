/* SPDX-License-Identifier: BSD-2-Clause */
/* Which silences are timeouts, and their evidence. Each story is told here: the length of the sender's timer
 * is the test's. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "explain/flow/again/timer.h"
#include "test/explain/story.h"

#define AGREED_NS (UINT64_C(4096) << 14) /* 67.1 ms */

/* The cause that the last packet was sent again for; NULL: none was told. */
static const struct explain_why *why_again(const struct story *s)
{
    for (unsigned i = 0; i < s->m.remark_count; i++)
        if (s->m.remarks[i].kind == EXPLAIN_FIND_RETRANSMISSION ||
            s->m.remarks[i].kind == EXPLAIN_FIND_READ_REPLAY)
            return &s->m.remarks[i].why;
    return NULL;
}

/* Answers to two READs come at once, 3.7 ms after the sender's newest request; one of them never comes to it,
 * behind the capture, so that the next one makes it ask again. */
static void skip_an_answer(struct story *s, uint32_t psn)
{
    story_request(s, ROCE_OP_READ_REQUEST, psn, 0, 4 * 256);
    story_request(s, ROCE_OP_READ_REQUEST, psn + 4, 0, 4 * 256);
    s->time_ns += 3700 * NS_PER_US;
    for (uint32_t i = 0; i < 8; i++)
        story_answer(s,
                     i % 4 == 0   ? ROCE_OP_READ_RESP_FIRST
                     : i % 4 == 3 ? ROCE_OP_READ_RESP_LAST
                                  : ROCE_OP_READ_RESP_MIDDLE,
                     psn + i, ROCE_SYNDROME_ACK_UNLIMITED, 5, 256);
    story_request(s, ROCE_OP_READ_REQUEST, psn + 1, 0, 3 * 256);
}

/* covers: ROCE-RC-41 */
Test(timer, ROCE_RC_41_a_silence_is_no_timeout_by_itself)
{
    struct story s;
    struct explain_finding left[4];
    story_begin_calm(&s);
    for (uint32_t psn = 10; psn < 34; psn += 8) {
        skip_an_answer(&s, psn);
        cr_assert_not_null(why_again(&s));
        cr_expect_not(story_has(&s, EXPLAIN_FIND_TIMEOUT), "PSN %u", psn);
        cr_expect_eq(why_again(&s)->sure, EXPLAIN_SURE_UNKNOWN);
        cr_expect_eq(why_again(&s)->candidate[0], EXPLAIN_CAUSE_TIMEOUT);
        cr_expect_eq(why_again(&s)->candidate[1], EXPLAIN_CAUSE_IMPLIED_NAK, "what it was");
    }
    cr_expect_eq(explain_analysis_end(s.analysis, left, 4), 0);
    cr_expect_eq(explain_analysis_flow(s.analysis, 1)->timeout_ns[0], 0, "nothing is learned from it");
    story_end(&s);
}

/* Nobody said anything for 3.7 ms: nothing but the timer can have prompted the sender. */
Test(timer, ROCE_RC_41_a_silence_without_any_answer_likely_is)
{
    struct story s;
    story_begin_calm(&s);
    story_send(&s, 10);
    s.time_ns += 3700 * NS_PER_US;
    story_send(&s, 10);
    cr_assert(story_has(&s, EXPLAIN_FIND_TIMEOUT));
    cr_expect_eq(why_again(&s)->sure, EXPLAIN_SURE_LIKELY);
    story_end(&s);
}

/* A sender of which nothing but the terms is known, and to which an answer came just now. */
struct listener {
    struct explain_half half;
    struct explain_recovery recovery;
};

static enum explain_fit fit(struct listener *l, uint64_t ns)
{
    const uint64_t now_ns = 1000 * NS_PER_S;
    l->half.recovery = &l->recovery;
    l->half.acks.newest_ns = now_ns - 10 * NS_PER_US;
    return explain_timer_fit(&l->half, ns, now_ns);
}

/* covers: ROCE-CM-33 */
Test(timer, ROCE_CM_33_the_req_says_which_silences_may_be_timeouts)
{
    struct listener l = {.half.timer = {.agreed_ns = AGREED_NS, .agreed_number = 1}};
    struct explain_weather weather = {0};
    struct explain_verdict verdict = {0};
    l.half.weather = &weather;
    cr_expect_eq(explain_timeout_of_code(14), AGREED_NS);
    cr_expect_eq(fit(&l, AGREED_NS / 2), EXPLAIN_FIT_NOT);
    cr_expect_eq(fit(&l, AGREED_NS), EXPLAIN_FIT_WELL);
    cr_expect_eq(fit(&l, 4 * AGREED_NS), EXPLAIN_FIT_WELL, "at most four times as late");
    cr_expect_eq(fit(&l, 5 * AGREED_NS), EXPLAIN_FIT_DOUBT);
    cr_assert(explain_witness_timer(
        &(struct explain_case){.half = &l.half, .silence_ns = 2 * AGREED_NS, .now_ns = 1000 * NS_PER_S},
        &verdict));
    cr_expect_eq(verdict.fit, EXPLAIN_FIT_WELL);
    cr_expect_eq(verdict.strength, EXPLAIN_STRENGTH_LIKELY, "a REQ alone does not show it");
    cr_expect_eq(verdict.why.cause, EXPLAIN_CAUSE_TIMEOUT);
    cr_assert_eq(verdict.why.evidence_count, 1);
    cr_expect_eq(verdict.why.evidence[0].number, 1);
    for (unsigned i = 0; i < EXPLAIN_SILENCES_SHOW; i++)
        explain_silences_learn(&l.recovery.silences, AGREED_NS / 4);
    cr_expect_eq(fit(&l, AGREED_NS / 4), EXPLAIN_FIT_WELL, "the program has set another timeout");
}

Test(timer, ROCE_RC_41_other_flows_of_a_host_show_its_timeout)
{
    const struct nornic_addr a = nornic_addr_from_v4((const uint8_t[]){10, 0, 0, 1}),
                             b = nornic_addr_from_v4((const uint8_t[]){10, 0, 0, 2});
    struct explain_timers timers = {0};
    cr_expect_null(explain_timers_find(&timers, &a, 1));
    explain_timers_note(
        &timers, &(struct explain_host_timer){.addr = a, .ns = STORY_TIMEOUT_NS, .number = 7, .flow = 1});
    cr_expect_null(explain_timers_find(&timers, &b, 2));
    cr_expect_null(explain_timers_find(&timers, &a, 1), "it is no other flow than itself");
    explain_timers_note(
        &timers, &(struct explain_host_timer){.addr = a, .ns = STORY_TIMEOUT_NS + 1, .number = 9, .flow = 2});
    cr_expect_null(explain_timers_find(&timers, &a, 1), "which may rest on the first");
    const struct explain_host_timer *host = explain_timers_find(&timers, &a, 2);
    cr_assert_not_null(host);
    cr_expect_eq(host->number, 7);
    struct listener l = {.half.timer = {.host_ns = host->ns, .host_number = host->number}}, none = {0};
    cr_expect_eq(fit(&none, STORY_TIMEOUT_NS + NS_PER_MS), EXPLAIN_FIT_DOUBT);
    cr_expect_eq(fit(&l, STORY_TIMEOUT_NS + NS_PER_MS), EXPLAIN_FIT_WELL);
    cr_expect_eq(fit(&l, STORY_TIMEOUT_NS / 2), EXPLAIN_FIT_DOUBT);
}

/* While the sender waits its timer stands (ROCE-RC-48): the RNR NAK and its time are reason enough. */
Test(timer, ROCE_RC_48_behind_the_wait_of_an_rnr_nak_there_is_no_timer)
{
    struct story s;
    story_begin_calm(&s);
    story_send(&s, 10);
    story_answer(&s, ROCE_OP_ACK, 10, ROCE_SYN_RNR << 5 | 20, 4, 0); /* 10.24 ms */
    s.time_ns += 13 * NS_PER_MS;
    story_send(&s, 10);
    cr_assert_not_null(why_again(&s));
    cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_RNR);
    cr_expect_eq(why_again(&s)->or_cause, EXPLAIN_CAUSE_NONE);
    story_end(&s);
}

/* Sent again 0.3 ms after the first copy, and each time 136 ms after the request before that, which was
 * answered at once: 4.096 us * 2^15, and the lateness of a system's timer. */
Test(timer, a_timer_that_no_answer_stops_has_words_of_its_own)
{
    struct story s;
    story_begin_calm(&s);
    for (uint32_t psn = 10; psn < 16; psn += 2) {
        story_send(&s, psn);
        story_ack(&s, psn, psn - 5);
        s.time_ns += 135700 * NS_PER_US;
        story_send(&s, psn + 1);
        s.time_ns += 300 * NS_PER_US;
        story_send(&s, psn + 1);
        cr_assert_not_null(why_again(&s));
        if (psn == 10) {
            cr_expect_eq(why_again(&s)->sure, EXPLAIN_SURE_UNKNOWN, "once is chance");
        } else {
            cr_expect_eq(why_again(&s)->cause, EXPLAIN_CAUSE_STALE_TIMER);
            cr_expect_eq(why_again(&s)->or_cause, EXPLAIN_CAUSE_TIMEOUT, "the sender's own, of 0.3 ms");
            cr_expect_eq(why_again(&s)->sure, EXPLAIN_SURE_LIKELY);
            cr_expect_not_null(strstr(s.m.words, "a timer that an answer should have stopped: #"));
        }
        cr_expect_not(story_has(&s, EXPLAIN_FIND_TIMEOUT));
        story_ack(&s, psn + 1, psn - 4);
    }
    story_end(&s);
}
