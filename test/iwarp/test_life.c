/* SPDX-License-Identifier: BSD-2-Clause */
/* How a stream begins and ends, at the queue pair. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/iwarp/world.h"

static struct side s;
static struct peer p;

static void setup(void)
{
    side_make(&s, 1, NULL);
}

static void teardown(void)
{
    side_free(&s);
}

TestSuite(life, .init = setup, .fini = teardown);

static uint32_t output_bytes(void)
{
    uint32_t count, len = 0;
    const struct iwarp_piece *pieces = iwarp_qp_output(s.qp, &count, 0);
    for (uint32_t i = 0; i < count; i++)
        len += pieces[i].len_bytes;
    iwarp_qp_sent(s.qp, len, 0);
    return len;
}

/* A Request or Reply of revision 2 with the four octets. */
static void say_frame(const char *key, uint32_t enhanced)
{
    uint8_t frame[24] = {0};
    memcpy(frame, key, 16);
    frame[16] = 0x50;
    frame[17] = 2;
    frame[19] = 4;
    for (int i = 0; i < 4; i++)
        frame[20 + i] = (uint8_t)(enhanced >> (24 - 8 * i));
    iwarp_qp_input(s.qp, frame, 10);
    cr_assert_eq(s.qp->state, IWARP_QP_IDLE, "half a frame");
    iwarp_qp_input(s.qp, frame + 10, sizeof frame - 10);
}

static const struct iwarp_setup_config usual = {.ird = 4, .ord = 4};

static void begin_peer(void)
{
    static const struct iwarp_fpdu_rules rules = {.has_crc = true};
    p.heard_bytes = p.looked_bytes = 0;
    iwarp_fpdu_rx_init(&p.rx, &rules, p.buffers);
    iwarp_fpdu_tx_init(&p.tx, &rules, p.buffers + IWARP_BOUNCE_BYTES,
                       p.buffers + IWARP_BOUNCE_BYTES + IWARP_BATCH_BYTES);
}

/* --- the beginning --- */

/* covers: IWARP-MPA-01, IWARP-MPA-02, IWARP-VERB-03 */
/* covers: IWARP-CM-01 */
Test(life, an_initiator_says_nothing_before_the_reply)
{
    const struct nornic_send_wr wr = {.opcode = NORNIC_WR_SEND};
    side_post_recv(&s, 1, 0, 8);
    cr_expect_eq(output_bytes(), 0);
    cr_assert_eq(iwarp_qp_connect(s.qp, &usual, NULL, 0, 0), 0);
    cr_expect_eq(rdma_qp_post_send(&s.qp->base, &wr, NULL), -EINVAL, "not before RTS");
    cr_expect_eq(output_bytes(), 24);
    cr_expect_eq(output_bytes(), 0);
    cr_expect_eq(s.qp->state, IWARP_QP_IDLE);
    say_frame("MPA ID Rep Frame", 0x00040004);
    cr_expect_eq(s.qp->state, IWARP_QP_RTS);
    cr_expect_eq(rdma_qp_state_now(&s.qp->base), NORNIC_QPS_RTS);
}

/* Time goes on until the deadline, if there is one; what is then said. */
static enum iwarp_op next_word(void)
{
    struct iwarp_ulpdu u;
    uint64_t deadline_ns = iwarp_qp_deadline_ns(s.qp);
    if (deadline_ns != UINT64_MAX)
        iwarp_qp_advance(s.qp, deadline_ns);
    return peer_hear(&p, &s, &u) ? u.bytes[1] & 15 : IWARP_OP_DEFINED;
}

