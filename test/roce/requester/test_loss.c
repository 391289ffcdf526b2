/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 7.5: timeouts, go-back-N, retries, RNR, fatal NAKs. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/support/script_suite.h"

TestSuite(requester_loss, .init = setup, .fini = teardown);

static void nak(uint32_t i, uint8_t syndrome)
{
    script_ack(s, script_sq(s, i), syndrome, 0);
}

static uint64_t tr_ns(uint8_t t)
{
    return UINT64_C(4096) << t;
}

Test(requester_loss, ROCE_RC_41_between_tr_and_4_tr)
{
    static const enum nornic_wr_opcode ops[] = {NORNIC_WR_RDMA_WRITE, NORNIC_WR_SEND, NORNIC_WR_RDMA_READ,
                                                NORNIC_WR_ATOMIC_FETCH_AND_ADD};
    for (uint8_t t = 1; t < 32; t++) {
        config.attr.timeout = t;
        renew();
        script_post(s, 1, ops[t % 4], 0, 8);
        const struct roce_pkt *p = script_next(s);
        cr_assert_not_null(p);
        uint64_t sent_ns = s->now_ns;
        cr_assert_not(script_until_sent(s, tr_ns(t) - 1), "t %u: before Tr", t);
        cr_assert(script_until_sent(s, 3 * tr_ns(t) + 1), "t %u: nothing after 4 Tr", t);
        const struct roce_pkt *again = script_next(s);
        cr_assert_leq(script_last_ns(s) - sent_ns, 4 * tr_ns(t), "t %u", t);
        cr_assert_eq(again->bth.psn, p->bth.psn);
        cr_assert_eq(again->bth.opcode, p->bth.opcode);
        cr_assert_eq(roce_qp_counters(s->qp)->local_ack_timeout, 1);
    }
}

Test(requester_loss, ROCE_RC_41_it_repeats_between_tr_and_4_tr)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    uint64_t last_ns = script_last_ns(s);
    for (int i = 0; i < 7; i++) {
        script_advance(s, last_ns + 4 * tr_ns(14) - s->now_ns);
        expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
        cr_assert_geq(script_last_ns(s) - last_ns, tr_ns(14));
        cr_assert_leq(script_last_ns(s) - last_ns, 4 * tr_ns(14));
        last_ns = script_last_ns(s);
    }
}

/* Seven retries last 1 + 2 + 4 + 4 + 4 + 4 + 4 Tr, and then 4 more until it is given up. */
Test(requester_loss, ROCE_RC_41_timeouts_in_a_row_come_slower)
{
    static const unsigned waits[] = {1, 2, 4, 4, 4, 4, 4};
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    for (int i = 0; i < 7; i++) {
        script_advance(s, waits[i] * tr_ns(14) - 1);
        expect_nothing(s);
        script_advance(s, 1);
        expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    }
    ack(0, 1);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    script_advance(s, tr_ns(14)); /* progress: as fast as ever */
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
}

/* No queue is half a second long: a timeout of 0.27 s is not stretched beyond that, one of a second is not
 * stretched. */
Test(requester_loss, ROCE_RC_41_long_timeouts_are_long_enough)
{
    static const uint8_t timeouts[] = {16, 18};
    for (unsigned c = 0; c < array_len(timeouts); c++) {
        uint64_t tr = tr_ns(timeouts[c]), stretched_ns = max_u64(tr, SCRIPT_S / 2);
        config.attr.timeout = timeouts[c];
        renew();
        script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
        script_forget(s);
        for (int i = 0; i < 4; i++) {
            script_advance(s, (i ? stretched_ns : tr) - 1);
            expect_nothing(s);
            script_advance(s, 1);
            expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
        }
    }
}

Test(requester_loss, ROCE_RC_41_zero_is_never)
{
    config.attr.timeout = 0;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    cr_assert_eq(roce_dev_deadline_ns(s->dev), NET_TIME_NONE);
    script_advance(s, 100000 * SCRIPT_S);
    expect_nothing(s);
    expect_no_wc(s, send_cq);
}

Test(requester_loss, ROCE_RC_41_progress_starts_it_anew)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8 * 1024);
    script_forget(s);
    for (uint32_t i = 0; i < 7; i++) {
        script_advance(s, tr_ns(14) - SCRIPT_US);
        expect_nothing(s);
        ack(i, 0);
    }
    script_advance(s, tr_ns(14) - SCRIPT_US);
    expect_nothing(s);
    script_advance(s, 3 * tr_ns(14));
    expect_op(s, ROCE_OP_WRITE_LAST, script_sq(s, 7));
}

