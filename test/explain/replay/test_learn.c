/* SPDX-License-Identifier: BSD-2-Clause */
/* What a capture of a few packets tells of its endpoints; test_replay.c asks the golden captures. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "explain/replay/learn/learn.h"
#include "explain/replay/learn/memory.h"
#include "test/explain/story.h"

#define A "10.0.0.1"
#define B "10.0.0.2"

struct learned {
    struct story story;
    struct explain_tape tape;
    struct explain_endpoint endpoint;
    struct nornic_error why;
};

static void begin(struct learned *l)
{
    *l = (struct learned){.tape = {0}};
    story_begin(&l->story);
    l->story.tape = &l->tape;
}

static int learn(struct learned *l, const char *as, const char *scenario)
{
    struct nornic_addr addr;
    static struct explain_scenario s;
    cr_assert_eq(nornic_addr_parse(as, &addr), 0);
    cr_assert_eq(explain_scenario_parse(&s, scenario, &l->why), 0);
    return explain_learn(&l->tape, &addr, &s, &l->endpoint, &l->why);
}

static const struct explain_learned *only_qp(struct learned *l, const char *as, const char *scenario)
{
    cr_assert_eq(learn(l, as, scenario), 0, "%s", l->why.text);
    cr_assert_eq(l->endpoint.qp_count, 1);
    return &l->endpoint.qps[0];
}

static void end(struct learned *l)
{
    explain_endpoint_free(&l->endpoint);
    explain_tape_free(&l->tape);
    story_end(&l->story);
}

Test(learning, messages_are_put_together_from_the_first_copies)
{
    struct learned l;
    begin(&l);
    story_request(&l.story, ROCE_OP_WRITE_FIRST, 0xffffff, 1024, 1500);
    l.story.shape = 99; /* the second copy holds something else */
    story_request(&l.story, ROCE_OP_WRITE_FIRST, 0xffffff, 1024, 1500);
    l.story.shape = 0;
    story_request(&l.story, ROCE_OP_WRITE_LAST, 0, 476, 0);
    story_request(&l.story, ROCE_OP_READ_REQUEST, 1, 0, 2049);
    story_request(&l.story, ROCE_OP_SEND_ONLY_INV, 4, 5, 0);
    const struct explain_learned *q = only_qp(&l, A, "");
    cr_assert_eq(q->message_count, 3);
    cr_expect_eq(q->messages[0].wr.opcode, NORNIC_WR_RDMA_WRITE);
    cr_expect_eq(q->messages[0].len_bytes, 1500);
    cr_expect_eq(q->messages[0].psn_count, 2);
    cr_expect_eq(q->data[5], 5, "of the first copy");
    cr_expect_eq(q->messages[1].wr.opcode, NORNIC_WR_RDMA_READ);
    cr_expect_eq(q->messages[1].psn_count, 3);
    cr_expect_eq(q->messages[2].wr.opcode, NORNIC_WR_SEND_WITH_INV);
    cr_expect_eq(q->messages[2].wr.invalidate_rkey, 0x77);
    cr_expect_eq(q->end_psn, 5);
    cr_expect_eq(q->scratch_bytes, 2049);
    end(&l);
}

Test(learning, what_follows_a_hole_is_not_put_together)
{
    struct learned l;
    begin(&l);
    story_request(&l.story, ROCE_OP_SEND_ONLY, 10, 8, 0);
    story_request(&l.story, ROCE_OP_SEND_FIRST, 11, 256, 0);
    story_request(&l.story, ROCE_OP_SEND_LAST, 13, 8, 0);
    story_request(&l.story, ROCE_OP_SEND_ONLY, 14, 8, 0);
    const struct explain_learned *q = only_qp(&l, A, "");
    cr_expect_eq(q->message_count, 1);
    cr_expect_eq(q->end_psn, 11);
    cr_expect_eq(q->data_bytes, 8, "nothing of the message with the hole is kept");
    end(&l);
}

Test(learning, a_line_may_swap_the_first_packets)
{
    struct learned l;
    begin(&l);
    story_request(&l.story, ROCE_OP_SEND_ONLY, 0, 8, 0);
    story_request(&l.story, ROCE_OP_SEND_ONLY, 0xffffff, 8, 0);
    const struct explain_learned *q = only_qp(&l, A, "");
    cr_expect_eq(q->sq_psn, 0xffffff);
    cr_expect_eq(q->message_count, 2);
    end(&l);
}