/* covers: IWARP-AMB-19 */
Test(life, an_initiator_that_hears_nothing_says_empty_writes)
{
    struct iwarp_ulpdu u;
    peer_meet(&p, &s, true);
    cr_expect_eq(iwarp_qp_deadline_ns(s.qp), UINT64_MAX, "nothing was said");
    side_post(&s, NORNIC_WR_SEND, 1, 0, 8, 0, 0);
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    cr_expect_eq(iwarp_qp_deadline_ns(s.qp), IWARP_NUDGE_NS);
    for (unsigned i = 0; i < IWARP_NUDGE_MAX; i++)
        cr_expect_eq(next_word(), IWARP_OP_WRITE);
    cr_expect_eq(next_word(), IWARP_OP_DEFINED, "it gives up");
    cr_expect_eq(s.qp->state, IWARP_QP_RTS);
}

/* covers: IWARP-AMB-19 */
Test(life, an_initiator_that_has_heard_says_no_empty_write)
{
    struct iwarp_ulpdu u;
    peer_meet(&p, &s, true);
    side_post(&s, NORNIC_WR_SEND, 1, 0, 8, 0, 0);
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, 1, 0, "", 0);
    cr_expect_eq(next_word(), IWARP_OP_DEFINED);
    side_post(&s, NORNIC_WR_SEND, 2, 0, 8, 0, 0);
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    cr_expect_eq(next_word(), IWARP_OP_DEFINED);
}

/* A Write with immediate of so many segments, of which one call of output takes what a batch has room for;
 * then an empty Write is due. */
static void nudge_amid(uint32_t segments)
{
    struct iwarp_ulpdu u;
    peer_meet(&p, &s, true);
    uint32_t room = iwarp_tagged_room(s.qp);
    struct nornic_sge sge = side_sge(&s, 0, segments * room);
    side_post_wr(&s, &(struct nornic_send_wr){.opcode = NORNIC_WR_RDMA_WRITE_WITH_IMM,
                                              .sg_list = &sge,
                                              .num_sge = 1,
                                              .remote_addr = 0x5000,
                                              .rkey = 7});
    for (uint32_t i = 0; i < segments; i++) {
        cr_assert(peer_hear(&p, &s, &u));
        cr_assert(u.len_bytes > IWARP_DDP_TAGGED_BYTES && (u.bytes[1] & 15) == IWARP_OP_WRITE,
                  "segment %u of %u", i, segments);
        iwarp_qp_advance(s.qp, 2 * IWARP_NUDGE_NS);
    }
    peer_expect(&p, &s, IWARP_OP_IMM, &u);
    iwarp_qp_advance(s.qp, 2 * IWARP_NUDGE_NS);
    peer_expect(&p, &s, IWARP_OP_WRITE, &u);
    cr_expect_eq(u.len_bytes, IWARP_DDP_TAGGED_BYTES);
}

/* Wherever the batch ends: in the Write, or between it and its Immediate Data.
 * covers: IWARP-AMB-19, IWARP-VERB-07, IWARP-DDP-09 */
Test(life_cases, an_empty_write_waits_for_the_end_of_a_message)
{
    for (uint32_t segments = 2; segments < 300; segments++) {
        setup();
        nudge_amid(segments);
        teardown();
    }
}

/* covers: IWARP-MPA-03, IWARP-MPA-17, IWARP-VERB-02 */
/* covers: IWARP-CM-01 */
Test(life, a_responder_says_nothing_before_the_first_fpdu)
{
    peer_meet(&p, &s, false);
    side_post(&s, NORNIC_WR_SEND, 1, 0, 8, 0, 0);
    peer_expect_silence(&p, &s);
    side_expect_nothing(&s);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, 1, 0, "", 0);
    struct iwarp_ulpdu u;
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-MPA-11, IWARP-AMB-19 */
/* covers: IWARP-CM-06 */
Test(life, fpdus_right_behind_the_reply_are_taken)
{
    uint8_t octets[20 + 64] = "MPA ID Rep Frame";
    uint32_t count, len = 20;
    begin_peer();
    octets[16] = 0x40;
    octets[17] = 1;
    side_post_recv(&s, 1, 0, 8);
    cr_assert_eq(iwarp_qp_connect(s.qp, &usual, NULL, 0, 0), 0);
    output_bytes();
    uint8_t head[IWARP_HEAD_BYTES];
    const uint8_t *end = iwarp_put_untagged(head, IWARP_OP_SEND, true, &(struct iwarp_untagged){.msn = 1});
    iwarp_fpdu_tx_begin(&p.tx, 20);
    iwarp_fpdu_tx_copy(&p.tx, head, (uint32_t)(end - head));
    iwarp_fpdu_tx_copy(&p.tx, (const uint8_t *)"hi", 2);
    iwarp_fpdu_tx_end(&p.tx);
    const struct iwarp_piece *pieces = iwarp_fpdu_tx_pieces(&p.tx, &count);
    for (uint32_t i = 0; i < count; len += pieces[i++].len_bytes)
        memcpy(octets + len, pieces[i].bytes, pieces[i].len_bytes);
    iwarp_qp_input(s.qp, octets, len);
    cr_expect_eq(side_expect(&s, 1, NORNIC_WC_SUCCESS).byte_len, 2);
}