Test(requester_loss, ROCE_RC_41_it_stops_with_the_last_acknowledgement)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    ack(0, 1);
    script_advance(s, 100 * SCRIPT_S);
    expect_nothing(s);
    cr_assert_eq(roce_dev_deadline_ns(s->dev), NET_TIME_NONE);
    cr_assert_eq(roce_qp_counters(s->qp)->local_ack_timeout, 0);
}

/* New requests are no progress: they must not put the timeout of the old ones off. */
Test(requester_loss, ROCE_RC_41_sending_more_does_not_put_it_off)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    uint64_t sent_ns = s->now_ns;
    for (uint64_t i = 0; s->now_ns < sent_ns + 4 * tr_ns(14); i++) {
        script_advance(s, tr_ns(14) / 4);
        script_post(s, 10 + i, NORNIC_WR_RDMA_WRITE, 0, 8);
    }
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    const struct roce_pkt *p;
    while ((p = script_next(s)) && p->bth.psn != script_sq(s, 0))
        ;
    cr_assert_not_null(p, "no resend within 4 Tr");
}

/* The same with a peer that repeats an old ACK. */
Test(requester_loss, ROCE_RC_41_duplicate_acks_do_not_put_it_off)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    ack(0, 1);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    for (int i = 0; i < 16 && s->out_read == s->out_count; i++) {
        script_advance(s, tr_ns(14) / 4);
        ack(0, 1);
    }
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
}

Test(requester_loss, ROCE_RC_42_a_timeout_goes_back_to_una)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4096);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 4);
    script_forget(s);
    ack(1, 0);
    expect_nothing(s);
    script_advance(s, 4 * tr_ns(14));
    const struct roce_pkt *p = expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 2));
    cr_assert_arr_eq(p->payload, s->mem + 2048, 1024);
    expect_op(s, ROCE_OP_WRITE_LAST, script_sq(s, 3));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 4));
    cr_assert_geq(roce_qp_counters(s->qp)->retransmitted_pkts, 3);
}

/* covers: ROCE-RC-42, ROCE-RC-43 */
Test(requester_loss, ROCE_RC_43_a_nak_acknowledges_what_is_before_it)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 2048);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 3072);
    script_forget(s);
    nak(3, ROCE_SYNDROME_NAK_PSN_SEQ);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 3));
    expect_op(s, ROCE_OP_WRITE_LAST, script_sq(s, 4));
    expect_nothing(s);
    cr_assert_eq(roce_qp_counters(s->qp)->packet_seq_err, 1);
}

Test(requester_loss, ROCE_RC_43_a_nak_of_the_first_packet_resends_the_reth)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 2048);
    script_forget(s);
    nak(0, ROCE_SYNDROME_NAK_PSN_SEQ);
    const struct roce_pkt *p = expect_op(s, ROCE_OP_WRITE_FIRST, script_sq(s, 0));
    cr_assert_eq(p->reth.va, SCRIPT_PEER_VA);
    cr_assert_eq(p->reth.dma_len, 2048);
}

Test(requester_loss, ROCE_RC_43_a_nak_behind_a_read_without_response)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 2048);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 4);
    script_post(s, 3, NORNIC_WR_RDMA_WRITE, 0, 4);
    script_forget(s);
    nak(3, ROCE_SYNDROME_NAK_PSN_SEQ);
    expect_no_wc(s, send_cq);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
}

/* covers: ROCE-RC-44, ROCE-RC-42 */
Test(requester_loss, ROCE_RC_44_a_timeout_in_mid_read)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 4096, 5000);
    script_forget(s);
    for (uint32_t i = 0; i < 2; i++) {
        struct script_pkt p =
            script_read_resp_pkt(s, i == 0 ? ROCE_OP_READ_RESP_FIRST : ROCE_OP_READ_RESP_MIDDLE,
                                 script_sq(s, i), 1, script_data() + 1024 * i, 1024);
        script_send(s, &p);
    }
    script_advance(s, 4 * tr_ns(14));
    const struct roce_pkt *p = expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 2));
    cr_assert_eq(p->reth.va, SCRIPT_PEER_VA + 2048);
    cr_assert_eq(p->reth.dma_len, 5000 - 2048);
    cr_assert_eq(p->reth.rkey, SCRIPT_PEER_RKEY);
}

