/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests that send nothing, in the order of the send queue: LOCAL_INV, BIND_MW, REG_MR. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/roce/local_ops.h"
#include "rdma/transport.h"

TestSuite(local_ops, .init = make_objects, .fini = free_objects);

Test(local_ops, ROCE_MW_4_a_key_may_be_sent_right_behind_its_bind)
{
    struct nornic_sge sge;
    struct nornic_send_wr send = script_wr(s, 2, NORNIC_WR_SEND, &sge, 0, 8), bind = bind_wr(1);
    bind.next = &send;
    cr_assert_eq(roce_post_send(s->qp, &bind, NULL), 0);
    script_pump(s);
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    peer_writes(0, window_key(), s->mr->iova + WINDOW_AT);
    expect_ack(s, script_rq(s, 0), 1);
    cr_assert_arr_eq(s->mem + WINDOW_AT, script_data(), 4);
    struct nornic_wc wc = expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.opcode, NORNIC_WC_BIND_MW);
    expect_no_wc(s, send_cq);
    peer_writes(1, window_key(), s->mr->iova + WINDOW_AT + WINDOW_BYTES - 3);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_REM_ACC, 1);
    expect_event(s, NORNIC_EVENT_QP_ACCESS_ERR);
}

/* covers: ROCE-RC-60 */
Test(local_ops, ROCE_MW_4_a_bind_waits_for_nothing_but_completes_in_order)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    post(bind_wr(2));
    post(reg_wr(3));
    script_post(s, 4, NORNIC_WR_RDMA_WRITE, 0, 8);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
    peer_writes(0, window_key(), s->mr->iova + WINDOW_AT);
    expect_ack(s, script_rq(s, 0), 1);
    peer_writes(1, fast_key(), FAST_IOVA + 8);
    expect_ack(s, script_rq(s, 1), 2);
    cr_assert_arr_eq(s->mem + WINDOW_AT + 8, script_data(), 4);
    expect_no_wc(s, send_cq);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS).opcode, NORNIC_WC_BIND_MW);
    cr_assert_eq(expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS).opcode, NORNIC_WC_REG_MR);
    expect_no_wc(s, send_cq);
    ack(1, 2);
    expect_wc(s, send_cq, 4, NORNIC_WC_SUCCESS);
}

Test(local_ops, one_ack_completes_what_lies_around_them)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 8);
    post(bind_wr(2));
    script_post(s, 3, NORNIC_WR_RDMA_WRITE, 0, 3000);
    post(reg_wr(4));
    script_post(s, 5, NORNIC_WR_RDMA_READ, 0, 8);
    script_forget(s);
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 4), 3, script_data(), 8);
    script_send(s, &p);
    for (uint64_t id = 1; id <= 5; id++)
        expect_wc(s, send_cq, id, NORNIC_WC_SUCCESS);
    expect_nothing(s);
}

Test(local_ops, ROCE_RC_14_a_local_invalidate_waits_for_everything_before_it)
{
    post(bind_wr(1));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 2000);
    script_post(s, 3, NORNIC_WR_RDMA_READ, 0, 8);
    post(inv_wr(4, window_key()));
    script_post(s, 5, NORNIC_WR_SEND, 0, 8);
    expect_op(s, ROCE_OP_WRITE_FIRST, script_sq(s, 0));
    expect_op(s, ROCE_OP_WRITE_LAST, script_sq(s, 1));
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 2));
    expect_nothing(s);
    ack(1, 1);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    expect_nothing(s);
    peer_writes(0, window_key(), s->mr->iova + WINDOW_AT);
    expect_ack(s, script_rq(s, 0), 1);
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 2), 2, script_data(), 8);
    script_send(s, &p);
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
    cr_assert_eq(expect_wc(s, send_cq, 4, NORNIC_WC_SUCCESS).opcode, NORNIC_WC_LOCAL_INV);
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 3));
    peer_writes(1, window_key(), s->mr->iova + WINDOW_AT);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_REM_ACC, 1);
    expect_event(s, NORNIC_EVENT_QP_ACCESS_ERR);
}

