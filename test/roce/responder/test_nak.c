/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 8.2: NAKs, RNR NAKs, and what an error leaves behind. */
#include <criterion/criterion.h>
#include <string.h>

#include "test/support/script.h"

static struct script *s;

static void setup(void)
{
    struct script_config config = script_defaults();
    s = script_new(&config);
}

static void teardown(void)
{
    script_free(s);
}

TestSuite(responder_nak, .init = setup, .fini = teardown);

static struct script_pkt write_only(uint32_t i)
{
    struct script_pkt p =
        script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, i), 65536, 4, script_data(), 4);
    p.bth.ack_req = 1;
    return p;
}

static struct script_pkt send_only(uint32_t i)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, i), script_data(), 16);
    p.bth.ack_req = 1;
    return p;
}

static void send(struct script_pkt p)
{
    script_send(s, &p);
}

Test(responder_nak, ROCE_RS_10_one_nak_a_gap)
{
    send(write_only(1));
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    for (uint32_t i = 1; i < 40; i++)
        send(write_only(i));
    expect_nothing(s);
    send(write_only(0));
    expect_ack(s, script_rq(s, 0), 1);
    send(write_only(2));
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 1);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_RTS);
    expect_no_event(s);
}

Test(responder_nak, ROCE_RS_10_every_kind_of_request_after_the_gap_is_only_a_gap)
{
    struct script_pkt p = script_read_pkt(s, script_rq(s, 3), 0, 0);
    send(p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    send(write_only(0));
    expect_ack(s, script_rq(s, 0), 1);
    p = write_only(5); /* its other faults are not looked at */
    p.reth.rkey = 0;
    send(p);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 1);
    expect_state(s, NORNIC_QPS_RTS);
}

Test(responder_nak, ROCE_RS_10_duplicates_are_answered_in_a_gap)
{
    send(write_only(0));
    expect_ack(s, script_rq(s, 0), 1);
    struct script_pkt read = script_read_pkt(s, script_rq(s, 1), 0, 4);
    send(read);
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 1));
    send(write_only(5));
    expect_nak(s, script_rq(s, 2), ROCE_SYNDROME_NAK_PSN_SEQ, 2);
    send(read);
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 1));
    send(write_only(6));
    expect_nothing(s);
}

Test(responder_nak, ROCE_RS_11_rnr_codes)
{
    for (uint8_t code = 0; code < 32; code++) {
        struct script_config config = script_defaults();
        config.attr.min_rnr_timer = code;
        script_free(s);
        s = script_new(&config);
        send(send_only(0));
        expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_RNR | code, 0);
        expect_state(s, NORNIC_QPS_RTS);
    }
}

Test(responder_nak, ROCE_RS_11_silence_until_the_packet_comes_again)
{
    send(send_only(0));
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_RNR | 12, 0);
    script_recv(s, 1, 0, 64);
    send(send_only(1));
    send(write_only(2));
    expect_nothing(s);
    expect_no_wc(s, recv_cq);
    send(send_only(0));
    expect_ack(s, script_rq(s, 0), 1);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    send(write_only(2));
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 1);
}

Test(responder_nak, ROCE_RS_11_rnr_again_as_long_as_nothing_is_posted)
{
    for (int i = 0; i < 5; i++) {
        send(send_only(0));
        expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_RNR | 12, 0);
        send(send_only(1));
        expect_nothing(s);
    }
    expect_state(s, NORNIC_QPS_RTS);
}

Test(responder_nak, ROCE_RS_11_first_of_a_long_send)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024);
    send(p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_RNR | 12, 0);
    struct script_pkt last = script_send_pkt(s, ROCE_OP_SEND_LAST, script_rq(s, 1), script_data(), 4);
    send(last);
    expect_nothing(s);
    script_recv(s, 1, 0, 2048);
    send(p);
    last.bth.ack_req = 1;
    send(last);
    expect_ack(s, script_rq(s, 1), 1);
    struct nornic_wc wc = expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.byte_len, 1028);
}

Test(responder_nak, ROCE_RS_12_a_fatal_nak_once)
{
    send(write_only(0));
    expect_ack(s, script_rq(s, 0), 1);
    struct script_pkt bad = write_only(1);
    bad.reth.rkey = 0;
    send(bad);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_REM_ACC, 1);
    expect_state(s, NORNIC_QPS_ERR);
    send(bad);
    send(write_only(0));
    send(write_only(1));
    script_advance(s, SCRIPT_S);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_STATE, 3);
}

