/* SPDX-License-Identifier: BSD-2-Clause */
/* Connections with the same QPNs in one capture: what tells them apart, and that nothing is warned of
 * where one ends and the next begins. */
#include <criterion/criterion.h>

#include "base/base.h"
#include "test/explain/story.h"

static struct story s;

#define ACK 0x1f

/* A message of one packet, and its answer. */
static void ask(uint32_t psn, uint32_t msn)
{
    story_request(&s, ROCE_OP_SEND_ONLY, psn, 64, 0);
    story_answer(&s, ROCE_OP_ACK, psn, ACK, msn, 0);
}

/* Several, the first with that PSN. */
static void run(uint32_t psn, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        ask(psn + i, i + 1);
}

/* A WRITE of three pieces and its answer. */
static void write_three(uint32_t psn, uint32_t pmtu_bytes, uint32_t msn)
{
    story_request(&s, ROCE_OP_WRITE_FIRST, psn, pmtu_bytes, 3 * pmtu_bytes);
    cr_expect_eq(s.m.remark_count, 0);
    story_request(&s, ROCE_OP_WRITE_MIDDLE, psn + 1, pmtu_bytes, 0);
    story_request(&s, ROCE_OP_WRITE_LAST, psn + 2, pmtu_bytes, 0);
    story_answer(&s, ROCE_OP_ACK, psn + 2, ACK, msn, 0);
    cr_expect_eq(s.m.remark_count, 0, "%s", s.m.remark_count ? s.m.remarks[0].words : "");
}

static uint32_t earlier_of(uint32_t flow)
{
    return explain_analysis_flow(s.analysis, flow)->earlier;
}

/* covers: ROCE-OPC-2, ROCE-RS-50 */
Test(connections, the_silent_end_begins_another_one_with_another_path_mtu)
{
    story_begin_strict(&s);
    write_three(100, 1024, 1);
    s.is_b_asking = true;
    ask(7000, 1);
    cr_expect_eq(s.m.flow, 1, "nothing tells it apart so far");
    write_three(7001, 256, 2);
    cr_expect_eq(s.m.flow, 2);
    cr_expect_eq(earlier_of(2), 1);
    write_three(7004, 256, 3);
    story_end(&s);
}

Test(connections, what_the_silent_end_asked_is_of_the_one_that_its_peer_begins)
{
    story_begin_strict(&s);
    run(100, 3);
    s.is_b_asking = true;
    s.time_ns += NS_PER_MS;
    run(7000, 2);
    s.is_b_asking = false;
    s.time_ns += 2 * NS_PER_MS; /* more than what went before: it stays where it was */
    ask(900000, 1);
    cr_expect_eq(s.m.flow, 2);
    s.is_b_asking = true;
    story_request(&s, ROCE_OP_SEND_ONLY, 7002, 64, 0);
    cr_expect_eq(s.m.flow, 2, "it goes on behind what began with the later connection");
    cr_expect_eq(s.m.remark_count, 0);
    cr_expect_eq(explain_analysis_flow(s.analysis, 2)->messages[1], 3);
    story_end(&s);
}

Test(connections, a_leap_of_a_sender_that_has_all_its_answers)
{
    story_begin(&s);
    run(100, 3);
    ask(40000, 1);
    cr_expect_eq(s.m.flow, 2);
    cr_expect_eq(s.m.remark_count, 0);
    story_request(&s, ROCE_OP_SEND_ONLY, 40001, 64, 0);
    story_request(&s, ROCE_OP_SEND_ONLY, 41500, 64, 0); /* it has not: these are missing */
    cr_expect(story_has(&s, EXPLAIN_FIND_PSN_GAP));
    cr_expect_eq(s.m.flow, 2);
    story_end(&s);
}

