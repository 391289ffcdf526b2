/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 7.4: what a requester makes of responses. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/support/script_suite.h"

TestSuite(requester_resp, .init = setup, .fini = teardown);

static struct script_pkt resp(enum roce_op op, uint32_t i, uint32_t at, uint32_t len)
{
    return script_read_resp_pkt(s, op, script_sq(s, i), 1, script_data() + at, len);
}

static void send(struct script_pkt p)
{
    script_send(s, &p);
}

static uint64_t ghosts(void)
{
    return roce_dev_counters(s->dev)->verdicts[ROCE_RX_DROP_GHOST];
}

Test(requester_resp, ROCE_RC_30_ghosts)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 2048);
    script_forget(s);
    static const uint8_t syndromes[] = {ROCE_SYNDROME_ACK_UNLIMITED, ROCE_SYNDROME_NAK_PSN_SEQ,
                                        ROCE_SYNDROME_NAK_INV_REQ, ROCE_SYNDROME_NAK_REM_ACC,
                                        ROCE_SYNDROME_RNR | 1};
    static const uint32_t psns[] = {2, 3, 100, 0x7fffff, 0x800000, 0xfffffe};
    for (unsigned i = 0; i < 5; i++)
        for (unsigned j = 0; j < 6; j++) {
            uint64_t before = ghosts();
            script_ack(s, script_sq(s, psns[j]), syndromes[i], 1);
            expect_nothing(s);
            expect_no_wc(s, send_cq);
            expect_state(s, NORNIC_QPS_RTS);
            cr_assert_eq(ghosts(), before + 1, "syndrome %02x PSN +%x", syndromes[i], psns[j]);
        }
    send(resp(ROCE_OP_READ_RESP_ONLY, 7, 0, 8));
    send(script_atomic_ack_pkt(s, script_sq(s, 0xffffff), 1, 5));
    expect_state(s, NORNIC_QPS_RTS);
    ack(1, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(requester_resp, ROCE_RC_30_nothing_was_ever_sent)
{
    ack(0, 1);
    ack(0xffffff, 0);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_RTS);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    expect_no_wc(s, send_cq);
}

Test(requester_resp, ROCE_RC_31_an_ack_ahead_of_cur)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8 * 1024);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8 * 1024);
    script_forget(s);
    struct script_pkt burst[2] = {
        script_ack_pkt(s, script_sq(s, 2), ROCE_SYNDROME_NAK_PSN_SEQ, 0),
        script_ack_pkt(s, script_sq(s, 11), ROCE_SYNDROME_ACK_UNLIMITED, 1),
    };
    script_burst(s, burst, 2);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    const struct roce_pkt *p = script_next(s);
    cr_assert(!p || roce_psn_diff(p->bth.psn, script_sq(s, 12)) >= 0, "what was acknowledged is sent again");
    script_forget(s);
    ack(15, 2);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    script_advance(s, SCRIPT_S);
    expect_nothing(s);
}

/* covers: ROCE-RC-32, ROCE-RC-60 */
Test(requester_resp, ROCE_RC_32_one_ack_for_many)
{
    for (uint64_t i = 0; i < 10; i++)
        script_post(s, i, NORNIC_WR_RDMA_WRITE, 0, i % 2 ? 4 : 3000);
    script_forget(s);
    ack(1, 0); /* in the middle of the first */
    expect_no_wc(s, send_cq);
    ack(2, 1);
    expect_wc(s, send_cq, 0, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
    ack(10, 4); /* SEND 1, 2, 3 and the first packets of 4: PSNs 3, 4..6, 7, 8..10 */
    for (uint64_t i = 1; i <= 4; i++)
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
    ack(19, 10);
    for (uint64_t i = 5; i < 10; i++)
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
    expect_nothing(s);
}

Test(requester_resp, ROCE_RC_33_a_read_needs_its_response)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 8);
    script_forget(s);
    ack(0, 1);
    expect_no_wc(s, send_cq);
    expect_state(s, NORNIC_QPS_RTS);
    send(resp(ROCE_OP_READ_RESP_ONLY, 0, 0, 8));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem, script_data(), 8);
}

/* covers: ROCE-RC-33, ROCE-HDR-11 */
Test(requester_resp, ROCE_RC_33_an_atomic_needs_its_response)
{
    script_post(s, 1, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 8, 8);
    script_forget(s);
    ack(0, 1);
    expect_no_wc(s, send_cq);
    send(script_atomic_ack_pkt(s, script_sq(s, 0), 1, UINT64_C(0x1122334455667788)));
    struct nornic_wc wc = expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.opcode, NORNIC_WC_FETCH_ADD);
    cr_assert_eq(wc.byte_len, 8);
    uint64_t v;
    memcpy(&v, s->mem + 8, 8);
    cr_assert_eq(v, UINT64_C(0x1122334455667788), "host-endian in memory");
}

