/* SPDX-License-Identifier: BSD-2-Clause */
/* Selective acknowledgements (roce/responder/sack.h), packet by packet: who offers them to whom, what they
 * say, what is sent again. */
#include <criterion/criterion.h>

#include "base/base.h"
#include "roce/dev/inner.h"
#include "roce/responder/reorder.h"
#include "test/support/script_suite.h"

static void begin(void)
{
    setup();
    config.selective = true;
    renew();
}

TestSuite(sack, .init = begin, .fini = teardown);

/* --- what the peer sends --- */

/* The i-th packet of a WRITE of six, PMTU 1024. */
static void give(uint32_t i)
{
    enum roce_op op = i == 0 ? ROCE_OP_WRITE_FIRST : i == 5 ? ROCE_OP_WRITE_LAST : ROCE_OP_WRITE_MIDDLE;
    struct script_pkt p =
        script_write_pkt(s, op, script_rq(s, i), 0, 6 * 1024, script_data() + 1024 * i, 1024);
    p.bth.ack_req = i == 5;
    script_send(s, &p);
}

/* A selective acknowledgement: PSN `i` of the QP's own is missing, and `map` (bit 31 is the packet behind it)
 * tells what is there. */
static struct script_pkt sack_pkt(uint32_t i, uint32_t map, struct roce_sacketh sacketh)
{
    static uint8_t bytes[4];
    struct script_pkt p = script_ack_pkt(s, script_sq(s, i), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    p.bth.opcode = ROCE_OPCODE_SACK;
    p.sacketh = sacketh;
    p.sacketh.ack = ROCE_SYNDROME_ACK_UNLIMITED;
    p.sacketh.room_pkts = 2047;
    for (unsigned k = 0; k < 4; k++)
        bytes[k] = (uint8_t)(map >> (24 - 8 * k));
    p.payload = bytes;
    p.payload_bytes = map ? 4 : 0;
    return p;
}

static void sack(uint32_t i, uint32_t map, struct roce_sacketh sacketh)
{
    struct script_pkt p = sack_pkt(i, map, sacketh);
    script_send(s, &p);
}

#define KNOWN ((struct roce_sacketh){.known = 1})

/* The peer shows that it understands them. */
static void meet(void)
{
    sack(0, 0, KNOWN);
    script_forget(s);
}

/* --- what the QP sends --- */

/* A selective acknowledgement: PSN `i` of the peer's is missing, and `map` tells what is there. */
static const struct roce_pkt *expect_sack_at(uint32_t i, uint32_t map, int line)
{
    const struct roce_pkt *p = script_next(s);
    cr_assert_not_null(p, "line %d: nothing was sent", line);
    cr_assert_eq(p->bth.opcode, ROCE_OPCODE_SACK, "line %d: %s", line, p->op->name);
    cr_assert_eq(p->bth.psn, script_rq(s, i), "line %d: PSN %06x", line, p->bth.psn);
    cr_assert_eq(p->aeth.syndrome, ROCE_SYNDROME_NAK_PSN_SEQ, "line %d", line);
    uint32_t found = 0;
    for (unsigned k = 0; k < p->payload_bytes && k < 4; k++)
        found |= (uint32_t)p->payload[k] << (24 - 8 * k);
    cr_assert_eq(found, map, "line %d: %08x", line, found);
    return p;
}
#define expect_sack(i, map) expect_sack_at(i, map, __LINE__)

/* A WRITE of six packets is under way. */
static void send_six(void)
{
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 6 * 1024);
    script_forget(s);
}

/* --- the responder --- */

Test(sack, an_offer_precedes_the_nak)
{
    give(0);
    give(2);
    const struct roce_pkt *p = expect_sack(1, 0);
    cr_assert_eq(p->sacketh.known, 0);
    cr_assert_eq(p->sacketh.version, 0);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    give(3);
    expect_nothing(s); /* ROCE-RS-11 */
    expect_verdict(s, ROCE_RX_DROP_PSN, 1);
}

