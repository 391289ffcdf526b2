/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 17: what peers do, each in their way, and that this side works with all of them without being
 * told which it has. */
#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "net/ipv4.h"
#include "net/wire/udp.h"
#include "test/support/script_suite.h"

TestSuite(peers, .init = setup, .fini = teardown);

/* rxe computes ICRCs over a header of 20 bytes and drops wrong checksums; it has one P_Key, 0xffff; some
 * peers end in error on a reserved syndrome. Whatever this side sends, in a session with every kind of
 * answer, is harmless to them.
 * covers: ROCE-INT-5, ROCE-INT-7, ROCE-INT-17, ROCE-INT-18, ROCE-GEN-5 */
Test(peers, ROCE_INT_18_nothing_that_upsets_a_peer_is_sent)
{
    script_recv(s, 1, 0, 4096);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 10);
    p.bth.ack_req = 1;
    script_send(s, &p); /* ACK */
    script_send(s, &p); /* of a duplicate */
    p.bth.psn = script_rq(s, 1);
    script_send(s, &p); /* RNR NAK */
    p.bth.psn = script_rq(s, 3);
    script_send(s, &p); /* dropped */
    p = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 1), 0, 1, 0);
    script_send(s, &p);
    p = script_read_pkt(s, script_rq(s, 2), 0, 3000);
    script_send(s, &p);
    for (int op = 0; op < 7; op++)
        script_post(s, 1, (enum nornic_wr_opcode)op, 0, 8);
    script_advance(s, 200 * SCRIPT_MS);
    p = script_read_pkt(s, script_rq(s, 5), 0, 64);
    p.reth.rkey ^= 0x100;
    script_send(s, &p); /* NAK */
    unsigned count = 0;
    for (const struct roce_pkt *pkt; (pkt = script_next(s)); count++) {
        struct net_ipv4 ip;
        struct net_udp udp;
        net_ipv4_get(&ip, pkt->l3);
        net_udp_get(&udp, pkt->l3 + NET_IPV4_BYTES);
        cr_assert_eq(ip.ihl, 5);
        cr_assert_eq(udp.checksum, 0);
        cr_assert_eq(pkt->bth.pkey, 0xffff);
        cr_assert(pkt->op->flags & ROCE_PKT_DEFINED);
        cr_assert_eq(pkt->bth.fecn | pkt->bth.becn | pkt->bth.resv6 | pkt->bth.resv7 | pkt->bth.tver, 0);
        if (pkt->op->flags & ROCE_PKT_AETH)
            cr_assert_neq(roce_syndrome_kind(pkt->aeth.syndrome), ROCE_SYN_RESERVED);
    }
    cr_assert_geq(count, 12, "%u", count);
}

/* An adapter that asks for an ACK once in 256 packets gets that one.
 * covers: ROCE-INT-8, ROCE-RS-51 */
Test(peers, ROCE_INT_8_one_ack_for_256_packets)
{
    for (uint32_t i = 0; i < 256; i++) {
        enum roce_op op = i == 0 ? ROCE_OP_WRITE_FIRST : i == 255 ? ROCE_OP_WRITE_LAST : ROCE_OP_WRITE_MIDDLE;
        struct script_pkt p =
            script_write_pkt(s, op, script_rq(s, i), 0, 256 * 1024, script_data() + i, 1024);
        p.bth.ack_req = i == 255;
        script_send(s, &p);
        if (i < 255)
            expect_nothing(s);
    }
    expect_ack(s, script_rq(s, 255), 1);
    cr_assert_arr_eq(s->mem + 255 * 1024, script_data() + 255, 1024);
}

/* rxe acknowledges duplicates unasked, and always with the newest PSN: here after every retransmission, more
 * than once.
 * covers: ROCE-INT-9, ROCE-INT-10, ROCE-RC-30 */
