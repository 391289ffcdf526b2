/* SPDX-License-Identifier: BSD-2-Clause */
/* The exchanges of ROCE section 17.1, seen from the answering side. Where the observed peer leaves the
 * standard (INT-61: a NAK 0x60 after an RNR NAK), the standard is expected. */
#include <criterion/criterion.h>

#include "base/base.h"
#include "test/support/script.h"

static struct script *s;

static void setup(void)
{
    struct script_config config = script_defaults();
    s = script_new(&config);
    for (uint64_t i = 0; i < 32; i++)
        script_recv(s, i, 4096 * i, 4096);
}

static void teardown(void)
{
    script_free(s);
}

TestSuite(responder_oracle, .init = setup, .fini = teardown);

/* SEND ONLY of 4 bytes at the i-th PSN. */
static void send_only(uint32_t i, bool ack_req)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, i), script_data(), 4);
    p.bth.ack_req = ack_req;
    script_send(s, &p);
}

Test(responder_oracle, ROCE_INT_50_send_only)
{
    send_only(0, true);
    const struct roce_pkt *ack = expect_ack(s, 0xfffffe, 1);
    cr_assert_eq(ack->aeth.syndrome, ROCE_SYNDROME_ACK_UNLIMITED);
    expect_nothing(s);
}

Test(responder_oracle, ROCE_INT_51_duplicate)
{
    send_only(0, true);
    expect_ack(s, 0xfffffe, 1);
    send_only(0, true);
    expect_ack(s, 0xfffffe, 1);
    expect_nothing(s);
    expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
    expect_no_wc(s, recv_cq);
}

/* covers: ROCE-INT-52, ROCE-INT-53, ROCE-INT-54, ROCE-INT-55 */
Test(responder_oracle, ROCE_INT_52_to_55_gaps)
{
    send_only(0, true);
    expect_ack(s, 0xfffffe, 1);
    send_only(3, true);
    expect_nak(s, 0xffffff, ROCE_SYNDROME_NAK_PSN_SEQ, 1);
    send_only(4, true);
    expect_nothing(s);
    send_only(0, true);
    expect_ack(s, 0xfffffe, 1);
    send_only(1, false);
    expect_nothing(s);
    send_only(2, true);
    expect_ack(s, 0x000000, 3);
    send_only(4, true);
    expect_nak(s, 0x000001, ROCE_SYNDROME_NAK_PSN_SEQ, 3);
    expect_nothing(s);
}

/* covers: ROCE-INT-57, ROCE-RX-19, ROCE-FRM-40, ROCE-HDR-6, ROCE-GEN-5 */
Test(responder_oracle, ROCE_INT_57_what_does_not_matter)
{
    static const struct {
        uint16_t pkey, src_port;
        uint8_t fecn, becn, mig_req, resv6, resv7, hop_limit, traffic_class;
    } rows[] = {
        {.pkey = 0x7fff, .hop_limit = 64, .src_port = 0xc123},
        {.pkey = 0xffff, .hop_limit = 64, .src_port = 0xc123, .fecn = 1, .becn = 1, .mig_req = 1},
        {.pkey = 0xffff, .hop_limit = 64, .src_port = 0xc123, .resv6 = 0x3f, .resv7 = 0x7f},
        {.pkey = 0xffff, .hop_limit = 64, .src_port = 7},
        {.pkey = 0xffff, .hop_limit = 64, .src_port = 0},
        {.pkey = 0xffff, .hop_limit = 1, .src_port = 0xc123},
        {.pkey = 0xffff, .hop_limit = 64, .src_port = 0xc123, .traffic_class = 3},
        {.pkey = 0xffff, .hop_limit = 64, .src_port = 0xc123, .traffic_class = 0xfc},
    };
    for (uint32_t i = 0; i < array_len(rows); i++) {
        struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, i), script_data(), 4);
        p.bth.ack_req = 1;
        p.bth.pkey = rows[i].pkey;
        p.bth.fecn = rows[i].fecn;
        p.bth.becn = rows[i].becn;
        p.bth.mig_req = rows[i].mig_req;
        p.bth.resv6 = rows[i].resv6;
        p.bth.resv7 = rows[i].resv7;
        p.path.src_port = rows[i].src_port;
        p.path.hop_limit = rows[i].hop_limit;
        p.path.traffic_class = rows[i].traffic_class;
        script_send(s, &p);
        expect_ack(s, script_rq(s, i), i + 1);
    }
    expect_nothing(s);
}