/* covers: IWARP-ECE-06, IWARP-ECE-07, IWARP-ECE-08, IWARP-VERB-02 */
/* covers: IWARP-CM-10 */
Test(life, the_rtr_write_is_the_first_message_and_nobody_learns_of_it)
{
    struct iwarp_ulpdu u;
    struct iwarp_tagged ddp;
    begin_peer();
    cr_assert_eq(iwarp_qp_connect(s.qp, &usual, NULL, 0, 0), 0);
    output_bytes();
    say_frame("MPA ID Rep Frame", 0x80048004);
    side_post(&s, NORNIC_WR_SEND, 1, 0, 8, 0, 0);
    peer_expect(&p, &s, IWARP_OP_WRITE, &u);
    iwarp_tagged_get(&ddp, u.bytes + 2);
    cr_expect(u.len_bytes == 14 && ddp.stag == 1 && ddp.to == 0);
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    peer_expect_silence(&p, &s);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
    side_expect_nothing(&s);
}

/* covers: IWARP-ECE-06, IWARP-ECE-07, IWARP-ECE-08 */
/* covers: IWARP-CM-10 */
Test(life, the_rtr_read_takes_the_first_msn_and_a_credit)
{
    struct iwarp_ulpdu u;
    struct iwarp_read_req req;
    struct iwarp_untagged ddp;
    const struct iwarp_setup_config config = {.rtr = IWARP_RTR_READ};
    begin_peer();
    cr_assert_eq(iwarp_qp_connect(s.qp, &config, NULL, 0, 0), 0);
    output_bytes();
    say_frame("MPA ID Rep Frame", 0x80004000);
    side_post(&s, NORNIC_WR_RDMA_READ, 1, 0, 8, 0, 7);
    iwarp_read_req_get(&req, peer_expect(&p, &s, IWARP_OP_READ_REQUEST, &u));
    cr_expect(req.sink_stag == 1 && req.sink_to == 0 && req.size == 0 && req.src_stag == 1 &&
              req.src_to == 0);
    peer_expect_silence(&p, &s);
    peer_say_tagged(&p, &s, IWARP_OP_READ_RESPONSE, true, 1, 0, "", 0);
    side_expect_nothing(&s);
    peer_expect(&p, &s, IWARP_OP_READ_REQUEST, &u);
    iwarp_untagged_get(&ddp, u.bytes + 2);
    cr_expect_eq(ddp.msn, 2);
}

/* covers: IWARP-ECE-03, IWARP-ECE-06, IWARP-CONN-05, IWARP-MPA-22, IWARP-ECE-10 */
Test(life_cases, an_initiator_that_cannot_take_the_reply_says_why)
{
    static const struct {
        const char *key;
        uint32_t enhanced;
        uint16_t code;
    } rows[] = {
        {"MPA ID Rep Frame", 0x00040005, IWARP_TERM_MPA_IRD},
        {"MPA ID Rep Frame", 0xc0040004, IWARP_TERM_MPA_RTR},
        {"MPA ID Req Frame", 0x00040004, IWARP_TERM_MPA_FRAME},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        struct iwarp_term term;
        setup();
        begin_peer();
        side_post_recv(&s, 1, 0, 8);
        cr_assert_eq(iwarp_qp_connect(s.qp, &usual, NULL, 0, 0), 0);
        output_bytes();
        say_frame(rows[i].key, rows[i].enhanced);
        peer_expect_terminate(&p, &s, rows[i].code, &term);
        cr_expect(!term.m && !term.d && !term.r);
        side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
        iwarp_qp_fin(s.qp, 0);
        cr_expect(s.qp->tcp == IWARP_TCP_CLOSE && s.qp->state == IWARP_QP_ERROR);
        teardown();
    }
}

