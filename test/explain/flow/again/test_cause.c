/* SPDX-License-Identifier: BSD-2-Clause */
/* Why packets come again, and how sure that is. Each story is told here, so that what is true of it is known
 * without the analysis: the clock, the identifications and the MSNs are set by the test. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/flow/half/weather.h"
#include "test/explain/story.h"

static void expect_cause(const struct story *s, enum explain_finding_kind kind, enum explain_cause cause,
                         enum explain_sure sure)
{
    const struct explain_finding *f = story_finding(s, kind);
    cr_expect_str_eq(explain_cause_key(f->why.cause), explain_cause_key(cause), "#%u %s", (unsigned)s->number,
                     s->m.words);
    cr_expect_str_eq(explain_sure_key(f->why.sure), explain_sure_key(sure), "#%u %s", (unsigned)s->number,
                     s->m.words);
}

/* --- the timer --- */

/* covers: ROCE-RC-41 */
Test(cause, ROCE_RC_41_a_timeout_needs_a_silence)
{
    struct story s;
    story_begin_calm(&s);
    story_send(&s, 10);
    s.time_ns += 300 * NS_PER_US;
    story_send(&s, 10);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_TIMEOUT), "after 0.3 ms no timer fires");
    expect_cause(&s, EXPLAIN_FIND_RETRANSMISSION, EXPLAIN_CAUSE_UNKNOWN, EXPLAIN_SURE_UNKNOWN);
    story_end(&s);
}

Test(cause, ROCE_RC_41_silences_that_are_alike_show_the_timeout)
{
    struct story s;
    story_begin_calm(&s);
    for (uint32_t psn = 10; psn < 14; psn++) {
        story_send(&s, psn);
        s.time_ns += STORY_TIMEOUT_NS;
        story_send(&s, psn);
        expect_cause(&s, EXPLAIN_FIND_TIMEOUT, EXPLAIN_CAUSE_TIMEOUT,
                     psn < 12 ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_SHOWN);
        story_ack(&s, psn, psn - 5);
    }
    const struct explain_flow *flow = explain_analysis_flow(s.analysis, 1);
    struct explain_finding left[4];
    cr_expect_eq(explain_analysis_end(s.analysis, left, 4), 0);
    cr_expect_eq(flow->timeout_samples[0], 4);
    cr_expect_leq(flow->timeout_ns[0] - STORY_TIMEOUT_NS, NS_PER_MS);
    story_end(&s);
}

/* PSNs 10 and 11, a NAK for the first, and both again. */
static void return_for_a_nak(struct story *s)
{
    story_begin_calm(s);
    story_send(s, 10);
    story_send(s, 11);
    story_answer(s, ROCE_OP_ACK, 10, ROCE_SYNDROME_NAK_PSN_SEQ, 4, 0);
    story_send(s, 10);
    cr_expect_eq(story_finding(s, EXPLAIN_FIND_RETRANSMISSION)->why.cause, EXPLAIN_CAUSE_NAK_SEQUENCE);
    story_send(s, 11);
}

/* What a NAK asked for has come: a copy of it, 67 ms later, the timer sent. */
Test(cause, ROCE_RC_42_a_nak_explains_one_return_and_is_over)
{
    struct story s;
    return_for_a_nak(&s);
    cr_expect_eq(story_finding(&s, EXPLAIN_FIND_RETRANSMISSION)->why.cause, EXPLAIN_CAUSE_RESTART);
    cr_expect_eq(story_finding(&s, EXPLAIN_FIND_RETRANSMISSION)->why.behind, s.number - 1);
    s.time_ns += STORY_TIMEOUT_NS;
    story_send(&s, 10);
    expect_cause(&s, EXPLAIN_FIND_RETRANSMISSION, EXPLAIN_CAUSE_TIMEOUT, EXPLAIN_SURE_LIKELY);
    story_end(&s);
}

/* Once more at once, though nobody has asked again: it was not that NAK. */
Test(cause, ROCE_RC_42_a_nak_that_was_followed_explains_no_second_return)
{
    struct story s;
    return_for_a_nak(&s);
    s.time_ns += 100 * NS_PER_US;
    story_send(&s, 10);
    cr_assert_gt(s.m.remark_count, 0);
    for (unsigned i = 0; i < s.m.remark_count; i++)
        cr_expect_neq(s.m.remarks[i].why.cause, EXPLAIN_CAUSE_NAK_SEQUENCE, "%s", s.m.words);
    story_end(&s);
}

