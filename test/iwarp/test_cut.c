/* SPDX-License-Identifier: BSD-2-Clause */
/* One stream, handed over in every way that TCP may: cut behind each octet, with a marker at each place
 * where one can stand, with each octet damaged, ended behind each. What comes of it is compared with what
 * comes of the stream in one piece: memory, completions, and each octet that is answered. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "iwarp/wire/size.h"
#include "test/iwarp/world.h"

#define STREAM_MAX 8192u
#define ANSWER_MAX 8192u
#define WC_MAX     8u
#define RECVS      5u
#define SEEN_BYTES 4096u /* of the receiver's memory; nothing is written behind */
#define WRITE_AT   1024u
#define READ_AT    2048u
#define WORD_AT    3072u

static const uint8_t request[20] = "MPA ID Req Frame";

/* What has come of the stream. */
struct outcome {
    uint8_t memory[SEEN_BYTES];
    struct nornic_wc wc[WC_MAX];
    unsigned wc_count;
    uint8_t answer[ANSWER_MAX];
    uint32_t answer_bytes;
    enum iwarp_qp_state state;
};

static struct side sender, receiver;
static struct rdma_mr *fast;
static bool has_markers;
static uint8_t stream[STREAM_MAX];
static uint32_t stream_bytes;
static struct outcome whole, now;

static void setup(void)
{
    side_make(&sender, 1, NULL);
    side_make(&receiver, 2, NULL);
    cr_assert_eq(rdma_mr_alloc_fast(receiver.pd, 4096, &fast), 0);
}

static void teardown(void)
{
    rdma_mr_dereg(fast);
    side_free(&sender);
    side_free(&receiver);
}

TestSuite(cut, .init = setup, .fini = teardown, .timeout = 240);

/* --- the stream --- */

static void post(enum nornic_wr_opcode opcode, uint32_t len_bytes, uint32_t remote)
{
    const struct nornic_sge sge = side_sge(&sender, 0, len_bytes);
    side_post_wr(&sender, &(struct nornic_send_wr){.opcode = opcode,
                                                   .sg_list = &sge,
                                                   .num_sge = len_bytes != 0,
                                                   .imm_data = 0x01020304,
                                                   .remote_addr = (uintptr_t)receiver.memory + remote,
                                                   .rkey = receiver.mr->rkey,
                                                   .invalidate_rkey = fast->rkey,
                                                   .compare_add = 7});
}

static void meet(struct side *s, bool begins)
{
    const struct iwarp_setup_config config = {
        .rev = 1, .ird = 4, .ord = 4, .wants_markers = !begins && has_markers};
    uint8_t frame[sizeof request];
    uint32_t count;
    memcpy(frame, request, sizeof frame);
    frame[17] = 1;
    frame[16] = (uint8_t)(0x40 | (begins && has_markers ? 0x80 : 0));
    if (begins) {
        memcpy(frame, "MPA ID Rep", 10);
        cr_assert_eq(iwarp_qp_connect(s->qp, &config, NULL, 0, 0), 0);
    } else {
        cr_assert_eq(iwarp_qp_listen(s->qp, &config, 0), 0);
        iwarp_qp_input(s->qp, frame, sizeof frame);
        cr_assert_eq(iwarp_qp_accept(s->qp, NULL, 0), 0);
    }
    iwarp_qp_output(s->qp, &count, 0);
    iwarp_qp_sent(s->qp, sizeof frame, 0);
    if (begins)
        iwarp_qp_input(s->qp, frame, sizeof frame);
    cr_assert_eq(s->qp->state, IWARP_QP_RTS);
}

/* All that a queue pair has to say now. */
static uint32_t take_output(struct side *s, uint8_t *to, uint32_t room)
{
    uint32_t count, len = 0, before;
    do {
        const struct iwarp_piece *pieces = iwarp_qp_output(s->qp, &count, 0);
        before = len;
        for (uint32_t i = 0; i < count; len += pieces[i++].len_bytes) {
            cr_assert_leq(len + pieces[i].len_bytes, room);
            memcpy(to + len, pieces[i].bytes, pieces[i].len_bytes);
        }
        iwarp_qp_sent(s->qp, len - before, 0);
    } while (len != before);
    return len;
}

/* A Write of `shift` octets moves the rest against the markers: every opcode that a side says first follows,
 * one Send in two segments. */