/* The peer makes a gap and fills it, again and again, while nothing can be sent: NAKs take every place of the
 * queue. A fatal one takes the newest one's place. Whoever misses a NAK of a gap asks again; the last word
 * is said once. covers: ROCE-RS-12, ROCE-RS-40 */
Test(responder_nak, ROCE_RS_12_a_fatal_nak_finds_a_place_in_a_full_queue)
{
    enum { PLACES = 8, GAPS = PLACES + 2 };
    struct script_config config = script_defaults();
    struct script_pkt burst[2 * GAPS + 1];
    config.attr.max_dest_rd_atomic = 0;
    script_free(s);
    s = script_new(&config);
    for (uint32_t i = 0; i < GAPS; i++) {
        burst[2 * i] = write_only(i + 1);
        burst[2 * i + 1] = write_only(i);
        burst[2 * i + 1].bth.ack_req = 0;
    }
    burst[2 * GAPS] = write_only(GAPS);
    burst[2 * GAPS].reth.rkey = 0;
    script_burst(s, burst, 2 * GAPS + 1);
    for (uint32_t i = 0; i < PLACES - 1; i++)
        expect_nak(s, script_rq(s, i), ROCE_SYNDROME_NAK_PSN_SEQ, i);
    expect_nak(s, script_rq(s, GAPS), ROCE_SYNDROME_NAK_REM_ACC, GAPS);
    expect_nothing(s);
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-RS-12, ROCE-RS-13 */
Test(responder_nak, ROCE_RS_13_a_nak_is_the_last_word)
{
    struct script_pkt burst[4] = {write_only(0), write_only(1), write_only(2), write_only(3)};
    burst[2].reth.rkey = 0;
    script_burst(s, burst, 4);
    const struct roce_pkt *pkt, *last = NULL;
    while ((pkt = script_next(s)))
        last = pkt;
    cr_assert_not_null(last);
    cr_assert_eq(last->aeth.syndrome, ROCE_SYNDROME_NAK_REM_ACC);
    cr_assert_eq(last->bth.psn, script_rq(s, 2));
    cr_assert_eq(last->aeth.msn, 2);
}

/* covers: ROCE-RS-14, ROCE-FRM-44, ROCE-FRM-45, ROCE-HDR-2 */
Test(responder_nak, ROCE_RS_14_what_an_ack_looks_like)
{
    uint16_t port = roce_label_src_port(roce_flow_label(0, roce_qp_num(s->qp), SCRIPT_PEER_QPN));
    send(write_only(0));
    send(write_only(2));
    for (int i = 0; i < 2; i++) {
        const struct roce_pkt *ack = script_next(s);
        cr_assert_not_null(ack);
        cr_assert_eq(ack->bth.opcode, 0x11);
        cr_assert_eq(ack->bth.ack_req, 0);
        cr_assert_eq(ack->bth.se, 0);
        cr_assert_eq(ack->bth.pad_count, 0);
        cr_assert_eq(ack->bth.mig_req, 1);
        cr_assert_eq(ack->bth.tver, 0);
        cr_assert_eq(ack->bth.pkey, 0xffff);
        cr_assert_eq(ack->bth.fecn + ack->bth.becn + ack->bth.resv6 + ack->bth.resv7, 0);
        cr_assert_eq(ack->bth.dest_qpn, SCRIPT_PEER_QPN);
        cr_assert_eq(ack->payload_bytes, 0);
        cr_assert_eq(ack->hop_limit, 64);
        cr_assert(nornic_mac_equal(&ack->dst_mac, &s->from_peer.src_mac));
        cr_assert(nornic_mac_equal(&ack->src_mac, &s->from_peer.dst_mac));
        cr_assert_eq(ack->src_port, port);
    }
}

/* covers: ROCE-RS-15, ROCE-EV-3 */
Test(responder_nak, ROCE_RS_15_protocol_fault_without_a_receive)
{
    script_recv(s, 3, 0, 64);
    script_recv(s, 4, 0, 64);
    send(script_send_pkt(s, ROCE_OP_WRITE_MIDDLE, script_rq(s, 0), script_data(), 1024));
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_event(s, NORNIC_EVENT_QP_REQ_ERR);
    expect_no_event(s);
    expect_wc(s, recv_cq, 3, NORNIC_WC_WR_FLUSH_ERR);
    expect_wc(s, recv_cq, 4, NORNIC_WC_WR_FLUSH_ERR);
    expect_no_wc(s, recv_cq);
}

/* covers: ROCE-RS-15, ROCE-EV-4 */
Test(responder_nak, ROCE_RS_15_key_fault_without_a_receive)
{
    struct script_pkt bad = write_only(0);
    bad.reth.rkey = 0;
    send(bad);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
    expect_event(s, NORNIC_EVENT_QP_ACCESS_ERR);
    expect_no_event(s);
}

Test(responder_nak, ROCE_RS_15_protocol_fault_with_a_receive)
{
    script_recv(s, 3, 0, 4096);
    script_recv(s, 4, 0, 64);
    send(script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024));
    send(write_only(1));
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_wc(s, recv_cq, 3, NORNIC_WC_LOC_QP_OP_ERR);
    expect_wc(s, recv_cq, 4, NORNIC_WC_WR_FLUSH_ERR);
    expect_no_wc(s, recv_cq);
    expect_no_event(s);
}

