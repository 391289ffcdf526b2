/* SPDX-License-Identifier: BSD-2-Clause */
/* QPs that take their receives from an SRQ: ROCE section 8.8. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/support/script_suite.h"

static void setup_srq(void)
{
    config = script_defaults();
    config.srq_wr = 16;
    renew();
}

TestSuite(recv_srq, .init = setup_srq, .fini = teardown);

static void peer_sends_to(const struct roce_qp *qp, enum roce_op op, uint32_t i, uint32_t len)
{
    struct script_pkt p = script_send_pkt(s, op, script_rq(s, i), script_data(), len);
    p.bth.dest_qpn = roce_qp_num(qp);
    p.bth.ack_req = 1;
    script_send(s, &p);
}

static void peer_sends(enum roce_op op, uint32_t i, uint32_t len)
{
    peer_sends_to(s->qp, op, i, len);
}

Test(recv_srq, ROCE_RS_70_wqes_go_to_whoever_needs_one_first)
{
    struct roce_qp *other = script_more_qp(s);
    for (uint64_t id = 1; id <= 4; id++)
        script_recv(s, id, id * 4096, 4096);
    peer_sends(ROCE_OP_SEND_FIRST, 0, 1024);
    peer_sends_to(other, ROCE_OP_SEND_FIRST, 0, 1024);
    peer_sends_to(other, ROCE_OP_SEND_LAST, 1, 10);
    peer_sends_to(other, ROCE_OP_SEND_ONLY, 2, 20);
    peer_sends(ROCE_OP_SEND_LAST, 1, 30);
    peer_sends(ROCE_OP_SEND_ONLY, 2, 40);
    static const struct {
        uint64_t id;
        bool other;
        uint32_t bytes;
    } rows[] = {{2, true, 1034}, {3, true, 20}, {1, false, 1054}, {4, false, 40}};
    for (int i = 0; i < 4; i++) {
        struct nornic_wc wc = expect_wc(s, recv_cq, rows[i].id, NORNIC_WC_SUCCESS);
        cr_assert_eq(wc.qp_num, roce_qp_num(rows[i].other ? other : s->qp));
        cr_assert_eq(wc.byte_len, rows[i].bytes);
        uint32_t n = rows[i].bytes < 1024 ? rows[i].bytes : 1024;
        cr_assert_arr_eq(s->mem + rows[i].id * 4096, script_data(), n);
    }
    roce_qp_destroy(other);
}

Test(recv_srq, ROCE_RS_70_the_slot_of_a_taken_wqe_may_be_posted_to_again)
{
    for (uint64_t id = 0; id < 16; id++)
        script_recv(s, id, 0, 4096);
    peer_sends(ROCE_OP_SEND_FIRST, 0, 1024);
    script_recv(s, 16, 65536, 4096); /* the ring is full but for what was taken */
    peer_sends(ROCE_OP_SEND_LAST, 1, 8);
    expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem + 1024, script_data(), 8);
}

/* covers: ROCE-PD-1 */
Test(recv_srq, ROCE_RS_70_its_sges_are_of_its_own_pd)
{
    struct nornic_sge sge = {(uintptr_t)s->mem, 8, s->mr->lkey};
    struct nornic_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    script_recv(s, 0, 64, 8); /* a key of the SRQ's PD */
    peer_sends(ROCE_OP_SEND_ONLY, 0, 8);
    expect_ack(s, script_rq(s, 0), 1);
    expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
    cr_assert_eq(rdma_srq_post(s->srq, &wr, NULL), 0); /* a key of the QP's PD */
    peer_sends(ROCE_OP_SEND_ONLY, 1, 8);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_REM_OP, 1);
    expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_PROT_ERR);
}

/* covers: ROCE-RS-4 */
Test(recv_srq, an_empty_one_answers_rnr)
{
    peer_sends(ROCE_OP_SEND_ONLY, 0, 8);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_RNR | 12, 0);
    script_recv(s, 1, 0, 8);
    peer_sends(ROCE_OP_SEND_ONLY, 0, 8);
    expect_ack(s, script_rq(s, 0), 1);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
}

Test(recv_srq, ROCE_RS_53_there_are_no_credits)
{
    config.e2e_credits = true;
    renew();
    script_recv(s, 1, 0, 8);
    peer_sends(ROCE_OP_SEND_ONLY, 0, 8);
    cr_assert_eq(expect_ack(s, script_rq(s, 0), 1)->aeth.syndrome, ROCE_SYNDROME_ACK_UNLIMITED);
    config.srq_wr = 0;
    renew();
    script_recv(s, 1, 0, 8);
    peer_sends(ROCE_OP_SEND_ONLY, 0, 8);
    cr_assert_eq(expect_ack(s, script_rq(s, 0), 1)->aeth.syndrome, 0, "the same QP without an SRQ");
}

