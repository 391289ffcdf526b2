/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 10.4: the target QP, and the SRQs that requests name. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/support/script_suite.h"

#define MTU    1024u
#define TARGET 65536u
#define ROOM   8192u

/* A second SRQ of the XRC domain, of a PD and with a CQ of its own. */
static struct rdma_pd *pd2;
static struct rdma_mr *mr2;
static struct rdma_cq *cq2;
static struct rdma_srq *srq2;

static void make_second(void)
{
    struct rdma_srq_config srq_config = {.max_wr = 8, .max_sge = 1, .xrcd = s->xrcd};
    cr_assert_eq(rdma_pd_create(roce_dev_domain(s->dev), &pd2), 0);
    cr_assert_eq(rdma_mr_reg(pd2, s->mem, SCRIPT_MEM_BYTES,
                             NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE |
                                 NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC,
                             &mr2),
                 0);
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &(struct rdma_cq_config){.capacity = 8}, &cq2), 0);
    srq_config.cq = cq2;
    cr_assert_eq(rdma_srq_create(pd2, &srq_config, &srq2), 0);
}

static void free_second(void)
{
    cr_assert_eq(rdma_srq_destroy(srq2), 0);
    cr_assert_eq(rdma_cq_destroy(cq2), 0);
    cr_assert_eq(rdma_mr_dereg(mr2), 0);
    cr_assert_eq(rdma_pd_destroy(pd2), 0);
}

static void begin(void)
{
    if (s) {
        roce_qp_destroy(s->qp); /* may hold a WQE of it */
        free_second();
        s->qp = script_more_qp(s);
        script_free(s);
    }
    s = script_new(&config);
    make_second();
}

static void target_setup(void)
{
    config = script_defaults();
    config.type = NORNIC_QPT_XRC_TGT;
    begin();
}

static void target_teardown(void)
{
    roce_qp_destroy(s->qp);
    free_second();
    s->qp = script_more_qp(s);
    teardown();
}

TestSuite(xrc_target, .init = target_setup, .fini = target_teardown);

static void recv2(uint64_t wr_id, uint64_t mem_offset, uint32_t len_bytes)
{
    struct nornic_sge sge = {(uintptr_t)s->mem + mem_offset, len_bytes, mr2->lkey};
    struct nornic_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(rdma_srq_post(srq2, &wr, NULL), 0);
}

static struct script_pkt send_pkt(enum roce_op op, uint32_t psn, const struct rdma_srq *srq,
                                  uint32_t len_bytes)
{
    struct script_pkt p = script_send_pkt(s, op, psn, script_data(), len_bytes);
    p.xrceth.xrc_srqn = rdma_srq_number(srq);
    p.bth.ack_req = 1;
    return p;
}

static uint32_t rq(uint32_t i)
{
    return script_rq(s, i);
}

/* covers: ROCE-XRC-1, ROCE-XRC-2, ROCE-XRC-3, ROCE-RS-53 */
Test(xrc_target, ROCE_XRC_2_receive_cq_and_pd_are_those_of_the_srq_named)
{
    script_recv(s, 1, 0, ROOM);
    recv2(2, ROOM, ROOM);
    struct script_pkt p = send_pkt(ROCE_OP_SEND_ONLY, rq(0), srq2, 100);
    script_send(s, &p);
    const struct roce_pkt *ack = expect_ack(s, rq(0), 1); /* without an XRCETH, to the initiator */
    cr_assert_eq(ack->bth.opcode, 0xb1);
    cr_assert_eq(ack->bth.dest_qpn, SCRIPT_PEER_QPN);
    cr_assert_eq(ack->op->flags & ROCE_PKT_XRCETH, 0);
    cr_assert_eq(ack->aeth.syndrome, ROCE_SYNDROME_ACK_UNLIMITED);
    struct nornic_wc wc = script_expect_wc(cq2, 2, NORNIC_WC_SUCCESS, __LINE__);
    cr_assert_eq(wc.qp_num, roce_qp_num(s->qp));
    cr_assert_eq(wc.byte_len, 100);
    cr_assert_arr_eq(s->mem + ROOM, script_data(), 100);
    expect_no_wc(s, recv_cq);
    p = send_pkt(ROCE_OP_SEND_ONLY, rq(1), s->srq, 50);
    script_send(s, &p);
    expect_ack(s, rq(1), 2);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    script_expect_no_wc(cq2, __LINE__);
}