/* covers: IWARP-MPA-08 */
Test(life, a_rejection_goes_out_and_then_tcp_ends)
{
    cr_assert_eq(iwarp_qp_listen(s.qp, &usual, 0), 0);
    say_frame("MPA ID Req Frame", 0x00040004);
    cr_assert_eq(iwarp_qp_reject(s.qp, "no", 2), 0);
    cr_expect_eq(s.qp->tcp, IWARP_TCP_OPEN);
    cr_expect_eq(output_bytes(), 26);
    cr_expect_eq(s.qp->tcp, IWARP_TCP_CLOSE);
}

/* covers: IWARP-MPA-14, IWARP-SEC-08, IWARP-MPA-10 */
Test(life_cases, a_set_up_that_comes_to_nothing_ends_tcp)
{
    for (int what = 0; what < 3; what++) {
        setup();
        side_post_recv(&s, 1, 0, 8);
        cr_assert_eq(iwarp_qp_listen(s.qp, &usual, 0), 0);
        cr_expect_eq(iwarp_qp_deadline_ns(s.qp), 5 * NS_PER_S);
        if (what == 0)
            iwarp_qp_advance(s.qp, 5 * NS_PER_S);
        if (what == 1)
            iwarp_qp_fin(s.qp, 0);
        if (what == 2)
            iwarp_qp_input(s.qp, (const uint8_t *)"GET / HTTP/1.1\r\n\r\n....", 24);
        cr_expect_eq(s.qp->tcp, IWARP_TCP_CLOSE);
        cr_expect_eq(s.qp->state, IWARP_QP_ERROR);
        cr_expect_eq(iwarp_qp_deadline_ns(s.qp), UINT64_MAX);
        cr_expect_eq(output_bytes(), 0);
        side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
        teardown();
    }
}

Test(life, depths_beyond_those_of_the_queue_pair_are_refused)
{
    cr_expect_eq(iwarp_qp_connect(s.qp, &(struct iwarp_setup_config){.ird = 5}, NULL, 0, 0), -EINVAL);
    cr_expect_eq(iwarp_qp_connect(s.qp, &(struct iwarp_setup_config){.max_ird = 5}, NULL, 0, 0), -EINVAL);
    cr_expect_eq(iwarp_qp_listen(s.qp, &(struct iwarp_setup_config){.ord = 5}, 0), -EINVAL);
    peer_meet(&p, &s, true);
    cr_expect_eq(iwarp_qp_listen(s.qp, &usual, 0), -EINVAL, "it has a stream");
}

/* --- the end --- */

/* covers: IWARP-CONN-02, IWARP-CONN-03, IWARP-VERB-20 */
Test(life, a_disconnect_with_nothing_to_do)
{
    peer_meet(&p, &s, true);
    side_post_recv(&s, 1, 0, 8);
    iwarp_qp_disconnect(s.qp, 7);
    cr_expect(s.qp->state == IWARP_QP_CLOSING && s.qp->tcp == IWARP_TCP_SHUTDOWN);
    side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
    cr_expect_eq(iwarp_qp_deadline_ns(s.qp), 7 + IWARP_CLOSE_WAIT_NS);
    iwarp_qp_fin(s.qp, 8);
    cr_expect(s.qp->state == IWARP_QP_IDLE && s.qp->tcp == IWARP_TCP_CLOSE);
    cr_expect_eq(iwarp_qp_deadline_ns(s.qp), UINT64_MAX);
    cr_expect_eq(s.event_count, 0);
    cr_expect(!s.qp->end.has_sent && !s.qp->end.has_received && !s.qp->end.code);
}

