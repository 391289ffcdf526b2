/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and the story, of conversations whose times are known: each packet comes 10 us after the last. */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "explain/story/story.h"
#include "explain/story/units.h"
#include "net/bytes.h"
#include "roce/opcode.h"
#include "test/explain/story.h"

#define STEP_NS    UINT64_C(10000)
#define IPV4_ID_AT 18 /* of an Ethernet frame */

struct tale {
    struct story s;
    struct explain_numbers *numbers;
    struct explain_story story;
    struct explain_operation done[8];
    unsigned done_count; /* by the last packet */
};

static void begin(struct tale *t)
{
    *t = (struct tale){.numbers = explain_numbers_create()};
    story_begin(&t->s);
}

static void end(struct tale *t)
{
    story_end(&t->s);
    explain_numbers_destroy(t->numbers);
}

static void count(struct tale *t)
{
    t->done_count = explain_numbers_take(t->numbers, &t->s.p, &t->s.m, t->done, 8);
    explain_story_take(&t->story, &t->s.p, &t->s.m);
}

static void request(struct tale *t, uint8_t op, uint32_t psn, uint32_t bytes, uint32_t dma_len)
{
    story_request(&t->s, op, psn, bytes, dma_len);
    count(t);
}

static void answer(struct tale *t, uint8_t op, uint32_t psn, uint8_t syndrome, uint32_t msn, uint32_t bytes)
{
    story_answer(&t->s, op, psn, syndrome, msn, bytes);
    count(t);
}

Test(numbers, an_operation_lasts_from_its_first_packet_to_the_ack_of_its_last)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_FIRST, 100, 1024, 0);
    request(&t, ROCE_OP_SEND_MIDDLE, 101, 1024, 0);
    answer(&t, ROCE_OP_ACK, 101, 0x1f, 0, 0);
    cr_assert_eq(t.done_count, 0, "its last packet was not sent yet");
    request(&t, ROCE_OP_SEND_LAST, 102, 100, 0);
    request(&t, ROCE_OP_SEND_ONLY, 103, 8, 0);
    answer(&t, ROCE_OP_ACK, 103, 0x1f, 2, 0);
    cr_assert_eq(t.done_count, 2, "an ACK covers all before it");
    cr_assert_eq(t.done[0].message, 1);
    cr_assert_eq(t.done[0].bytes, 2148);
    cr_assert_eq(t.done[0].packets, 3);
    cr_assert_eq(t.done[0].latency_ns, 5 * STEP_NS);
    cr_assert_eq(t.done[1].latency_ns, STEP_NS);
    const struct explain_flow_numbers *n = explain_numbers_of(t.numbers, 1);
    cr_assert_not_null(n);
    cr_assert_eq(n->way[0].latency.all.count, 2);
    cr_assert_eq(n->way[0].bytes, 2156);
    cr_assert_eq(n->way[0].most_psns, 2, "102 and 103, behind the ACK of 101");
    cr_assert_eq(n->way[1].requests, 0);
    end(&t);
}

Test(numbers, a_copy_of_what_was_answered_is_no_new_operation)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    answer(&t, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    cr_assert_eq(t.done_count, 1);
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    answer(&t, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    cr_assert_eq(t.done_count, 0);
    const struct explain_flow_numbers *n = explain_numbers_of(t.numbers, 1);
    cr_assert_eq(n->way[0].latency.all.count, 1);
    cr_assert_eq(n->way[0].again, 1);
    cr_assert_eq(n->way[0].bytes, 8, "carried once");
    end(&t);
}

Test(numbers, a_nak_acknowledges_only_what_is_before_its_psn)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    request(&t, ROCE_OP_SEND_ONLY, 101, 8, 0);
    answer(&t, ROCE_OP_ACK, 101, 0x60, 1, 0);
    cr_assert_eq(t.done_count, 1);
    cr_assert_eq(t.done[0].message, 1);
    end(&t);
}