/* covers: ROCE-RC-42 */
Test(connections, the_same_psns_again_are_another_one_when_all_was_answered)
{
    story_begin(&s);
    run(100, 6);
    s.time_ns += NS_PER_S;
    for (uint32_t i = 0; i < 6; i++) {
        story_request(&s, ROCE_OP_SEND_ONLY, 100 + i, 64, 0);
        cr_expect_eq(s.m.remark_count, 0, "%s", s.m.remark_count ? s.m.remarks[0].words : "");
        cr_expect_eq(s.m.flow, 2);
        story_answer(&s, ROCE_OP_ACK, 100 + i, ACK, i + 1, 0);
        cr_expect_eq(s.m.flow, 2);
    }
    cr_expect_eq(story_count_at_end(&s, EXPLAIN_FIND_MISSING_ACK), 0);
    story_end(&s);
}

/* covers: ROCE-RC-41 */
Test(connections, what_has_no_answer_is_sent_again)
{
    story_begin(&s);
    run(100, 6);
    story_request(&s, ROCE_OP_SEND_ONLY, 106, 64, 0);
    s.time_ns += NS_PER_S;
    story_request(&s, ROCE_OP_SEND_ONLY, 106, 64, 0);
    cr_expect(story_has(&s, EXPLAIN_FIND_RETRANSMISSION));
    cr_expect_eq(s.m.flow, 1);
    story_end(&s);
}

/* The peer of a later connection is not known by its QPN yet, and its PSNs lie near those of the first. */
Test(connections, an_answer_is_to_the_one_that_asked)
{
    story_begin(&s);
    run(100, 3);
    story_request(&s, ROCE_OP_SEND_ONLY, 5000, 64, 0);
    cr_expect_eq(s.m.flow, 2);
    story_answer(&s, ROCE_OP_ACK, 5000, ACK, 1, 0);
    cr_expect_eq(s.m.flow, 2);
    cr_expect_eq(s.m.remark_count, 0);
    story_end(&s);
}

/* --- READs --- */

/* covers: ROCE-OPC-3 */
Test(connections, the_last_answer_tells_how_many_psns_a_read_takes)
{
    story_begin_strict(&s);
    story_request(&s, ROCE_OP_READ_REQUEST, 100, 0, 1424);
    story_request(&s, ROCE_OP_READ_REQUEST, 101, 0, 4096);
    story_answer(&s, ROCE_OP_READ_RESP_ONLY, 100, ACK, 1, 1424);
    story_answer(&s, ROCE_OP_READ_RESP_ONLY, 101, ACK, 2, 4096);
    story_request(&s, ROCE_OP_SEND_ONLY, 102, 64, 0);
    cr_expect_eq(s.m.remark_count, 0, "%s", s.m.remark_count ? s.m.remarks[0].words : "");
    cr_expect_eq(s.m.message, 3);
    story_end(&s);
}

Test(connections, a_read_that_is_repeated_says_nothing_of_its_psns)
{
    story_begin(&s);
    story_request(&s, ROCE_OP_READ_REQUEST, 100, 0, 4097);
    story_request(&s, ROCE_OP_READ_REQUEST, 100, 0, 4097);
    story_answer(&s, ROCE_OP_READ_RESP_FIRST, 100, ACK, 1, 4096);
    story_answer(&s, ROCE_OP_READ_RESP_LAST, 101, ACK, 1, 1);
    story_request(&s, ROCE_OP_SEND_ONLY, 102, 64, 0);
    cr_expect_eq(s.m.remark_count, 0, "%s", s.m.remark_count ? s.m.remarks[0].words : "");
    story_end(&s);
}

/* covers: ROCE-RC-44 */
Test(connections, a_read_whose_rest_was_asked_for_has_its_answer)
{
    story_begin(&s);
    story_request(&s, ROCE_OP_READ_REQUEST, 100, 0, 2048);
    story_answer(&s, ROCE_OP_READ_RESP_FIRST, 100, ACK, 1, 1024);
    s.time_ns += NS_PER_S;
    story_request(&s, ROCE_OP_READ_REQUEST, 101, 0, 1024);
    story_answer(&s, ROCE_OP_READ_RESP_LAST, 101, ACK, 1, 1024);
    s.time_ns += NS_PER_S;
    ask(102, 2);
    cr_expect_eq(story_count_at_end(&s, EXPLAIN_FIND_MISSING_ACK), 0);
    story_end(&s);
}