static void make_stream(uint32_t shift)
{
    side_renew(&sender);
    for (uint32_t i = 0; i < 2000; i++)
        sender.memory[i] = (uint8_t)(3 * i + i / 256) | 1;
    meet(&sender, true);
    iwarp_qp_set_emss(sender.qp, 1448);
    post(NORNIC_WR_RDMA_WRITE, shift, WRITE_AT);
    stream_bytes = take_output(&sender, stream, sizeof stream);
    iwarp_qp_set_emss(sender.qp, 300);
    post(NORNIC_WR_SEND, 3, 0);
    post(NORNIC_WR_SEND_WITH_INV, 5, 0);
    post(NORNIC_WR_RDMA_READ, 21, WRITE_AT);
    post(NORNIC_WR_ATOMIC_FETCH_AND_ADD, 8, WORD_AT);
    post(NORNIC_WR_RDMA_WRITE_WITH_IMM, 6, WRITE_AT + 512);
    post(NORNIC_WR_SEND, 290, 0);
    post(NORNIC_WR_SEND, 0, 0);
    stream_bytes += take_output(&sender, stream + stream_bytes, STREAM_MAX - stream_bytes);
}

/* --- what comes of it --- */

static void begin(void)
{
    side_renew(&receiver);
    if (fast->is_valid)
        cr_assert_eq(rdma_invalidate_local(receiver.domain, receiver.pd, receiver.qp->base.qpn, fast->rkey),
                     0);
    const struct rdma_fast_reg reg = {
        .key = fast->rkey, .addr = receiver.memory, .len_bytes = 64, .access = NORNIC_ACCESS_REMOTE_READ};
    cr_assert_eq(rdma_mr_fast_reg(receiver.domain, receiver.pd, &reg), 0);
    for (uint32_t i = 0; i < RECVS; i++)
        side_post_recv(&receiver, i, 8 * i, i == 3 ? 300 : 8);
    meet(&receiver, false);
    now = (struct outcome){0};
}

static void hand_over(const uint8_t *bytes, uint32_t len_bytes)
{
    iwarp_qp_input(receiver.qp, bytes, len_bytes);
    now.answer_bytes += take_output(&receiver, now.answer + now.answer_bytes, ANSWER_MAX - now.answer_bytes);
}

static void look(void)
{
    memcpy(now.memory, receiver.memory, SEEN_BYTES);
    for (uint32_t i = SEEN_BYTES; i < SIDE_BYTES; i += 8)
        cr_assert_eq(receiver.memory[i], 0, "octet %u was written", i);
    while (now.wc_count < WC_MAX && side_poll(&receiver, &now.wc[now.wc_count]))
        now.wc_count++;
    now.state = receiver.qp->state;
}

static void play_whole(uint32_t shift)
{
    make_stream(shift);
    begin();
    hand_over(stream, stream_bytes);
    look();
    whole = now;
    cr_assert_eq(whole.state, IWARP_QP_RTS);
    cr_assert_eq(whole.wc_count, RECVS, "%u", whole.wc_count);
    cr_assert_not(fast->is_valid);
    cr_assert_arr_eq(whole.memory + WRITE_AT, sender.memory, shift);
    cr_assert_gt(whole.answer_bytes, 60);
}

static void expect_the_same(uint32_t shift, uint32_t at)
{
    look();
    cr_assert_eq(now.state, whole.state, "%u, behind %u: %04x", shift, at, receiver.qp->end.code);
    cr_assert_eq(now.wc_count, whole.wc_count, "%u, behind %u", shift, at);
    for (unsigned i = 0; i < whole.wc_count; i++)
        cr_assert(now.wc[i].wr_id == whole.wc[i].wr_id && now.wc[i].status == whole.wc[i].status &&
                      now.wc[i].byte_len == whole.wc[i].byte_len &&
                      now.wc[i].wc_flags == whole.wc[i].wc_flags,
                  "%u, behind %u", shift, at);
    cr_assert_arr_eq(now.memory, whole.memory, SEEN_BYTES, "%u, behind %u", shift, at);
    cr_assert_eq(now.answer_bytes, whole.answer_bytes, "%u, behind %u", shift, at);
    cr_assert_arr_eq(now.answer, whole.answer, whole.answer_bytes, "%u, behind %u", shift, at);
}