/* covers: ROCE-RC-34 */
Test(cause, ROCE_RC_34_an_answer_that_skips_another_is_an_implied_nak)
{
    struct story s;
    story_begin_calm(&s);
    story_request(&s, ROCE_OP_FETCH_ADD, 10, 0, 0);
    story_send(&s, 11);
    story_ack(&s, 11, 6);
    story_request(&s, ROCE_OP_FETCH_ADD, 10, 0, 0);
    expect_cause(&s, EXPLAIN_FIND_RETRANSMISSION, EXPLAIN_CAUSE_IMPLIED_NAK, EXPLAIN_SURE_LIKELY);
    cr_expect_eq(story_finding(&s, EXPLAIN_FIND_RETRANSMISSION)->why.way, EXPLAIN_CAUSE_ANSWER_LOST);
    story_end(&s);
}

/* Of a sender that was never seen to answer a NAK: PSN 11 comes 10 us behind the NAK that asks for it, and
 * may be the first copy, which was late. */
Test(cause, what_comes_for_the_first_time_behind_a_nak_may_be_late)
{
    struct story s;
    story_begin(&s);
    s.has_id = true; /* a sender that does not count: all have one identification */
    story_send(&s, 10);
    story_send(&s, 12);
    story_answer(&s, ROCE_OP_ACK, 11, ROCE_SYNDROME_NAK_PSN_SEQ, 1, 0);
    story_send(&s, 11);
    const struct explain_why *why = &story_finding(&s, EXPLAIN_FIND_RETRANSMISSION)->why;
    cr_expect_eq(why->cause, EXPLAIN_CAUSE_UNKNOWN);
    cr_expect_eq(why->candidate[0], EXPLAIN_CAUSE_NAK_SEQUENCE);
    cr_expect_eq(why->candidate[1], EXPLAIN_CAUSE_OVERTAKEN);
    cr_expect(strstr(s.m.words, "sent again or overtaken"), "%s", s.m.words);
    story_end(&s);
}

/* The same of one that answers what it is asked in 10 us: so soon it sends again what a NAK asks for. */
Test(cause, what_comes_as_soon_as_its_sender_answers_is_not_late)
{
    struct story s;
    story_begin(&s);
    s.has_id = true;
    for (uint32_t psn = 100; psn < 103; psn++) {
        s.is_b_asking = true;
        story_send(&s, psn);
        story_ack(&s, psn, psn - 99);
        s.is_b_asking = false;
    }
    story_send(&s, 10);
    story_send(&s, 12);
    story_answer(&s, ROCE_OP_ACK, 11, ROCE_SYNDROME_NAK_PSN_SEQ, 1, 0);
    story_send(&s, 11);
    expect_cause(&s, EXPLAIN_FIND_RETRANSMISSION, EXPLAIN_CAUSE_NAK_SEQUENCE, EXPLAIN_SURE_LIKELY);
    story_end(&s);
}

/* The first copy is here, and damaged: what comes now is another one. */
Test(cause, what_came_damaged_before_is_not_late)
{
    struct story s;
    story_begin(&s);
    s.has_id = true;
    story_send(&s, 10);
    s.number++;
    s.time_ns += 10 * NS_PER_US;
    s.frame[s.len_bytes - 6] ^= 1; /* of the data; the PSN is that of 11 */
    s.frame[53]++;
    struct net_capture_record record = {
        .data = s.frame, .len_bytes = s.len_bytes, .wire_bytes = s.len_bytes, .time_ns = s.time_ns};
    explain_dissect(&s.p, &record, s.number);
    explain_analysis_next(s.analysis, &s.p, &s.m);
    cr_assert(story_has(&s, EXPLAIN_FIND_ICRC));
    story_send(&s, 12);
    story_answer(&s, ROCE_OP_ACK, 11, ROCE_SYNDROME_NAK_PSN_SEQ, 1, 0);
    story_send(&s, 11);
    expect_cause(&s, EXPLAIN_FIND_RETRANSMISSION, EXPLAIN_CAUSE_NAK_SEQUENCE, EXPLAIN_SURE_LIKELY);
    cr_expect_eq(story_finding(&s, EXPLAIN_FIND_RETRANSMISSION)->why.way, EXPLAIN_CAUSE_DAMAGED);
    story_end(&s);
}