Test(peers, ROCE_INT_9_acks_that_nobody_asked_for)
{
    for (uint32_t i = 0; i < 3; i++)
        script_post(s, i, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    ack(2, 1); /* the MSN says nothing */
    for (uint32_t i = 0; i < 3; i++)
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
    for (uint32_t i = 0; i < 20; i++)
        ack(2, i);
    expect_nothing(s);
    expect_no_wc(s, send_cq);
    script_post(s, 9, NORNIC_WR_RDMA_WRITE, 0, 8);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 3));
    ack(2, 77);
    expect_no_wc(s, send_cq);
    ack(3, 0);
    expect_wc(s, send_cq, 9, NORNIC_WC_SUCCESS);
}

/* rxe says once that a packet is missing; if that is lost, the timer is all there is.
 * covers: ROCE-INT-11, ROCE-RC-41, ROCE-RC-42 */
Test(peers, ROCE_INT_11_the_only_nak_is_lost)
{
    for (uint32_t i = 0; i < 4; i++)
        script_post(s, i, NORNIC_WR_RDMA_WRITE, 0, 8);
    script_forget(s);
    ack(0, 1); /* the second was lost, the NAK for it too, and rxe is silent about the rest */
    expect_wc(s, send_cq, 0, NORNIC_WC_SUCCESS);
    cr_assert(script_until_sent(s, 4 * (4096ull << 14)));
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 1));
    script_forget(s);
    ack(3, 4);
    for (uint32_t i = 1; i < 4; i++)
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
}

/* rxe repeats for ever when its retry count is 7, at once everything that is unacknowledged, and the same
 * answer comes each time; an adapter repeats early, or only a part, from the middle of a message.
 * covers: ROCE-INT-13, ROCE-INT-14, ROCE-INT-30, ROCE-RS-20 */
Test(peers, ROCE_INT_14_repeats_early_partial_and_for_ever)
{
    struct script_pkt p[3] = {
        script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 0, 2100, script_data(), 1024),
        script_write_pkt(s, ROCE_OP_WRITE_MIDDLE, script_rq(s, 1), 0, 0, script_data() + 1024, 1024),
        script_write_pkt(s, ROCE_OP_WRITE_LAST, script_rq(s, 2), 0, 0, script_data() + 2048, 52),
    };
    p[2].bth.ack_req = 1;
    script_burst(s, p, 2);
    script_burst(s, p + 1, 1); /* before the message is whole */
    expect_nothing(s);
    script_burst(s, p + 2, 1);
    expect_ack(s, script_rq(s, 2), 1);
    cr_assert_arr_eq(s->mem, script_data(), 2100);
    memset(s->mem, 0, 2100);
    for (unsigned i = 0; i < 200; i++) {
        script_burst(s, p + i % 3, 3 - i % 3);
        expect_ack(s, script_rq(s, 2), 1);
    }
    for (unsigned i = 0; i < 2100; i++)
        cr_assert_eq(s->mem[i], 0, "never executed again");
    expect_state(s, NORNIC_QPS_RTS);
}

/* What is wrong with a request, one peer calls so and another so: rxe 0x63 for a SEND that is too long,
 * others 0x61; 0x61 or 0x62, whichever is looked at first, for one that is wrong twice. Each ends the
 * request.
 * covers: ROCE-INT-15, ROCE-INT-32, ROCE-RC-50 */
