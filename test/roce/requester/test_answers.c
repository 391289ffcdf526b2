/* SPDX-License-Identifier: BSD-2-Clause */
/* READs and atomics whose answers are lost, between peers with selective retransmission
 * (roce/requester/answers.h). */
#include <criterion/criterion.h>

#include "base/base.h"
#include "roce/dev/inner.h"
#include "test/support/script_suite.h"

#define PKTS 6u
#define PMTU 1024u

/* The peer shows that it understands selective acknowledgements. */
static void meet(void)
{
    struct script_pkt p = script_ack_pkt(s, script_sq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    p.bth.opcode = ROCE_OPCODE_SACK;
    p.sacketh = (struct roce_sacketh){.known = 1, .ack = ROCE_SYNDROME_ACK_UNLIMITED, .room_pkts = 2047};
    script_send(s, &p);
    script_forget(s);
}

static void begin(void)
{
    setup();
    config.selective = true;
    renew();
    meet();
}

TestSuite(answers, .init = begin, .fini = teardown);

/* READ `number`, of PKTS packets: its answer is the same bytes of script_data(), and goes to their place. */
static void read_six(uint32_t number)
{
    script_post(s, number, NORNIC_WR_RDMA_READ, (uint64_t)number * PKTS * PMTU, PKTS * PMTU);
}

/* Packet `i` of all answers, `op` as an answer to the READ as it was first has it. */
static void answer_as(uint32_t i, enum roce_op op)
{
    struct script_pkt p = script_read_resp_pkt(s, op, script_sq(s, i), 1, script_data() + i * PMTU, PMTU);
    script_send(s, &p);
}

static void answer(uint32_t i)
{
    uint32_t k = i % PKTS;
    answer_as(i, k == 0          ? ROCE_OP_READ_RESP_FIRST
                 : k == PKTS - 1 ? ROCE_OP_READ_RESP_LAST
                                 : ROCE_OP_READ_RESP_MIDDLE);
}

/* The QP asks for `pkts` packets from the i-th on, and for no more. */
static void expect_asked_at(uint32_t i, uint32_t pkts, int line)
{
    const struct roce_pkt *p = script_expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, i), line);
    cr_assert_eq(p->reth.va, SCRIPT_PEER_VA + (uint64_t)i % PKTS * PMTU, "line %d", line);
    cr_assert_eq(p->reth.dma_len, pkts * PMTU, "line %d: %u bytes", line, p->reth.dma_len);
}
#define expect_asked(i, pkts) expect_asked_at(i, pkts, __LINE__)

static void expect_read(uint32_t number)
{
    expect_wc(s, send_cq, number, NORNIC_WC_SUCCESS);
    size_t at = (size_t)number * PKTS * PMTU;
    cr_assert_arr_eq(s->mem + at, script_data() + at, PKTS * PMTU);
}

/* The board knows of 2048 PSNs from the gap on, which end in the second READ. */
Test(answers, what_was_never_asked_for_is_not_lost)
{
    config.window_pkts = 4096;
    renew();
    meet();
    read_six(0);
    answer(0);
    answer(2);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, SCRIPT_MEM_BYTES);
    script_forget(s);
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, SCRIPT_MEM_BYTES - 8 * PMTU);
    script_forget(s);
    script_post(s, 3, NORNIC_WR_RDMA_READ, 0, PKTS * PMTU);
    expect_asked(PKTS + 2 * SCRIPT_MEM_BYTES / PMTU - 8, PKTS);
}

Test(answers, the_gap_alone_is_asked_for)
{
    read_six(0);
    script_forget(s);
    answer(0);
    answer(2);
    expect_asked(1, 1);
    answer(2); /* the wire may double it */
    answer(3);
    expect_nothing(s); /* it is known already */
    answer(5);
    expect_asked(4, 1);
    expect_nothing(s);
    answer_as(1, ROCE_OP_READ_RESP_ONLY);
    expect_no_wc(s, send_cq);
    answer_as(4, ROCE_OP_READ_RESP_ONLY);
    expect_nothing(s);
    expect_read(0);
    cr_assert_eq(roce_dev_counters(s->dev)->qps.kept_pkts, 4);
}