Test(local_ops, ROCE_RC_14_a_fence_holds_them_up_too)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 8);
    struct nornic_send_wr wr = reg_wr(2);
    wr.send_flags |= NORNIC_SEND_FENCE;
    post(wr);
    script_post(s, 3, NORNIC_WR_SEND, 0, 8);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    expect_nothing(s);
    cr_assert_null(rdma_mr_find(roce_dev_domain(s->dev), fast_key()));
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 0), 1, script_data(), 8);
    script_send(s, &p);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 1));
    cr_assert_eq(rdma_mr_find(roce_dev_domain(s->dev), fast_key()), fast);
}

/* covers: ROCE-MR-6, ROCE-MR-7 */
Test(local_ops, ROCE_MW_3_what_fails_fails_in_its_turn_and_ends_the_qp)
{
    const struct {
        struct nornic_send_wr wr;
        enum nornic_wc_status status;
    } rows[] = {{bind_wr(2), NORNIC_WC_MW_BIND_ERR}, {reg_wr(2), NORNIC_WC_LOC_QP_OP_ERR}};
    for (int i = 0; i < 2; i++) {
        renew_all();
        struct nornic_send_wr wr = i ? reg_wr(2) : bind_wr(2);
        wr.bind.len_bytes = UINT64_C(1) << 40;
        script_post(s, 1, NORNIC_WR_SEND, 0, 8);
        post(wr);
        script_post(s, 3, NORNIC_WR_SEND, 0, 8);
        expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
        expect_nothing(s);
        expect_no_wc(s, send_cq);
        expect_state(s, NORNIC_QPS_RTS);
        ack(0, 1);
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
        expect_wc(s, send_cq, 2, rows[i].status);
        expect_wc(s, send_cq, 3, NORNIC_WC_WR_FLUSH_ERR);
        expect_nothing(s);
        expect_state(s, NORNIC_QPS_ERR);
    }
}

Test(local_ops, ROCE_MR_7_a_local_invalidate_of_a_wrong_key_fails)
{
    uint32_t keys[] = {s->mr->rkey, mw->rkey, fast->rkey, 0, 0xdead00};
    for (int i = 0; i < 5; i++) {
        renew_all();
        keys[0] = s->mr->rkey;
        keys[1] = mw->rkey;
        keys[2] = fast->rkey;
        post(inv_wr(1, keys[i]));
        expect_wc(s, send_cq, 1, NORNIC_WC_LOC_QP_OP_ERR);
        expect_state(s, NORNIC_QPS_ERR);
    }
}

Test(local_ops, a_retransmission_passes_them_by)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    post(bind_wr(2)); /* executed twice it would fail: bound already */
    script_post(s, 3, NORNIC_WR_RDMA_WRITE, 0, 8);
    post(reg_wr(4));
    script_forget(s);
    cr_assert(script_until_sent(s, SCRIPT_S));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
    expect_nothing(s);
    script_ack(s, script_sq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 1);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    ack(1, 2);
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 4, NORNIC_WC_SUCCESS);
    script_post(s, 5, NORNIC_WR_RDMA_WRITE, 0, 8);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 2));
}

/* The ack timer fires; one packet is sent again before the device's turn is over. */
static void send_one_again(void)
{
    static uint8_t bytes[4096];
    struct net_frame frame = {.data = bytes, .cap_bytes = sizeof bytes};
    s->now_ns = roce_dev_deadline_ns(s->dev);
    roce_dev_expire(s->dev, s->now_ns);
    cr_assert_eq(roce_dev_tx(s->dev, &frame, 1, s->now_ns), 1);
}