Test(numbers, a_read_ends_with_its_last_answer)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_FIRST, 98, 1024, 0); /* the path MTU */
    request(&t, ROCE_OP_SEND_LAST, 99, 8, 0);
    answer(&t, ROCE_OP_ACK, 99, 0x1f, 1, 0);
    request(&t, ROCE_OP_READ_REQUEST, 100, 0, 2000);
    answer(&t, ROCE_OP_READ_RESP_FIRST, 100, 0x1f, 2, 1024);
    cr_assert_eq(t.done_count, 0);
    answer(&t, ROCE_OP_READ_RESP_LAST, 101, 0x1f, 2, 976);
    cr_assert_eq(t.done_count, 1);
    cr_assert_eq(t.done[0].bytes, 2000);
    cr_assert_eq(t.done[0].latency_ns, 2 * STEP_NS);
    end(&t);
}

static const char *sentence(struct tale *t, unsigned i)
{
    static struct explain_text out;
    explain_text_clear(&out);
    return explain_story_sentence(&out, &t->story, t->s.analysis, t->numbers, i) ? out.bytes : NULL;
}

Test(numbers, a_clean_run_in_three_sentences)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    answer(&t, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    request(&t, ROCE_OP_WRITE_ONLY, 101, 992, 992);
    answer(&t, ROCE_OP_ACK, 101, 0x1f, 2, 0);
    cr_assert_str_eq(sentence(&t, 0), "10.0.0.1 sent 2 messages, 1.00 kB, to 10.0.0.2 in 30.0 us.");
    cr_assert_str_eq(sentence(&t, 1), "Nothing was sent again.");
    cr_assert_str_eq(
        sentence(&t, 2),
        "Nobody waited for a timeout; half of the operations took at most 10.0 us, the longest 10.0 us.");
    cr_assert_null(sentence(&t, 3));
    end(&t);
}

Test(numbers, a_receiver_that_is_not_ready_costs_its_wait)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    answer(&t, ROCE_OP_ACK, 100, 0x20 | 14, 0, 0); /* wait 1.28 ms */
    t.s.time_ns += 2000000;
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    answer(&t, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    cr_assert_str_eq(sentence(&t, 1),
                     "1 packet was sent again, 50 % of all requests, because of 1 receiver that was "
                     "not ready (#2, likely).");
    cr_assert(strstr(sentence(&t, 2), "99 % of the time nothing moved"), "%s", sentence(&t, 2));
    cr_assert_eq(explain_numbers_of(t.numbers, 1)->way[0].pauses, 1);
    end(&t);
}

/* --- bytes: every PSN once --- */

Test(numbers, a_packet_that_was_lost_before_the_capture_counts_when_it_comes)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_FIRST, 100, 1024, 0);
    request(&t, ROCE_OP_SEND_LAST, 102, 100, 0); /* 101 is lost */
    answer(&t, ROCE_OP_ACK, 101, ROCE_SYNDROME_NAK_PSN_SEQ, 0, 0);
    request(&t, ROCE_OP_SEND_MIDDLE, 101, 1024, 0);
    request(&t, ROCE_OP_SEND_LAST, 102, 100, 0);
    answer(&t, ROCE_OP_ACK, 102, 0x1f, 1, 0);
    cr_assert_eq(t.done_count, 1);
    cr_assert_eq(t.done[0].bytes, 1024 + 1024 + 100);
    cr_assert_eq(t.done[0].first_number, 1);
    cr_assert_eq(t.done[0].packets, 4);
    cr_assert_eq(explain_numbers_of(t.numbers, 1)->way[0].bytes, 1024 + 1024 + 100);
    cr_assert_eq(explain_analysis_flow(t.s.analysis, 1)->carried_bytes[0], 1024 + 1024 + 100);
    end(&t);
}

