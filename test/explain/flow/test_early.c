/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers that stand before what they answer: in captures in which nothing was lost, whose records are put
 * into another order here, and in stories. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "test/explain/skew.h"
#include "test/explain/story.h"

/* Clean captures of real peers: nothing was sent again, nothing is missing. */
static const char *const clean[] = {"rc_send_1024", "rc_write_1024", "rc_read_1024", "rc_atomic", "rc_long"};

static unsigned count_all(const struct skew_result *r)
{
    unsigned n = 0;
    for (unsigned kind = 0; kind < EXPLAIN_FINDING_COUNT; kind++)
        n += r->findings[kind];
    return n;
}

Test(early, clocks_that_differ_are_said_once_and_nothing_rests_on_them)
{
    for (unsigned i = 0; i < array_len(clean); i++)
        for (uint64_t ahead_ms = 5; ahead_ms <= 20; ahead_ms *= 4) {
            struct skew_result r = skew_explain(clean[i], ahead_ms * NS_PER_MS);
            cr_expect_eq(r.findings[EXPLAIN_FIND_CLOCKS], 1, "%s", clean[i]);
            cr_expect_eq(count_all(&r), 1, "%s %u ms: and nothing else: %u, %u", clean[i], (unsigned)ahead_ms,
                         r.findings[EXPLAIN_FIND_GHOST_ACK], r.findings[EXPLAIN_FIND_MISSING_ACK]);
            cr_expect_gt(r.flow.skew_ns, 0, "%s", clean[i]);
            cr_expect_leq(r.flow.skew_ns, ahead_ms * NS_PER_MS, "an answer takes its time: %s", clean[i]);
            cr_expect_eq(r.flow.rtt_ns[0], 0);
            cr_expect_eq(r.flow.rtt_ns[1], 0);
        }
}

Test(early, clocks_that_agree_are_not_said_to_differ)
{
    for (unsigned i = 0; i < array_len(clean); i++) {
        struct skew_result r = skew_explain(clean[i], 0);
        cr_expect_eq(count_all(&r), 0, "%s", clean[i]);
        cr_expect_eq(r.flow.skew_ns, 0);
        cr_expect_gt(r.flow.rtt_ns[0] + r.flow.rtt_ns[1], 0);
    }
}

/* #52 of rc_send_1024 is the ACK of #51. */
Test(early, two_records_that_changed_places_are_no_clock)
{
    struct skew_result r = skew_swap("rc_send_1024", 52);
    cr_expect_eq(r.findings[EXPLAIN_FIND_CLOCKS], count_all(&r), "nothing else is found");
    cr_expect_leq(r.findings[EXPLAIN_FIND_CLOCKS], 1);
    cr_expect_eq(r.flow.skew_ns, 0);
}

/* covers: ROCE-RC-30 */
Test(early, ROCE_RC_30_an_answer_to_what_was_never_sent_moves_nothing)
{
    struct story s;
    struct explain_finding left[4];
    story_begin(&s);
    story_send(&s, 10);
    story_ack(&s, 10, 1);
    story_send(&s, 11);
    story_ack(&s, 0x2000, 2);
    for (uint32_t psn = 11; psn < 20; psn++) {
        story_ack(&s, psn, psn - 9);
        cr_expect_null(strstr(s.m.words, "again"), "%s", s.m.words);
        cr_expect_eq(s.m.answers, s.number - (psn == 11 ? 2 : 1));
        story_send(&s, psn + 1);
    }
    story_ack(&s, 20, 11);
    cr_assert_eq(explain_analysis_end(s.analysis, left, 4), 1);
    cr_expect_eq(left[0].kind, EXPLAIN_FIND_GHOST_ACK);
    cr_expect_eq(left[0].number, 4);
    cr_expect_eq(left[0].why.cause, EXPLAIN_CAUSE_UNKNOWN, "its sender went on below it: nothing was missed");
    story_end(&s);
}

/* One fact, one finding. */
Test(early, what_was_answered_before_it_was_missed_is_one_finding)
{
    struct story s;
    story_begin(&s);
    story_send(&s, 10);
    story_ack(&s, 10, 1);
    story_ack(&s, 11, 2);
    cr_expect_eq(s.m.remark_count, 0, "it may come yet");
    story_send(&s, 12);
    cr_assert_eq(s.m.remark_count, 1);
    cr_expect_eq(s.m.remarks[0].kind, EXPLAIN_FIND_CAPTURE_GAP);
    cr_expect_eq(s.m.remarks[0].why.cause, EXPLAIN_CAUSE_CAPTURE_DROPPED);
    story_ack(&s, 12, 3);
    cr_expect_eq(s.m.remark_count, 0);
    cr_expect_eq(story_count_at_end(&s, EXPLAIN_FIND_GHOST_ACK), 0);
    story_end(&s);
}