/* Sending has resumed right before one; whatever the peer says then is about the next that was sent. */
Test(local_ops, none_takes_the_answer_of_what_comes_behind_it)
{
    for (int bad = 0; bad < 2; bad++) {
        renew_all();
        script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
        post(bind_wr(2));
        script_post(s, 3, NORNIC_WR_RDMA_READ, 0, 8);
        script_forget(s);
        send_one_again();
        struct script_pkt p[2] = {
            script_ack_pkt(s, script_sq(s, 0), ROCE_SYNDROME_ACK_UNLIMITED, 1),
            bad ? script_ack_pkt(s, script_sq(s, 1), ROCE_SYNDROME_NAK_REM_ACC, 1)
                : script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 1), 2, script_data(), 8)};
        script_burst(s, p, 2);
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
        expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
        expect_wc(s, send_cq, 3, bad ? NORNIC_WC_REM_ACCESS_ERR : NORNIC_WC_SUCCESS);
        expect_state(s, bad ? NORNIC_QPS_ERR : NORNIC_QPS_RTS);
    }
}

/* covers: ROCE-EV-6 */
Test(local_ops, ROCE_RC_62_the_queue_has_drained_though_one_was_to_be_passed_again)
{
    config.attr.en_sqd_async_notify = true;
    renew_all();
    script_post(s, 1, NORNIC_WR_SEND, 0, 8);
    post(bind_wr(2));
    script_forget(s);
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_EN_SQD_ASYNC_NOTIFY), 0);
    send_one_again();
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    expect_event(s, NORNIC_EVENT_SQ_DRAINED);
}

/* Whatever is sent again before it, and however sending resumes, nothing behind a failed one leaves. */
Test(local_ops, a_retransmission_stops_at_one_that_failed)
{
    for (uint32_t reorder = 0; reorder <= 64; reorder += 64) {
        config.reorder_pkts = reorder;
        renew_all();
        struct nornic_send_wr wr = bind_wr(3);
        wr.bind.lkey = 0;
        script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
        script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8);
        post(wr);
        script_post(s, 4, NORNIC_WR_RDMA_WRITE, 0, 8);
        script_forget(s);
        script_ack(s, script_sq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
        expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
        if (!reorder)
            expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
        expect_nothing(s);
        cr_assert(script_until_sent(s, SCRIPT_S));
        expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
        expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
        expect_nothing(s);
        ack(1, 2);
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
        expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
        expect_wc(s, send_cq, 3, NORNIC_WC_MW_BIND_ERR);
        expect_wc(s, send_cq, 4, NORNIC_WC_WR_FLUSH_ERR);
        expect_nothing(s);
    }
}

Test(local_ops, ROCE_RC_60_unsignalled_ones_free_their_slots_with_a_later_completion)
{
    config.caps.max_send_wr = 4;
    renew_all();
    struct nornic_send_wr wr = bind_wr(1);
    wr.send_flags = 0;
    post(wr);
    wr = inv_wr(2, window_key());
    wr.send_flags = 0;
    post(wr);
    wr = reg_wr(3);
    wr.send_flags = 0;
    post(wr);
    expect_no_wc(s, send_cq);
    post(inv_wr(4, fast_key()));
    wr = bind_wr(5);
    wr.send_flags = 0;
    cr_assert_eq(rdma_cq_capacity(s->send_cq), 512);
    expect_wc(s, send_cq, 4, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
    for (int round = 0; round < 3; round++) {
        for (int i = 0; i < 4; i++) {
            wr = i % 2 ? inv_wr(6, window_key()) : bind_wr(6);
            wr.send_flags = round < 2 && i == 3 ? NORNIC_SEND_SIGNALED : 0;
            post(wr);
        }
        if (round < 2)
            expect_wc(s, send_cq, 6, NORNIC_WC_SUCCESS);
    }
    wr = bind_wr(7);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -ENOMEM, "done, but nothing has freed them");
    expect_no_wc(s, send_cq);
}