Test(sack, a_peer_that_does_not_answer_three_offers_is_left_alone)
{
    for (uint32_t round = 0; round < 4; round++) {
        struct script_pkt late = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, round + 1), NULL, 0);
        struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, round), NULL, 0);
        script_recv(s, round, 0, 64);
        script_send(s, &late);
        if (round < 3)
            expect_sack(round, 0);
        expect_nak(s, script_rq(s, round), ROCE_SYNDROME_NAK_PSN_SEQ, round);
        expect_nothing(s);
        script_send(s, &p);
        expect_wc(s, recv_cq, round, NORNIC_WC_SUCCESS);
    }
}

Test(sack, a_peer_that_understands_is_told_what_is_there)
{
    meet();
    give(0);
    give(2);
    cr_assert_eq(expect_sack(1, 0x80000000)->sacketh.known, 1);
    expect_nothing(s); /* no NAK */
    give(4);
    expect_sack(1, 0xa0000000);
    give(5);
    expect_sack(1, 0xb0000000);
    give(1);
    expect_sack(3, 0xc0000000);
    give(3);
    expect_ack(s, script_rq(s, 5), 1);
    expect_nothing(s);
    cr_assert_arr_eq(s->mem, script_data(), 6 * 1024);
}

Test(sack, who_is_not_known_to_understand_is_answered)
{
    sack(0, 0, (struct roce_sacketh){.known = 0});
    cr_assert_eq(expect_sack(0, 0)->sacketh.known, 1);
    expect_nothing(s);
    sack(0, 0, KNOWN);
    expect_nothing(s);
}

Test(sack, a_probe_is_answered_with_its_stamp)
{
    meet();
    give(0);
    sack(0, 0, (struct roce_sacketh){.known = 1, .probe = 1, .stamp = 0x1234567});
    cr_assert_eq(expect_sack(1, 0)->sacketh.echo, 0x1234567);
    expect_nothing(s);
}

/* A later WRITE to the same bytes wins though it came earlier. */
Test(sack, what_is_kept_is_executed_in_its_turn)
{
    meet();
    struct script_pkt second =
        script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 1), 0, 8, script_data() + 100, 8);
    struct script_pkt first =
        script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 0, 8, script_data() + 200, 8);
    uint8_t before[8];
    memcpy(before, s->mem, 8);
    script_send(s, &second);
    cr_assert_arr_eq(s->mem, before, 8);
    script_send(s, &first);
    cr_assert_arr_eq(s->mem, script_data() + 100, 8);
}

Test(sack, nothing_is_known_of_the_peer_after_a_reset)
{
    meet();
    script_restart(s);
    give(0);
    give(2);
    cr_assert_eq(expect_sack(1, 0)->sacketh.known, 0);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
}

/* Another format may follow one day. */
Test(sack, another_version_is_dropped)
{
    sack(0, 0, (struct roce_sacketh){.version = 1});
    expect_verdict(s, ROCE_RX_DROP_OPCODE, 1);
    expect_nothing(s);
}

/* Who does not know where the QP is may not say that its peer goes back no more: a gap is still NAKed. */
Test(sack, a_forged_one_says_nothing_of_the_peer)
{
    send_six();
    for (uint32_t i = 7; i < 0x1000000; i += 0x7ffff) {
        sack(i, 0, (struct roce_sacketh){.known = 0, .probe = 1, .stamp = i});
        expect_nothing(s);
    }
    cr_expect_not(s->qp->peer.is_selective);
    give(0);
    give(2);
    cr_assert_eq(expect_sack(1, 0)->sacketh.echo, 0);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
}

Test(sack, a_bitmap_has_256_bytes_at_the_most)
{
    static uint8_t bytes[512];
    meet();
    send_six();
    for (uint32_t n = 256; n <= 512; n += 4) {
        struct script_pkt p = sack_pkt(0, 1, KNOWN);
        memset(bytes, 0, sizeof bytes);
        p.payload = bytes;
        p.payload_bytes = n;
        script_send(s, &p);
        expect_verdict(s, ROCE_RX_DROP_LENGTH, (n - 256) / 4);
    }
}