Test(answers, a_gap_of_several_packets_is_asked_for_in_one)
{
    read_six(0);
    script_forget(s);
    answer(4);
    expect_asked(0, 4);
    expect_nothing(s);
    answer_as(0, ROCE_OP_READ_RESP_FIRST);
    answer_as(1, ROCE_OP_READ_RESP_MIDDLE);
    answer_as(2, ROCE_OP_READ_RESP_MIDDLE);
    answer_as(3, ROCE_OP_READ_RESP_LAST);
    answer(5);
    expect_read(0);
    expect_nothing(s);
}

/* Of the next READ comes what is kept, too, and both complete in their order. */
Test(answers, what_the_next_read_gets_waits_for_its_turn)
{
    read_six(0);
    read_six(1);
    script_forget(s);
    for (uint32_t i = 0; i < 2 * PKTS; i++)
        if (i != 3)
            answer(i);
    expect_asked(3, 1);
    expect_nothing(s);
    expect_no_wc(s, send_cq);
    answer_as(3, ROCE_OP_READ_RESP_ONLY);
    expect_read(0);
    expect_read(1);
}

/* What is asked for a second time, and lost again, shows by what was asked for after it. */
Test(answers, an_answer_that_is_lost_again_is_asked_for_again)
{
    read_six(0);
    script_forget(s);
    answer(0);
    answer(2);
    expect_asked(1, 1);
    for (uint32_t i = 3; i < PKTS; i++)
        answer(i); /* asked for before that */
    expect_nothing(s);
    read_six(1);
    expect_asked(6, PKTS);
    answer(6);
    expect_asked(1, 1);
    expect_nothing(s);
}

/* An acknowledgement says that the peer has sent the answers to what is before it; that is remembered. */
Test(answers, an_acknowledgement_behind_a_gap_is_not_forgotten)
{
    read_six(0);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0x8000, 8);
    script_forget(s);
    for (uint32_t i = 0; i < PKTS - 1; i++)
        answer(i);
    script_ack(s, script_sq(s, PKTS), ROCE_SYNDROME_ACK_UNLIMITED, 2);
    expect_asked(PKTS - 1, 1);
    expect_nothing(s);
    answer_as(PKTS - 1, ROCE_OP_READ_RESP_ONLY);
    expect_read(0);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_nothing(s);
}

Test(answers, an_atomic_behind_a_gap_is_answered_once)
{
    read_six(0);
    script_post(s, 1, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 0x8000, 8);
    script_forget(s);
    for (uint32_t i = 1; i < PKTS; i++)
        answer(i);
    struct script_pkt p = script_atomic_ack_pkt(s, script_sq(s, PKTS), 2, 77);
    script_send(s, &p);
    expect_asked(0, 1);
    expect_nothing(s);
    answer_as(0, ROCE_OP_READ_RESP_ONLY);
    expect_read(0);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    uint64_t before;
    memcpy(&before, s->mem + 0x8000, sizeof before);
    cr_assert_eq(before, 77);
}

/* A READ, and a WRITE that the peer answers with a READ response. */
static void read_six_and_be_fooled(void)
{
    read_six(0);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 3 * PMTU); /* 6 to 8 */
    script_forget(s);
    answer(1);
    answer_as(7, ROCE_OP_READ_RESP_MIDDLE);
}

static void answer_six(void)
{
    script_ack(s, script_sq(s, 8), ROCE_SYNDROME_ACK_UNLIMITED, 2);
    for (uint32_t i = 0; i < PKTS; i++)
        answer(i);
    expect_read(0);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
}