/* covers: IWARP-MPA-21, IWARP-CONN-03 */
Test(life, a_fin_lets_the_answers_out_that_are_owed)
{
    struct iwarp_ulpdu u;
    peer_meet(&p, &s, false);
    side_post_recv(&s, 1, 0, 8);
    peer_ask_read(&p, &s, 1, &(struct iwarp_read_req){1, 0, 5000, s.mr->rkey, (uintptr_t)s.memory});
    iwarp_qp_fin(s.qp, 0);
    cr_expect(s.qp->state == IWARP_QP_CLOSING && s.qp->tcp == IWARP_TCP_OPEN);
    side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
    unsigned parts = 0;
    while (peer_hear(&p, &s, &u))
        parts++;
    cr_expect_eq(parts, 10);
    cr_expect(s.qp->state == IWARP_QP_IDLE && s.qp->tcp == IWARP_TCP_CLOSE);
}

/* A peer that asked, closes and reads nothing is waited for as long as it takes something, and no longer.
 * covers: IWARP-MPA-22, IWARP-SEC-08 */
Test(life, answers_that_nobody_reads_do_not_keep_a_stream_that_closes)
{
    uint32_t count;
    peer_meet(&p, &s, false);
    peer_ask_read(&p, &s, 1, &(struct iwarp_read_req){1, 0, 5000, s.mr->rkey, (uintptr_t)s.memory});
    iwarp_qp_disconnect(s.qp, 10);
    cr_expect_eq(iwarp_qp_deadline_ns(s.qp), 0,
                 "also when TCP takes nothing, so that nobody asks for output");
    iwarp_qp_advance(s.qp, 10);
    cr_expect_eq(iwarp_qp_deadline_ns(s.qp), 10 + IWARP_CLOSE_WAIT_NS);
    iwarp_qp_output(s.qp, &count, 20);
    iwarp_qp_sent(s.qp, 100, 20);
    cr_expect_eq(iwarp_qp_deadline_ns(s.qp), 20 + IWARP_CLOSE_WAIT_NS, "it took something");
    iwarp_qp_advance(s.qp, 19 + IWARP_CLOSE_WAIT_NS);
    cr_expect_eq(s.qp->tcp, IWARP_TCP_OPEN);
    iwarp_qp_advance(s.qp, 20 + IWARP_CLOSE_WAIT_NS);
    cr_expect(s.qp->state == IWARP_QP_ERROR && s.qp->tcp == IWARP_TCP_RESET);
}

/* However a stream comes to its end, a peer that does nothing more is waited for so long and no longer.
 * covers: IWARP-MPA-22, IWARP-SEC-08 */