Test(numbers, what_came_of_a_message_before_its_beginning_is_one_operation_with_it)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 99, 8, 0);
    answer(&t, ROCE_OP_ACK, 99, 0x1f, 1, 0);
    request(&t, ROCE_OP_SEND_MIDDLE, 101, 1024, 0); /* 100 is lost */
    request(&t, ROCE_OP_SEND_LAST, 102, 100, 0);
    answer(&t, ROCE_OP_ACK, 100, ROCE_SYNDROME_NAK_PSN_SEQ, 1, 0);
    request(&t, ROCE_OP_SEND_FIRST, 100, 1024, 0);
    answer(&t, ROCE_OP_ACK, 102, 0x1f, 2, 0);
    cr_assert_eq(t.done_count, 1);
    cr_assert_eq(t.done[0].bytes, 1024 + 1024 + 100);
    cr_assert_eq(t.done[0].message, 2);
    cr_assert_eq(t.done[0].packets, 3);
    end(&t);
}

Test(numbers, answers_to_a_read_that_are_given_twice_count_once)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_FIRST, 98, 1024, 0); /* the path MTU */
    request(&t, ROCE_OP_SEND_LAST, 99, 8, 0);
    answer(&t, ROCE_OP_ACK, 99, 0x1f, 1, 0);
    request(&t, ROCE_OP_READ_REQUEST, 100, 0, 2000);
    answer(&t, ROCE_OP_READ_RESP_LAST, 101, 0x1f, 2, 976); /* 100 is lost */
    cr_assert_eq(t.done_count, 0);
    request(&t, ROCE_OP_READ_REQUEST, 100, 0, 2000);
    answer(&t, ROCE_OP_READ_RESP_FIRST, 100, 0x1f, 2, 1024);
    answer(&t, ROCE_OP_READ_RESP_LAST, 101, 0x1f, 2, 976);
    cr_assert_eq(t.done_count, 1);
    cr_assert_eq(t.done[0].message, 2);
    cr_assert_eq(t.done[0].packets, 2);
    cr_assert_eq(explain_numbers_of(t.numbers, 1)->way[0].bytes, 1032 + 2000);
    end(&t);
}

/* 70000 PSNs are more than the map has room for, and go through 0. */
Test(numbers, bytes_count_once_however_far_it_goes)
{
    struct tale t;
    uint32_t psn = 0xffff00, count = 70000;
    begin(&t);
    for (uint32_t i = 0; i < count; i++)
        request(&t, ROCE_OP_SEND_ONLY, (psn + i) & 0xffffff, 8, 0);
    for (uint32_t i = count - 100; i < count; i++)
        request(&t, ROCE_OP_SEND_ONLY, (psn + i) & 0xffffff, 8, 0);
    cr_assert_eq(explain_analysis_flow(t.s.analysis, 1)->carried_bytes[0], 8 * count);
    end(&t);
}

/* --- which message an operation is --- */

Test(numbers, an_operation_behind_a_lost_one_has_its_own_number)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    answer(&t, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    request(&t, ROCE_OP_SEND_ONLY, 102, 8, 0); /* the atomic with 101 is lost */
    answer(&t, ROCE_OP_ACK, 101, ROCE_SYNDROME_NAK_PSN_SEQ, 1, 0);
    request(&t, ROCE_OP_FETCH_ADD, 101, 0, 0);
    answer(&t, ROCE_OP_ATOMIC_ACK, 101, 0x1f, 2, 0);
    cr_assert_eq(t.done_count, 1);
    cr_assert_eq(t.done[0].message, 2);
    request(&t, ROCE_OP_SEND_ONLY, 102, 8, 0);
    answer(&t, ROCE_OP_ACK, 102, 0x1f, 3, 0);
    cr_assert_eq(t.done_count, 1);
    cr_assert_eq(t.done[0].message, 3);
    end(&t);
}

