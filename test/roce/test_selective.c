/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective retransmission (roce_qp_config.reorder_pkts), packet by packet. */
#include <criterion/criterion.h>

#include "test/support/script_suite.h"

static void begin(void)
{
    setup();
    config.reorder_pkts = 8;
    renew();
}

TestSuite(selective, .init = begin, .fini = teardown);

/* The i-th packet of a WRITE of six, PMTU 1024. */
static struct script_pkt piece(uint32_t i)
{
    enum roce_op op = i == 0 ? ROCE_OP_WRITE_FIRST : i == 5 ? ROCE_OP_WRITE_LAST : ROCE_OP_WRITE_MIDDLE;
    struct script_pkt p =
        script_write_pkt(s, op, script_rq(s, i), 0, 6 * 1024, script_data() + 1024 * i, 1024);
    p.bth.ack_req = i == 5;
    return p;
}

static void give(uint32_t i)
{
    struct script_pkt p = piece(i);
    script_send(s, &p);
}

static void expect_whole(void)
{
    cr_assert_arr_eq(s->mem, script_data(), 6 * 1024);
}

Test(selective, what_comes_behind_a_gap_is_kept)
{
    give(0);
    give(2);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    give(3);
    give(4);
    give(5);
    expect_nothing(s);
    give(1);
    expect_ack(s, script_rq(s, 5), 1);
    expect_nothing(s);
    expect_whole();
}

Test(selective, the_next_gap_is_named_at_once)
{
    give(0);
    give(2);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    give(4);
    give(1); /* its own ACK goes without saying: ROCE-RS-13 */
    expect_nak(s, script_rq(s, 3), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    give(5);
    expect_nothing(s);
    give(3);
    expect_ack(s, script_rq(s, 5), 1);
    expect_whole();
}

Test(selective, a_peer_that_goes_back_is_served)
{
    give(0);
    give(2);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    for (uint32_t i = 1; i < 5; i++)
        give(i);
    expect_nothing(s);
    give(5);
    expect_ack(s, script_rq(s, 5), 1);
    expect_whole();
}

Test(selective, what_is_too_far_ahead_is_not_kept)
{
    give(0);
    struct script_pkt far = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 9), NULL, 0);
    script_send(s, &far);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    script_send(s, &far);
    expect_verdict(s, ROCE_RX_DROP_PSN, 1);
    for (uint32_t i = 1; i < 6; i++)
        give(i);
    expect_ack(s, script_rq(s, 5), 1);
    expect_nothing(s);
}

Test(selective, nothing_kept_outlives_a_fault)
{
    give(0);
    struct script_pkt bad = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 2), NULL, 0);
    script_send(s, &bad); /* not legal in the middle of a WRITE, which shows only in its turn */
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    give(3);
    give(1);
    expect_nak(s, script_rq(s, 2), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_event(s, NORNIC_EVENT_QP_REQ_ERR);
    expect_state(s, NORNIC_QPS_ERR);
    expect_nothing(s);
}

/* covers: ROCE-QP-8 */
Test(selective, ROCE_QP_8_nothing_kept_outlives_a_reset)
{
    give(0);
    give(2);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    script_restart(s);
    give(0);
    struct script_pkt p = piece(1);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 1), 0);
    expect_nothing(s);
}

/* An ACK of the missing packet alone would tell the peer that nothing was kept. */
Test(selective, the_ack_of_what_filled_the_gap_covers_what_was_kept)
{
    give(0);
    give(2);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    give(3);
    give(4);
    struct script_pkt missing = piece(1);
    missing.bth.ack_req = 1;
    script_send(s, &missing);
    expect_ack(s, script_rq(s, 4), 0);
    expect_nothing(s);
    give(5);
    expect_ack(s, script_rq(s, 5), 1);
    expect_whole();
}

Test(selective, the_answer_of_a_kept_read_is_the_ack_of_what_filled_the_gap)
{
    struct script_pkt read = script_read_pkt(s, script_rq(s, 1), 0, 8);
    struct script_pkt write =
        script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 4096, 4, script_data(), 4);
    script_send(s, &read);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    write.bth.ack_req = 1;
    script_send(s, &write);
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 1));
    expect_nothing(s);
}

Test(selective, room_for_one_keeps_one)
{
    config.reorder_pkts = 1;
    renew();
    give(0);
    give(2);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    struct script_pkt missing = piece(1);
    missing.bth.ack_req = 1;
    script_send(s, &missing);
    expect_ack(s, script_rq(s, 2), 0);
}

/* Six packets of ours leave; the peer NAKs the i-th. */
static void lose(uint32_t i)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 6 * 1024);
    script_forget(s);
    script_ack(s, script_sq(s, i), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
}

Test(selective, only_what_a_nak_names_is_sent_again)
{
    lose(2);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 2));
    cr_assert(p->bth.ack_req);
    expect_nothing(s);
    script_post(s, 2, NORNIC_WR_SEND, 0, 4); /* new work goes on */
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 6));
    ack(6, 2);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
}

Test(selective, a_peer_that_kept_nothing_gets_the_rest_again)
{
    lose(2);
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 2));
    ack(2, 0);
    for (uint32_t i = 3; i < 6; i++)
        expect_op(s, i == 5 ? ROCE_OP_WRITE_LAST : ROCE_OP_WRITE_MIDDLE, script_sq(s, i));
    expect_nothing(s);
    ack(5, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(selective, after_three_times_the_peer_is_known)
{
    for (uint32_t round = 0; round < 4; round++) {
        uint32_t at = 6 * round;
        script_post(s, round, NORNIC_WR_RDMA_WRITE, 0, 6 * 1024);
        script_forget(s);
        script_ack(s, script_sq(s, at + 2), ROCE_SYNDROME_NAK_PSN_SEQ, round);
        expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, at + 2));
        if (round < 3) {
            expect_nothing(s);
            ack(at + 2, round);
        }
        for (uint32_t i = 3; i < 6; i++)
            expect_op(s, i == 5 ? ROCE_OP_WRITE_LAST : ROCE_OP_WRITE_MIDDLE, script_sq(s, at + i));
        expect_nothing(s);
        ack(at + 5, round + 1);
        expect_wc(s, send_cq, round, NORNIC_WC_SUCCESS);
    }
}

Test(selective, a_timeout_goes_back_to_the_oldest)
{
    lose(2);
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 2));
    cr_assert(script_until_sent(s, SCRIPT_S));
    for (uint32_t i = 2; i < 6; i++)
        expect_op(s, i == 5 ? ROCE_OP_WRITE_LAST : ROCE_OP_WRITE_MIDDLE, script_sq(s, i));
}