/* What was kept is nobody's any more, and others need the room. */
Test(sack, a_queue_pair_in_error_keeps_nothing)
{
    meet();
    uint32_t before = roce_spare_frames_left(&s->dev->spare);
    give(0);
    give(2);
    give(4);
    cr_expect_eq(roce_spare_frames_left(&s->dev->spare), before - 2);
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_ERR};
    cr_assert_eq(roce_qp_modify(s->qp, &attr, NORNIC_QP_STATE, s->now_ns), 0);
    cr_expect_eq(roce_spare_frames_left(&s->dev->spare), before);
    cr_expect_eq(s->qp->reorder.kept, 0);
}

/* A peer that leaves a gap open, and goes on and on behind it. */
Test(sack, no_queue_pair_keeps_all_that_a_device_can)
{
    meet();
    for (unsigned others = 0; others < 3; others++) {
        roce_reorder_clear(s->qp);
        uint32_t left = roce_spare_frames_left(&s->dev->spare);
        for (uint32_t i = 1; i <= 2047; i++) {
            struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, i), NULL, 0);
            script_send(s, &p);
            script_forget(s);
        }
        cr_expect_leq(s->qp->reorder.kept, left / 2 + 1);
        cr_expect_geq(s->qp->reorder.kept, min_u32(left / 2, 2047));
        for (uint32_t i = 0; i < left / 2; i++) /* another QP's */
            cr_assert_neq(roce_spare_take_frame(&s->dev->spare, 64), 0);
    }
}

/* What an adapter, soft-RoCE or a device without it does: ROCE-RX-13. */
Test(sack, who_has_it_off_drops_it)
{
    config.selective = false;
    renew();
    sack(0, 0, KNOWN);
    expect_verdict(s, ROCE_RX_DROP_TYPE, 1);
    give(0);
    give(2);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    expect_nothing(s);
}

/* --- the requester --- */

/* Of six packets two are lost, and sent again alone. */
static void mend_two_holes(void)
{
    meet();
    send_six();
    sack(1, 0xb0000000, KNOWN); /* 2, 4 and 5 are there */
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 3));
    expect_nothing(s);
    script_ack(s, script_sq(s, 5), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(sack, only_what_is_lost_is_sent_again)
{
    mend_two_holes();
}

Test(sack, what_was_sent_again_is_not_sent_a_third_time_without_news)
{
    meet();
    send_six();
    sack(1, 0x80000000, KNOWN);
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    sack(1, 0xc0000000, KNOWN); /* 3 came, too: it was sent before the repetition */
    expect_nothing(s);
}

/* It had 3, 4 and 5; it found no receive for 3, and the RNR NAK, with which it gave them up, was lost. */
Test(sack, what_the_peer_gave_up_again_is_lost)
{
    meet();
    send_six();
    sack(1, 0x70000000, KNOWN);
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 2));
    sack(3, 0, KNOWN);
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 3));
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 4));
    expect_nothing(s);
}

Test(sack, a_repetition_that_is_lost_shows_by_what_was_sent_after_it)
{
    meet();
    send_six();
    sack(1, 0xf0000000, KNOWN);
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 8);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 6));
    sack(1, 0xf8000000, KNOWN); /* 6 came, 1 did not */
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    expect_nothing(s);
}

Test(sack, what_is_behind_the_newest_arrival_is_not_taken_for_lost)
{
    meet();
    send_six();
    sack(1, 0x80000000, KNOWN); /* 2 is there; 3, 4 and 5 may be on their way */
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    expect_nothing(s);
}