Test(learning, a_responder_is_known_by_what_it_answers)
{
    struct learned l;
    begin(&l);
    story_request(&l.story, ROCE_OP_SEND_FIRST, 10, 256, 0);
    story_request(&l.story, ROCE_OP_SEND_LAST, 11, 100, 0);
    story_answer(&l.story, ROCE_OP_ACK, 10, 0x20 | 14, 0, 0);
    story_answer(&l.story, ROCE_OP_ACK, 11, ROCE_SYNDROME_NAK_INV_REQ, 0, 0);
    const struct explain_learned *q = only_qp(&l, B, "");
    cr_expect(q->is_responder && !q->is_requester && !q->is_silent);
    cr_expect_eq(q->qpn, STORY_B_QPN);
    cr_expect_eq(q->rq_psn, 10);
    cr_expect_eq(q->pmtu_bytes, 256);
    cr_expect_eq(q->rnr_code, 14);
    cr_expect(q->refusal.is_there && q->limit.is_there);
    cr_expect_eq(q->refusal.psn, 11);
    cr_expect_eq(q->limit.bytes, 256, "the first packet fitted");
    cr_expect_eq(q->limit.psn, 10);
    cr_expect_eq(q->longest_bytes, 356);
    cr_expect_eq(q->answer_count, 2);
    end(&l);
}

Test(learning, memory_is_what_requests_that_were_not_refused_reached)
{
    struct learned l;
    begin(&l);
    story_request(&l.story, ROCE_OP_WRITE_ONLY, 10, 64, 64);
    story_request(&l.story, ROCE_OP_FETCH_ADD, 11, 0, 0);
    story_answer(&l.story, ROCE_OP_ATOMIC_ACK, 11, ROCE_SYNDROME_ACK_UNLIMITED, 2, 0);
    story_request(&l.story, ROCE_OP_READ_REQUEST, 12, 0, 4096);
    story_answer(&l.story, ROCE_OP_ACK, 12, ROCE_SYNDROME_NAK_REM_ACC, 2, 0);
    only_qp(&l, B, "");
    cr_assert_eq(l.endpoint.region_count, 1);
    const struct explain_region *r = explain_region_find(&l.endpoint, 0x77);
    cr_assert_not_null(r);
    cr_expect_eq(r->from, 0x1000);
    cr_expect_eq(r->to, 0x1040, "the READ was refused");
    cr_expect_eq(r->access,
                 NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC | NORNIC_ACCESS_LOCAL_WRITE);
    cr_expect_null(explain_region_find(&l.endpoint, 0x78));
    end(&l);
}

Test(learning, the_scenario_knows_better)
{
    struct learned l;
    begin(&l);
    story_request(&l.story, ROCE_OP_SEND_ONLY, 10, 8, 0);
    const struct explain_learned *q =
        only_qp(&l, B, "qp 0x11 rq-psn 8 mtu 512 rnr-timer 3\nkey 5 va 0x40 bytes 8 access atomic");
    cr_expect_eq(q->rq_psn, 8);
    cr_expect_eq(q->pmtu_bytes, 512);
    cr_expect_eq(q->rnr_code, 3);
    const struct explain_region *r = explain_region_find(&l.endpoint, 5);
    cr_assert_not_null(r);
    cr_expect_eq(r->to - r->from, 8);
    end(&l);
}

Test(learning, a_queue_pair_that_the_capture_does_not_have_is_a_mistake)
{
    struct learned l;
    begin(&l);
    story_request(&l.story, ROCE_OP_SEND_ONLY, 10, 8, 0);
    cr_expect_lt(learn(&l, B, "\nqp 0x12 mtu 512"), 0);
    cr_expect_not_null(strstr(l.why.text, "line 2 of the scenario: the endpoint has no QP 0x000012"), "%s",
                       l.why.text);
    end(&l);
}

Test(learning, what_asks_for_more_memory_than_there_is_is_refused)
{
    struct learned l;
    begin(&l);
    story_request(&l.story, ROCE_OP_READ_REQUEST, 10, 0, EXPLAIN_READ_MAX_BYTES + 1);
    cr_expect_lt(learn(&l, A, ""), 0);
    cr_expect_not_null(strstr(l.why.text, "packet 1 asks for"), "%s", l.why.text);
    explain_endpoint_free(&l.endpoint);
    story_answer(&l.story, ROCE_OP_ACK, 9, ROCE_SYNDROME_ACK_UNLIMITED, 0, 0);
    cr_expect_lt(learn(&l, B, "key 0x77 va 0x80000000000 bytes 8"), 0);
    cr_expect_not_null(strstr(l.why.text, "R_Key 0x00000077 is used from"), "%s", l.why.text);
    end(&l);
}

/* Of packets that are cut there is nothing to feed; the sentence says so instead of denying the endpoint. */
Test(learning, packets_that_were_cut_are_none_to_learn_from)
{
    struct learned l;
    begin(&l);
    l.story.snap_bytes = 96;
    story_request(&l.story, ROCE_OP_SEND_ONLY, 10, 1000, 0);
    cr_expect_lt(learn(&l, B, ""), 0);
    cr_expect_not_null(strstr(l.why.text, "cut by a snap length"), "%s", l.why.text);
    end(&l);
}