Test(numbers, an_operation_that_ends_late_keeps_its_number)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_READ_REQUEST, 100, 0, 8);
    request(&t, ROCE_OP_FETCH_ADD, 101, 0, 0);
    answer(&t, ROCE_OP_ATOMIC_ACK, 101, 0x1f, 2, 0); /* the answer to the READ is lost */
    cr_assert_eq(t.done[0].message, 2);
    request(&t, ROCE_OP_READ_REQUEST, 100, 0, 8);
    answer(&t, ROCE_OP_READ_RESP_ONLY, 100, 0x1f, 2, 8);
    cr_assert_eq(t.done_count, 1);
    cr_assert_eq(t.done[0].message, 1);
    end(&t);
}

static const char *row_of(const struct explain_operation *op)
{
    static struct explain_text out;
    explain_text_clear(&out);
    explain_operations_csv(&out, op, true);
    return out.bytes;
}

Test(numbers, where_clocks_differ_an_operation_has_no_latency)
{
    const struct explain_flow same = {0}, skewed = {.skew_ns = 1};
    cr_assert(explain_is_timed(NULL));
    const struct explain_operation timed = {.begin_ns = 5, .latency_ns = 7},
                                   untimed = {.begin_ns = 5, .is_untimed = true};
    struct explain_text out = {0};
    explain_operations_csv(&out, &timed, explain_is_timed(&skewed));
    cr_assert_not_null(strstr(out.bytes, ",5,,its own"), "%s", out.bytes);
    explain_text_clear(&out);
    explain_operations_csv(&out, &timed, explain_is_timed(&same));
    cr_assert_not_null(strstr(out.bytes, ",5,7,its own"), "%s", out.bytes);
    explain_text_clear(&out);
    explain_operations_csv(&out, &untimed, true);
    cr_assert_not_null(strstr(out.bytes, ",5,,its own"), "%s", out.bytes);
    explain_text_free(&out);
}

/* The answer to 101 stands before it; the one to 102 tells of 101 too, but not how long that took. */
Test(numbers, an_operation_whose_answer_stands_before_it_has_no_latency)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 100, 64, 0);
    answer(&t, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    answer(&t, ROCE_OP_ACK, 101, 0x1f, 2, 0);
    request(&t, ROCE_OP_SEND_ONLY, 101, 64, 0);
    request(&t, ROCE_OP_SEND_ONLY, 102, 64, 0);
    answer(&t, ROCE_OP_ACK, 102, 0x1f, 3, 0);
    cr_assert_eq(t.done_count, 2);
    cr_expect(t.done[0].is_untimed);
    cr_expect_eq(t.done[0].latency_ns, 0);
    cr_expect(!t.done[1].is_untimed);
    cr_expect_eq(t.done[1].latency_ns, STEP_NS);
    const struct explain_flow_numbers *n = explain_numbers_of(t.numbers, 1);
    cr_expect_eq(n->way[0].latency.all.count, 2);
    cr_expect_eq(n->way[0].untimed, 1);
    struct explain_text out = {0};
    explain_numbers_json(&out, t.numbers, explain_analysis_flow(t.s.analysis, 1), 1);
    cr_expect_not_null(strstr(out.bytes, "\"operations\":3,\"latency_left_out\":1,"), "%s", out.bytes);
    explain_text_free(&out);
    end(&t);
}

Test(numbers, an_operation_is_called_what_the_program_asked_for)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_WRITE_FIRST, 100, 1024, 1100);
    request(&t, ROCE_OP_WRITE_LAST_IMM, 101, 76, 0);
    answer(&t, ROCE_OP_ACK, 101, 0x1f, 1, 0);
    cr_assert(strstr(row_of(&t.done[0]), "1,0,1,RDMA WRITE with immediate,1100,2,0,1,3,"), "%s",
              row_of(&t.done[0]));
    request(&t, ROCE_OP_SEND_ONLY_INV, 102, 8, 0);
    answer(&t, ROCE_OP_ACK, 102, 0x1f, 2, 0);
    cr_assert(strstr(row_of(&t.done[0]), ",SEND with invalidate,8,"), "%s", row_of(&t.done[0]));
    request(&t, ROCE_OP_CMP_SWAP, 103, 0, 0);
    answer(&t, ROCE_OP_ATOMIC_ACK, 103, 0x1f, 3, 0);
    cr_assert(strstr(row_of(&t.done[0]), ",CMP_SWAP,8,"), "%s", row_of(&t.done[0]));
    end(&t);
}