/* The end of a message shows no gap. */
Test(sack, a_silent_peer_is_asked_long_before_the_ack_timer)
{
    meet();
    send_six();
    cr_assert(script_until_sent(s, 10 * SCRIPT_MS)); /* the ack timer: 67 ms */
    const struct roce_pkt *p = expect_sack(0, 0);
    cr_assert_eq(p->sacketh.probe, 1);
    sack(4, 0, (struct roce_sacketh){.known = 1, .echo = p->sacketh.stamp});
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 4));
    expect_op(s, ROCE_OP_WRITE_LAST, script_sq(s, 5));
    expect_nothing(s);
}

Test(sack, a_probe_that_nobody_sent_is_not_believed)
{
    meet();
    send_six();
    sack(1, 0x80000000, (struct roce_sacketh){.known = 1, .echo = 0x1fffffff});
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    expect_nothing(s);
}

/* covers: ROCE-RC-41 */
Test(sack, a_peer_that_may_go_back_is_not_asked_before_the_ack_timer)
{
    send_six();
    cr_assert(!script_until_sent(s, 67 * SCRIPT_MS));
}

/* The first loss costs what it did; with it comes the offer, for those to come. */
Test(sack, the_ack_timer_brings_an_offer)
{
    send_six();
    cr_assert(script_until_sent(s, SCRIPT_S));
    const struct roce_pkt *p = expect_sack(0, 0);
    cr_assert_eq(p->sacketh.known, 0);
    cr_assert_eq(p->sacketh.probe, 1);
    expect_op(s, ROCE_OP_WRITE_FIRST, script_sq(s, 0));
}

/* A dead peer is found out by the ack timer, in the time that the standard gives it. */
Test(sack, probes_save_nobody_from_the_retry_count)
{
    meet();
    send_six();
    script_advance(s, 10 * SCRIPT_S);
    expect_wc(s, send_cq, 1, NORNIC_WC_RETRY_EXC_ERR);
}

/* covers: ROCE-RC-48 */
Test(sack, an_rnr_wait_is_not_cut_short)
{
    meet();
    send_six();
    script_ack(s, script_sq(s, 1), ROCE_SYNDROME_RNR | 12, 0);
    sack(1, 0xf0000000, KNOWN);
    expect_nothing(s);
}

Test(sack, it_acknowledges_what_is_before_it)
{
    meet();
    send_six();
    sack(6, 0, KNOWN);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_nothing(s);
}

Test(sack, one_for_what_was_never_sent_is_a_ghost)
{
    meet();
    send_six();
    sack(7, 0, KNOWN);
    expect_verdict(s, ROCE_RX_DROP_GHOST, 1);
    expect_no_wc(s, send_cq);
}

/* A READ that the peer keeps behind the gap is not asked for again. */
Test(sack, a_kept_read_is_not_lost)
{
    meet();
    send_six();
    script_post(s, 2, NORNIC_WR_RDMA_READ, 0, 2048);
    script_forget(s);
    sack(1, 0x88000000, KNOWN); /* 2, and the READ at 6 */
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 3));
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 4));
    expect_op(s, ROCE_OP_WRITE_LAST, script_sq(s, 5));
    expect_nothing(s);
}

/* covers: ROCE-RC-20, ROCE-RC-21 */
Test(sack, it_brings_credits)
{
    meet();
    send_six();
    struct script_pkt p = sack_pkt(6, 0, KNOWN);
    cr_assert_eq(script_next(s), NULL);
    script_send(s, &p);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    script_post(s, 2, NORNIC_WR_SEND, 0, 8);
    script_post(s, 3, NORNIC_WR_SEND, 0, 8);
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 6));
    expect_op(s, ROCE_OP_SEND_ONLY, script_sq(s, 7));
}