/* covers: ROCE-RC-46, ROCE-INT-63 */
Test(requester_loss, ROCE_RC_46_one_restart_a_loss)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4096);
    script_forget(s);
    nak(1, ROCE_SYNDROME_NAK_PSN_SEQ);
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    script_forget(s);
    for (int i = 0; i < 20; i++)
        nak(1, ROCE_SYNDROME_NAK_PSN_SEQ);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_RTS);
    nak(2, ROCE_SYNDROME_NAK_PSN_SEQ); /* progress: another loss */
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 2));
    expect_op(s, ROCE_OP_WRITE_LAST, script_sq(s, 3));
    script_advance(s, 4 * tr_ns(14));
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 2));
    script_forget(s);
    nak(2, ROCE_SYNDROME_NAK_PSN_SEQ); /* after a timeout it counts again */
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 2));
}

Test(requester_loss, ROCE_RC_47_attempts_are_one_and_retry_cnt)
{
    for (uint8_t retry_cnt = 0; retry_cnt < 8; retry_cnt++) {
        config.attr.retry_cnt = retry_cnt;
        renew();
        script_recv(s, 50, 0, 64);
        script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
        script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8);
        script_advance(s, 40 * tr_ns(14));
        unsigned attempts = 0;
        for (const struct roce_pkt *p; (p = script_next(s));)
            attempts += p->bth.psn == script_sq(s, 0);
        cr_assert_eq(attempts, 1u + retry_cnt);
        expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
        expect_wc(s, send_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
        expect_wc(s, recv_cq, 50, NORNIC_WC_WR_FLUSH_ERR);
        expect_state(s, NORNIC_QPS_ERR);
        cr_assert_eq(roce_qp_counters(s->qp)->retry_exceeded, 1);
        cr_assert_eq(roce_dev_deadline_ns(s->dev), NET_TIME_NONE);
    }
}

/* What an application is told beforehand: stretched timeouts, those that half a second bounds, and long ones.
 */
Test(requester_loss, ROCE_RC_47_it_is_known_when_it_gives_up)
{
    static const uint8_t timeouts[] = {1, 14, 15, 16, 17, 20, 31};
    for (unsigned c = 0; c < array_len(timeouts) * 8; c++) {
        config.attr.timeout = timeouts[c / 8];
        config.attr.retry_cnt = c % 8;
        renew();
        script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
        uint64_t limit_ns = nornic_rc_gives_up_ns(config.attr.timeout, config.attr.retry_cnt);
        script_advance(s, limit_ns - 1);
        expect_state(s, NORNIC_QPS_RTS);
        script_advance(s, 1);
        expect_state(s, NORNIC_QPS_ERR);
        expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
    }
    cr_expect_eq(nornic_rc_gives_up_ns(0, 7), UINT64_MAX);
}

