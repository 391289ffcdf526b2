/* SPDX-License-Identifier: BSD-2-Clause */
/* The reaction point: CNPs slow a QP down. Line rate 10 Gb/s, PMTU 1024; a WRITE_MIDDLE is a frame of 1082
 * bytes, which takes 1731 ns at 5 Gb/s, where the first CNP leaves the rate. */
#include <criterion/criterion.h>
#include <errno.h>

#include "test/support/alloc.h"
#include "test/support/rc_masks.h"
#include "test/support/script_suite.h"

#define US           SCRIPT_US
#define MIDDLE_BYTES 1082u
#define CREDIT_PKTS  8u /* that a flow may be behind its rate: cc.c */

static void cc_setup(void)
{
    config = script_defaults();
    config.cc = (struct roce_cc_config){.on = true, .line_rate_bps = UINT64_C(10000000000)};
    renew();
}

TestSuite(cc, .init = cc_setup, .fini = teardown);

static const struct roce_counters *counters(void)
{
    return &roce_dev_counters(s->dev)->qps;
}

static void send_cnp(void)
{
    struct script_pkt p = script_cnp_pkt(s);
    script_send(s, &p);
}

/* CNPs one after the other: each halves the rate, as alpha stays 1. */
static void slow_down(unsigned cnps)
{
    for (unsigned i = 0; i < cnps; i++)
        send_cnp();
}

static uint64_t gap_ns(unsigned cnps)
{
    return MIDDLE_BYTES * 8 * UINT64_C(1000000000) / (UINT64_C(10000000000) >> cnps);
}

/* How many packets were sent since the last time. */
static unsigned count_sent(void)
{
    unsigned n = 0;
    while (script_next(s))
        n++;
    return n;
}

/* covers: ROCE-CC-1, ROCE-CC-8 */
Test(cc, ROCE_CC_1_CNPs_are_ignored_where_it_is_off)
{
    config.cc.on = false;
    renew();
    slow_down(3);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 64 * 1024);
    cr_assert_eq(count_sent(), 64);
    cr_assert_eq(counters()->rp_cnp_ignored, 3);
    cr_assert_eq(counters()->rp_cnp_handled, 0);
}

/* covers: ROCE-CC-5, CA17-45 */
Test(cc, ROCE_CC_5_requests_leave_at_the_reduced_rate)
{
    slow_down(1);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 32 * 1024);
    uint64_t began_ns = s->now_ns;
    for (unsigned i = 0; i < 20; i++) {
        cr_assert_eq(count_sent(), 1, "packet %u", i);
        cr_assert_not(roce_dev_tx_pending(s->dev), "a QP that waits does not keep the device busy");
        uint64_t due_ns = roce_dev_deadline_ns(s->dev);
        uint64_t first_ns = (MIDDLE_BYTES + 16) * 8 / 5; /* WRITE_FIRST has a RETH */
        cr_assert_eq(due_ns, began_ns + first_ns + i * gap_ns(1), "packet %u", i);
        s->now_ns = due_ns - 1;
        script_pump(s);
        expect_nothing(s);
        script_advance(s, 1);
    }
    cr_assert_eq(counters()->rp_cnp_handled, 1);
}

/* The next packet is delayed, but not by more than that; what came before the CNP is no credit.
 * covers: ROCE-CC-5 */
Test(cc, a_CNP_in_the_midst_of_a_message)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 512 * 1024);
    cr_assert_eq(count_sent(), 512);
    slow_down(1);
    ack(511, 1);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 32 * 1024);
    cr_assert_eq(count_sent(), 1);
}

/* A late wake-up is made up for, by CREDIT_PKTS at most. */
Test(cc, what_a_late_timer_cost_is_made_good)
{
    slow_down(4); /* 13.8 us a packet */
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 128 * 1024);
    cr_assert_eq(count_sent(), 1);
    s->now_ns += 3 * gap_ns(4) + 1000;
    roce_dev_expire(s->dev, s->now_ns);
    script_pump(s);
    cr_assert_eq(count_sent(), 3);
    s->now_ns = roce_dev_deadline_ns(s->dev) + 40 * US; /* less than T: the rate stays */
    slow_down(1);
    cr_assert_leq(count_sent(), CREDIT_PKTS);
}

/* The timer of 64 packets' time ago: what is made good is bounded, or the line would see a burst at line
 * rate. covers: ROCE-CC-5 */
Test(cc, ROCE_CC_5_a_timer_that_is_far_too_late_makes_no_burst)
{
    slow_down(2); /* 2.5 Gb/s: 3.5 us a packet */
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 128 * 1024);
    cr_assert_eq(count_sent(), 1);
    s->now_ns += 40 * gap_ns(2); /* 138 us; the byte counter and the timer have not made the rate grow much */
    roce_dev_expire(s->dev, s->now_ns);
    script_pump(s);
    unsigned sent = count_sent();
    cr_assert(sent >= 2 && sent <= CREDIT_PKTS + 1, "%u packets at once", sent);
}