Test(peers, ROCE_INT_15_each_refusal_ends_the_request)
{
    static const struct {
        uint8_t syndrome;
        enum nornic_wc_status status;
    } naks[] = {
        {0x61, NORNIC_WC_REM_INV_REQ_ERR}, {0x62, NORNIC_WC_REM_ACCESS_ERR}, {0x63, NORNIC_WC_REM_OP_ERR}};
    for (int i = 0; i < 3; i++) {
        renew();
        script_post(s, 1, NORNIC_WR_SEND, 0, 64);
        script_post(s, 2, NORNIC_WR_SEND, 0, 64);
        script_ack(s, script_sq(s, 0), naks[i].syndrome, 0);
        expect_wc(s, send_cq, 1, naks[i].status);
        expect_wc(s, send_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
        expect_state(s, NORNIC_QPS_ERR);
    }
}

/* A SEND with invalidate whose key is no good: rxe acknowledges it with the MSN it had and is silent from
 * then on; hfi1 takes it as a plain SEND; the standard says NAK. None of them leaves a request behind.
 * covers: ROCE-INT-16, ROCE-RS-45 */
Test(peers, ROCE_INT_16_a_send_with_invalidate_fails_in_three_ways)
{
    for (int way = 0; way < 3; way++) {
        struct nornic_sge sge;
        renew();
        struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_SEND_WITH_INV, &sge, 0, 64);
        wr.invalidate_rkey = 0x1234;
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
        script_pump(s);
        expect_op(s, ROCE_OP_SEND_ONLY_INV, script_sq(s, 0));
        if (way == 2) {
            script_ack(s, script_sq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
            expect_wc(s, send_cq, 1, NORNIC_WC_REM_ACCESS_ERR);
            continue;
        }
        ack(0, (uint32_t)way);
        expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
        script_post(s, 2, NORNIC_WR_SEND, 0, 64);
        if (way == 0) {
            script_advance(s, 10 * SCRIPT_S);
            expect_wc(s, send_cq, 2, NORNIC_WC_RETRY_EXC_ERR);
        } else {
            ack(1, 2);
            expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
        }
    }
}

/* rxe answers READs one after the other, the second when the first is whole, and lets ACKs of what was sent
 * behind wait for them.
 * covers: ROCE-INT-20, ROCE-RC-33 */
Test(peers, ROCE_INT_20_reads_are_answered_one_by_one)
{
    for (uint32_t i = 0; i < 4; i++)
        script_post(s, i, NORNIC_WR_RDMA_READ, 1024 * i, 1024);
    script_post(s, 4, NORNIC_WR_RDMA_WRITE, 0, 8);
    for (uint32_t i = 0; i < 4; i++) {
        script_advance(s, 10 * SCRIPT_MS);
        struct script_pkt p =
            script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, i), i + 1, script_data() + i, 1024);
        script_send(s, &p);
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
        expect_no_wc(s, send_cq);
    }
    ack(4, 5);
    expect_wc(s, send_cq, 4, NORNIC_WC_SUCCESS);
    cr_assert_eq(roce_qp_counters(s->qp)->retransmitted_pkts, 0);
}

/* rxe waits in ticks of its kernel, so its RNR wait may be longer by 10 ms than asked for, or hardly shorter
 * than nothing: an early repeat is refused again, and only then.
 * covers: ROCE-INT-22, ROCE-RS-11 */
Test(peers, ROCE_INT_22_repeats_before_the_rnr_wait_is_over)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 64);
    p.bth.ack_req = 1;
    for (int i = 0; i < 5; i++) {
        script_send(s, &p);
        expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_RNR | 12, 0);
        script_advance(s, 10 * SCRIPT_US);
    }
    script_recv(s, 1, 0, 64);
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
}

/* rxe never sends a CNP, honours none, and answers with whatever traffic class and hop limit its own address
 * vector has: marks that this side sets change nothing.
 * covers: ROCE-INT-4, ROCE-CC-1 */
Test(peers, ROCE_INT_4_a_peer_without_congestion_management)
{
    config.cc.on = true;
    config.attr.av.traffic_class = 0x68;
    renew();
    s->from_peer.traffic_class = 0;
    s->from_peer.hop_limit = 1;
    for (uint32_t i = 0; i < 50; i++) {
        script_post(s, i, NORNIC_WR_RDMA_WRITE, 0, 8);
        cr_assert_eq(expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, i))->tclass, 0x68 | 2);
        ack(i, i + 1);
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
    }
    expect_nothing(s);
}

/* rxe rounds both READ limits up to powers of two. This side keeps what was agreed: never more READs
 * outstanding than its own limit, however many the peer would take.
 * covers: ROCE-INT-21, ROCE-RC-13 */
