/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 7.6: completing, draining, flushing. */
#include <criterion/criterion.h>
#include <errno.h>

#include "test/support/script_suite.h"

TestSuite(requester_drain, .init = setup, .fini = teardown);

/* Posts a WRITE of 4 bytes; the result of the post. */
static int post(uint64_t wr_id, uint32_t flags)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, wr_id, NORNIC_WR_RDMA_WRITE, &sge, 0, 4);
    wr.send_flags = flags;
    int err = roce_post_send(s->qp, &wr, NULL);
    script_pump(s);
    return err;
}

Test(requester_drain, ROCE_RC_60_only_what_is_signalled_completes)
{
    post(1, 0);
    post(2, NORNIC_SEND_SIGNALED);
    post(3, 0);
    post(4, NORNIC_SEND_SIGNALED);
    ack(3, 4);
    struct nornic_wc wc = expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.opcode, NORNIC_WC_RDMA_WRITE);
    cr_assert_eq(wc.qp_num, roce_qp_num(s->qp));
    expect_wc(s, send_cq, 4, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
}

Test(requester_drain, ROCE_RC_60_sq_sig_all)
{
    config.sq_sig_all = true;
    renew();
    post(1, 0);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(requester_drain, ROCE_RC_60_opcodes)
{
    static const struct {
        enum nornic_wr_opcode wr;
        enum nornic_wc_opcode wc;
    } rows[] = {{NORNIC_WR_SEND, NORNIC_WC_SEND},
                {NORNIC_WR_SEND_WITH_IMM, NORNIC_WC_SEND},
                {NORNIC_WR_RDMA_WRITE, NORNIC_WC_RDMA_WRITE},
                {NORNIC_WR_RDMA_WRITE_WITH_IMM, NORNIC_WC_RDMA_WRITE}};
    for (uint32_t i = 0; i < 4; i++) {
        script_post(s, i, rows[i].wr, 0, 8);
        ack(i, i + 1);
        struct nornic_wc wc = expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
        cr_assert_eq(wc.opcode, rows[i].wc);
    }
    script_post(s, 9, NORNIC_WR_ATOMIC_CMP_AND_SWP, 0, 8);
    struct script_pkt p = script_atomic_ack_pkt(s, script_sq(s, 4), 5, 1);
    script_send(s, &p);
    struct nornic_wc wc = expect_wc(s, send_cq, 9, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.opcode, NORNIC_WC_COMP_SWAP);
}

Test(requester_drain, ROCE_RC_60_an_unsignalled_slot_is_freed_by_a_later_completion)
{
    config.caps.max_send_wr = 4;
    renew();
    struct nornic_qp_caps caps;
    roce_qp_query(s->qp, NULL, &caps);
    uint32_t n = caps.max_send_wr;
    for (uint32_t i = 0; i + 1 < n; i++)
        cr_assert_eq(post(i, 0), 0);
    cr_assert_eq(post(77, NORNIC_SEND_SIGNALED), 0);
    cr_assert_eq(post(99, 0), -ENOMEM);
    ack(n - 2, n - 1);
    cr_assert_eq(post(99, 0), -ENOMEM, "nothing says yet that they are done");
    ack(n - 1, n);
    expect_wc(s, send_cq, 77, NORNIC_WC_SUCCESS);
    for (uint32_t i = 0; i < n; i++)
        cr_assert_eq(post(i, 0), 0);
    cr_assert_eq(post(99, 0), -ENOMEM);
}

Test(requester_drain, ROCE_RC_60_an_error_completes_unsignalled_work_too)
{
    post(1, 0);
    post(2, 0);
    post(3, 0);
    ack(0, 1);
    script_ack(s, script_sq(s, 1), ROCE_SYNDROME_NAK_REM_OP, 1);
    expect_wc(s, send_cq, 2, NORNIC_WC_REM_OP_ERR);
    expect_wc(s, send_cq, 3, NORNIC_WC_WR_FLUSH_ERR);
    expect_no_wc(s, send_cq);
}

Test(requester_drain, ROCE_RC_60_a_read_completes_in_posting_order)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 8);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8);
    struct script_pkt burst[2] = {
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 0), 1, script_data(), 8),
        script_ack_pkt(s, script_sq(s, 1), ROCE_SYNDROME_ACK_UNLIMITED, 2)};
    script_burst(s, burst, 2);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
}

static int to_sqd(bool notify)
{
    s->config.attr.en_sqd_async_notify = notify;
    int err = script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_EN_SQD_ASYNC_NOTIFY);
    script_pump(s);
    return err;
}

/* covers: ROCE-RC-62, ROCE-QP-5, ROCE-RC-18, ROCE-EV-6 */
Test(requester_drain, ROCE_RC_62_what_was_begun_is_finished)
{
    config.window_pkts = 4;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 10 * 1024);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 4);
    script_forget(s);
    cr_assert_eq(to_sqd(true), 0);
    expect_state(s, NORNIC_QPS_SQD);
    script_post(s, 3, NORNIC_WR_RDMA_WRITE, 0, 4); /* may be posted */
    expect_nothing(s);
    expect_no_event(s);
    ack(3, 0);
    ack(7, 0);
    const struct roce_pkt *p, *last = NULL;
    while ((p = script_next(s)))
        last = p;
    cr_assert_not_null(last);
    cr_assert_eq(last->bth.psn, script_sq(s, 9), "the message goes on to its end, and no further");
    expect_no_event(s);
    ack(9, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_event(s, NORNIC_EVENT_SQ_DRAINED);
    expect_no_event(s);
    script_advance(s, SCRIPT_S);
    expect_nothing(s);
    expect_no_wc(s, send_cq);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    script_pump(s);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 10));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 11));
    ack(11, 3);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
    expect_no_event(s);
}