Test(requester_loss, ROCE_RC_47_progress_restores_the_count)
{
    config.attr.retry_cnt = 1;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 10 * 1024);
    for (uint32_t i = 0; i < 9; i++) {
        script_forget(s);
        cr_assert(script_until_sent(s, 4 * tr_ns(14)));
        const struct roce_pkt *p = script_next(s);
        cr_assert_eq(p->bth.psn, script_sq(s, i));
        expect_state(s, NORNIC_QPS_RTS);
        ack(i, 0);
    }
    ack(9, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(requester_loss, ROCE_RC_47_naks_and_timeouts_share_the_count)
{
    config.attr.retry_cnt = 1;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    nak(0, ROCE_SYNDROME_NAK_PSN_SEQ);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    script_advance(s, 4 * tr_ns(14));
    expect_nothing(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
}

Test(requester_loss, ROCE_RC_47_a_nak_without_retries)
{
    config.attr.retry_cnt = 0;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 2048);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    nak(0, ROCE_SYNDROME_NAK_PSN_SEQ);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
    expect_wc(s, send_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
    expect_nothing(s);
}

/* The table of ROCE-HDR-22, in units of 10 us. */
static const uint32_t rnr_10us[32] = {65536, 1,    2,    3,    4,    6,     8,     12,    16,    24,   32,
                                      48,    64,   96,   128,  192,  256,   384,   512,   768,   1024, 1536,
                                      2048,  3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152};

/* covers: ROCE-RC-48, ROCE-HDR-22, ROCE-HDR-23 */
Test(requester_loss, ROCE_RC_48_every_wait)
{
    for (uint8_t code = 0; code < 32; code++) {
        renew();
        script_post(s, 1, NORNIC_WR_SEND, 0, 8);
        script_forget(s);
        uint64_t wait_ns = rnr_10us[code] * 10 * SCRIPT_US;
        nak(0, ROCE_SYNDROME_RNR | code);
        cr_assert_not(script_until_sent(s, wait_ns - 1), "code %u: too early", code);
        cr_assert(script_until_sent(s, wait_ns + SCRIPT_MS), "code %u: not within twice its time", code);
        expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
        ack(0, 1);
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
        cr_assert_eq(roce_qp_counters(s->qp)->rnr_nak_received, 1);
    }
}

Test(requester_loss, ROCE_RC_48_it_acknowledges_and_resends_from_its_psn)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 2048);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE_WITH_IMM, 0, 2048);
    script_post(s, 3, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    nak(3, ROCE_SYNDROME_RNR | 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_no_wc(s, send_cq);
    expect_nothing(s);
    script_advance(s, 100 * SCRIPT_US);
    expect_op(s, ROCE_OP_WRITE_LAST_IMM, script_sq(s, 3));
    const struct roce_pkt *p = script_next(s);
    cr_assert(!p || p->bth.psn == script_sq(s, 4));
}

/* covers: ROCE-RC-48, ROCE-INT-12 */
Test(requester_loss, ROCE_RC_48_silence_during_the_wait)
{
    config.attr.timeout = 1; /* 8 us: would fire many times */
    config.attr.rnr_retry = 2;
    renew();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE_WITH_IMM, 0, 8);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    nak(0, ROCE_SYNDROME_RNR | 20); /* 10.24 ms */
    for (int i = 0; i < 5; i++) {
        script_advance(s, SCRIPT_MS);
        nak(0, ROCE_SYNDROME_NAK_PSN_SEQ);
        nak(1, ROCE_SYNDROME_NAK_PSN_SEQ);
        nak(0, ROCE_SYNDROME_RNR | 20);
        script_post(s, 10 + (uint64_t)i, NORNIC_WR_RDMA_WRITE, 0, 8);
        expect_nothing(s);
    }
    expect_no_wc(s, send_cq);
    expect_state(s, NORNIC_QPS_RTS);
    cr_assert_eq(roce_qp_counters(s->qp)->local_ack_timeout, 0);
    script_advance(s, 5 * SCRIPT_MS + 240 * SCRIPT_US); /* 10.24 ms after the first */
    script_advance(s, 1);
    expect_op(s, ROCE_OP_WRITE_ONLY_IMM, script_sq(s, 0));
}

/* covers: ROCE-RC-48, ROCE-RC-41 */
Test(requester_loss, ROCE_RC_48_the_ack_timer_runs_again_after_the_wait)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 8);
    script_forget(s);
    nak(0, ROCE_SYNDROME_RNR | 1);
    cr_assert(script_until_sent(s, 100 * SCRIPT_US));
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
    cr_assert_not(script_until_sent(s, tr_ns(14) - 1));
    cr_assert(script_until_sent(s, 3 * tr_ns(14) + 1));
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
}

/* The responder half goes on while the requester half waits. */
Test(requester_loss, ROCE_RC_48_responses_still_leave)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE_WITH_IMM, 0, 8);
    script_forget(s);
    nak(0, ROCE_SYNDROME_RNR | 0);
    struct script_pkt p = script_read_pkt(s, script_rq(s, 0), 0, 8);
    script_send(s, &p);
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 0));
}

Test(requester_loss, ROCE_RC_49_counts)
{
    for (uint8_t rnr_retry = 0; rnr_retry < 8; rnr_retry++) {
        config.attr.rnr_retry = rnr_retry;
        renew();
        script_post(s, 1, NORNIC_WR_SEND, 0, 8);
        script_post(s, 2, NORNIC_WR_SEND, 0, 8);
        script_forget(s);
        int naks = rnr_retry == 7 ? 60 : rnr_retry;
        for (int i = 0; i < naks; i++) {
            nak(0, ROCE_SYNDROME_RNR | 1);
            expect_no_wc(s, send_cq);
            script_advance(s, 100 * SCRIPT_US);
            expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 0));
            script_forget(s);
        }
        expect_state(s, NORNIC_QPS_RTS);
        if (rnr_retry == 7)
            continue;
        nak(0, ROCE_SYNDROME_RNR | 1);
        expect_wc(s, send_cq, 1, NORNIC_WC_RNR_RETRY_EXC_ERR);
        expect_wc(s, send_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
        expect_state(s, NORNIC_QPS_ERR);
        script_advance(s, SCRIPT_S);
        expect_nothing(s);
        cr_assert_eq(roce_qp_counters(s->qp)->rnr_retry_exceeded, 1);
    }
}