Test(peers, ROCE_INT_21_limits_are_not_rounded)
{
    config.attr.max_rd_atomic = 3;
    renew();
    for (uint32_t i = 0; i < 5; i++)
        script_post(s, i, NORNIC_WR_RDMA_READ, 0, 8);
    for (uint32_t i = 0; i < 3; i++)
        expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, i));
    expect_nothing(s);
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_ONLY, script_sq(s, 0), 1, script_data(), 8);
    script_send(s, &p);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 3));
    expect_nothing(s);
}

/* Where rxe completes a receive with the status that its peer gets, and raises no event, this side does as
 * the standard says.
 * covers: ROCE-INT-27, ROCE-RS-15, ROCE-EV-3, ROCE-EV-4 */
Test(peers, ROCE_INT_27_errors_of_the_responder)
{
    script_recv(s, 1, 0, 4096);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024);
    script_send(s, &p);
    p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 1), 0, 8, script_data(), 8);
    script_send(s, &p);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_QP_OP_ERR);
    expect_no_event(s);
    renew();
    p = script_write_pkt(s, ROCE_OP_WRITE_LAST, script_rq(s, 0), 0, 8, script_data(), 8);
    script_send(s, &p);
    expect_event(s, NORNIC_EVENT_QP_REQ_ERR);
    renew();
    p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 0, 8, script_data(), 8);
    p.reth.rkey ^= 0x100;
    script_send(s, &p);
    expect_event(s, NORNIC_EVENT_QP_ACCESS_ERR);
}

/* rxe looks at QP, addresses and keys before the ICRC, so that its counters of bad keys move on corrupt
 * packets. Here a corrupt packet is only that.
 * covers: ROCE-INT-31, ROCE-ICRC-7, ROCE-RX-5 */
Test(peers, ROCE_INT_31_a_corrupt_packet_moves_one_counter)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 8);
    p.bth.pkey = 0x1234;
    p.bth.dest_qpn ^= 0x40;
    p.bth.tver = 3;
    p.path.dst.b[15] ^= 0x10;
    p.bad_icrc = true;
    script_send(s, &p);
    for (int v = 0; v < ROCE_RX_VERDICT_COUNT; v++)
        expect_verdict(s, (enum roce_rx_verdict)v, v == ROCE_RX_DROP_ICRC);
    expect_nothing(s);
}

/* Without the option there is no path to migrate to: whatever MigReq says, no event, no other path.
 * covers: ROCE-EV-7, ROCE-QP-33, ROCE-INT-6 */
Test(peers, ROCE_EV_7_no_path_migrates)
{
    s->event_read = s->event_count;
    for (uint32_t i = 0; i < 6; i++) {
        struct script_pkt p =
            script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, i), 0, 8, script_data(), 8);
        p.bth.mig_req = i & 1;
        p.bth.ack_req = 1;
        script_send(s, &p);
        cr_assert_eq(expect_ack(s, script_rq(s, i), i + 1)->bth.mig_req, 1);
    }
    expect_no_event(s);
}

/* The flow control bits of a REQ and REP, when one of them is 0, mean that no credits are used: the
 * QP is made without, and says "unlimited" in every answer, however few receives it has.
 * covers: ROCE-RC-24, ROCE-RS-53 */
Test(peers, ROCE_RC_24_without_flow_control_no_credits_are_told)
{
    for (int credits = 0; credits < 2; credits++) {
        config.e2e_credits = credits;
        renew();
        script_recv(s, 1, 0, 64);
        script_recv(s, 2, 0, 64);
        struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 8);
        p.bth.ack_req = 1;
        script_send(s, &p);
        cr_assert_eq(expect_ack(s, script_rq(s, 0), 1)->aeth.syndrome, credits ? 1 : 0x1f);
        p = script_read_pkt(s, script_rq(s, 1), 0, 8);
        script_send(s, &p);
        const struct roce_pkt *pkt = expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 1));
        cr_assert_eq(pkt->aeth.syndrome, credits ? 1 : 0x1f);
    }
}
