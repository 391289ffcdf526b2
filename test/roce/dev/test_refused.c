/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer's host says that nobody there takes packets. */
#include <criterion/criterion.h>

#include "test/support/script_suite.h"

#define REFUSED_MS 100 /* as roce_dev_refused() says */

static void setup_patient(void)
{
    config = script_defaults();
    config.attr.timeout = 20; /* 4.3 s */
    renew();
}

TestSuite(refused, .init = setup_patient, .fini = teardown);

static void refuse(void)
{
    roce_dev_refused(s->dev, &s->config.attr.av.dgid, s->now_ns);
}

static void write_one(uint64_t wr_id, uint32_t i)
{
    script_post(s, wr_id, NORNIC_WR_RDMA_WRITE, 0, 8);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, i));
}

Test(refused, what_waits_fails_soon_without_a_repetition)
{
    write_one(1, 0);
    script_advance(s, SCRIPT_S);
    refuse();
    for (unsigned ms = 0; ms < REFUSED_MS - 1; ms += 10) { /* each packet that leaves is refused */
        script_advance(s, 10 * SCRIPT_MS - 1);
        expect_no_wc(s, send_cq);
        refuse();
    }
    script_advance(s, SCRIPT_MS);
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
    cr_assert_eq(roce_qp_counters(s->qp)->retry_exceeded, 1);
}

Test(refused, own_timer_may_come_before)
{
    config.attr.timeout = 10; /* 4.2 ms */
    renew();
    write_one(1, 0);
    refuse();
    script_advance(s, UINT64_C(4096) << 10);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
}

/* A program that is started again has its socket back soon; and not every ICMP message is true. */
Test(refused, answer_gives_all_retries_back)
{
    config.attr.timeout = 14;
    renew();
    write_one(1, 0);
    refuse();
    script_advance(s, 10 * SCRIPT_MS);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    write_one(2, 1);
    for (unsigned i = 0; i < 7; i++) {
        cr_assert(script_until_sent(s, 5 * SCRIPT_S), "repetition %u", i + 1);
        expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
    }
}

Test(refused, others_are_left_alone)
{
    struct nornic_addr other = s->config.attr.av.dgid;
    other.b[15] ^= 1;
    write_one(1, 0);
    roce_dev_refused(s->dev, &other, s->now_ns);
    script_advance(s, 4 * SCRIPT_S);
    expect_nothing(s);
    expect_no_wc(s, send_cq);
    cr_assert(script_until_sent(s, SCRIPT_S), "its own timer, and not the last");
}

/* Nothing is under way: then nothing is to fail. */
Test(refused, who_waits_for_nothing_goes_on)
{
    refuse();
    cr_assert_eq(roce_dev_deadline_ns(s->dev), NET_TIME_NONE);
    write_one(1, 0);
    script_advance(s, 4 * SCRIPT_S);
    expect_no_wc(s, send_cq);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

/* The peer says itself that it is there. */
Test(refused, rnr_wait_is_no_silence)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 8);
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_RNR | 30, 0); /* 327.68 ms */
    refuse();
    script_advance(s, 200 * SCRIPT_MS);
    expect_no_wc(s, send_cq);
    cr_assert(script_until_sent(s, SCRIPT_S));
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
}