Test(life_cases, every_way_to_an_end_has_a_limit)
{
    enum { DISCONNECTED, CUT_OFF, OWING, TERMINATED, UNTOLD, REFUSED, WAYS };
    for (int way = DISCONNECTED; way < WAYS; way++) {
        const uint8_t noise[20] = {0, 14, 0xc1, 0x40};
        struct iwarp_term term;
        setup();
        if (way == REFUSED) { /* the Reply that says no stays unsent */
            cr_assert_eq(iwarp_qp_listen(s.qp, &usual, 0), 0);
            iwarp_qp_input(s.qp, (const uint8_t *)"MPA ID Req Frame\x40\x01\x00\x00", 20);
            cr_assert_eq(iwarp_qp_reject(s.qp, NULL, 0), 0);
        } else {
            peer_meet(&p, &s, way != OWING);
        }
        if (way == DISCONNECTED) /* the peer's FIN does not come */
            iwarp_qp_disconnect(s.qp, 0);
        if (way == CUT_OFF || way == OWING) /* it came, and what it is owed TCP does not take */
            peer_ask_read(&p, &s, 1, &(struct iwarp_read_req){1, 0, 5000, s.mr->rkey, (uintptr_t)s.memory});
        if (way == CUT_OFF)
            iwarp_qp_fin(s.qp, 0);
        else if (way == OWING)
            iwarp_qp_disconnect(s.qp, 0);
        if (way == TERMINATED || way == UNTOLD)
            iwarp_qp_input(s.qp, noise, sizeof noise);
        if (way == TERMINATED) /* and the Terminate that TCP does not take: UNTOLD */
            peer_expect_terminate(&p, &s, IWARP_TERM_MPA_CRC, &term);
        if (iwarp_qp_deadline_ns(s.qp) == 0)
            iwarp_qp_advance(s.qp, 0);
        cr_expect_eq(iwarp_qp_deadline_ns(s.qp), IWARP_CLOSE_WAIT_NS, "way %d", way);
        iwarp_qp_advance(s.qp, IWARP_CLOSE_WAIT_NS - 1);
        cr_expect_neq(s.qp->tcp, IWARP_TCP_RESET, "way %d", way);
        iwarp_qp_advance(s.qp, IWARP_CLOSE_WAIT_NS);
        cr_expect(s.qp->state == IWARP_QP_ERROR && s.qp->tcp == IWARP_TCP_RESET, "way %d", way);
        cr_expect_eq(iwarp_qp_deadline_ns(s.qp), UINT64_MAX, "way %d", way);
        teardown();
    }
}

/* covers: IWARP-MPA-12, IWARP-MPA-14 */
Test(life_cases, a_request_of_revision_1_has_its_own_limit_and_is_the_last)
{
    for (int is_lost = 0; is_lost < 2; is_lost++) {
        struct iwarp_setup_config config = usual;
        uint32_t count;
        setup();
        side_post_recv(&s, 1, 0, 8);
        config.falls_back = true;
        cr_assert_eq(iwarp_qp_connect(s.qp, &config, NULL, 0, 0), 0);
        cr_expect_eq(iwarp_qp_fall_back(s.qp, 0), -EINVAL, "the peer may still answer");
        is_lost ? iwarp_qp_lost(s.qp) : iwarp_qp_fin(s.qp, 5);
        cr_expect(s.qp->state == IWARP_QP_IDLE && s.qp->tcp == IWARP_TCP_CLOSE);
        side_expect_nothing(&s); /* it keeps its receives */
        cr_assert_eq(iwarp_qp_fall_back(s.qp, 1000), 0);
        cr_expect_eq(s.qp->tcp, IWARP_TCP_OPEN);
        cr_expect_eq(iwarp_qp_deadline_ns(s.qp), 1000 + IWARP_REPLY_TIMEOUT_NS);
        const struct iwarp_piece *asked = iwarp_qp_output(s.qp, &count, 1000);
        cr_assert_eq(count, 1);
        cr_expect_eq(asked->bytes[17], 1, "the revision");
        iwarp_qp_sent(s.qp, asked->len_bytes, 1000);
        is_lost ? iwarp_qp_lost(s.qp) : iwarp_qp_fin(s.qp, 2000);
        cr_expect_eq(s.qp->state, IWARP_QP_ERROR);
        side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
        teardown();
    }
}