Test(recv_srq, ROCE_RS_71_the_limit_is_an_event_of_the_device)
{
    for (uint64_t id = 0; id < 3; id++)
        script_recv(s, id, 0, 8);
    cr_assert_eq(rdma_srq_set_limit(s->srq, 3), 0);
    expect_no_event(s);
    peer_sends(ROCE_OP_SEND_ONLY, 0, 8);
    expect_event(s, NORNIC_EVENT_SRQ_LIMIT_REACHED);
    peer_sends(ROCE_OP_SEND_ONLY, 1, 8);
    expect_no_event(s);
    cr_assert_eq(rdma_srq_set_limit(s->srq, 2), 0);
    expect_event(s, NORNIC_EVENT_SRQ_LIMIT_REACHED);
}

Test(recv_srq, ROCE_RS_72_a_qp_in_error_keeps_its_hands_off_the_srq)
{
    struct roce_qp *other = script_more_qp(s);
    for (uint64_t id = 1; id <= 3; id++)
        script_recv(s, id, 0, 4096);
    peer_sends(ROCE_OP_SEND_FIRST, 0, 1024);
    expect_ack(s, script_rq(s, 0), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    expect_wc(s, recv_cq, 1, NORNIC_WC_WR_FLUSH_ERR);
    expect_event(s, NORNIC_EVENT_QP_LAST_WQE_REACHED);
    expect_no_wc(s, recv_cq);
    cr_assert_eq(rdma_srq_count(s->srq), 2);
    peer_sends_to(other, ROCE_OP_SEND_ONLY, 0, 8);
    expect_wc(s, recv_cq, 2, NORNIC_WC_SUCCESS);
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    expect_no_event(s);
    roce_qp_destroy(other);
}

Test(recv_srq, ROCE_RS_72_the_event_comes_after_the_last_completion_whatever_the_cause)
{
    script_recv(s, 1, 0, 8);
    peer_sends(ROCE_OP_SEND_ONLY, 0, 9); /* too long */
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_LEN_ERR);
    expect_event(s, NORNIC_EVENT_QP_LAST_WQE_REACHED);
    expect_no_event(s);
    renew();
    script_recv(s, 1, 0, 8);
    peer_sends(ROCE_OP_SEND_MIDDLE, 0, 1024); /* no WQE held */
    expect_event(s, NORNIC_EVENT_QP_REQ_ERR);
    expect_event(s, NORNIC_EVENT_QP_LAST_WQE_REACHED);
    expect_no_wc(s, recv_cq);
    cr_assert_eq(rdma_srq_count(s->srq), 1);
}

Test(recv_srq, ROCE_RS_73_in_error_it_answers_rnr)
{
    script_recv(s, 1, 0, 8);
    rdma_srq_fail(s->srq);
    expect_event(s, NORNIC_EVENT_SRQ_ERR);
    peer_sends(ROCE_OP_SEND_ONLY, 0, 8);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_RNR | 12, 0);
    expect_state(s, NORNIC_QPS_RTS);
    expect_no_wc(s, recv_cq);
}

Test(recv_srq, ROCE_RS_73_a_resize_half_way_through_a_message)
{
    for (uint64_t id = 0; id < 16; id++)
        script_recv(s, id, id * 4096, 4096);
    peer_sends(ROCE_OP_SEND_FIRST, 0, 1024);
    cr_assert_eq(rdma_srq_resize(s->srq, 64), 0);
    script_recv(s, 16, 0, 8);
    script_recv(s, 17, 0, 8);
    peer_sends(ROCE_OP_SEND_LAST, 1, 8);
    for (uint32_t i = 1; i <= 17; i++)
        peer_sends(ROCE_OP_SEND_ONLY, i + 1, 8);
    for (uint64_t id = 0; id <= 17; id++)
        expect_wc(s, recv_cq, id, NORNIC_WC_SUCCESS);
}

/* covers: ROCE-QP-8 */
Test(recv_srq, reset_forgets_the_wqe_that_the_qp_holds_and_no_other)
{
    script_recv(s, 1, 0, 4096);
    script_recv(s, 2, 0, 4096);
    peer_sends(ROCE_OP_SEND_FIRST, 0, 1024);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    expect_no_wc(s, recv_cq);
    expect_no_event(s);
    cr_assert_eq(rdma_srq_count(s->srq), 1);
}