/* covers: ROCE-QP-5 */
Test(local_ops, ROCE_RC_62_none_is_executed_in_sqd_and_those_that_are_belong_to_what_drains)
{
    config.attr.en_sqd_async_notify = true;
    renew_all();
    script_post(s, 1, NORNIC_WR_SEND, 0, 8);
    post(bind_wr(2));
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_EN_SQD_ASYNC_NOTIFY), 0);
    post(reg_wr(3));
    expect_no_event(s);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    expect_event(s, NORNIC_EVENT_SQ_DRAINED);
    expect_no_wc(s, send_cq);
    cr_assert_null(rdma_mr_find(roce_dev_domain(s->dev), fast_key()));
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    script_pump(s);
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
    cr_assert_eq(rdma_mr_find(roce_dev_domain(s->dev), fast_key()), fast);
}

Test(local_ops, ROCE_RC_62_one_that_failed_fails_while_the_queue_drains)
{
    struct nornic_send_wr wr = bind_wr(2);
    wr.bind.lkey = 0;
    script_post(s, 1, NORNIC_WR_SEND, 0, 8);
    post(wr);
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, 0), 0);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_MW_BIND_ERR);
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-EV-1 */
Test(local_ops, ROCE_CQ_2_their_completions_may_overflow_a_cq_like_any)
{
    config.send_cq_capacity = 2;
    renew_all();
    struct nornic_send_wr wrs[4] = {bind_wr(1), inv_wr(2, window_key()), bind_wr(3), reg_wr(4)};
    for (int i = 0; i < 3; i++)
        wrs[i].next = &wrs[i + 1];
    cr_assert_eq(roce_post_send(s->qp, wrs, NULL), 0);
    script_pump(s);
    expect_event(s, NORNIC_EVENT_CQ_ERR);
    expect_state(s, NORNIC_QPS_ERR);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    struct nornic_wc wc;
    cr_assert_eq(rdma_cq_poll(s->send_cq, &wc, 1), -EIO);
}

/* covers: ROCE-CQ-6 */
Test(local_ops, a_cq_that_grows_in_time_does_not_overflow)
{
    config.send_cq_capacity = 2;
    renew_all();
    post(bind_wr(1));
    post(inv_wr(2, window_key()));
    cr_assert_eq(rdma_cq_resize(s->send_cq, 4), 0);
    post(bind_wr(3));
    post(reg_wr(4));
    for (uint64_t id = 1; id <= 4; id++)
        expect_wc(s, send_cq, id, NORNIC_WC_SUCCESS);
    expect_state(s, NORNIC_QPS_RTS);
    expect_no_event(s);
}

/* --- type 1 --- */

Test(local_ops, ROCE_MW_1_each_bind_of_a_type_1_window_gives_another_key)
{
    struct rdma_mw *one = NULL;
    cr_assert_eq(rdma_mw_alloc(s->pd, NORNIC_MW_TYPE_1, &one), 0);
    struct nornic_bind bind = bind_wr(0).bind;
    uint32_t first = one->rkey, keys[2];
    for (int i = 0; i < 2; i++) {
        cr_assert_eq(roce_bind_mw(s->qp, one, 10, NORNIC_SEND_SIGNALED, &bind), 0);
        keys[i] = one->rkey;
        script_pump(s);
        cr_assert_eq(expect_wc(s, send_cq, 10, NORNIC_WC_SUCCESS).opcode, NORNIC_WC_BIND_MW);
    }
    cr_assert_neq(keys[0], first);
    cr_assert_neq(keys[1], keys[0]);
    peer_writes(0, keys[1], s->mr->iova + WINDOW_AT);
    expect_ack(s, script_rq(s, 0), 1);
    bind.len_bytes = 0;
    cr_assert_eq(roce_bind_mw(s->qp, one, 11, 0, &bind), 0);
    script_pump(s);
    expect_no_wc(s, send_cq);
    cr_assert_eq(s->mr->windows, 0);
    peer_writes(1, keys[1], s->mr->iova + WINDOW_AT);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_REM_ACC, 1);
    expect_event(s, NORNIC_EVENT_QP_ACCESS_ERR);
    rdma_mw_dealloc(one);
}