/* Its timer is 67 ms, which is known of the second sender only. It goes back for a NAK, and what is next
 * comes so long after. */
Test(cause, ROCE_RC_41_behind_a_silence_as_long_as_the_timer_nothing_goes_along)
{
    for (unsigned is_known = 0; is_known < 2; is_known++) {
        struct story s;
        story_begin_calm(&s);
        for (uint32_t psn = 10; psn < 12; psn++) {
            story_send(&s, psn);
            s.time_ns += is_known ? STORY_TIMEOUT_NS : 0;
            if (is_known)
                story_send(&s, psn);
            story_ack(&s, psn, psn - 5);
        }
        story_send(&s, 12);
        story_send(&s, 13);
        story_answer(&s, ROCE_OP_ACK, 12, ROCE_SYNDROME_NAK_PSN_SEQ, 6, 0);
        story_send(&s, 12);
        s.time_ns += STORY_TIMEOUT_NS;
        story_send(&s, 13);
        expect_cause(&s, EXPLAIN_FIND_RETRANSMISSION, EXPLAIN_CAUSE_TIMEOUT, EXPLAIN_SURE_LIKELY);
        cr_expect_eq(story_finding(&s, EXPLAIN_FIND_RETRANSMISSION)->why.or_cause, EXPLAIN_CAUSE_RESTART);
        story_end(&s);
    }
}

/* covers: ROCE-INT-12 */
Test(cause, ROCE_INT_12_behind_an_rnr_nak_nothing_was_lost)
{
    struct story s;
    story_begin_calm(&s);
    story_send(&s, 10);
    story_send(&s, 11);
    story_answer(&s, ROCE_OP_ACK, 10, ROCE_SYN_RNR << 5 | 14, 4, 0);
    story_answer(&s, ROCE_OP_ACK, 10, ROCE_SYNDROME_NAK_PSN_SEQ, 4, 0);
    expect_cause(&s, EXPLAIN_FIND_NAK_SEQUENCE, EXPLAIN_CAUSE_NO_RECEIVE, EXPLAIN_SURE_SHOWN);
    s.time_ns += 2 * NS_PER_MS;
    story_send(&s, 10);
    cr_expect_eq(story_finding(&s, EXPLAIN_FIND_RETRANSMISSION)->why.cause, EXPLAIN_CAUSE_RNR);
    story_end(&s);
}

/* --- what the network did --- */

/* covers: ROCE-INT-2 */
Test(cause, ROCE_INT_2_the_identification_tells_a_late_packet_from_a_lost_one)
{
    struct story s;
    story_begin_calm(&s);
    s.has_id = true;
    s.ip_id = 200;
    story_send(&s, 10);
    s.ip_id = 202;
    story_send(&s, 12);
    s.ip_id = 201;
    story_send(&s, 11);
    expect_cause(&s, EXPLAIN_FIND_REORDERED, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_SURE_SHOWN);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_RETRANSMISSION));
    s.ip_id = 202;
    story_send(&s, 12);
    expect_cause(&s, EXPLAIN_FIND_DUPLICATE, EXPLAIN_CAUSE_UNKNOWN, EXPLAIN_SURE_UNKNOWN); /* of so few */
    story_end(&s);
}

/* A UDP socket numbers the packets of each train from 0. A capture that begins within one sees them rise, and
 * then one with a lower number, which left later. */
Test(cause, numbers_of_a_train_that_the_capture_begins_in_tell_no_order)
{
    struct story s;
    story_begin(&s);
    s.has_id = true;
    for (uint32_t i = 0; i < 100; i++) {
        s.ip_id = (uint16_t)(23 + i);
        story_send(&s, 10 + i);
    }
    s.ip_id = 0;
    story_send(&s, 107);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_REORDERED));
    cr_expect_not(story_has(&s, EXPLAIN_FIND_DUPLICATE));
    story_end(&s);
}

/* A peer that writes the same identification into each packet: its ACKs are no copies of each other. */
Test(cause, a_constant_identification_makes_no_copies)
{
    struct story s;
    story_begin(&s);
    s.has_id = true;
    s.ip_id = 77;
    for (uint32_t i = 0; i < 8; i++) {
        story_send(&s, 10 + i);
        cr_expect_eq(s.m.remark_count, 0);
        story_ack(&s, 10 + i, i + 1);
        story_ack(&s, 10 + i, i + 1);
        cr_expect_not(story_has(&s, EXPLAIN_FIND_DUPLICATE), "%s", s.m.words);
    }
    story_end(&s);
}