Test(connections, a_read_without_an_answer_has_none)
{
    story_begin(&s);
    story_request(&s, ROCE_OP_READ_REQUEST, 100, 0, 2048);
    s.time_ns += NS_PER_S;
    s.is_b_asking = true;
    ask(7000, 1);
    cr_expect_eq(story_count_at_end(&s, EXPLAIN_FIND_MISSING_ACK), 1);
    story_end(&s);
}

/* How many of A's requests, 200 ms after one another, or one again and again, are told to have no answer;
 * with one of B's behind them, or none. */
static unsigned unanswered(unsigned requests, bool is_repeated, bool has_other_end)
{
    story_begin(&s);
    for (unsigned i = 0; i < requests; i++) {
        story_request(&s, ROCE_OP_SEND_ONLY, 100 + (is_repeated ? 0 : i), 64, 0);
        s.time_ns += NS_PER_S / 5;
    }
    if (has_other_end) {
        s.is_b_asking = true;
        story_request(&s, ROCE_OP_SEND_ONLY, 7000, 64, 0);
    }
    unsigned count = story_count_at_end(&s, EXPLAIN_FIND_MISSING_ACK);
    story_end(&s);
    return count;
}

Test(connections, one_direction_alone_lacks_no_answers)
{
    cr_expect_eq(unanswered(5, false, false), 0);
    cr_expect_eq(unanswered(5, false, true), 5); /* the other end is heard, and says nothing to them */
    cr_expect_eq(unanswered(5, true, false), 1); /* its sender misses the answer, too */
}

/* --- answers --- */

/* covers: ROCE-RC-30 */
Test(connections, a_request_that_came_late_is_no_ghost)
{
    story_begin(&s);
    story_request(&s, ROCE_OP_SEND_ONLY, 101, 64, 0);
    story_request(&s, ROCE_OP_SEND_ONLY, 100, 64, 0);
    story_answer(&s, ROCE_OP_ACK, 101, ACK, 2, 0);
    story_answer(&s, ROCE_OP_ACK, 100, ACK, 1, 0);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_GHOST_ACK));
    story_answer(&s, ROCE_OP_ACK, 99, ACK, 0, 0);
    cr_expect(story_has(&s, EXPLAIN_FIND_GHOST_ACK));
    story_end(&s);
}

/* covers: ROCE-RS-50 */
Test(connections, an_msn_is_judged_where_the_count_is_known)
{
    story_begin_strict(&s);
    run(100, 3);
    ask(103, 5);
    cr_expect(story_has(&s, EXPLAIN_FIND_VIOLATION));
    story_end(&s);
}

/* The first that the capture has were executed before it began, as others behind them: their answers have
 * the count of all. Once several agree, the next is held against them. */
Test(connections, an_msn_in_the_middle_of_a_connection)
{
    story_begin_strict(&s);
    for (uint32_t i = 0; i < 3; i++) {
        ask(100 + i, 50);
        cr_expect_not(story_has(&s, EXPLAIN_FIND_VIOLATION));
    }
    for (uint32_t i = 0; i < 5; i++) {
        ask(103 + i, 51 + i);
        cr_expect_not(story_has(&s, EXPLAIN_FIND_VIOLATION));
    }
    ask(108, 58);
    cr_expect(story_has(&s, EXPLAIN_FIND_VIOLATION));
    story_end(&s);
}

/* --- what is cut off --- */