/* covers: ROCE-RC-34, ROCE-LIM-6 */
Test(requester_resp, ROCE_RC_34_implied_nak_of_a_read)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    script_post(s, 2, NORNIC_WR_RDMA_READ, 4096, 3000);
    script_post(s, 3, NORNIC_WR_RDMA_WRITE, 0, 4);
    script_forget(s);
    ack(4, 3);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 1));
    cr_assert_eq(p->reth.va, SCRIPT_PEER_VA);
    cr_assert_eq(p->reth.dma_len, 3000);
    cr_assert_eq(roce_qp_counters(s->qp)->implied_nak_seq_err, 1);
    script_forget(s);
    send(resp(ROCE_OP_READ_RESP_FIRST, 1, 0, 1024));
    send(resp(ROCE_OP_READ_RESP_MIDDLE, 2, 1024, 1024));
    send(resp(ROCE_OP_READ_RESP_LAST, 3, 2048, 952));
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    ack(4, 3);
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem + 4096, script_data(), 3000);
}

Test(requester_resp, ROCE_RC_34_implied_nak_of_an_atomic_by_a_read_response)
{
    script_post(s, 1, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 0, 8);
    script_post(s, 2, NORNIC_WR_RDMA_READ, 8, 8);
    script_forget(s);
    send(resp(ROCE_OP_READ_RESP_ONLY, 1, 0, 8));
    expect_no_wc(s, send_cq);
    expect_op(s, ROCE_OP_FETCH_ADD, script_sq(s, 0));
    script_forget(s);
    send(script_atomic_ack_pkt(s, script_sq(s, 0), 1, 5));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    send(resp(ROCE_OP_READ_RESP_ONLY, 1, 0, 8));
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
}

/* covers: ROCE-RC-34, ROCE-RC-47 */
Test(requester_resp, ROCE_RC_34_it_uses_a_retry)
{
    config.attr.retry_cnt = 0;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 8);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 4);
    script_forget(s);
    ack(1, 2);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
    expect_wc(s, send_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-RC-35, ROCE-RC-44 */
Test(requester_resp, ROCE_RC_35_a_gap_restarts_once)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 5000);
    script_forget(s);
    send(resp(ROCE_OP_READ_RESP_FIRST, 0, 0, 1024));
    expect_nothing(s);
    send(resp(ROCE_OP_READ_RESP_MIDDLE, 2, 2048, 1024));
    const struct roce_pkt *p = expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 1));
    cr_assert_eq(p->reth.va, SCRIPT_PEER_VA + 1024);
    cr_assert_eq(p->reth.dma_len, 5000 - 1024);
    cr_assert_eq(p->reth.rkey, SCRIPT_PEER_RKEY);
    send(resp(ROCE_OP_READ_RESP_MIDDLE, 3, 3072, 1024));
    send(resp(ROCE_OP_READ_RESP_LAST, 4, 4096, 904));
    expect_nothing(s);
    expect_no_wc(s, send_cq);
    send(resp(ROCE_OP_READ_RESP_FIRST, 1, 1024, 1024));
    send(resp(ROCE_OP_READ_RESP_MIDDLE, 2, 2048, 1024));
    send(resp(ROCE_OP_READ_RESP_MIDDLE, 3, 3072, 1024));
    send(resp(ROCE_OP_READ_RESP_LAST, 4, 4096, 904));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem + 4096, script_data(), 5000);
    expect_nothing(s);
}

Test(requester_resp, ROCE_RC_35_two_gaps_two_restarts)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 4096);
    script_forget(s);
    send(resp(ROCE_OP_READ_RESP_MIDDLE, 1, 1024, 1024)); /* the first was lost */
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    send(resp(ROCE_OP_READ_RESP_FIRST, 0, 0, 1024));
    send(resp(ROCE_OP_READ_RESP_LAST, 3, 3072, 1024));
    const struct roce_pkt *p = expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 1));
    cr_assert_eq(p->reth.dma_len, 3072);
    expect_nothing(s);
}