/* covers: IWARP-CONN-03, IWARP-MPA-20 */
Test(life_cases, a_fin_too_early_is_an_error)
{
    for (int what = 0; what < 4; what++) {
        struct iwarp_ulpdu u;
        setup();
        peer_meet(&p, &s, true);
        side_post_recv(&s, 9, 0, 8);
        if (what == 0) { /* a READ is not answered */
            side_post(&s, NORNIC_WR_RDMA_READ, 1, 0, 8, 0, 7);
            side_post(&s, NORNIC_WR_SEND, 2, 0, 8, 0, 0);
            peer_expect(&p, &s, IWARP_OP_READ_REQUEST, &u);
            peer_expect(&p, &s, IWARP_OP_SEND, &u);
        } else if (what == 1) { /* inside an FPDU */
            iwarp_qp_input(s.qp, (const uint8_t *)"\0", 1);
        } else if (what == 2) { /* inside a Send */
            peer_say_untagged(&p, &s, IWARP_OP_SEND, false, &(struct iwarp_untagged){.msn = 1}, "half", 4);
        } else { /* inside a Write */
            peer_say_tagged(&p, &s, IWARP_OP_WRITE, false, s.mr->rkey, (uintptr_t)s.memory, "half", 4);
        }
        iwarp_qp_fin(s.qp, 0);
        cr_expect(s.qp->state == IWARP_QP_ERROR && s.qp->tcp == IWARP_TCP_CLOSE);
        cr_expect(s.qp->end.code == IWARP_TERM_MPA_LOST && !s.qp->end.has_sent, "a local report only");
        cr_expect(side_has_event(&s, NORNIC_EVENT_QP_FATAL));
        if (what == 0) {
            side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
            side_expect(&s, 2, NORNIC_WC_WR_FLUSH_ERR);
        }
        side_expect(&s, 9, NORNIC_WC_WR_FLUSH_ERR);
        peer_expect_silence(&p, &s);
        teardown();
    }
}

/* covers: IWARP-CONN-02, IWARP-MPA-20 */
Test(life, tcp_that_is_lost_flushes_everything)
{
    peer_meet(&p, &s, true);
    side_post_recv(&s, 1, 0, 8);
    side_post(&s, NORNIC_WR_SEND, 2, 0, 8, 0, 0);
    iwarp_qp_lost(s.qp);
    cr_expect(s.qp->state == IWARP_QP_ERROR && s.qp->tcp == IWARP_TCP_RESET);
    side_expect(&s, 2, NORNIC_WC_WR_FLUSH_ERR);
    side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
    cr_expect(side_has_event(&s, NORNIC_EVENT_QP_FATAL));
    cr_expect_eq(s.qp->end.code, IWARP_TERM_MPA_LOST);
}

/* covers: IWARP-FPDU-10, IWARP-CONN-04, IWARP-CONN-05, IWARP-MPA-22 */
/* covers: IWARP-CM-15 */
Test(life, a_bad_crc_ends_the_stream_and_what_comes_then_is_discarded)
{
    struct iwarp_term term;
    uint8_t fpdu[20] = {0, 14, 0xc1, 0x40};
    peer_meet(&p, &s, true);
    iwarp_qp_input(s.qp, fpdu, sizeof fpdu);
    peer_expect_terminate(&p, &s, IWARP_TERM_MPA_CRC, &term);
    cr_expect(!term.m && !term.d && !term.r);
    cr_expect(side_has_event(&s, NORNIC_EVENT_QP_FATAL));
    cr_expect_eq(iwarp_qp_deadline_ns(s.qp), IWARP_CLOSE_WAIT_NS);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, s.mr->rkey, (uintptr_t)s.memory, "late", 4);
    cr_expect_eq(s.memory[0], 0);
    iwarp_qp_advance(s.qp, IWARP_CLOSE_WAIT_NS - 1);
    cr_expect_eq(s.qp->tcp, IWARP_TCP_SHUTDOWN, "it waits for the peer's FIN");
    iwarp_qp_advance(s.qp, IWARP_CLOSE_WAIT_NS);
    cr_expect_eq(s.qp->tcp, IWARP_TCP_RESET);
}

/* covers: IWARP-MPA-03, IWARP-CONN-05 */
Test(life, a_responder_that_has_heard_nothing_good_says_nothing_of_what_is_bad)
{
    const uint8_t fpdu[20] = {0, 14, 0xc1, 0x40};
    peer_meet(&p, &s, false);
    iwarp_qp_input(s.qp, fpdu, sizeof fpdu);
    cr_expect(s.qp->state == IWARP_QP_ERROR && s.qp->tcp == IWARP_TCP_CLOSE);
    cr_expect(!s.qp->end.has_sent && s.qp->end.code == IWARP_TERM_MPA_CRC);
    peer_expect_silence(&p, &s);
}