Test(recv_srq, ROCE_QP_40_such_a_qp_has_no_receive_queue_of_its_own)
{
    struct nornic_recv_wr wr = {.wr_id = 1};
    const struct nornic_recv_wr *bad = NULL;
    struct nornic_qp_caps caps;
    cr_assert_eq(roce_post_recv(s->qp, &wr, &bad), -EINVAL);
    cr_assert_eq(bad, &wr);
    roce_qp_query(s->qp, NULL, &caps);
    cr_assert_eq(caps.max_recv_wr, 0);
    cr_assert_eq(rdma_srq_destroy(s->srq), -EBUSY);
}

Test(recv_srq, an_srq_of_another_device_is_refused)
{
    struct rdma_domain *domain = NULL;
    struct rdma_pd *pd = NULL;
    struct rdma_srq *srq = NULL;
    struct roce_qp *qp = NULL;
    struct rdma_random source = test_random_source(&s->rnd);
    cr_assert_eq(rdma_domain_create(&rdma_mem_libc, &source, 1, &domain), 0);
    cr_assert_eq(rdma_pd_create(domain, &pd), 0);
    cr_assert_eq(rdma_srq_create(pd, &(struct rdma_srq_config){.max_wr = 1}, &srq), 0);
    struct roce_qp_config c = {.type = NORNIC_QPT_RC,
                               .pd = s->pd,
                               .send_cq = s->send_cq,
                               .recv_cq = s->recv_cq,
                               .srq = srq,
                               .caps = {.max_send_wr = 1}};
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), -EINVAL);
    cr_assert_eq(rdma_srq_destroy(srq), 0);
    cr_assert_eq(rdma_pd_destroy(pd), 0);
    cr_assert_eq(rdma_domain_destroy(domain), 0);
}

/* --- full queues --- */

/* covers: ROCE-CQ-2 */
Test(recv_srq, ROCE_RS_16_a_full_receive_cq_ends_the_qp_and_leaves_the_srq_alone)
{
    config.recv_cq_capacity = 2;
    renew();
    for (uint64_t id = 0; id < 16; id++)
        script_recv(s, id, 0, 8);
    peer_sends(ROCE_OP_SEND_ONLY, 0, 8);
    peer_sends(ROCE_OP_SEND_ONLY, 1, 8);
    script_forget(s);
    peer_sends(ROCE_OP_SEND_ONLY, 2, 8);
    expect_nak(s, script_rq(s, 2), ROCE_SYNDROME_NAK_REM_OP, 2);
    expect_state(s, NORNIC_QPS_ERR);
    cr_assert_eq(rdma_srq_count(s->srq), 13);
    expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    struct nornic_wc wc;
    cr_assert_eq(rdma_cq_poll(s->recv_cq, &wc, 1), -EIO, "the failed receive was lost");
}

/* covers: ROCE-QP-40 */
Test(recv_srq, a_full_srq_refuses_and_spoils_nothing)
{
    for (uint64_t id = 0; id < 16; id++)
        script_recv(s, id, id * 64, 64);
    struct nornic_recv_wr wr = {.wr_id = 99};
    cr_assert_eq(rdma_srq_post(s->srq, &wr, NULL), -ENOMEM);
    for (uint32_t i = 0; i < 16; i++)
        peer_sends(ROCE_OP_SEND_ONLY, i, 16 + i);
    for (uint64_t id = 0; id < 16; id++) {
        cr_assert_eq(expect_wc(s, recv_cq, id, NORNIC_WC_SUCCESS).byte_len, 16 + id);
        cr_assert_arr_eq(s->mem + id * 64, script_data(), 16 + id);
    }
    expect_no_wc(s, recv_cq);
}

/* --- UC: an SRQ takes nothing back --- */

Test(recv_srq, ROCE_UC_4_a_message_given_up_completes_its_wqe_in_error)
{
    config.type = NORNIC_QPT_UC;
    renew();
    for (uint64_t id = 1; id <= 4; id++)
        script_recv(s, id, 0, 1500);
    peer_sends(ROCE_OP_SEND_FIRST, 0, 1024);
    peer_sends(ROCE_OP_SEND_ONLY, 5, 8);
    expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_QP_OP_ERR);
    expect_wc(s, recv_cq, 2, NORNIC_WC_SUCCESS);
    peer_sends(ROCE_OP_SEND_FIRST, 6, 1024);
    peer_sends(ROCE_OP_SEND_MIDDLE, 7, 1024);
    expect_wc(s, recv_cq, 3, NORNIC_WC_LOC_LEN_ERR);
    expect_state(s, NORNIC_QPS_RTS);
    peer_sends(ROCE_OP_SEND_ONLY, 8, 8);
    expect_wc(s, recv_cq, 4, NORNIC_WC_SUCCESS);
    expect_no_event(s);
    expect_nothing(s);
}