/* covers: ROCE-RC-36, ROCE-INT-19 */
Test(requester_resp, ROCE_RC_36_after_a_restart_middle_is_as_good_as_first)
{
    static const enum roce_op two_left[][2] = {{ROCE_OP_READ_RESP_FIRST, ROCE_OP_READ_RESP_LAST},
                                               {ROCE_OP_READ_RESP_MIDDLE, ROCE_OP_READ_RESP_LAST}};
    for (int i = 0; i < 2; i++) {
        renew();
        script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 3000);
        send(resp(ROCE_OP_READ_RESP_FIRST, 0, 0, 1024));
        send(resp(ROCE_OP_READ_RESP_LAST, 2, 2048, 952));
        send(resp(two_left[i][0], 1, 1024, 1024));
        send(resp(two_left[i][1], 2, 2048, 952));
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
        cr_assert_arr_eq(s->mem + 4096, script_data(), 3000);
    }
    static const enum roce_op one_left[] = {ROCE_OP_READ_RESP_ONLY, ROCE_OP_READ_RESP_LAST};
    for (int i = 0; i < 2; i++) {
        renew();
        script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 3000);
        send(resp(ROCE_OP_READ_RESP_FIRST, 0, 0, 1024));
        send(resp(ROCE_OP_READ_RESP_MIDDLE, 1, 1024, 1024));
        script_forget(s);
        script_advance(s, 300 * SCRIPT_MS);
        const struct roce_pkt *p = expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 2));
        cr_assert_eq(p->reth.va, SCRIPT_PEER_VA + 2048);
        cr_assert_eq(p->reth.dma_len, 952);
        send(resp(one_left[i], 2, 2048, 952));
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
        cr_assert_arr_eq(s->mem + 4096, script_data(), 3000);
    }
}

/* A response that cannot be right: an error completion of the READ, the QP in ERR. */
static void is_bad(struct script_pkt p, bool len_err_allowed, int line)
{
    script_send(s, &p);
    struct nornic_wc wc;
    cr_assert_eq(rdma_cq_poll(s->send_cq, &wc, 1), 1, "line %d: no completion", line);
    cr_assert(wc.status == NORNIC_WC_BAD_RESP_ERR || (len_err_allowed && wc.status == NORNIC_WC_LOC_LEN_ERR),
              "line %d: %s", line, nornic_wc_status_name(wc.status));
    cr_assert_eq(wc.wr_id, 1, "line %d", line);
    script_expect_state(s, NORNIC_QPS_ERR, line);
    renew();
}
#define expect_bad(p, len_err_allowed) is_bad(p, len_err_allowed, __LINE__)

Test(requester_resp, ROCE_RC_37_length_of_read_responses)
{
    static const struct {
        enum roce_op op;
        uint32_t len;
    } wrong[] = {/* of a READ of 3000 bytes, the first response */
                 {ROCE_OP_READ_RESP_FIRST, 1020}, {ROCE_OP_READ_RESP_FIRST, 1028},
                 {ROCE_OP_READ_RESP_FIRST, 0},    {ROCE_OP_READ_RESP_ONLY, 1024},
                 {ROCE_OP_READ_RESP_ONLY, 8},     {ROCE_OP_READ_RESP_ONLY, 0},
                 {ROCE_OP_READ_RESP_ONLY, 3000}};
    for (unsigned i = 0; i < array_len(wrong); i++) {
        script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 3000);
        expect_bad(resp(wrong[i].op, 0, 0, wrong[i].len), true);
    }
    static const struct {
        enum roce_op op;
        uint32_t len;
    } last[] = {/* the third */
                {ROCE_OP_READ_RESP_LAST, 951},
                {ROCE_OP_READ_RESP_LAST, 953},
                {ROCE_OP_READ_RESP_LAST, 0},
                {ROCE_OP_READ_RESP_LAST, 1024},
                {ROCE_OP_READ_RESP_MIDDLE, 1024}};
    for (unsigned i = 0; i < array_len(last); i++) {
        script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 3000);
        send(resp(ROCE_OP_READ_RESP_FIRST, 0, 0, 1024));
        send(resp(ROCE_OP_READ_RESP_MIDDLE, 1, 1024, 1024));
        expect_bad(resp(last[i].op, 2, 2048, last[i].len), true);
    }
    script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 8);
    expect_bad(resp(ROCE_OP_READ_RESP_ONLY, 0, 0, 12), true);
    cr_assert_eq(s->mem[4096 + 8], (4096 + 8) % 251);
}