/* The capture missed the first copy, and its answer was lost behind it: no clock. */
Test(early, what_comes_again_behind_its_answer_is_no_clock)
{
    struct story s;
    story_begin(&s);
    story_send(&s, 10);
    story_ack(&s, 10, 1);
    story_ack(&s, 11, 2);
    s.time_ns += 67 * NS_PER_MS;
    story_send(&s, 11);
    cr_expect_eq(s.m.remark_count, 0);
    story_ack(&s, 11, 2);
    cr_expect_eq(explain_analysis_flow(s.analysis, 1)->skew_ns, 0);
    cr_expect_eq(story_count_at_end(&s, EXPLAIN_FIND_GHOST_ACK), 0, "it was sent");
    story_end(&s);
}

/* Requests that all stand behind their answers, `lead_ns` later; returns what the first remark says. */
static uint64_t skew_of_leads(uint64_t lead_ns, char *words, size_t size)
{
    struct story s;
    words[0] = '\0';
    story_begin(&s);
    story_send(&s, 10);
    story_ack(&s, 10, 1);
    for (uint32_t psn = 11; psn < 20; psn++) {
        story_ack(&s, psn, psn - 9);
        s.time_ns = s.p.time_ns + lead_ns;
        story_send(&s, psn);
        if (!words[0] && s.m.remark_count)
            snprintf(words, size, "%s", s.m.remarks[0].words);
    }
    uint64_t skew_ns = explain_analysis_flow(s.analysis, 1)->skew_ns;
    story_end(&s);
    return skew_ns;
}

#define LEAD_NS (5 * NS_PER_MS)

/* Four requests, of which the last `leads` stand behind their answers; the flow's skew. */
static uint64_t skew_of_hosts(struct story *s, uint8_t net, uint32_t leads, uint32_t flow)
{
    s->net = net;
    for (uint32_t psn = 10; psn < 14; psn++) {
        bool is_lead = psn >= 14 - leads;
        if (!is_lead)
            story_send(s, psn);
        story_ack(s, psn, psn - 9);
        s->time_ns += is_lead ? LEAD_NS : 0;
        if (is_lead)
            story_send(s, psn);
    }
    return explain_analysis_flow(s->analysis, flow)->skew_ns;
}

/* A capture that was put together of two has the packets of some hosts by one clock, of others by two. */
Test(early, clocks_are_those_of_two_hosts_and_not_of_the_capture)
{
    struct story s;
    story_begin(&s);
    cr_expect_gt(skew_of_hosts(&s, 0, 3, 1), 0);
    cr_expect_eq(skew_of_hosts(&s, 1, 1, 2), 0);
    story_end(&s);
}

Test(early, at_the_same_time_the_order_of_records_is_no_clock)
{
    char words[256];
    cr_expect_eq(skew_of_leads(0, words, sizeof words), 0);
    cr_expect_str_eq(words, "");
    cr_expect_eq(skew_of_leads(20 * NS_PER_US, words, sizeof words), 20 * NS_PER_US);
    cr_expect_not_null(strstr(words, "by 20.0 us"), "%s", words);
}

/* The path MTU is not known when the last of the answers to a READ comes, which others overtook: it answers
 * that READ all the same, as the next shows. */
Test(early, an_answer_to_a_read_that_was_thought_to_be_shorter_is_no_ghost)
{
    struct story s;
    story_begin(&s);
    story_request(&s, ROCE_OP_READ_REQUEST, 10, 0, 1411);
    story_answer(&s, ROCE_OP_READ_RESP_LAST, 15, ROCE_SYNDROME_ACK_UNLIMITED, 1, 131);
    story_answer(&s, ROCE_OP_READ_RESP_FIRST, 10, ROCE_SYNDROME_ACK_UNLIMITED, 1, 256);
    story_request(&s, ROCE_OP_SEND_ONLY, 16, 8, 0);
    story_ack(&s, 16, 2);
    cr_expect_eq(story_count_at_end(&s, EXPLAIN_FIND_GHOST_ACK), 0);
    story_end(&s);
}