Test(requester_drain, ROCE_RC_62_retries_included)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 2048);
    script_forget(s);
    cr_assert_eq(to_sqd(true), 0);
    cr_assert(script_until_sent(s, 300 * SCRIPT_MS));
    expect_op(s, ROCE_OP_WRITE_FIRST, script_sq(s, 0));
    script_forget(s);
    script_ack(s, script_sq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    expect_op(s, ROCE_OP_WRITE_LAST, script_sq(s, 1));
    ack(1, 1);
    expect_event(s, NORNIC_EVENT_SQ_DRAINED);
}

Test(requester_drain, ROCE_RC_62_an_idle_queue_is_drained_at_once)
{
    cr_assert_eq(to_sqd(true), 0);
    expect_event(s, NORNIC_EVENT_SQ_DRAINED);
    expect_no_event(s);
}

Test(requester_drain, ROCE_RC_62_no_event_unless_asked_for)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    cr_assert_eq(to_sqd(false), 0);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_no_event(s);
}

/* covers: ROCE-QP-31, ROCE-QP-10 */
Test(requester_drain, ROCE_QP_31_sqd_is_not_left_while_it_drains)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    cr_assert_eq(to_sqd(true), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), -EINVAL);
    expect_state(s, NORNIC_QPS_SQD);
    ack(0, 1);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    expect_state(s, NORNIC_QPS_RTS);
}

Test(requester_drain, ROCE_QP_31_sqd_to_err_while_it_drains)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    cr_assert_eq(to_sqd(true), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    script_pump(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_WR_FLUSH_ERR);
}

/* covers: ROCE-QP-11, ROCE-QP-5 */
Test(requester_drain, ROCE_QP_11_the_responder_goes_on_in_sqd)
{
    cr_assert_eq(to_sqd(false), 0);
    script_recv(s, 1, 0, 64);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 4);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    p = script_read_pkt(s, script_rq(s, 1), 0, 2000);
    script_send(s, &p);
    expect_op(s, ROCE_OP_READ_RESP_FIRST, script_rq(s, 1));
    expect_op(s, ROCE_OP_READ_RESP_LAST, script_rq(s, 2));
}

/* covers: ROCE-RC-63, ROCE-QP-7, ROCE-CQ-1 */
Test(requester_drain, ROCE_RC_63_every_work_request_gets_one_completion)
{
    config.attr.max_rd_atomic = 1;
    renew();
    for (uint64_t i = 0; i < 3; i++)
        script_recv(s, 100 + i, 0, 64);
    post(0, 0);
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 8);
    script_post(s, 2, NORNIC_WR_RDMA_READ, 0, 8); /* not started */
    post(3, 0);
    script_forget(s);
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    script_pump(s);
    for (uint64_t i = 0; i < 4; i++)
        expect_wc(s, send_cq, i, NORNIC_WC_WR_FLUSH_ERR);
    expect_no_wc(s, send_cq);
    for (uint64_t i = 0; i < 3; i++)
        expect_wc(s, recv_cq, 100 + i, NORNIC_WC_WR_FLUSH_ERR);
    expect_no_wc(s, recv_cq);
    cr_assert_eq(roce_dev_deadline_ns(s->dev), NET_TIME_NONE, "timers are stopped");
    ack(0, 1);
    script_advance(s, SCRIPT_S);
    expect_nothing(s);
    expect_no_wc(s, send_cq);
}

Test(requester_drain, ROCE_RC_63_the_timer_is_stopped_in_an_rnr_wait_too)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 8);
    script_forget(s);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_RNR | 5, 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    script_pump(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_WR_FLUSH_ERR);
    cr_assert_eq(roce_dev_deadline_ns(s->dev), NET_TIME_NONE);
    script_advance(s, SCRIPT_S);
    expect_nothing(s);
}

/* covers: ROCE-QP-27, ROCE-RC-47, ROCE-RC-49 */
Test(requester_drain, ROCE_QP_27_retry_counts_changed_in_sqd_hold_for_the_next_message)
{
    config.attr.retry_cnt = config.attr.rnr_retry = 0;
    renew();
    cr_assert_eq(to_sqd(false), 0);
    s->config.attr.retry_cnt = s->config.attr.rnr_retry = 1;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    script_post(s, 1, NORNIC_WR_SEND, 0, 4);
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_RNR | 1, 0);
    cr_assert(script_until_sent(s, SCRIPT_MS));
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    cr_assert(script_until_sent(s, 300 * SCRIPT_MS));
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    expect_state(s, NORNIC_QPS_RTS);
    script_advance(s, 300 * SCRIPT_MS);
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
}

/* covers: ROCE-QP-10, ROCE-QP-27 */
Test(requester_drain, ROCE_QP_31_nothing_is_changed_while_it_drains)
{
    post(1, NORNIC_SEND_SIGNALED);
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, 0), 0);
    s->config.attr.timeout = 9;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_TIMEOUT), -EINVAL);
    struct nornic_qp_attr attr;
    roce_qp_query(s->qp, &attr, NULL);
    cr_assert_eq(attr.timeout, 14);
    ack(0, 1);
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_TIMEOUT), 0);
    roce_qp_query(s->qp, &attr, NULL);
    cr_assert_eq(attr.timeout, 9);
}

/* The event was asked for once. covers: ROCE-RC-62, ROCE-QP-5 */
Test(requester_drain, ROCE_RC_62_the_wish_for_an_event_ends_with_the_drain)
{
    cr_assert_eq(to_sqd(true), 0);
    expect_event(s, NORNIC_EVENT_SQ_DRAINED);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, 0), 0);
    script_pump(s);
    expect_no_event(s);
}
