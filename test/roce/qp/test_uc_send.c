/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 9, the sending side; SQE: ROCE-QP-6, QP-28. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/support/script_suite.h"

static void uc_setup(void)
{
    config = script_defaults();
    config.type = NORNIC_QPT_UC;
    renew();
}

TestSuite(uc_send, .init = uc_setup, .fini = teardown);

static const struct {
    enum nornic_wr_opcode wr;
    enum nornic_wc_opcode wc;
    enum roce_op first, middle, last, only;
    bool imm;
} kinds[] = {
    {NORNIC_WR_SEND, NORNIC_WC_SEND, ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST,
     ROCE_OP_SEND_ONLY, false},
    {NORNIC_WR_SEND_WITH_IMM, NORNIC_WC_SEND, ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST_IMM,
     ROCE_OP_SEND_ONLY_IMM, true},
    {NORNIC_WR_RDMA_WRITE, NORNIC_WC_RDMA_WRITE, ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE,
     ROCE_OP_WRITE_LAST, ROCE_OP_WRITE_ONLY, false},
    {NORNIC_WR_RDMA_WRITE_WITH_IMM, NORNIC_WC_RDMA_WRITE, ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE,
     ROCE_OP_WRITE_LAST_IMM, ROCE_OP_WRITE_ONLY_IMM, true},
};

static void post(uint64_t wr_id, enum nornic_wr_opcode opcode, uint32_t len_bytes, uint32_t flags)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, wr_id, opcode, &sge, 100, len_bytes);
    wr.send_flags |= flags;
    memcpy(&wr.imm_data, "\xde\xad\xbe\xef", 4);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
}

/* Nobody answers, so no packet may ask: AckReq is 0, and the work is done when its last packet was built. */
/* covers: ROCE-UC-1, ROCE-UC-2, ROCE-OPC-3, ROCE-OPC-5 */
Test(uc_send, ROCE_UC_1_complete_when_sent_and_never_asking)
{
    for (unsigned k = 0; k < 4; k++) {
        renew();
        post(1, kinds[k].wr, 3000, NORNIC_SEND_SOLICITED);
        const enum roce_op ops[] = {kinds[k].first, kinds[k].middle, kinds[k].last};
        for (uint32_t i = 0; i < 3; i++) {
            const struct roce_pkt *p = expect_op(s, ops[i], script_sq(s, i));
            cr_assert_eq(p->bth.opcode >> 5, ROCE_SERVICE_UC);
            cr_assert_eq(p->bth.ack_req, 0);
            cr_assert_eq(p->bth.se, i == 2 && kinds[k].wr != NORNIC_WR_RDMA_WRITE);
            cr_assert_arr_eq(p->payload, s->mem + 100 + 1024 * i, p->payload_bytes);
            cr_assert_eq(p->reth.dma_len, i == 0 && kinds[k].wc == NORNIC_WC_RDMA_WRITE ? 3000 : 0);
            cr_assert_eq(memcmp(p->immdt.imm_data, kinds[k].imm && i == 2 ? "\xde\xad\xbe\xef" : "\0\0\0", 4),
                         0);
        }
        cr_assert_eq(expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS).opcode, kinds[k].wc);
        post(2, kinds[k].wr, 0, 0);
        cr_assert_eq(expect_op(s, kinds[k].only, script_sq(s, 3))->bth.ack_req, 0);
        expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
        expect_nothing(s);
        expect_no_event(s);
    }
}

Test(uc_send, ROCE_UC_1_nothing_is_sent_again)
{
    post(1, NORNIC_WR_SEND, 5000, 0);
    script_forget(s);
    cr_assert_eq(roce_dev_deadline_ns(s->dev), NET_TIME_NONE);
    script_advance(s, 10 * SCRIPT_S);
    expect_nothing(s);
    cr_assert_eq(roce_qp_counters(s->qp)->retransmitted_pkts, 0);
}

/* There is no window: a message of any length leaves at once. */
Test(uc_send, ROCE_UC_1_no_window)
{
    config.window_pkts = 8;
    renew();
    post(1, NORNIC_WR_RDMA_WRITE, 200 * 1024, 0);
    for (uint32_t i = 0; i < 200; i++)
        cr_assert_eq(script_next(s)->bth.psn, script_sq(s, i));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    struct nornic_qp_attr attr;
    roce_qp_query(s->qp, &attr, NULL);
    cr_assert_eq(attr.sq_psn, script_sq(s, 200));
}

/* covers: ROCE-RC-60 */
Test(uc_send, unsignalled_work_is_freed_by_a_later_completion)
{
    config.caps.max_send_wr = 4;
    renew();
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_SEND, &sge, 0, 10);
    for (int i = 0; i < 4; i++) {
        wr.send_flags = i == 2 ? NORNIC_SEND_SIGNALED : 0;
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    }
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -ENOMEM);
    script_pump(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
    for (int i = 0; i < 4; i++)
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), i < 3 ? 0 : -ENOMEM);
}