/* --- the ways --- */

static void cut_behind_each_octet(uint32_t shift)
{
    play_whole(shift);
    for (uint32_t at = 1; at < stream_bytes; at++) {
        begin();
        hand_over(stream, at);
        hand_over(stream + at, stream_bytes - at);
        expect_the_same(shift, at);
    }
    begin();
    for (uint32_t at = 0; at < stream_bytes; at++)
        hand_over(stream + at, 1);
    expect_the_same(shift, stream_bytes);
}

/* covers: IWARP-FPDU-01, IWARP-FPDU-05, IWARP-DDP-10 */
/* covers: IWARP-CM-11 */
Test(cut, a_stream_is_the_same_wherever_it_is_cut)
{
    has_markers = false;
    for (uint32_t shift = 0; shift < 4; shift++)
        cut_behind_each_octet(shift);
}

/* FPDUs are multiples of four octets, so that a Write of four octets more each time brings a marker to each
 * place of what follows. covers: IWARP-MARK-01, IWARP-MARK-04, IWARP-MARK-05 */
/* covers: IWARP-CM-14 */
Test(cut, a_marker_may_stand_anywhere)
{
    has_markers = true;
    for (uint32_t shift = 0; shift < IWARP_MARKER_INTERVAL / 4; shift++) {
        play_whole(4 * shift);
        begin();
        for (uint32_t at = 0; at < stream_bytes; at++)
            hand_over(stream + at, 1);
        expect_the_same(shift, stream_bytes);
    }
}

/* covers: IWARP-MARK-01, IWARP-MARK-05, IWARP-FPDU-01 */
Test(cut, a_stream_with_markers_is_the_same_wherever_it_is_cut)
{
    has_markers = true;
    cut_behind_each_octet(0);
    cut_behind_each_octet(211);
}

/* Of what a damaged stream leaves in memory each octet is as it would have been, or has not come. */
static void expect_nothing_wrong(uint32_t at)
{
    look();
    for (uint32_t i = 0; i < SEEN_BYTES; i++)
        cr_assert(now.memory[i] == whole.memory[i] || now.memory[i] == 0, "%u: octet %u", at, i);
    cr_assert_leq(now.wc_count, whole.wc_count);
}

/* A length that is damaged may want more than comes: then the stream waits. Else a damaged octet ends it.
 * covers: IWARP-FPDU-09, IWARP-FPDU-10 */
/* covers: IWARP-CM-13 */
Test(cut, any_octet_that_is_damaged_ends_the_stream_and_places_nothing)
{
    for (int marked = 0; marked < 2; marked++) {
        unsigned waiting = 0;
        has_markers = marked;
        play_whole(9);
        for (uint32_t at = 0; at < stream_bytes; at++) {
            begin();
            stream[at] ^= (uint8_t)(1 + at % 255);
            hand_over(stream, stream_bytes);
            stream[at] ^= (uint8_t)(1 + at % 255);
            waiting += receiver.qp->state == IWARP_QP_RTS;
            expect_nothing_wrong(at);
        }
        cr_expect_lt(waiting, 2 * 16, "%u: two octets of each length", waiting);
    }
}

/* The octets where a FIN is an orderly end: between messages. covers: IWARP-MPA-20, IWARP-CONN-03 */
/* covers: IWARP-CM-15 */
Test(cut, an_end_behind_any_octet_is_told_once)
{
    has_markers = false;
    play_whole(9);
    for (int is_fin = 0; is_fin < 2; is_fin++) {
        unsigned orderly = 0;
        for (uint32_t at = 0; at < stream_bytes; at++) {
            begin();
            hand_over(stream, at);
            if (is_fin)
                iwarp_qp_fin(receiver.qp, 0);
            else
                iwarp_qp_lost(receiver.qp);
            hand_over(NULL, 0);
            expect_nothing_wrong(at);
            cr_assert_eq(now.wc_count, RECVS, "behind %u: each receive once", at);
            cr_assert_neq(now.state, IWARP_QP_RTS);
            orderly += now.state != IWARP_QP_ERROR;
        }
        /* before each of the ten FPDUs, but not between the two of the long Send */
        cr_expect_eq(orderly, is_fin ? 9 : 0, "%u", orderly);
    }
}