/* covers: ROCE-RS-15, ROCE-RC-63 */
Test(responder_nak, ROCE_RS_15_a_responder_error_flushes_the_send_queue_too)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 16);
    script_forget(s);
    struct script_pkt bad = write_only(0);
    bad.reth.rkey = 0;
    send(bad);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
    expect_wc(s, send_cq, 1, NORNIC_WC_WR_FLUSH_ERR);
    script_advance(s, SCRIPT_S);
    expect_nothing(s);
}

/* covers: ROCE-RS-16, ROCE-RS-7, ROCE-CQ-2, ROCE-EV-1 */
Test(responder_nak, ROCE_RS_16_receive_cq_full)
{
    struct script_config config = script_defaults();
    config.recv_cq_capacity = 1;
    script_free(s);
    s = script_new(&config);
    uint32_t capacity = rdma_cq_capacity(s->recv_cq);
    for (uint32_t i = 0; i <= capacity; i++)
        script_recv(s, i, 0, 64);
    for (uint32_t i = 0; i < capacity; i++) {
        send(send_only(i));
        expect_ack(s, script_rq(s, i), i + 1);
    }
    send(send_only(capacity));
    expect_nak(s, script_rq(s, capacity), ROCE_SYNDROME_NAK_REM_OP, capacity);
    expect_state(s, NORNIC_QPS_ERR);
    expect_event(s, NORNIC_EVENT_CQ_ERR);
    for (uint32_t i = 0; i < capacity; i++)
        expect_wc(s, recv_cq, i, NORNIC_WC_SUCCESS);
    struct nornic_wc wc;
    cr_assert_lt(rdma_cq_poll(s->recv_cq, &wc, 1), 0);
}

/* One completion more than the queue holds; how many it holds. */
static uint32_t overflow_send_cq(void)
{
    struct script_config config = script_defaults();
    config.send_cq_capacity = 1;
    script_free(s);
    s = script_new(&config);
    uint32_t capacity = rdma_cq_capacity(s->send_cq);
    for (uint32_t i = 0; i <= capacity; i++)
        script_post(s, i, NORNIC_WR_RDMA_WRITE, 0, 16);
    script_ack(s, script_sq(s, capacity), ROCE_SYNDROME_ACK_UNLIMITED, capacity + 1);
    expect_state(s, NORNIC_QPS_ERR);
    expect_event(s, NORNIC_EVENT_CQ_ERR);
    return capacity;
}

Test(responder_nak, ROCE_CQ_2_send_cq_overflow_stops_the_qp)
{
    uint32_t capacity = overflow_send_cq();
    for (uint32_t i = 0; i < capacity; i++)
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
    struct nornic_wc wc;
    cr_assert_lt(rdma_cq_poll(s->send_cq, &wc, 1), 0);
}

/* The QP comes back to RTS with the same CQ: its first completion meets the error that is there already.
 * covers: ROCE-CQ-2 */
Test(responder_nak, ROCE_CQ_2_a_qp_that_comes_to_an_overflowed_cq_ends_too)
{
    overflow_send_cq();
    expect_event(s, NORNIC_EVENT_QP_FATAL);
    script_restart(s);
    expect_state(s, NORNIC_QPS_RTS);
    script_forget(s);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 16);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    expect_state(s, NORNIC_QPS_ERR);
    expect_event(s, NORNIC_EVENT_QP_FATAL);
    expect_no_event(s); /* CQ_ERR is told once */
}