/* covers: ROCE-CC-5 */
Test(cc, ROCE_CC_5_UC_is_paced)
{
    config.type = NORNIC_QPT_UC;
    renew();
    slow_down(1);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8 * 1024);
    for (unsigned i = 0; i < 7; i++) {
        cr_assert_eq(count_sent(), 1, "packet %u", i);
        cr_assert_not(roce_dev_tx_pending(s->dev));
        uint64_t due_ns = roce_dev_deadline_ns(s->dev);
        cr_assert_geq(due_ns, s->now_ns + gap_ns(1));
        script_advance(s, due_ns - s->now_ns);
    }
    cr_assert_eq(count_sent(), 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

/* covers: ROCE-CC-7 */
Test(cc, ROCE_CC_7_READ_responses_are_paced)
{
    slow_down(1);
    struct script_pkt p = script_read_pkt(s, script_rq(s, 0), 0, 20 * 1024);
    script_send(s, &p);
    uint64_t began_ns = s->now_ns;
    for (unsigned i = 0; i < 20; i++) {
        const struct roce_pkt *pkt = script_next(s);
        cr_assert_not_null(pkt);
        cr_assert_eq(pkt->bth.psn, script_rq(s, i));
        cr_assert_not(roce_dev_tx_pending(s->dev));
        expect_nothing(s);
        if (i == 19)
            break;
        s->now_ns = roce_dev_deadline_ns(s->dev);
        script_advance(s, 0);
    }
    cr_assert_gt(s->now_ns - began_ns, 19 * gap_ns(1) * 9 / 10);
    cr_assert_lt(s->now_ns - began_ns, 19 * gap_ns(1) * 11 / 10);
}

/* A QP that writes without end still answers a READ: of the rate, which is that of both, each half gets every
 * other packet.
 * covers: ROCE-CC-7 */
Test(cc, ROCE_CC_7_READ_responses_and_requests_share_the_rate)
{
    enum { EACH = 8 };
    slow_down(1);
    struct script_pkt p = script_read_pkt(s, script_rq(s, 0), 0, EACH * 1024);
    script_send(s, &p);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 32 * 1024);
    unsigned requests = 0, responses = 0;
    while (responses < EACH) {
        const struct roce_pkt *pkt = script_next(s);
        cr_assert_not_null(pkt);
        bool is_response = pkt->op->flags & ROCE_PKT_RESPONSE;
        responses += is_response;
        requests += !is_response;
        cr_assert_leq(requests, responses + 1, "%u requests, %u responses", requests, responses);
        cr_assert_leq(responses, requests + 1, "%u requests, %u responses", requests, responses);
        expect_nothing(s);
        script_advance(s, roce_dev_deadline_ns(s->dev) - s->now_ns);
    }
}

/* covers: ROCE-CC-7 */
Test(cc, ROCE_CC_7_ACKs_NAKs_and_atomic_answers_are_not)
{
    slow_down(10); /* 10 Mb/s: a packet would wait for a millisecond */
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 32 * 1024);
    cr_assert_eq(count_sent(), 1);
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 0, 4, script_data(), 4);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
    p = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 1), 8, 1, 0);
    script_send(s, &p);
    cr_assert_eq(script_next(s)->bth.opcode, ROCE_OP_ATOMIC_ACK);
    p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 9), 0, 4, script_data(), 4);
    script_send(s, &p);
    expect_nak(s, script_rq(s, 2), ROCE_SYNDROME_NAK_PSN_SEQ, 2);
    expect_nothing(s);
}

/* covers: ROCE-CC-6, CA17-46 */
Test(cc, ROCE_CC_6_the_limiter_goes_when_line_rate_is_reached)
{
    slow_down(1);
    script_advance(s, 100 * 55 * US);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 64 * 1024);
    cr_assert_eq(count_sent(), 64);
}

/* covers: ROCE-CC-6, CA17-46 */
Test(cc, ROCE_CC_6_bytes_alone_bring_the_rate_back)
{
    config.cc.increase_period_ns = UINT32_MAX;
    config.cc.increase_bytes = 2 * (MIDDLE_BYTES + 16);
    renew();
    slow_down(1);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 128 * 1024);
    for (unsigned i = 0; i < 6; i++) {
        s->now_ns = roce_dev_deadline_ns(s->dev);
        script_advance(s, 0);
    }
    uint64_t before_ns = s->now_ns;
    s->now_ns = roce_dev_deadline_ns(s->dev);
    cr_assert_lt(s->now_ns - before_ns, gap_ns(1) * 2 / 3); /* 5, 7.5, 8.75, 9.375 Gb/s */
}