/* --- what is missing, and what it was --- */

Test(cause, a_last_without_its_first_is_a_piece_of_nobody_knows_what)
{
    struct story s;
    story_begin_calm(&s);
    story_request(&s, ROCE_OP_SEND_LAST, 11, 76, 0);
    cr_expect_eq(s.m.piece, 0);
    cr_expect_not_null(strstr(s.m.words, "whose beginning is not here so far"), "%s", s.m.words);
    story_answer(&s, ROCE_OP_ACK, 10, ROCE_SYNDROME_NAK_PSN_SEQ, 4, 0);
    story_request(&s, ROCE_OP_SEND_FIRST, 10, 1024, 0);
    cr_expect_eq(s.m.message, 5);
    story_request(&s, ROCE_OP_SEND_LAST, 11, 76, 0);
    cr_expect_eq(s.m.message, 5);
    cr_expect_eq(s.m.piece, 2);
    cr_expect_eq(s.m.bytes_done, 1100);
    story_send(&s, 12);
    cr_expect_eq(s.m.message, 6);
    story_end(&s);
}

/* covers: ROCE-RS-50 */
Test(cause, ROCE_RS_50_the_msn_counts_the_messages_that_the_capture_missed)
{
    struct story s;
    story_begin_calm(&s);
    story_send(&s, 13); /* 10, 11 and 12 are not in the capture */
    story_ack(&s, 13, 8);
    expect_cause(&s, EXPLAIN_FIND_CAPTURE_GAP, EXPLAIN_CAUSE_CAPTURE_DROPPED, EXPLAIN_SURE_SHOWN);
    cr_expect_eq(story_finding(&s, EXPLAIN_FIND_CAPTURE_GAP)->why.msn, 8);
    story_send(&s, 14);
    cr_expect_eq(s.m.message, 9);
    cr_expect_eq(explain_analysis_flow(s.analysis, 1)->messages[0], 9);
    story_end(&s);
}

Test(cause, a_qpn_that_is_used_again_is_another_flow)
{
    struct story s;
    story_begin_calm(&s);
    for (uint32_t i = 0; i < 4; i++) {
        story_send(&s, 0x800000 + i);
        cr_expect_eq(s.m.remark_count, 0, "%s", s.m.remarks[0].words);
        cr_expect_eq(s.m.message, i + 1);
        story_ack(&s, 0x800000 + i, i + 1);
        cr_expect_eq(s.m.remark_count, 0, "%s", s.m.remarks[0].words);
        cr_expect_eq(s.m.flow, 2);
    }
    cr_expect_eq(explain_analysis_flow_count(s.analysis), 2);
    cr_expect_eq(explain_analysis_flow(s.analysis, 2)->earlier, 1);
    story_end(&s);
}

/* A request that its responder does not know takes its PSN as any other: the NAK is for it.
 * covers: ROCE-INT-17 */
Test(cause, ROCE_INT_17_a_reserved_opcode_is_a_request_that_is_refused)
{
    struct story s;
    story_begin_calm(&s);
    story_send(&s, 10);
    story_request(&s, 0x18, 11, 8, 0);
    uint64_t request = s.number;
    cr_expect_str_eq(s.m.words, "request with the reserved opcode 0x18, message 6, 8 bytes");
    story_answer(&s, ROCE_OP_ACK, 11, ROCE_SYNDROME_NAK_INV_REQ, 5, 0);
    cr_expect_eq(s.m.answers, request);
    cr_expect(story_has(&s, EXPLAIN_FIND_NAK_FATAL));
    cr_expect_not(story_has(&s, EXPLAIN_FIND_GHOST_ACK), "it was sent");
    story_end(&s);
}

Test(cause, a_reserved_opcode_leaves_no_gap_and_no_end_of_a_message)
{
    struct story s;
    story_begin_calm(&s);
    story_request(&s, 0x18, 10, 8, 0);
    story_send(&s, 11);
    cr_expect_eq(s.m.remark_count, 0, "%s", s.m.remarks[0].words);
    cr_expect_eq(s.m.message, 6);
    s.time_ns += STORY_TIMEOUT_NS;
    story_request(&s, 0x18, 10, 8, 0);
    cr_expect(story_has(&s, EXPLAIN_FIND_RETRANSMISSION));
    cr_expect_not_null(strstr(s.m.words, "reserved opcode 0x18, message 5"), "%s", s.m.words);
    story_end(&s);
}