Test(answers, nothing_is_kept_when_nothing_is_asked_for)
{
    uint32_t before = roce_spare_frames_left(&s->dev->spare);
    read_six_and_be_fooled();
    cr_expect_eq(roce_spare_frames_left(&s->dev->spare), before - 2);
    answer_six();
    cr_expect_eq(roce_spare_frames_left(&s->dev->spare), before);
}

/* As of what comes too early at the other end: a peer that leaves the first answer out does not have it all.
 */
Test(answers, no_queue_pair_keeps_all_that_a_device_can)
{
    config.window_pkts = 4096;
    renew();
    meet();
    for (unsigned i = 0; i < 3000; i++) /* another QP's */
        cr_assert_neq(roce_spare_take_frame(&s->dev->spare, 64), 0);
    uint32_t left = roce_spare_frames_left(&s->dev->spare), least = left;
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, SCRIPT_MEM_BYTES);
    script_forget(s);
    for (uint32_t i = 1; i < SCRIPT_MEM_BYTES / PMTU; i++) {
        struct script_pkt p =
            script_read_resp_pkt(s, ROCE_OP_READ_RESP_MIDDLE, script_sq(s, i), 1, script_data(), PMTU);
        script_send(s, &p);
        script_forget(s);
        least = min_u32(least, roce_spare_frames_left(&s->dev->spare));
    }
    cr_expect_leq(least, left / 2 + 1);
    cr_expect_geq(least, left / 2);
}

/* A peer that answers a WRITE with a READ response leaves nothing behind that would be taken for the answer
 * to another request, when the same place in the table comes round after 2048 PSNs. */
Test(answers, an_answer_to_what_was_none_is_passed_by)
{
    read_six_and_be_fooled();
    script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 5 * PMTU); /* something is always under way */
    answer_six();
    for (uint32_t psn = 14; psn < 2054; psn += 30) {
        script_post(s, 2, NORNIC_WR_RDMA_WRITE, 0, 30 * PMTU);
        script_ack(s, script_sq(s, psn - 1), ROCE_SYNDROME_ACK_UNLIMITED, 3);
        expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
        script_forget(s);
    }
    script_post(s, 3, NORNIC_WR_RDMA_READ, 0, 2 * PMTU);
    script_ack(s, script_sq(s, 2053), ROCE_SYNDROME_ACK_UNLIMITED, 3);
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    script_forget(s);
    for (uint32_t i = 2; i-- > 0;) { /* 2055 and 7 have one place */
        struct script_pkt p = script_read_resp_pkt(s, i ? ROCE_OP_READ_RESP_LAST : ROCE_OP_READ_RESP_FIRST,
                                                   script_sq(s, 2054 + i), 4, script_data() + i * PMTU, PMTU);
        script_send(s, &p);
    }
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem, script_data(), 2 * PMTU);
}

/* The end of an answer shows no gap, so the peer is asked what it has. */
Test(answers, a_lost_end_shows_by_a_probe)
{
    read_six(0);
    script_forget(s);
    for (uint32_t i = 0; i < PKTS - 1; i++)
        answer(i);
    cr_assert(script_until_sent(s, 10 * SCRIPT_MS));
    const struct roce_pkt *probe = script_next(s);
    cr_assert_eq(probe->bth.opcode, ROCE_OPCODE_SACK);
    struct script_pkt p = script_ack_pkt(s, script_sq(s, PKTS), ROCE_SYNDROME_NAK_PSN_SEQ, 1);
    p.bth.opcode = ROCE_OPCODE_SACK;
    p.sacketh = (struct roce_sacketh){
        .known = 1, .ack = ROCE_SYNDROME_ACK_UNLIMITED, .room_pkts = 2047, .echo = probe->sacketh.stamp};
    script_send(s, &p);
    expect_asked(PKTS - 1, 1);
    expect_nothing(s);
}