/* covers: ROCE-XRC-2, ROCE-RS-41 */
Test(xrc_target, messages_of_several_packets)
{
    recv2(2, 0, ROOM);
    struct script_pkt p[3] = {send_pkt(ROCE_OP_SEND_FIRST, rq(0), srq2, MTU),
                              send_pkt(ROCE_OP_SEND_MIDDLE, rq(1), srq2, MTU),
                              send_pkt(ROCE_OP_SEND_LAST_IMM, rq(2), srq2, 10)};
    script_burst(s, p, 3);
    expect_ack(s, rq(2), 1);
    cr_assert_eq(script_expect_wc(cq2, 2, NORNIC_WC_SUCCESS, __LINE__).byte_len, 2 * MTU + 10);
}

/* The SRQ must exist, and be of the target's domain; and a message stays with the one it began with. */
/* covers: ROCE-XRC-2, ROCE-RS-12, ROCE-RS-15 */
Test(xrc_target, ROCE_XRC_2_an_srq_that_is_not_there_is_an_invalid_request)
{
    static const enum roce_op ops[] = {ROCE_OP_SEND_ONLY, ROCE_OP_WRITE_ONLY, ROCE_OP_READ_REQUEST,
                                       ROCE_OP_FETCH_ADD};
    static const uint32_t wrong[] = {0, 3, 0x9999, 0xffffff};
    for (unsigned i = 0; i < array_len(ops); i++)
        for (unsigned j = 0; j < array_len(wrong); j++) {
            begin();
            script_recv(s, 1, 0, ROOM);
            struct script_pkt p = script_write_pkt(s, ops[i], rq(0), TARGET, 8, script_data(), i < 2 ? 8 : 0);
            p.atomiceth = (struct roce_atomiceth){s->mr->iova + TARGET, s->mr->rkey, 1, 0};
            p.xrceth.xrc_srqn = wrong[j];
            script_send(s, &p);
            expect_nak(s, rq(0), ROCE_SYNDROME_NAK_INV_REQ, 0);
            expect_state(s, NORNIC_QPS_ERR);
            expect_event(s, NORNIC_EVENT_QP_REQ_ERR);
            expect_no_event(s); /* it has no SRQ of its own: no LAST_WQE_REACHED */
            expect_no_wc(s, recv_cq);
            cr_assert_eq(rdma_srq_count(s->srq), 1);
        }
}

/* covers: ROCE-XRC-2 */
Test(xrc_target, ROCE_XRC_2_an_srq_of_another_domain_is_not_there)
{
    struct rdma_xrcd *other;
    struct rdma_srq *foreign;
    cr_assert_eq(rdma_xrcd_create(roce_dev_domain(s->dev), &other), 0);
    struct rdma_srq_config srq_config = {.max_wr = 1, .max_sge = 1, .xrcd = other, .cq = cq2};
    cr_assert_eq(rdma_srq_create(pd2, &srq_config, &foreign), 0);
    struct script_pkt p = send_pkt(ROCE_OP_SEND_ONLY, rq(0), foreign, 8);
    script_send(s, &p);
    expect_nak(s, rq(0), ROCE_SYNDROME_NAK_INV_REQ, 0);
    cr_assert_eq(rdma_srq_destroy(foreign), 0);
    cr_assert_eq(rdma_xrcd_destroy(other), 0);
}

/* covers: ROCE-XRC-2 */
Test(xrc_target, ROCE_XRC_2_all_packets_of_a_message_name_one_srq)
{
    for (int write = 0; write < 2; write++) {
        begin();
        script_recv(s, 1, 0, ROOM);
        recv2(2, 0, ROOM);
        struct script_pkt p = script_write_pkt(s, write ? ROCE_OP_WRITE_FIRST : ROCE_OP_SEND_FIRST, rq(0),
                                               TARGET, 2 * MTU, script_data(), MTU);
        script_send(s, &p);
        expect_nothing(s);
        p = send_pkt(write ? ROCE_OP_WRITE_LAST : ROCE_OP_SEND_LAST, rq(1), srq2, MTU);
        script_send(s, &p);
        expect_nak(s, rq(1), ROCE_SYNDROME_NAK_INV_REQ, 0);
        expect_state(s, NORNIC_QPS_ERR);
        if (!write)
            expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_QP_OP_ERR); /* the held one: ROCE-RS-15 */
        expect_no_wc(s, recv_cq);
        script_expect_no_wc(cq2, __LINE__);
    }
}