/* --- lost, or late --- */

/* A NAK asks for `psn`, and the sender goes back to it; the answer comes `after_ns` later. */
static void go_back_to(struct story *s, uint32_t psn, uint64_t after_ns)
{
    story_send(s, psn);
    story_send(s, psn + 1);
    s->time_ns += NS_PER_MS;
    story_answer(s, ROCE_OP_ACK, psn, ROCE_SYNDROME_NAK_PSN_SEQ, psn - 6, 0);
    story_send(s, psn);
    story_send(s, psn + 1);
    s->time_ns += after_ns;
    story_ack(s, psn + 1, psn - 4);
}

/* A request and its answer, `ns` later: how long the way to the other end and back takes. */
static void measure_trip(struct story *s, uint32_t psn, uint64_t ns)
{
    story_send(s, psn);
    s->time_ns += ns;
    story_ack(s, psn, psn - 5);
}

/* As story_begin_calm(), with round trips of a millisecond. */
static void begin_slow(struct story *s)
{
    story_begin(s);
    for (uint32_t psn = 6; psn < 11; psn++)
        measure_trip(s, psn, NS_PER_MS);
}

static void expect_candidates(const struct story *s, enum explain_finding_kind kind, enum explain_cause one,
                              enum explain_cause other)
{
    const struct explain_finding *f = story_finding(s, kind);
    expect_cause(s, kind, EXPLAIN_CAUSE_UNKNOWN, EXPLAIN_SURE_UNKNOWN);
    cr_expect_str_eq(explain_cause_key(f->why.candidate[0]), explain_cause_key(one));
    cr_expect_str_eq(explain_cause_key(f->why.candidate[1]), explain_cause_key(other));
}

Test(cause, a_missing_packet_is_lost_or_overtaken_until_something_tells)
{
    struct story s;
    story_begin_calm(&s);
    story_send(&s, 10);
    story_send(&s, 12);
    expect_candidates(&s, EXPLAIN_FIND_PSN_GAP, EXPLAIN_CAUSE_LOST_BEFORE, EXPLAIN_CAUSE_OVERTAKEN);
    story_answer(&s, ROCE_OP_ACK, 11, ROCE_SYNDROME_NAK_PSN_SEQ, 5, 0);
    expect_candidates(&s, EXPLAIN_FIND_NAK_SEQUENCE, EXPLAIN_CAUSE_LOST_BEFORE, EXPLAIN_CAUSE_OVERTAKEN);
    story_end(&s);
}

Test(cause, a_nak_for_a_packet_that_is_here_does_not_tell_lost_from_late)
{
    struct story s;
    story_begin_calm(&s);
    story_send(&s, 10);
    story_send(&s, 11);
    story_answer(&s, ROCE_OP_ACK, 10, ROCE_SYNDROME_NAK_PSN_SEQ, 4, 0);
    expect_candidates(&s, EXPLAIN_FIND_NAK_SEQUENCE, EXPLAIN_CAUSE_LOST_AFTER, EXPLAIN_CAUSE_OVERTAKEN);
    story_end(&s);
}

Test(cause, where_packets_were_lost_and_none_was_late_the_next_is_likely_lost)
{
    struct story s;
    begin_slow(&s);
    for (uint32_t psn = 11; psn < 27; psn += 2)
        go_back_to(&s, psn, 2 * NS_PER_MS);
    story_send(&s, 28);
    expect_cause(&s, EXPLAIN_FIND_PSN_GAP, EXPLAIN_CAUSE_LOST_BEFORE, EXPLAIN_SURE_LIKELY);
    cr_expect_eq(story_finding(&s, EXPLAIN_FIND_PSN_GAP)->why.or_cause, EXPLAIN_CAUSE_OVERTAKEN);
    story_end(&s);
}

/* The answer comes sooner behind the second copy than a round trip: the first one has arrived after all. */
Test(cause, an_answer_before_a_round_trip_shows_that_the_first_copy_was_late)
{
    struct story s;
    begin_slow(&s);
    for (uint32_t psn = 11; psn < 29; psn += 2) /* eight losses, which would do, and this one */
        go_back_to(&s, psn, psn == 19 ? NS_PER_MS / 4 : 2 * NS_PER_MS);
    story_send(&s, 30);
    expect_candidates(&s, EXPLAIN_FIND_PSN_GAP, EXPLAIN_CAUSE_LOST_BEFORE, EXPLAIN_CAUSE_OVERTAKEN);
    story_end(&s);
}