/* --- latency --- */

Test(numbers, latencies_are_exact_while_they_are_few)
{
    static struct explain_latency l; /* large */
    for (uint64_t i = 0; i < EXPLAIN_LATENCY_EXACT; i++)
        explain_latency_add(&l, 1000000 + (i * 37 % EXPLAIN_LATENCY_EXACT) * 1009, false);
    /* 37 and 1024 have no common divisor: all of 0 to 1023 come, the 512th is 511, the 1014th 1013 */
    cr_assert_eq(explain_latency_quantile(&l, 0.5), 1000000 + 511 * 1009);
    cr_assert_eq(explain_latency_quantile(&l, 0.99), 1000000 + 1013 * 1009);
    explain_latency_add(&l, 5000000, false);
    uint64_t rough = explain_latency_quantile(&l, 0.5), want = 1000000 + 512 * 1009;
    cr_assert_lt(rough > want ? rough - want : want - rough, want * 16 / 1000);
}

Test(numbers, where_the_capture_misses_packets_only_answers_of_their_own_tell_a_latency)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    answer(&t, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    request(&t, ROCE_OP_SEND_ONLY, 101, 8, 0); /* its ACK, 102 and the ACK of that are not captured */
    t.s.time_ns += 300000000;
    request(&t, ROCE_OP_SEND_ONLY, 103, 8, 0);
    answer(&t, ROCE_OP_ACK, 103, 0x1f, 4, 0);
    cr_assert(story_has(&t.s, EXPLAIN_FIND_CAPTURE_GAP));
    cr_assert_eq(t.done_count, 2);
    cr_assert(t.done[0].is_with_later);
    cr_assert(strstr(row_of(&t.done[0]), ",with a later one\n"), "%s", row_of(&t.done[0]));
    cr_assert(strstr(row_of(&t.done[1]), ",its own\n"), "%s", row_of(&t.done[1]));
    cr_assert_eq(t.done[1].message, 4);
    cr_assert(strstr(sentence(&t, 2), "operations with an answer of their own took at most 10.0 us, the "
                                      "longest 10.0 us."),
              "%s", sentence(&t, 2));
    end(&t);
}

/* --- the story --- */

Test(numbers, answers_are_no_data)
{
    struct tale t;
    begin(&t);
    answer(&t, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    answer(&t, ROCE_OP_ACK, 101, 0x1f, 2, 0);
    cr_assert_str_eq(
        sentence(&t, 0),
        "10.0.0.2 sent 2 answers to 10.0.0.1 in 10.0 us; the other direction is not in this capture.");
    end(&t);
}

Test(numbers, flows_that_were_forgotten_are_in_the_totals)
{
    struct tale t;
    begin(&t);
    explain_analysis_destroy(t.s.analysis);
    t.s.analysis = explain_analysis_create(&(struct explain_analysis_config){.max_flow_bytes = 65536});
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    for (uint32_t i = 1; i < 1000; i++) {
        t.s.p.roce.bth.dest_qpn = 1000 + i;
        put_be16(t.s.frame + IPV4_ID_AT, (uint16_t)(1000 + i)); /* or it would be the same packet */
        explain_analysis_next(t.s.analysis, &t.s.p, &t.s.m);
        count(&t);
    }
    cr_assert_gt(explain_analysis_forgotten(t.s.analysis)->count, 0);
    cr_assert_str_eq(sentence(&t, 0),
                     "1000 flows between 2 addresses carried 1000 messages, 8.00 kB, in 0 ns.");
    end(&t);
}

Test(numbers, one_operation_has_one_latency)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 100, 1, 0);
    cr_assert(strstr(t.s.m.words, ", 1 byte") && !strstr(t.s.m.words, "bytes"), "%s", t.s.m.words);
    answer(&t, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    cr_assert_str_eq(sentence(&t, 2), "Nobody waited for a timeout; the one operation took 10.0 us.");
    end(&t);
}