/* ROCE section 11.3: the column of UC. */
/* covers: ROCE-QP-40, ROCE-OPC-5 */
Test(uc_send, ROCE_QP_40_what_uc_cannot_send_is_refused)
{
    static const enum nornic_wr_opcode refused[] = {
        NORNIC_WR_RDMA_READ,       NORNIC_WR_ATOMIC_CMP_AND_SWP,        NORNIC_WR_ATOMIC_FETCH_AND_ADD,
        NORNIC_WR_SEND_WITH_INV,   NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP, NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD,
        (enum nornic_wr_opcode)10, (enum nornic_wr_opcode)200};
    for (unsigned i = 0; i < array_len(refused); i++) {
        struct nornic_sge sge;
        struct nornic_send_wr bad = script_wr(s, 2, refused[i], &sge, 0, 8);
        struct nornic_send_wr good = script_wr(s, 1, NORNIC_WR_SEND, &sge, 0, 8);
        const struct nornic_send_wr *at = NULL;
        good.next = &bad;
        cr_assert_eq(roce_post_send(s->qp, &good, &at), -EINVAL, "opcode %d", (int)refused[i]);
        cr_assert_eq(at, &bad);
        script_pump(s);
        expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, i));
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
        expect_nothing(s);
    }
}

/* --- SQE --- */

static void post_unreadable(uint64_t wr_id, uint32_t len_bytes)
{
    struct nornic_sge sges[2] = {{(uintptr_t)s->mem, 1024, s->mr->lkey},
                                 {(uintptr_t)s->mem, len_bytes - 1024, s->mr->lkey ^ 0x100}};
    struct nornic_send_wr wr = {
        .wr_id = wr_id, .sg_list = sges, .num_sge = 2, .opcode = NORNIC_WR_SEND, .send_flags = 0};
    struct nornic_sge sge;
    struct nornic_send_wr behind = script_wr(s, wr_id + 1, NORNIC_WR_SEND, &sge, 0, 10);
    behind.send_flags = 0; /* a flush is told all the same */
    wr.next = &behind;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
}

/* covers: ROCE-RC-64, ROCE-QP-6, ROCE-RC-17, ROCE-RX-14 */
Test(uc_send, ROCE_RC_64_a_failed_send_stops_the_send_queue_only)
{
    script_recv(s, 70, 8192, 100);
    post_unreadable(1, 2000);
    expect_op(s, ROCE_OP_SEND_FIRST, script_sq(s, 0));
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_PROT_ERR);
    expect_wc(s, send_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
    expect_no_wc(s, recv_cq);
    expect_state(s, NORNIC_QPS_SQE);

    post(3, NORNIC_WR_SEND, 10, 0); /* flushed */
    expect_wc(s, send_cq, 3, NORNIC_WC_WR_FLUSH_ERR);
    expect_nothing(s);

    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 50);
    script_send(s, &p); /* the responder goes on */
    expect_wc(s, recv_cq, 70, NORNIC_WC_SUCCESS);
    script_recv(s, 71, 8192, 100);
    expect_no_wc(s, recv_cq);
}

/* covers: ROCE-QP-28 */
Test(uc_send, ROCE_QP_28_back_to_rts_and_on_with_the_next_psn)
{
    post_unreadable(1, 3000);
    script_forget(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_PROT_ERR);
    expect_wc(s, send_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, 0), -EINVAL);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, NORNIC_QP_SQ_PSN), -EINVAL);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, NORNIC_QP_ACCESS_FLAGS), 0);
    expect_state(s, NORNIC_QPS_RTS);
    post(3, NORNIC_WR_SEND, 10, 0);
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 1)); /* one packet had left */
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
}

/* What succeeded before the failure stays a success. */
Test(uc_send, ROCE_RC_64_earlier_work_is_complete)
{
    post(1, NORNIC_WR_RDMA_WRITE, 3000, 0);
    post_unreadable(2, 2000);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_LOC_PROT_ERR);
    expect_wc(s, send_cq, 3, NORNIC_WC_WR_FLUSH_ERR);
    expect_no_wc(s, send_cq);
}

/* --- SQD --- */

/* Builds the next `n` frames and looks at their PSNs only. */
static unsigned build(unsigned n, uint32_t first)
{
    static uint8_t bytes[8][ROCE_PMTU_MAX_BYTES + 256];
    struct net_frame frames[8];
    for (unsigned i = 0; i < n; i++)
        frames[i] = (struct net_frame){.data = bytes[i], .cap_bytes = sizeof bytes[i]};
    unsigned built = roce_dev_tx(s->dev, frames, n, s->now_ns);
    for (unsigned i = 0; i < built; i++) {
        struct roce_pkt p;
        cr_assert_eq(roce_pkt_parse(&p, frames[i].data, frames[i].len_bytes, 0), ROCE_RX_TAKEN);
        cr_assert_eq(p.bth.psn, script_sq(s, first + i));
    }
    return built;
}

/* covers: ROCE-QP-5, ROCE-RC-62 */
Test(uc_send, ROCE_RC_62_sqd_finishes_the_message_begun)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_SEND, &sge, 0, 5000), next = wr;
    next.wr_id = 2;
    wr.next = &next;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    cr_assert_eq(build(2, 0), 2);
    s->config.attr.en_sqd_async_notify = true;
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, NORNIC_QP_EN_SQD_ASYNC_NOTIFY), 0);
    expect_no_event(s);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), -EINVAL); /* ROCE-QP-31 */
    cr_assert_eq(build(8, 2), 3);
    expect_event(s, NORNIC_EVENT_SQ_DRAINED);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), 0);
    cr_assert_eq(build(8, 5), 5);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
}

/* covers: ROCE-RC-63, ROCE-QP-8 */
Test(uc_send, error_flushes_both_queues_and_reset_forgets)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_SEND, &sge, 0, 5000);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    cr_assert_eq(build(2, 0), 2);
    script_recv(s, 70, 0, 10);
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    cr_assert_eq(build(8, 0), 0);
    expect_wc(s, send_cq, 1, NORNIC_WC_WR_FLUSH_ERR);
    expect_wc(s, recv_cq, 70, NORNIC_WC_WR_FLUSH_ERR);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), -EINVAL);
}