/* Remote keys are those of the PD of the SRQ named. */
/* covers: ROCE-XRC-2, ROCE-RS-5, ROCE-PD-1 */
Test(xrc_target, ROCE_XRC_2_keys_are_checked_against_the_pd_of_the_srq)
{
    static const enum roce_op ops[] = {ROCE_OP_WRITE_ONLY, ROCE_OP_READ_REQUEST, ROCE_OP_CMP_SWAP};
    for (unsigned i = 0; i < 3; i++)
        for (int own = 0; own < 2; own++) {
            begin();
            const struct rdma_mr *mr = own ? mr2 : s->mr;
            struct script_pkt p =
                script_write_pkt(s, ops[i], rq(0), TARGET, 8, script_data(), i == 0 ? 8 : 0);
            p.bth.ack_req = 1;
            p.reth.rkey = mr->rkey;
            p.atomiceth = (struct roce_atomiceth){mr->iova + TARGET, mr->rkey, 1, 0};
            p.xrceth.xrc_srqn = rdma_srq_number(srq2);
            script_send(s, &p);
            const struct roce_pkt *answer = script_next(s);
            cr_assert_not_null(answer);
            cr_assert_eq(answer->aeth.syndrome, own ? ROCE_SYNDROME_ACK_UNLIMITED : ROCE_SYNDROME_NAK_REM_ACC,
                         "opcode %02x", ops[i]);
            expect_state(s, own ? NORNIC_QPS_RTS : NORNIC_QPS_ERR);
        }
}

/* covers: ROCE-XRC-1, ROCE-RS-11, ROCE-RS-73 */
Test(xrc_target, ROCE_RS_11_an_empty_srq_is_not_ready)
{
    script_recv(s, 1, 0, ROOM); /* of the other one: does not help */
    struct script_pkt p = send_pkt(ROCE_OP_SEND_ONLY, rq(0), srq2, 100);
    script_send(s, &p);
    expect_nak(s, rq(0), ROCE_SYNDROME_RNR | 12, 0);
    recv2(2, 0, ROOM);
    script_send(s, &p);
    expect_ack(s, rq(0), 1);
    script_expect_wc(cq2, 2, NORNIC_WC_SUCCESS, __LINE__);
    cr_assert_eq(rdma_srq_count(s->srq), 1);
}

/* covers: ROCE-XRC-1, ROCE-RS-20, ROCE-RS-22, ROCE-RS-23 */
Test(xrc_target, ROCE_XRC_1_duplicates_are_answered_as_on_rc)
{
    uint64_t word = 7;
    memcpy(s->mem + TARGET, &word, 8);
    script_recv(s, 1, 0, ROOM);
    struct script_pkt send = send_pkt(ROCE_OP_SEND_ONLY, rq(0), s->srq, 100);
    struct script_pkt read = script_read_pkt(s, rq(1), 4096, 2000);
    struct script_pkt add = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, rq(3), TARGET, 5, 0);
    for (int again = 0; again < 2; again++) {
        script_send(s, &send);
        cr_assert_eq(expect_ack(s, rq(0), again ? 3 : 1)->bth.opcode, 0xb1);
        script_send(s, &read);
        cr_assert_eq(expect_op(s, ROCE_OP_READ_RESP_FIRST, rq(1))->aeth.msn, again ? 3 : 2);
        expect_op(s, ROCE_OP_READ_RESP_LAST, rq(2));
        script_send(s, &add);
        cr_assert_eq(expect_op(s, ROCE_OP_ATOMIC_ACK, rq(3))->atomicacketh.original, 7);
        expect_nothing(s);
    }
    memcpy(&word, s->mem + TARGET, 8);
    cr_assert_eq(word, 12);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    expect_no_wc(s, recv_cq);
    /* a duplicate READ that names another SRQ is not that READ; and none yields a NAK: ROCE-RS-24 */
    read.xrceth.xrc_srqn = rdma_srq_number(srq2);
    script_send(s, &read);
    send.xrceth.xrc_srqn = 0x9999;
    send.bth.ack_req = 0;
    script_send(s, &send);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_RTS);
}

/* An SRQ that goes away between a READ and its answer takes its PD along. */
/* covers: ROCE-XRC-2, ROCE-MR-5 */
Test(xrc_target, an_srq_destroyed_while_a_read_waits)
{
    struct script_pkt p = script_read_pkt(s, rq(0), 0, 3000);
    p.reth.rkey = mr2->rkey;
    p.xrceth.xrc_srqn = rdma_srq_number(srq2);
    script_give(s, &p, 1);
    cr_assert_eq(rdma_srq_destroy(srq2), 0);
    script_pump(s);
    expect_nak(s, rq(0), ROCE_SYNDROME_NAK_REM_ACC, 1);
    struct rdma_srq_config srq_config = {.max_wr = 8, .max_sge = 1, .xrcd = s->xrcd, .cq = cq2};
    cr_assert_eq(rdma_srq_create(pd2, &srq_config, &srq2), 0);
}