/* Whatever is more than a note is told, with the packet that shows it, and as no cause of anything else. */
Test(numbers, every_finding_is_in_the_story)
{
    for (unsigned kind = 0; kind < EXPLAIN_FINDING_COUNT; kind++) {
        struct tale t;
        bool is_of_restarts = kind == EXPLAIN_FIND_RETRANSMISSION || kind == EXPLAIN_FIND_TIMEOUT ||
                              kind == EXPLAIN_FIND_READ_REPLAY;
        if (!explain_finding_severity(kind) || is_of_restarts)
            continue;
        begin(&t);
        request(&t, ROCE_OP_SEND_ONLY, 100, 1, 0);
        explain_story_finding(&t.story,
                              &(struct explain_finding){.kind = kind, .number = 77, .packets = kind == 0});
        cr_expect(strstr(sentence(&t, 1), "#77)"), "%s: %s", explain_finding_key(kind), sentence(&t, 1));
        const char *words = kind == EXPLAIN_FIND_CLOCKS ? "Nothing was sent again; records are out of order ("
                                                        : "Nothing was sent again; 1 ";
        cr_expect_eq(strncmp(sentence(&t, 1), words, strlen(words)), 0, "%s", sentence(&t, 1));
        end(&t);
    }
}

Test(numbers, a_refusal_is_not_what_made_a_sender_begin_again)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    explain_story_finding(&t.story, &(struct explain_finding){.kind = EXPLAIN_FIND_SMC_REFUSED, .number = 1});
    request(&t, ROCE_OP_SEND_ONLY, 101, 8, 0);
    request(&t, ROCE_OP_SEND_ONLY, 102, 8, 0);
    answer(&t, ROCE_OP_ACK, 101, ROCE_SYNDROME_NAK_PSN_SEQ, 1, 0);
    request(&t, ROCE_OP_SEND_ONLY, 101, 8, 0);
    const char *told = sentence(&t, 1), *nak = strstr(told, "because of 1 NAK (#4");
    cr_assert(nak, "%s", told);
    cr_assert(strstr(nak, "; 1 LLC request was refused (#1)."), "%s", told);
    end(&t);
}

Test(numbers, nobody_waited_is_said_only_where_nobody_did)
{
    struct tale t;
    begin(&t);
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    answer(&t, ROCE_OP_ACK, 100, 0x1f, 1, 0);
    cr_assert(strstr(sentence(&t, 2), "Nobody waited"), "%s", sentence(&t, 2));
    t.story.restarts[EXPLAIN_CAUSE_TIMEOUT].count = 1; /* while others moved: no silence of the whole */
    cr_assert(!strstr(sentence(&t, 2), "Nobody waited"), "%s", sentence(&t, 2));
    t.story.restarts[EXPLAIN_CAUSE_TIMEOUT].count = 0;
    t.story.found[EXPLAIN_FIND_CM_RETRY].count = 1;
    cr_assert(!strstr(sentence(&t, 2), "Nobody waited"), "%s", sentence(&t, 2));
    end(&t);
}

/* A frame of TCP with 32 bytes of header, which carries `text`. */
static void take_tcp(struct tale *t, const char *text)
{
    size_t bytes = strlen(text);
    uint8_t frame[200] = {[12] = 8, [14] = 0x45, [17] = (uint8_t)(52 + bytes), [22] = 64, [23] = 6};
    frame[34 + 12] = 8 << 4;
    snprintf((char *)frame + 66, sizeof frame - 66, "%s", text);
    uint32_t len_bytes = 66 + (uint32_t)bytes;
    explain_dissect(
        &t->s.p,
        &(struct net_capture_record){
            .data = frame, .len_bytes = len_bytes, .wire_bytes = len_bytes, .time_ns = t->s.time_ns},
        ++t->s.number);
    t->s.time_ns += STEP_NS;
    explain_analysis_next(t->s.analysis, &t->s.p, &t->s.m);
    count(t);
}

