/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 10.4: the initiator QP. It is an RC requester; what it sends besides is the XRCETH. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/support/script_suite.h"

static void initiator_setup(void)
{
    config = script_defaults();
    config.type = NORNIC_QPT_XRC_INI;
    renew();
}

TestSuite(xrc_initiator, .init = initiator_setup, .fini = teardown);

/* Every request names the SRQ, each packet of it, and nothing else is different from RC. */
/* covers: ROCE-XRC-1, ROCE-XRC-2, ROCE-HDR-10, ROCE-OPC-2 */
Test(xrc_initiator, ROCE_XRC_2_every_packet_names_the_srq)
{
    static const enum nornic_wr_opcode wrs[] = {NORNIC_WR_SEND,
                                                NORNIC_WR_SEND_WITH_IMM,
                                                NORNIC_WR_RDMA_WRITE,
                                                NORNIC_WR_RDMA_WRITE_WITH_IMM,
                                                NORNIC_WR_RDMA_READ,
                                                NORNIC_WR_ATOMIC_CMP_AND_SWP,
                                                NORNIC_WR_ATOMIC_FETCH_AND_ADD,
                                                NORNIC_WR_SEND_WITH_INV};
    static const uint8_t opcodes[][3] = {{0xa0, 0xa1, 0xa2},
                                         {0xa0, 0xa1, 0xa3},
                                         {0xa6, 0xa7, 0xa8},
                                         {0xa6, 0xa7, 0xa9},
                                         {0xac},
                                         {0xb3},
                                         {0xb4},
                                         {0xa0, 0xa1, 0xb6}};
    for (unsigned i = 0; i < array_len(wrs); i++) {
        bool atomic = opcodes[i][0] >= 0xb3;
        renew();
        script_post(s, 1, wrs[i], 0, atomic ? 8 : 3000);
        for (unsigned k = 0; k < 3 && opcodes[i][k]; k++) {
            const struct roce_pkt *p = script_next(s);
            cr_assert_not_null(p);
            cr_assert_eq(p->bth.opcode, opcodes[i][k]);
            cr_assert_eq(p->bth.psn, script_sq(s, k));
            cr_assert_eq(p->xrceth.xrc_srqn, SCRIPT_PEER_SRQN);
            cr_assert_eq(p->xrceth.resv8, 0);
            cr_assert_eq(p->reth.rkey, p->op->flags & ROCE_PKT_RETH ? SCRIPT_PEER_RKEY : 0);
            cr_assert_eq(p->atomiceth.rkey, atomic ? SCRIPT_PEER_RKEY : 0);
            if (p->op->flags & ROCE_PKT_PAYLOAD)
                cr_assert_arr_eq(p->payload, s->mem + 1024 * k, p->payload_bytes);
        }
        expect_nothing(s);
    }
}

/* covers: ROCE-XRC-1, ROCE-XRC-3, ROCE-RC-32, ROCE-RC-33 */
Test(xrc_initiator, ROCE_XRC_3_answers_have_no_xrceth)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 100);
    script_post(s, 2, NORNIC_WR_RDMA_READ, 4096, 2000);
    script_post(s, 3, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 8192, 8);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    cr_assert_eq(expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS).opcode, NORNIC_WC_SEND);
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_FIRST, script_sq(s, 1), 2, script_data(), 1024);
    script_send(s, &p);
    p = script_read_resp_pkt(s, ROCE_OP_READ_RESP_LAST, script_sq(s, 2), 2, script_data() + 1024, 976);
    script_send(s, &p);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem + 4096, script_data(), 2000);
    p = script_atomic_ack_pkt(s, script_sq(s, 3), 3, 77);
    script_send(s, &p);
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
    cr_assert_eq(s->mem[8192], 77);
}

/* covers: ROCE-XRC-1, ROCE-RC-42, ROCE-RC-47 */
Test(xrc_initiator, ROCE_XRC_1_it_repeats_what_is_lost_as_rc_does)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 3000);
    script_forget(s);
    script_ack(s, script_sq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    for (uint32_t k = 1; k < 3; k++) {
        const struct roce_pkt *p = script_next(s);
        cr_assert_eq(p->bth.psn, script_sq(s, k));
        cr_assert_eq(p->bth.opcode, k == 1 ? 0xa1 : 0xa2);
        cr_assert_eq(p->xrceth.xrc_srqn, SCRIPT_PEER_SRQN);
    }
    script_forget(s);
    script_advance(s, 10 * SCRIPT_S);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
    expect_state(s, NORNIC_QPS_ERR); /* ROCE-RC-64: not SQE */
}

/* covers: ROCE-XRC-2, ROCE-RC-50, ROCE-RC-48 */
Test(xrc_initiator, ROCE_XRC_2_naks)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 100);
    script_forget(s);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_RNR | 12, 0);
    expect_nothing(s);
    cr_assert(script_until_sent(s, SCRIPT_S));
    cr_assert_eq(script_next(s)->bth.opcode, 0xa4);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_wc(s, send_cq, 1, NORNIC_WC_REM_INV_REQ_ERR);
    expect_state(s, NORNIC_QPS_ERR);
}

/* Messages to several SRQs in turn, and a number that cannot be. */
/* covers: ROCE-XRC-2, ROCE-QP-40 */
Test(xrc_initiator, ROCE_XRC_2_each_work_request_names_its_own)
{
    for (uint32_t i = 0; i < 3; i++) {
        struct nornic_sge sge;
        struct nornic_send_wr wr = script_wr(s, i, NORNIC_WR_SEND, &sge, 0, 2000);
        wr.remote_srqn = 0xfffffe + i;
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), i < 2 ? 0 : -EINVAL);
        script_pump(s);
        if (i == 2)
            break;
        for (int k = 0; k < 2; k++)
            cr_assert_eq(script_next(s)->xrceth.xrc_srqn, 0xfffffe + i);
        ack(2 * i + 1, i + 1);
    }
    expect_nothing(s);
}

/* covers: ROCE-XRC-1, ROCE-RX-13, ROCE-QP-40 */
Test(xrc_initiator, ROCE_XRC_1_it_only_asks)
{
    struct nornic_recv_wr recv = {.wr_id = 1};
    cr_assert_eq(roce_post_recv(s->qp, &recv, NULL), -EINVAL);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 8);
    script_send(s, &p);
    p = script_ack_pkt(s, script_sq(s, 0), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    p.bth.opcode = ROCE_OP_ACK; /* of RC */
    script_send(s, &p);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_TYPE, 2);
    expect_state(s, NORNIC_QPS_RTS);
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP, &sge, 0, 8);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL);
}

/* covers: ROCE-XRC-1 */
Test(xrc_initiator, ROCE_XRC_1_what_it_is_made_of)
{
    struct roce_qp *qp = NULL;
    struct roce_qp_config c = {
        .type = NORNIC_QPT_XRC_INI, .pd = s->pd, .send_cq = s->send_cq, .caps = {.max_send_wr = 1}};
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), 0);
    roce_qp_destroy(qp);
    c.recv_cq = s->recv_cq;
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), -EINVAL);
    c.recv_cq = NULL;
    c.send_cq = NULL;
    cr_assert_eq(roce_qp_create(s->dev, &c, &qp), -EINVAL);
}

/* What was posted is flushed, and nothing waits for a receive queue that is not there. */
/* covers: ROCE-RC-63, ROCE-QP-30 */
Test(xrc_initiator, error_and_reset)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 100);
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    expect_wc(s, send_cq, 1, NORNIC_WC_WR_FLUSH_ERR);
    expect_no_wc(s, recv_cq);
    expect_no_event(s);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
}