/* At the floor a packet takes 8.7 ms; by then the rate has long recovered. The way is known beforehand, so
 * that the timer fires once, not at every step.
 * covers: ROCE-CC-6, CA17-46 */
Test(cc, a_wait_shrinks_as_the_rate_grows)
{
    slow_down(20);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 2048);
    cr_assert_eq(count_sent(), 1);
    uint64_t due_ns = roce_dev_deadline_ns(s->dev) - s->now_ns;
    cr_assert_lt(due_ns, SCRIPT_MS, "%lu ns", due_ns);
    cr_assert_gt(due_ns, 6 * 55 * US);
    s->now_ns += due_ns;
    roce_dev_expire(s->dev, s->now_ns);
    script_pump(s);
    cr_assert_eq(count_sent(), 1);
}

/* An idle QP arms no timer, however slow it was.
 * covers: ROCE-CC-5 */
Test(cc, nothing_runs_for_an_idle_flow)
{
    slow_down(8);
    cr_assert_eq(roce_dev_deadline_ns(s->dev), NET_TIME_NONE);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 1024);
    ack(0, 1);
    cr_assert_eq(roce_dev_deadline_ns(s->dev), NET_TIME_NONE);
    cr_assert_not(roce_dev_tx_pending(s->dev));
}

/* covers: ROCE-CC-5 */
Test(cc, ROCE_CC_5_PSNs_timers_and_retries_are_left_alone)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 3 * 1024);
    script_forget(s);
    uint64_t due_ns = roce_dev_deadline_ns(s->dev);
    script_advance(s, 10 * US);
    slow_down(2);
    cr_assert_eq(roce_dev_deadline_ns(s->dev), due_ns);
    expect_nothing(s);
    struct nornic_qp_attr attr;
    roce_qp_query(s->qp, &attr, NULL);
    cr_assert_eq(attr.sq_psn, script_sq(s, 3));
    cr_assert_eq(attr.rq_psn, script_rq(s, 0));
    ack(2, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

/* Seven retries, each of which has to wait for the pacing: the wait is not counted as another timeout.
 * covers: ROCE-CC-5 */
Test(cc, ROCE_CC_5_a_resend_that_waits_costs_no_retry)
{
    config.attr.timeout = 1; /* 8.192 us */
    config.attr.retry_cnt = 1;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 1024);
    script_forget(s);
    slow_down(6); /* 55 us a packet */
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 1024);
    cr_assert_eq(count_sent(), 1);
    cr_assert(script_until_sent(s, SCRIPT_MS));
    cr_assert_eq(script_next(s)->bth.psn, script_sq(s, 0));
    cr_assert_gt(script_last_ns(s) - SCRIPT_S, 50 * US);
    cr_assert_eq(counters()->local_ack_timeout, 1);
    expect_state(s, NORNIC_QPS_RTS);
    ack(1, 2);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
}

/* 64 packets, after which an ACK is asked for otherwise, would take longer than the ack timer.
 * covers: ROCE-CC-5, ROCE-RC-12 */
Test(cc, acks_are_asked_for_before_the_timer_fires)
{
    config.attr.timeout = 8; /* 1.05 ms */
    renew();
    slow_down(6); /* 55 us a packet: 64 of them would take 3.5 ms */
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 64 * 1024);
    uint64_t asked_ns = s->now_ns;
    for (const struct roce_pkt *pkt; (pkt = script_next(s)) || script_until_sent(s, SCRIPT_MS);) {
        if (!pkt || !pkt->bth.ack_req)
            continue;
        cr_assert_leq(s->now_ns - asked_ns, 400 * US);
        asked_ns = s->now_ns;
        script_ack(s, pkt->bth.psn, ROCE_SYNDROME_ACK_UNLIMITED, pkt->bth.psn == script_sq(s, 63));
    }
    cr_assert_eq(counters()->local_ack_timeout, 0);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

/* covers: ROCE-CC-5, ROCE-CC-8 */
Test(cc, ROCE_CC_5_CNPs_for_nobody_are_dropped_and_counted)
{
    struct script_pkt p = script_cnp_pkt(s);
    p.bth.dest_qpn = 0x4711;
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_NO_QP, 1);
    cr_assert_eq(counters()->rp_cnp_ignored, 1);
    p.bad_icrc = true; /* not known to be a CNP at all */
    script_send(s, &p);
    cr_assert_eq(counters()->rp_cnp_ignored, 1);
    config.state = NORNIC_QPS_RTR;
    renew();
    send_cnp();
    expect_verdict(s, ROCE_RX_DROP_STATE, 1);
    cr_assert_eq(counters()->rp_cnp_ignored, 1);
    cr_assert_eq(counters()->rp_cnp_handled, 0);
}