Test(requester_loss, ROCE_RC_49_progress_restores_the_count)
{
    config.attr.rnr_retry = 1;
    renew();
    for (uint32_t i = 0; i < 5; i++) {
        script_post(s, i, NORNIC_WR_SEND, 0, 8);
        nak(i, ROCE_SYNDROME_RNR | 1);
        script_advance(s, 100 * SCRIPT_US);
        ack(i, i + 1);
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
    }
}

/* covers: ROCE-RC-50, ROCE-RC-61, ROCE-RC-63, ROCE-QP-9 */
Test(requester_loss, ROCE_RC_50_fatal_naks)
{
    static const struct {
        uint8_t syndrome;
        enum nornic_wc_status status;
    } rows[] = {
        {0x61, NORNIC_WC_REM_INV_REQ_ERR}, {0x62, NORNIC_WC_REM_ACCESS_ERR}, {0x63, NORNIC_WC_REM_OP_ERR}};
    for (unsigned i = 0; i < 3; i++) {
        renew();
        script_recv(s, 50, 0, 64);
        script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 8);
        script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 4096);
        script_post(s, 3, NORNIC_WR_RDMA_READ, 0, 8);
        script_post(s, 4, NORNIC_WR_RDMA_WRITE, 0, 8);
        script_forget(s);
        nak(2, rows[i].syndrome); /* the second packet of WR 2 */
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
        struct nornic_wc wc = expect_wc(s, send_cq, 2, rows[i].status);
        cr_assert_eq(wc.qp_num, roce_qp_num(s->qp));
        expect_wc(s, send_cq, 3, NORNIC_WC_WR_FLUSH_ERR);
        expect_wc(s, send_cq, 4, NORNIC_WC_WR_FLUSH_ERR);
        expect_no_wc(s, send_cq);
        expect_wc(s, recv_cq, 50, NORNIC_WC_WR_FLUSH_ERR);
        expect_state(s, NORNIC_QPS_ERR);
        script_advance(s, SCRIPT_S);
        expect_nothing(s);
        cr_assert_eq(roce_qp_counters(s->qp)->nak_fatal_received, 1);
    }
}

Test(requester_loss, ROCE_RC_50_a_fatal_nak_of_a_read_or_an_atomic)
{
    static const enum nornic_wr_opcode ops[] = {NORNIC_WR_RDMA_READ, NORNIC_WR_ATOMIC_CMP_AND_SWP};
    for (int i = 0; i < 2; i++) {
        renew();
        script_post(s, 1, ops[i], 0, 8);
        script_forget(s);
        nak(0, ROCE_SYNDROME_NAK_REM_ACC);
        expect_wc(s, send_cq, 1, NORNIC_WC_REM_ACCESS_ERR);
        expect_state(s, NORNIC_QPS_ERR);
    }
}

/* A fatal NAK of what lies behind a READ without response is an implied NAK of the READ, and nothing else. */
Test(requester_loss, ROCE_RC_34_a_fatal_nak_behind_a_lost_read_response)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 8);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    nak(1, ROCE_SYNDROME_NAK_REM_ACC);
    expect_no_wc(s, send_cq);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    expect_state(s, NORNIC_QPS_RTS);
}

/* A NAK starts the resend over, an RNR NAK interrupts it; the same NAK behind the wait tells of a new loss.
 * covers: ROCE-RC-46, ROCE-RC-48 */
Test(requester_loss, ROCE_RC_46_a_nak_behind_an_rnr_wait_is_heard)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 2 * 1024);
    script_forget(s);
    nak(0, ROCE_SYNDROME_NAK_PSN_SEQ);
    expect_op(s, ROCE_OP_SEND_FIRST, script_sq(s, 0));
    expect_op(s, ROCE_OP_SEND_LAST, script_sq(s, 1));
    nak(0, ROCE_SYNDROME_NAK_PSN_SEQ); /* of the same loss */
    expect_nothing(s);
    nak(0, ROCE_SYNDROME_RNR | 1);
    expect_nothing(s);
    cr_assert(script_until_sent(s, SCRIPT_MS));
    expect_op(s, ROCE_OP_SEND_FIRST, script_sq(s, 0));
    expect_op(s, ROCE_OP_SEND_LAST, script_sq(s, 1));
    nak(0, ROCE_SYNDROME_NAK_PSN_SEQ);
    expect_op(s, ROCE_OP_SEND_FIRST, script_sq(s, 0));
    expect_op(s, ROCE_OP_SEND_LAST, script_sq(s, 1));
    ack(1, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}