Test(requester_resp, ROCE_RC_37_nothing_is_written_behind_the_sink)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 8);
    send(resp(ROCE_OP_READ_RESP_ONLY, 0, 0, 1024));
    for (uint32_t i = 4096 + 8; i < 4096 + 1024; i++)
        cr_assert_eq(s->mem[i], i % 251);
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-RC-37, ROCE-MR-5 */
Test(requester_resp, ROCE_RC_37_the_sink_goes_away)
{
    struct rdma_mr *mr;
    cr_assert_eq(rdma_mr_reg(s->pd, s->mem, 4096, NORNIC_ACCESS_LOCAL_WRITE, &mr), 0);
    struct nornic_sge sge = {(uintptr_t)s->mem, 8, mr->lkey};
    struct nornic_send_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = NORNIC_WR_RDMA_READ};
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    rdma_mr_dereg(mr);
    send(resp(ROCE_OP_READ_RESP_ONLY, 0, 0, 8));
    expect_wc(s, send_cq, 1, NORNIC_WC_LOC_PROT_ERR);
    expect_state(s, NORNIC_QPS_ERR);
    cr_assert_eq(s->mem[1], 1);
}

Test(requester_resp, ROCE_RC_38_a_response_of_another_kind)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    expect_bad(resp(ROCE_OP_READ_RESP_ONLY, 0, 0, 4), false);
    script_post(s, 1, NORNIC_WR_SEND, 0, 4);
    expect_bad(script_atomic_ack_pkt(s, script_sq(s, 0), 1, 5), false);
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 8);
    expect_bad(script_atomic_ack_pkt(s, script_sq(s, 0), 1, 5), false);
    script_post(s, 1, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 0, 8);
    expect_bad(resp(ROCE_OP_READ_RESP_ONLY, 0, 0, 8), false);
}

Test(requester_resp, ROCE_RC_39_a_read_response_carries_an_ack)
{
    static const uint8_t syndromes[] = {0x20, 0x60, 0x61, 0x62, 0x63};
    for (unsigned i = 0; i < 5; i++) {
        script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 8);
        struct script_pkt p = resp(ROCE_OP_READ_RESP_ONLY, 0, 0, 8);
        p.aeth.syndrome = syndromes[i];
        expect_bad(p, false);
        script_post(s, 1, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 0, 8);
        p = script_atomic_ack_pkt(s, script_sq(s, 0), 1, 5);
        p.aeth.syndrome = syndromes[i];
        expect_bad(p, false);
    }
}

Test(requester_resp, ROCE_HDR_20_reserved_syndromes_are_dropped)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    script_forget(s);
    unsigned count = 0;
    for (unsigned syndrome = 0; syndrome < 256; syndrome++) {
        if (roce_syndrome_kind((uint8_t)syndrome) != ROCE_SYN_RESERVED)
            continue;
        script_ack(s, script_sq(s, 0), (uint8_t)syndrome, 1);
        count++;
    }
    cr_assert_eq(count, 128 + 32 + 28);
    expect_nothing(s);
    expect_no_wc(s, send_cq);
    expect_state(s, NORNIC_QPS_RTS);
    expect_verdict(s, ROCE_RX_DROP_SYNDROME, count);
    ack(0, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(requester_resp, ROCE_RC_40_the_psn_decides_and_not_the_msn)
{
    static const uint32_t msns[] = {1, 1, 0, 0xffffff, 7};
    for (uint32_t i = 0; i < 5; i++) {
        script_post(s, i, NORNIC_WR_RDMA_WRITE, 0, 4);
        ack(i, msns[i]);
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
    }
    expect_state(s, NORNIC_QPS_RTS);
}

/* covers: ROCE-RC-32, ROCE-RS-52 */
Test(requester_resp, ROCE_RC_32_a_read_response_acknowledges_what_is_before_it)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 3000);
    script_post(s, 2, NORNIC_WR_RDMA_READ, 4096, 2048);
    script_forget(s);
    send(resp(ROCE_OP_READ_RESP_FIRST, 3, 0, 1024));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
    send(resp(ROCE_OP_READ_RESP_LAST, 4, 1024, 1024));
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
}

/* covers: ROCE-RC-30, ROCE-RS-22 */
Test(requester_resp, ROCE_RC_30_responses_of_a_read_that_came_twice)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 2048);
    script_forget(s);
    send(resp(ROCE_OP_READ_RESP_FIRST, 0, 0, 1024));
    send(resp(ROCE_OP_READ_RESP_FIRST, 0, 0, 1024));
    expect_nothing(s);
    send(resp(ROCE_OP_READ_RESP_LAST, 1, 1024, 1024));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    send(resp(ROCE_OP_READ_RESP_LAST, 1, 1024, 1024));
    expect_nothing(s);
    expect_no_wc(s, send_cq);
    expect_state(s, NORNIC_QPS_RTS);
    cr_assert_arr_eq(s->mem + 4096, script_data(), 2048);
}