/* covers: IWARP-FPDU-06, IWARP-RDMAP-30 */
Test(life, a_terminate_waits_for_the_fpdu_that_is_half_out)
{
    uint32_t count;
    peer_meet(&p, &s, true);
    side_post(&s, NORNIC_WR_SEND, 1, 0, 100, 0, 0);
    const struct iwarp_piece *pieces = iwarp_qp_output(s.qp, &count, 0);
    memcpy(p.heard, pieces[0].bytes, 3);
    iwarp_qp_sent(s.qp, 3, 0);
    p.heard_bytes = 3;
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, 0, 0, "x", 1);
    pieces = iwarp_qp_output(s.qp, &count, 0);
    cr_assert_eq(count, 1);
    memcpy(p.heard + 3, pieces[0].bytes, pieces[0].len_bytes);
    p.heard_bytes += pieces[0].len_bytes;
    iwarp_qp_sent(s.qp, pieces[0].len_bytes, 0);
    struct iwarp_ulpdu u;
    struct iwarp_term term;
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    peer_expect_terminate(&p, &s, IWARP_TERM_DDP_STAG, &term);
}

/* covers: IWARP-VERB-17, IWARP-CONN-04 */
Test(life, an_overflowing_cq_ends_its_queue_pairs)
{
    struct iwarp_term term;
    struct iwarp_ulpdu u;
    teardown();
    const struct side_options options = {.cq_entries = 2};
    side_make(&s, 1, &options);
    peer_meet(&p, &s, true);
    for (uint32_t i = 0; i < 5; i++)
        side_post(&s, NORNIC_WR_SEND, i, 0, 8, 0, 0);
    for (uint32_t i = 0; i < 5; i++)
        peer_expect(&p, &s, IWARP_OP_SEND, &u);
    peer_expect_terminate(&p, &s, IWARP_TERM_RDMAP_LOCAL, &term);
    cr_expect(side_has_event(&s, NORNIC_EVENT_CQ_ERR));
    cr_expect(side_has_event(&s, NORNIC_EVENT_QP_FATAL));
}

/* covers: IWARP-VERB-17 */
Test(life, work_that_is_posted_behind_the_end_is_flushed)
{
    peer_meet(&p, &s, true);
    iwarp_qp_lost(s.qp);
    side_post(&s, NORNIC_WR_SEND, 1, 0, 8, 0, 0);
    side_post_recv(&s, 2, 0, 8);
    iwarp_qp_advance(s.qp, 0);
    side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
    side_expect(&s, 2, NORNIC_WC_WR_FLUSH_ERR);
}

Test(life, a_queue_pair_without_memory_is_not_made)
{
    const struct iwarp_qp_config config = {
        .mem = &s.alloc.mem,
        .domain = s.domain,
        .pd = s.pd,
        .send_cq = s.cq,
        .recv_cq = s.cq,
        .caps = {.max_send_wr = 4, .max_recv_wr = 4},
        .max_ird = 1,
        .max_ord = 1,
    };
    unsigned live = s.alloc.live, fails = 0;
    struct iwarp_qp *qp;
    for (;; fails++) {
        s.alloc.fail_at = s.alloc.calls + fails + 1;
        int err = iwarp_qp_create(&config, &qp);
        if (!err)
            break;
        cr_assert_eq(err, -ENOMEM);
        cr_assert_eq(s.alloc.live, live);
        cr_assert_lt(fails, 20);
    }
    cr_expect_geq(fails, 6, "each allocation failed once");
    iwarp_qp_destroy(qp);
    struct iwarp_qp_config wrong = config;
    wrong.max_ird = 0x3fff;
    cr_expect_eq(iwarp_qp_create(&wrong, &qp), -EINVAL);
    wrong = config;
    wrong.pd = NULL;
    cr_expect_eq(iwarp_qp_create(&wrong, &qp), -EINVAL);
}