/* One violation against a fresh QP: NAK 0x61 at its PSN with the old MSN, then silence. */
static void violates(struct script_pkt p, bool after_first)
{
    p.bth.psn = script_rq(s, after_first);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_nak(s, script_rq(s, after_first), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_state(s, NORNIC_QPS_ERR);
    script_send(s, &p);
    send_only(0, true);
    send_only(1 + after_first, true);
    expect_nothing(s);
}

static void send_first(void)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024);
    script_send(s, &p);
    expect_nothing(s);
}

#define VIOLATION(name, op, len)                                        \
    Test(responder_oracle, ROCE_INT_58_##name)                          \
    {                                                                   \
        violates(script_send_pkt(s, op, 0, script_data(), len), false); \
    }
VIOLATION(middle_without_first, ROCE_OP_SEND_MIDDLE, 1024)
VIOLATION(last_without_first, ROCE_OP_SEND_LAST, 8)
VIOLATION(first_shorter_than_pmtu, ROCE_OP_SEND_FIRST, 1020)
VIOLATION(first_with_pad, ROCE_OP_SEND_FIRST, 1026)
VIOLATION(first_longer_than_pmtu, ROCE_OP_SEND_FIRST, 1028)
VIOLATION(only_longer_than_pmtu, ROCE_OP_SEND_ONLY, 1028)

Test(responder_oracle, ROCE_INT_58_only_after_first)
{
    send_first();
    violates(script_send_pkt(s, ROCE_OP_SEND_ONLY, 0, script_data(), 4), true);
}

Test(responder_oracle, ROCE_INT_58_empty_last)
{
    send_first();
    violates(script_send_pkt(s, ROCE_OP_SEND_LAST, 0, NULL, 0), true);
}

/* covers: ROCE-RS-50, ROCE-RS-51 */
Test(responder_oracle, ROCE_INT_59_first_with_ack_req)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 0);
    expect_nothing(s);
}

Test(responder_oracle, ROCE_INT_60_send_of_no_bytes)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), NULL, 0);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
    struct nornic_wc wc = expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.byte_len, 0);
}

Test(responder_oracle, ROCE_INT_61_one_receive_for_four_sends)
{
    teardown();
    struct script_config config = script_defaults();
    s = script_new(&config);
    script_recv(s, 1, 0, 4096);
    struct script_pkt pkts[4];
    for (uint32_t i = 0; i < 4; i++) {
        pkts[i] = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, i), script_data(), 4);
        pkts[i].bth.ack_req = 1;
    }
    for (uint32_t i = 0; i < 4; i++)
        script_send(s, &pkts[i]);
    expect_ack(s, script_rq(s, 0), 1);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_RNR | 12, 1);
    expect_nothing(s); /* ROCE-RS-11: no NAK 0x60 behind an RNR NAK */
    expect_state(s, NORNIC_QPS_RTS);
}

/* ROCE-INT-62 to 64 as a requester. */
Test(responder_oracle, ROCE_INT_62_ack_of_packet_two)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 4096);
    script_forget(s);
    script_ack(s, script_sq(s, 1), ROCE_SYNDROME_ACK_UNLIMITED, 0);
    expect_nothing(s);
    script_advance(s, 400 * SCRIPT_MS / 2);
    expect_op(s, ROCE_OP_SEND_MIDDLE, script_sq(s, 2));
    expect_op(s, ROCE_OP_SEND_LAST, script_sq(s, 3));
}

Test(responder_oracle, ROCE_INT_63_the_same_nak_twice)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 4096);
    script_forget(s);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    expect_op(s, ROCE_OP_SEND_FIRST, script_sq(s, 0));
    expect_op(s, ROCE_OP_SEND_MIDDLE, script_sq(s, 1));
    expect_op(s, ROCE_OP_SEND_MIDDLE, script_sq(s, 2));
    expect_op(s, ROCE_OP_SEND_LAST, script_sq(s, 3));
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    expect_nothing(s);
}

Test(responder_oracle, ROCE_INT_64_duplicate_ack_and_ack_of_nothing)
{
    script_post(s, 1, NORNIC_WR_SEND, 0, 4);
    script_forget(s);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    script_ack(s, script_sq(s, 100), ROCE_SYNDROME_ACK_UNLIMITED, 9);
    expect_nothing(s);
    expect_no_wc(s, send_cq);
    expect_state(s, NORNIC_QPS_RTS);
}