Test(connections, immediate_data_that_is_cut_off_leaves_no_gap)
{
    story_begin(&s);
    ask(100, 1);
    s.snap_bytes = 70; /* of 14 + 20 + 8 + 12 + 16 (RETH), and 4 of immediate data */
    story_request(&s, ROCE_OP_WRITE_ONLY_IMM, 101, 64, 64);
    cr_expect_eq(s.p.verdict, ROCE_RX_TAKEN);
    cr_expect_eq(s.m.message, 2);
    s.snap_bytes = 0;
    ask(102, 3);
    cr_expect_eq(s.m.remark_count, 0);
    story_end(&s);
}

/* What those were is not known; of others all is. */
Test(connections, packets_cut_within_their_headers_hide_only_what_is_between_the_same_addresses)
{
    story_begin(&s);
    for (unsigned i = 0; i < 2; i++) {
        s.net = (uint8_t)i;
        s.snap_bytes = i ? 50 : 0; /* the BTH ends at 54 */
        story_request(&s, ROCE_OP_SEND_ONLY, 100, 64, 0);
        s.snap_bytes = 0;
        story_request(&s, ROCE_OP_SEND_ONLY, 101, 64, 0);
        story_request(&s, ROCE_OP_SEND_ONLY, 103, 64, 0);
        cr_expect_eq(story_has(&s, EXPLAIN_FIND_PSN_GAP), i == 0);
    }
    s.net = 0;
    story_request(&s, ROCE_OP_SEND_ONLY, 105, 64, 0);
    cr_expect(story_has(&s, EXPLAIN_FIND_PSN_GAP));
    story_end(&s);
}

/* The same addresses in a tunnel are other hosts. */
Test(connections, packets_cut_within_their_headers_hide_nothing_in_another_network)
{
    story_begin(&s);
    s.is_tunnelled = true;
    for (unsigned i = 0; i < 2; i++) {
        s.snap_bytes = s.is_tunnelled ? 70 : 0; /* the BTH ends at 74 */
        story_request(&s, ROCE_OP_SEND_ONLY, 100, 64, 0);
        cr_expect_eq(story_has(&s, EXPLAIN_FIND_CUT), s.is_tunnelled);
        s.snap_bytes = 0;
        story_request(&s, ROCE_OP_SEND_ONLY, 101, 64, 0);
        story_request(&s, ROCE_OP_SEND_ONLY, 103, 64, 0);
        cr_expect_eq(story_has(&s, EXPLAIN_FIND_PSN_GAP), !s.is_tunnelled);
        s.is_tunnelled = false;
    }
    story_end(&s);
}

/* Whether those were messages nobody knows, so that the next has no number; its pieces are still in order. */
Test(connections, behind_packets_cut_within_their_headers_messages_have_no_number)
{
    story_begin(&s);
    s.snap_bytes = 50;
    story_request(&s, ROCE_OP_SEND_ONLY, 100, 64, 0);
    s.snap_bytes = 0;
    story_request(&s, ROCE_OP_SEND_ONLY, 101, 64, 0);
    cr_expect_eq(s.m.message, 0);
    cr_expect_str_eq(s.m.words, "SEND only, 64 bytes");
    story_request(&s, ROCE_OP_SEND_FIRST, 102, 1024, 0);
    story_request(&s, ROCE_OP_SEND_LAST, 103, 64, 0);
    cr_expect_eq(s.m.message, 0);
    cr_expect_str_eq(s.m.words, "SEND last 2/2 of a message, 1088 of 1088 bytes");
    story_answer(&s, ROCE_OP_ACK, 103, ACK, 3, 0);
    story_request(&s, ROCE_OP_SEND_LAST, 106, 64, 0);
    cr_expect_str_eq(s.m.words, "SEND last of a message, whose beginning is not here so far, 64 bytes");
    s.net = 1;
    story_request(&s, ROCE_OP_SEND_ONLY, 100, 64, 0);
    cr_expect_eq(s.m.message, 1);
    story_end(&s);
}

/* --- answers that come again --- */

#define WINDOW 64 /* entries that are kept of what has its answer: the next takes the place of the oldest */