/* covers: ROCE-RS-51 */
Test(cause, an_ack_that_comes_again_after_a_nak_shows_that_packets_are_late_here)
{
    struct story s;
    begin_slow(&s);
    for (uint32_t psn = 11; psn < 27; psn += 2)
        go_back_to(&s, psn, 2 * NS_PER_MS);
    story_ack(&s, 24, 19);
    story_send(&s, 28);
    expect_candidates(&s, EXPLAIN_FIND_PSN_GAP, EXPLAIN_CAUSE_LOST_BEFORE, EXPLAIN_CAUSE_OVERTAKEN);
    story_end(&s);
}

/* The older copy had arrived, and was thrown away as it was ahead of its turn: the NAK asks for the newer. */
Test(cause, a_nak_asks_for_the_newest_copy_which_may_not_be_the_one_that_is_here)
{
    struct story s;
    begin_slow(&s);
    for (uint32_t psn = 11; psn < 27; psn += 2)
        go_back_to(&s, psn, 2 * NS_PER_MS);
    for (uint32_t psn = 27; psn < 30; psn++)
        story_send(&s, psn);
    story_answer(&s, ROCE_OP_ACK, 27, ROCE_SYNDROME_NAK_PSN_SEQ, 21, 0);
    expect_candidates(&s, EXPLAIN_FIND_NAK_SEQUENCE, EXPLAIN_CAUSE_LOST_AFTER, EXPLAIN_CAUSE_OVERTAKEN);
    story_send(&s, 27);
    story_send(&s, 29);
    s.time_ns += 2 * NS_PER_MS;
    story_answer(&s, ROCE_OP_ACK, 28, ROCE_SYNDROME_NAK_PSN_SEQ, 22, 0);
    expect_cause(&s, EXPLAIN_FIND_NAK_SEQUENCE, EXPLAIN_CAUSE_LOST_BEFORE, EXPLAIN_SURE_LIKELY);
    story_end(&s);
}

Test(cause, an_unanswered_request_was_lost_or_its_answer)
{
    struct story s;
    struct explain_finding left[4];
    story_begin_calm(&s);
    story_send(&s, 10);
    s.time_ns += NS_PER_S;
    story_send(&s, 11);
    story_ack(&s, 9, 4);
    cr_assert_geq(explain_analysis_end(s.analysis, left, 4), 1);
    cr_expect_eq(left[0].kind, EXPLAIN_FIND_MISSING_ACK);
    cr_expect_eq(left[0].why.cause, EXPLAIN_CAUSE_UNKNOWN);
    cr_expect_eq(left[0].why.candidate[0], EXPLAIN_CAUSE_LOST_AFTER);
    cr_expect_eq(left[0].why.candidate[1], EXPLAIN_CAUSE_ANSWER_LOST);
    story_end(&s);
}

/* --- without identifications --- */

Test(cause, the_same_packet_at_once_is_a_copy_and_later_it_may_be_either)
{
    struct story s;
    story_begin(&s);
    s.has_id = true; /* always 0: it does not count */
    for (uint32_t psn = 6; psn < 10; psn++)
        measure_trip(&s, psn, NS_PER_MS);
    story_send(&s, 10);
    story_send(&s, 10);
    expect_cause(&s, EXPLAIN_FIND_DUPLICATE, EXPLAIN_CAUSE_UNKNOWN, EXPLAIN_SURE_UNKNOWN);
    cr_expect(s.m.is_copy); /* the network's or the capture's */
    story_send(&s, 11);
    s.time_ns += NS_PER_MS / 2;
    story_send(&s, 11);
    expect_candidates(&s, EXPLAIN_FIND_DUPLICATE, EXPLAIN_CAUSE_COPIED, EXPLAIN_CAUSE_SENT_AGAIN);
    cr_expect_not_null(strstr(s.m.words, "the same as #"), "%s", s.m.words);
    story_end(&s);
}

/* --- damaged --- */