/* Each bit costs no more than a packet, whatever a peer claims to keep: a READ has thousands of PSNs. */
Test(sack, a_bitmap_is_read_once)
{
    static uint8_t bytes[256];
    meet();
    send_six();
    script_post(s, 2, NORNIC_WR_RDMA_READ, 0, SCRIPT_MEM_BYTES);
    script_forget(s);
    memset(bytes, 0xff, sizeof bytes);
    struct script_pkt p = sack_pkt(0, 1, KNOWN);
    p.payload = bytes;
    p.payload_bytes = sizeof bytes;
    uint32_t before = s->qp->req.board.stamp, pkts = (s->qp->req.hi_psn - s->qp->req.una_psn) & ROCE_PSN_MASK;
    script_send(s, &p);
    cr_expect_leq(s->qp->req.board.stamp - before, 3 * pkts);
    cr_expect_gt(pkts, 20);
}

/* Those that are known to be there do not keep what is missing before them from being sent again. */
Test(sack, what_is_lost_beyond_the_window_is_sent_again_at_once)
{
    config.window_pkts = 8;
    renew();
    meet();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 20 * 1024);
    script_forget(s);
    sack(0, 0xfe000000, KNOWN); /* 1 to 7 */
    expect_op(s, ROCE_OP_WRITE_FIRST, script_sq(s, 0));
    for (uint32_t i = 8; i < 15; i++)
        expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, i));
    expect_nothing(s);
    sack(0, 0xfefc0000, KNOWN); /* 9 to 14, too */
    expect_op(s, ROCE_OP_WRITE_FIRST, script_sq(s, 0));
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 8));
}

/* An echo of 0 is none, also where stamps begin anew. */
Test(sack, stamps_wrap_past_zero)
{
    meet();
    send_six();
    s->qp->req.board.stamp = (1u << 30) - 5;
    sack(1, 0x80000000, KNOWN); /* 1 to 5 get the last four stamps, and 0 */
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    expect_nothing(s);
    sack(1, 0x80000000, KNOWN);
    expect_nothing(s);
    sack(1, 0xf0000000, KNOWN);
    expect_nothing(s);
}

/* PSNs wrap at 24 bits. */
Test(sack, the_board_goes_on_behind_the_last_psn)
{
    for (uint32_t before = 0; before < 6; before++) {
        config.attr.sq_psn = 0x1000000 - before - 1;
        renew();
        mend_two_holes();
    }
}

/* More is under way than the board has room for: 2048 packets from the oldest on. */
static void send_far(void)
{
    config.window_pkts = 4096;
    renew();
    meet();
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, SCRIPT_MEM_BYTES);
    script_forget(s);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, SCRIPT_MEM_BYTES - 4 * 1024);
    script_forget(s);
    script_post(s, 3, NORNIC_WR_RDMA_READ, 0, 6 * 1024);
    script_post(s, 4, NORNIC_WR_RDMA_WRITE, 0, 20 * 1024);
    script_forget(s);
}

Test(sack, what_comes_into_view_is_not_lost_by_that)
{
    send_far();
    sack(1, 0x80000000, KNOWN); /* 2 */
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 1));
    expect_nothing(s);
    sack(500, 0x80000000, KNOWN); /* 501; the board goes on to the end of what was sent */
    expect_op(s, ROCE_OP_WRITE_MIDDLE, script_sq(s, 500));
    expect_nothing(s);
}

/* The peer takes a READ that it never had for what it is asked for: two parts would be two READs to it, and
 * more than it may have to answer at once. */
Test(sack, a_lost_read_stays_whole_where_the_board_ends)
{
    send_far();
    sack(0, 0x80000000, KNOWN);
    expect_op(s, ROCE_OP_WRITE_FIRST, script_sq(s, 0));
    sack(0, 0x80000000, (struct roce_sacketh){.known = 1, .echo = s->qp->req.board.stamp});
    const struct roce_pkt *p = script_next(s);
    while (p && p->op->flags & ROCE_PKT_WRITE)
        p = script_next(s);
    cr_assert_not_null(p);
    cr_expect_eq(p->bth.psn, script_sq(s, 2044));
    cr_expect_eq(p->reth.dma_len, 6 * 1024);
}