/* What was kept is nothing any more when all is asked for again. */
Test(answers, a_timeout_begins_anew)
{
    read_six(0);
    script_forget(s);
    answer(0);
    answer(2);
    expect_asked(1, 1);
    while (script_until_sent(s, 100 * SCRIPT_MS)) { /* probes, and at last the ack timer */
        const struct roce_pkt *p = script_next(s);
        if (p->bth.opcode != ROCE_OPCODE_SACK) {
            cr_assert_eq(p->reth.dma_len, (PKTS - 1) * PMTU);
            break;
        }
    }
    for (uint32_t i = 1; i < PKTS; i++) {
        expect_no_wc(s, send_cq);
        answer(i);
    }
    expect_read(0);
}

/* The device has tables for 256. */
Test(answers, a_reset_gives_back_what_was_kept)
{
    for (unsigned i = 0; i < 300; i++) {
        read_six(0);
        script_forget(s);
        answer(2);
        expect_asked(0, 2);
        expect_nothing(s);
        script_restart(s);
        meet();
    }
}

/* Who may be one that goes back N is asked as the standard has it, and is offered better. */
Test(answers, a_stranger_is_asked_for_all_from_the_gap_on)
{
    renew();
    read_six(0);
    script_forget(s);
    answer(0);
    answer(2);
    cr_assert_eq(script_next(s)->bth.opcode, ROCE_OPCODE_SACK);
    expect_asked(1, PKTS - 1);
    answer(3);
    expect_nothing(s);
}

/* --- the peer's part --- */

static void expect_answer_at(enum roce_op op, uint32_t i, int line)
{
    const struct roce_pkt *p = script_expect_op(s, op, script_rq(s, i), line);
    cr_assert_arr_eq(p->payload, s->mem + i * PMTU, p->payload_bytes, "line %d", line);
}
#define expect_answer(op, i) expect_answer_at(op, i, __LINE__)

/* The part is told like a READ of its own; what it is not a part of stays unanswered (ROCE-RS-22). */
Test(answers, a_part_of_a_read_is_answered_again)
{
    struct script_pkt p = script_read_pkt(s, script_rq(s, 0), 0, PKTS * PMTU - 24);
    script_send(s, &p);
    script_forget(s);
    p = script_read_pkt(s, script_rq(s, 2), 2 * PMTU, 2 * PMTU);
    script_send(s, &p);
    expect_answer(ROCE_OP_READ_RESP_FIRST, 2);
    expect_answer(ROCE_OP_READ_RESP_LAST, 3);
    expect_nothing(s);
    p = script_read_pkt(s, script_rq(s, 5), 5 * PMTU, PMTU - 24);
    script_send(s, &p);
    expect_answer(ROCE_OP_READ_RESP_ONLY, 5);
    p = script_read_pkt(s, script_rq(s, 2), 2 * PMTU, PMTU + 8);
    script_send(s, &p);
    p = script_read_pkt(s, script_rq(s, 2), 2 * PMTU, 5 * PMTU);
    script_send(s, &p);
    p = script_read_pkt(s, script_rq(s, 2), 2 * PMTU, 0);
    script_send(s, &p);
    expect_nothing(s);
    expect_verdict(s, ROCE_RX_DROP_DUPLICATE, 3);
}

/* Beside the whole answer, which may still wait to be sent, and in the order of their PSNs. */
Test(answers, a_part_does_not_cut_the_whole_short)
{
    struct script_pkt ps[3] = {script_read_pkt(s, script_rq(s, 0), 0, 2 * PMTU),
                               script_read_pkt(s, script_rq(s, 2), 2 * PMTU, 2 * PMTU),
                               script_read_pkt(s, script_rq(s, 0), 0, PMTU)};
    script_burst(s, ps, 3);
    expect_answer(ROCE_OP_READ_RESP_FIRST, 0);
    expect_answer(ROCE_OP_READ_RESP_LAST, 1);
    expect_answer(ROCE_OP_READ_RESP_ONLY, 0);
    expect_answer(ROCE_OP_READ_RESP_FIRST, 2);
    expect_answer(ROCE_OP_READ_RESP_LAST, 3);
    expect_nothing(s);
}