Test(cause, a_packet_that_came_damaged_is_why_it_is_missing)
{
    struct explain_weather w = {0};
    struct roce_pkt pkt = {.op = &roce_opcodes[ROCE_OP_SEND_ONLY], .bth = {.psn = 12, .dest_qpn = 7}};
    struct explain_missing missing = {.qpn = 7, .psn = 11, .count = 2};
    explain_weather_damaged(&w, 33, &pkt);
    struct explain_why why = {.cause = EXPLAIN_CAUSE_NONE};
    explain_weather_tell(&w, &missing, &why);
    cr_expect_eq(why.cause, EXPLAIN_CAUSE_DAMAGED);
    cr_expect_eq(why.evidence[0].number, 33);
    missing.is_answer = true; /* those have PSNs of their own */
    why = (struct explain_why){.cause = EXPLAIN_CAUSE_NONE};
    explain_weather_tell(&w, &missing, &why);
    cr_expect_eq(why.cause, EXPLAIN_CAUSE_UNKNOWN);
    cr_expect_eq(why.candidate[2], EXPLAIN_CAUSE_DAMAGED);
    missing.is_answer = false;
    missing.is_here = true; /* it was damaged before, if at all */
    why = (struct explain_why){.cause = EXPLAIN_CAUSE_NONE};
    explain_weather_tell(&w, &missing, &why);
    cr_expect_eq(why.candidate[0], EXPLAIN_CAUSE_LOST_AFTER);
    cr_expect_eq(why.candidate[2], EXPLAIN_CAUSE_NONE);
}

Test(cause, words_name_the_candidates)
{
    char words[EXPLAIN_WHY_WORDS_SIZE];
    struct explain_why why = {.cause = EXPLAIN_CAUSE_TIMEOUT};
    cr_expect_str_eq(explain_why_words(&why, words, sizeof words), "the sender's ack timer ran out");
    explain_why_doubt(&why, EXPLAIN_CAUSE_LOST_BEFORE, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_NONE);
    cr_expect_str_eq(explain_why_words(&why, words, sizeof words),
                     "lost before it came to the capture, or others overtook it: cannot be told");
}

Test(cause, messages_count_from_1)
{
    cr_expect_eq(explain_message_moved(1, 2), 3);
    cr_expect_eq(explain_message_moved(5, -4), 1);
    cr_expect_eq(explain_message_moved(3, -4), 1);
}

/* A READ of 2049 bytes took three PSNs while the path MTU was not known, and takes two: what has the third is
 * missing, and counts, so that no MSN behind it is wrong. */
Test(cause, ROCE_RS_50_a_message_hides_where_a_read_was_thought_to_be_longer)
{
    struct story s;
    story_begin_strict(&s);
    for (uint32_t psn = 10; psn < 20; psn++) {
        story_send(&s, psn);
        story_ack(&s, psn, psn - 9);
    }
    story_request(&s, ROCE_OP_READ_REQUEST, 20, 0, 2049);
    story_send(&s, 23); /* 22 was sent, and the capture lacks it */
    story_answer(&s, ROCE_OP_READ_RESP_FIRST, 20, ROCE_SYNDROME_ACK_UNLIMITED, 11, 2048);
    story_answer(&s, ROCE_OP_READ_RESP_LAST, 21, ROCE_SYNDROME_ACK_UNLIMITED, 11, 1);
    story_ack(&s, 23, 13);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_VIOLATION));
    cr_expect(story_has(&s, EXPLAIN_FIND_CAPTURE_GAP));
    for (uint32_t psn = 24; psn < 30; psn++) {
        story_send(&s, psn);
        story_ack(&s, psn, psn - 10);
        cr_expect_not(story_has(&s, EXPLAIN_FIND_VIOLATION), "%u", psn);
    }
    story_end(&s);
}

/* How many PSNs a READ takes is not known, and requests before it come late, one of them an atomic: what is
 * told of the READ by the next request is not told of that. */
Test(cause, what_came_late_is_not_the_newest_read)
{
    struct story s;
    story_begin(&s);
    story_send(&s, 5);
    story_request(&s, ROCE_OP_READ_REQUEST, 9, 0, 511);
    story_request(&s, ROCE_OP_READ_REQUEST, 8, 0, 8);
    story_request(&s, ROCE_OP_FETCH_ADD, 6, 0, 0);
    story_send(&s, 7);
    story_request(&s, ROCE_OP_READ_REQUEST, 9, 0, 511);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_PSN_GAP));
    cr_expect(story_has(&s, EXPLAIN_FIND_READ_REPLAY) || story_has(&s, EXPLAIN_FIND_DUPLICATE), "%s",
              s.m.words);
    story_end(&s);
}