/* covers: ROCE-RS-70, ROCE-RS-72 */
Test(xrc_target, ROCE_RS_72_a_held_receive_is_completed_and_the_others_stay)
{
    recv2(2, 0, ROOM);
    recv2(3, 0, ROOM);
    struct script_pkt p = send_pkt(ROCE_OP_SEND_FIRST, rq(0), srq2, MTU);
    p.bth.ack_req = 0;
    script_send(s, &p);
    cr_assert_eq(rdma_srq_destroy(srq2), -EBUSY); /* half-way in one of its WQEs */
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    script_expect_wc(cq2, 2, NORNIC_WC_WR_FLUSH_ERR, __LINE__);
    script_expect_no_wc(cq2, __LINE__);
    expect_no_event(s);
    cr_assert_eq(rdma_srq_count(srq2), 1);
}

/* covers: ROCE-QP-8 */
Test(xrc_target, ROCE_QP_8_reset_lets_go_of_a_held_receive)
{
    recv2(2, 0, ROOM);
    struct script_pkt p = send_pkt(ROCE_OP_SEND_FIRST, rq(0), srq2, MTU);
    p.bth.ack_req = 0;
    script_send(s, &p);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    script_expect_no_wc(cq2, __LINE__);
}

/* covers: ROCE-RS-16, ROCE-CQ-2 */
Test(xrc_target, ROCE_RS_16_a_full_cq_of_the_srq_ends_the_connection)
{
    for (uint32_t i = 0; i < 8; i++)
        recv2(i, 0, ROOM);
    struct script_pkt p = send_pkt(ROCE_OP_SEND_ONLY, rq(0), srq2, 8);
    for (uint32_t i = 0; i < 8; i++) {
        p.bth.psn = rq(i);
        script_send(s, &p);
        expect_ack(s, rq(i), i + 1);
    }
    recv2(8, 0, ROOM);
    p.bth.psn = rq(8);
    script_send(s, &p);
    expect_nak(s, rq(8), ROCE_SYNDROME_NAK_REM_OP, 8);
    expect_event(s, NORNIC_EVENT_CQ_ERR);
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-XRC-1, ROCE-RX-13, ROCE-QP-40 */
Test(xrc_target, ROCE_XRC_1_it_only_answers)
{
    struct nornic_sge sge;
    struct nornic_send_wr send = script_wr(s, 1, NORNIC_WR_SEND, &sge, 0, 8);
    struct nornic_recv_wr recv = {.wr_id = 1};
    cr_assert_eq(roce_post_send(s->qp, &send, NULL), -EINVAL);
    send.opcode = NORNIC_WR_LOCAL_INV;
    cr_assert_eq(roce_post_send(s->qp, &send, NULL), -EINVAL);
    cr_assert_eq(roce_post_recv(s->qp, &recv, NULL), -EINVAL);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    struct script_pkt rc = script_send_pkt(s, ROCE_OP_SEND_ONLY, rq(0), script_data(), 8);
    rc.bth.opcode = ROCE_OP_SEND_ONLY;
    script_send(s, &rc);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_TYPE, 2);
    expect_state(s, NORNIC_QPS_RTS);
}

/* covers: ROCE-XRC-1, ROCE-QP-22, ROCE-QP-23 */
Test(xrc_target, ROCE_XRC_1_what_it_is_made_of)
{
    struct roce_qp *qp = NULL;
    struct roce_qp_config c = {.type = NORNIC_QPT_XRC_TGT, .xrcd = s->xrcd};
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), 0);
    cr_assert_eq(rdma_xrcd_destroy(s->xrcd), -EBUSY);
    roce_qp_destroy(qp);
    c.xrcd = NULL;
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), -EINVAL);
    c.xrcd = s->xrcd;
    c.pd = s->pd;
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), -EINVAL);
    c = (struct roce_qp_config){.type = NORNIC_QPT_XRC_TGT, .xrcd = s->xrcd, .srq = s->srq};
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), -EINVAL);
    /* its SRQs are of no use to other services */
    c = (struct roce_qp_config){.type = NORNIC_QPT_RC,
                                .pd = s->pd,
                                .send_cq = s->send_cq,
                                .recv_cq = s->recv_cq,
                                .srq = s->srq,
                                .caps = {.max_send_wr = 1}};
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), -EINVAL);
    c.srq = NULL;
    c.xrcd = s->xrcd;
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), -EINVAL);
}