Test(local_ops, ROCE_MW_1_the_verb_is_for_type_1_and_the_work_request_for_type_2)
{
    struct rdma_mw *one = NULL, *theirs = NULL;
    struct rdma_pd *pd = NULL;
    struct nornic_bind bind = bind_wr(0).bind;
    cr_assert_eq(rdma_pd_create(roce_dev_domain(s->dev), &pd), 0);
    cr_assert_eq(rdma_mw_alloc(s->pd, NORNIC_MW_TYPE_1, &one), 0);
    cr_assert_eq(rdma_mw_alloc(pd, NORNIC_MW_TYPE_1, &theirs), 0);
    uint32_t key = one->rkey;
    cr_assert_eq(roce_bind_mw(s->qp, mw, 1, 0, &bind), -EINVAL);
    cr_assert_eq(roce_bind_mw(s->qp, theirs, 1, 0, &bind), -EINVAL, "ROCE-PD-1");
    struct nornic_send_wr wr = bind_wr(2);
    wr.rkey = one->rkey ^ 1;
    post(wr);
    expect_wc(s, send_cq, 2, NORNIC_WC_MW_BIND_ERR);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    cr_assert_eq(roce_bind_mw(s->qp, one, 1, 0, &bind), -EINVAL);
    cr_assert_eq(one->rkey, key, "a refused bind uses up no key");
    rdma_mw_dealloc(one);
    rdma_mw_dealloc(theirs);
    cr_assert_eq(rdma_pd_destroy(pd), 0);
}

Test(local_ops, ROCE_MW_1_a_full_queue_uses_up_no_key)
{
    config.caps.max_send_wr = 1;
    renew_all();
    struct rdma_mw *one = NULL;
    struct nornic_bind bind = bind_wr(0).bind;
    cr_assert_eq(rdma_mw_alloc(s->pd, NORNIC_MW_TYPE_1, &one), 0);
    cr_assert_eq(roce_bind_mw(s->qp, one, 1, NORNIC_SEND_SIGNALED, &bind), 0);
    uint32_t key = one->rkey;
    cr_assert_eq(roce_bind_mw(s->qp, one, 2, NORNIC_SEND_SIGNALED, &bind), -ENOMEM);
    cr_assert_eq(one->rkey, key);
    script_pump(s);
    rdma_mw_dealloc(one);
}

/* --- which QP takes what --- */

Test(local_ops, ROCE_QP_40_they_have_no_data)
{
    struct nornic_sge sge = {(uintptr_t)s->mem, 8, s->mr->lkey};
    const struct nornic_send_wr good[] = {bind_wr(1), reg_wr(1), inv_wr(1, window_key())};
    for (int i = 0; i < 3; i++) {
        struct nornic_send_wr wr = good[i];
        wr.sg_list = &sge;
        wr.num_sge = 1;
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL);
        wr = good[i];
        wr.send_flags |= NORNIC_SEND_INLINE;
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL);
    }
}

/* covers: ROCE-RC-64 */
Test(local_ops, a_uc_qp_takes_them_and_has_no_send_with_invalidate)
{
    config.type = NORNIC_QPT_UC;
    renew_all();
    post(bind_wr(1));
    post(reg_wr(2));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    script_post(s, 3, NORNIC_WR_SEND, 0, 8);
    post(inv_wr(4, window_key()));
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 4, NORNIC_WC_SUCCESS);
    struct nornic_send_wr wr = {.opcode = NORNIC_WR_SEND_WITH_INV};
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL);
    post(inv_wr(5, window_key()));
    expect_wc(s, send_cq, 5, NORNIC_WC_LOC_QP_OP_ERR);
    expect_state(s, NORNIC_QPS_SQE);
}
