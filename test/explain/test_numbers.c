/* SPDX-License-Identifier: BSD-2-Clause */
/* Numbers and the story, of conversations whose times are known: each packet comes 10 us after the last. */
#include <criterion/criterion.h>
#include <string.h>

#include "explain/story/story.h"
#include "explain/story/units.h"
#include "roce/opcode.h"
#include "story.h"

#define STEP_NS UINT64_C(10000)

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
    cr_assert_eq(n->way[0].latency_ns.count, 2);
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
    cr_assert_eq(n->way[0].latency_ns.count, 1);
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
                     "not ready; it began with #2: no receive was posted for PSN 0x000064.");
    cr_assert(strstr(sentence(&t, 2), "99 % of the time nothing moved"), "%s", sentence(&t, 2));
    cr_assert_eq(explain_numbers_of(t.numbers, 1)->way[0].pauses, 1);
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
    cr_assert_str_eq(out.bytes, "1 byte 999 bytes 63.1 kB 67.1 ms 1.00 s 12.5 Gbit/s");
    explain_text_free(&out);
}