Test(numbers, a_capture_without_queue_pairs_says_what_it_is)
{
    struct tale t;
    begin(&t);
    take_tcp(&t, "GET / HTTP/1.1");
    take_tcp(&t, "HTTP/1.1 200 OK, and more");
    cr_assert_str_eq(sentence(&t, 0), "No connected queue pairs speak here: 2 packets in 10.0 us.");
    cr_assert_null(sentence(&t, 1));
    explain_story_finding(&t.story, &(struct explain_finding){.kind = EXPLAIN_FIND_SMC_DECLINE, .number = 2});
    cr_assert_str_eq(sentence(&t, 1), "1 SMC-R offer was declined: plain TCP (#2).");
    take_tcp(&t, "MPA ID Req Frame");
    cr_assert_str_eq(sentence(&t, 0), "0.0.0.0 sent 0 messages, 0 bytes, to 0.0.0.0 by iWARP in 0 ns.");
    end(&t);
}

Test(numbers, a_capture_that_is_cut_within_all_headers_says_so)
{
    struct tale t;
    begin(&t);
    t.s.snap_bytes = 50; /* the BTH ends at 54 */
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    request(&t, ROCE_OP_SEND_ONLY, 101, 8, 0);
    cr_assert_str_eq(sentence(&t, 0),
                     "All RoCE packets are cut within their headers (first: #1), so that no queue "
                     "pair is known: 2 packets in 10.0 us.");
    end(&t);
}

Test(numbers, of_a_capture_that_is_cut_within_some_headers_those_are_counted)
{
    struct tale t;
    begin(&t);
    take_tcp(&t, "MPA");
    t.s.p.kind = EXPLAIN_CM;
    explain_story_take(&t.story, &t.s.p, &t.s.m);
    t.s.snap_bytes = 50;
    request(&t, ROCE_OP_SEND_ONLY, 100, 8, 0);
    const char *words = sentence(&t, 0);
    cr_assert_not_null(strstr(words, "1 RoCE packet is cut within its headers (#2), "), "%s", words);
    end(&t);
}

Test(numbers, what_the_capture_holds_once_more_is_told)
{
    struct tale t;
    begin(&t);
    t.s.has_id = true;
    for (unsigned i = 0; i < 4; i++) {
        t.s.ip_id = STORY_IP_ID(i % 2 + 1);
        t.s.time_ns += i == 2 ? NS_PER_S : 0;
        request(&t, ROCE_OP_SEND_ONLY, 100 + i % 2, 8, 0);
    }
    cr_assert_not_null(
        strstr(sentence(&t, 0), "; 2 packets that the capture holds once more are left out (first: #3)"),
        "%s", sentence(&t, 0));
    end(&t);
}

Test(numbers, amounts_have_three_digits_that_count)
{
    struct explain_text out = {0};
    explain_put_bytes(&out, 1);
    explain_put(&out, " ");
    explain_put_bytes(&out, 999);
    explain_put(&out, " ");
    explain_put_bytes(&out, 63123);
    explain_put(&out, " ");
    explain_put_duration(&out, 67108864);
    explain_put(&out, " ");
    explain_put_duration(&out, 999999999);
    explain_put(&out, " ");
    explain_put_rate(&out, 12.5e9);
    explain_put_rate(&out, 0);
    cr_assert_str_eq(out.bytes, "1 byte 999 bytes 63.1 kB 67.1 ms 1.00 s , 12.5 Gbit/s");
    explain_text_free(&out);
}