/* An older answer behind a newer one acknowledges nothing beyond that: what waits for its answer is not
 * forgotten, and is known when it is sent again. */
Test(connections, an_answer_that_comes_again_lets_nothing_be_forgotten)
{
    story_begin(&s);
    run(100, 5);
    story_request(&s, ROCE_OP_SEND_ONLY, 105, 64, 0);
    story_answer(&s, ROCE_OP_ACK, 102, ACK, 3, 0);
    for (uint32_t i = 1; i <= WINDOW; i++)
        story_request(&s, ROCE_OP_SEND_ONLY, 105 + i, 64, 0);
    uint64_t newest = s.m.message;
    story_answer(&s, ROCE_OP_ACK, 105, 0x60, 5, 0);
    story_request(&s, ROCE_OP_SEND_ONLY, 105, 64, 0);
    cr_expect_eq(s.m.message, 6);
    story_request(&s, ROCE_OP_SEND_ONLY, 105 + WINDOW + 1, 64, 0);
    cr_expect_eq(s.m.message, newest + 1);
    story_end(&s);
}

/* Nearer than what is another connection without a pause: 363 PSNs on, 3 s later. */
Test(connections, a_leap_behind_a_long_silence_begins_another_one)
{
    story_begin(&s);
    run(100, 20);
    s.time_ns += 3 * NS_PER_S;
    story_request(&s, ROCE_OP_SEND_ONLY, 120 + 363, 64, 0);
    cr_expect_not(story_has(&s, EXPLAIN_FIND_PSN_GAP));
    cr_expect_eq(s.m.flow, 2);
    cr_expect_eq(earlier_of(2), 1);
    story_end(&s);
}

/* As many are missing without a pause, or few of them behind one: it is the same connection. */
Test(connections, a_gap_is_a_gap_where_no_pause_or_few_packets_are)
{
    for (unsigned is_paused = 0; is_paused < 2; is_paused++) {
        story_begin(&s);
        run(100, 20);
        s.time_ns += is_paused ? 3 * NS_PER_S : 0;
        story_request(&s, ROCE_OP_SEND_ONLY, 120 + (is_paused ? 20 : 363), 64, 0);
        cr_expect(story_has(&s, EXPLAIN_FIND_PSN_GAP), "%u", is_paused);
        cr_expect_eq(s.m.flow, 1, "%u", is_paused);
        story_end(&s);
    }
}

/* A capture that drops all packets for a while makes a silence itself: who waits for each answer is as far on
 * behind it as he would have come. */
Test(connections, a_silence_that_is_the_capture_s_is_a_gap)
{
    story_begin(&s);
    for (uint32_t i = 0; i < 100; i++) {
        s.time_ns += NS_PER_MS;
        ask(100 + i, i + 1);
    }
    s.time_ns += 150 * NS_PER_MS;
    story_request(&s, ROCE_OP_SEND_ONLY, 200 + 147, 64, 0);
    cr_expect(story_has(&s, EXPLAIN_FIND_PSN_GAP));
    cr_expect_eq(s.m.flow, 1);
    story_end(&s);
}

/* As in simulated run 80001050: a bit of a PSN turns on the way, and the snap length cuts the ICRC off. */
Test(connections, a_packet_with_a_damaged_psn_is_no_connection_that_others_belong_to)
{
    story_begin(&s);
    run(0xfff0, 3);
    s.snap_bytes = 54;
    story_request(&s, ROCE_OP_SEND_ONLY, 0xfff3 ^ 0x2000, 64, 0);
    s.time_ns += NS_PER_MS;
    story_request(&s, ROCE_OP_SEND_ONLY, 0xfff3, 64, 0);
    cr_expect_eq(s.m.flow, 1, "it goes on there");
    cr_expect_eq(s.m.remark_count, 1, "it is cut");
    cr_expect(!story_has(&s, EXPLAIN_FIND_PSN_GAP));
    story_end(&s);
}