/* A published adapter CNP has source port 0, TTL 64 and BECN 1; M, SE and a wild PSN mean nothing either.
 * covers: ROCE-CC-4, ROCE-CC-8, CA17-29 */
Test(cc, ROCE_CC_8_what_a_CNP_has_in_other_fields_does_not_matter)
{
    struct script_pkt p = script_cnp_pkt(s);
    p.path.src_port = 0;
    p.bth.becn = p.bth.fecn = p.bth.mig_req = p.bth.se = 1;
    p.bth.psn = script_sq(s, 0);
    script_send(s, &p);
    cr_assert_eq(counters()->rp_cnp_handled, 1);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8 * 1024);
    cr_assert_eq(count_sent(), 1);
}

/* Its 16 bytes are all that it has: what is longer is no CNP, and what it might mean nobody knows.
 * covers: ROCE-HDR-12, ROCE-CC-5, CA17-44 */
Test(cc, ROCE_HDR_12_a_CNP_with_more_in_it_is_none)
{
    static const uint8_t body[ROCE_CNP_BYTES + 4];
    struct script_pkt p = script_cnp_pkt(s);
    p.payload = body;
    p.payload_bytes = sizeof body;
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_LENGTH, 1);
    p.bth.pad_count = 2;
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_LENGTH, 2);
    cr_assert_eq(counters()->rp_cnp_handled, 0);
    cr_assert_eq(counters()->rp_cnp_ignored, 2);
    p = script_cnp_pkt(s);
    script_send(s, &p);
    cr_assert_eq(counters()->rp_cnp_handled, 1);
}

/* F and B of other packets are no congestion.
 * covers: ROCE-CC-8, CA17-29, ROCE-HDR-6 */
Test(cc, ROCE_CC_8_BECN_of_data_does_not_matter)
{
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 0, 4, script_data(), 4);
    p.bth.becn = p.bth.fecn = 1;
    script_send(s, &p);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8 * 1024);
    cr_assert_eq(count_sent(), 8);
}

Test(cc, a_new_connection_begins_at_line_rate)
{
    slow_down(10);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8 * 1024);
    cr_assert_eq(count_sent(), 1);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    cr_assert_eq(roce_dev_deadline_ns(s->dev), NET_TIME_NONE);
    cr_assert_eq(script_modify(s, NORNIC_QPS_INIT, RC_INIT_MASK), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, RC_RTS_MASK), 0);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8 * 1024);
    cr_assert_eq(count_sent(), 8);
}

Test(cc, without_memory_there_is_no_qp)
{
    for (unsigned fail = 1;; fail++) {
        struct test_alloc alloc;
        test_alloc_init(&alloc);
        struct roce_dev_config dc = {.mem = &alloc.mem,
                                     .random = test_random_source(&s->rnd),
                                     .port_mtu_bytes = 1500,
                                     .cc = {.on = true}};
        struct roce_dev *dev;
        struct rdma_pd *pd;
        cr_assert_eq(roce_dev_create(&dc, &dev), 0);
        cr_assert_eq(rdma_pd_create(roce_dev_domain(dev), &pd), 0);
        struct roce_qp_config qc = {.type = NORNIC_QPT_RC,
                                    .pd = pd,
                                    .send_cq = s->send_cq,
                                    .recv_cq = s->recv_cq,
                                    .caps = {.max_send_wr = 1}};
        struct roce_qp *qp;
        alloc.fail_at = alloc.calls + fail;
        int err = roce_qp_create(dev, &qc, &qp);
        if (!err)
            roce_qp_destroy(qp);
        cr_assert_eq(rdma_pd_destroy(pd), 0);
        cr_assert_eq(roce_dev_destroy(dev), 0);
        cr_assert_eq(alloc.live, 0, "call %u", fail);
        if (!err)
            break;
        cr_assert_eq(err, -ENOMEM);
    }
}

/* covers: ROCE-CC-24 */
Test(cc, a_device_with_parameters_out_of_range_is_not_made)
{
    struct roce_dev_config c = {.random = test_random_source(&s->rnd),
                                .port_mtu_bytes = 1500,
                                .cc = {.on = true, .gain_1024ths = 2000}};
    struct roce_dev *dev;
    cr_assert_eq(roce_dev_create(&c, &dev), -EINVAL);
}

/* covers: ROCE-CC-20 */
Test(cc, ROCE_QP_8_a_reset_forgets_the_rate)
{
    slow_down(3);
    script_restart(s);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 64 * 1024);
    cr_assert_eq(count_sent(), 64);
}
