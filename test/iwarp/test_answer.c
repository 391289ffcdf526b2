/* SPDX-License-Identifier: BSD-2-Clause */
/* What a queue pair answers to a peer's READs and atomics. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/iwarp/world.h"

static struct side s;
static struct peer p;

static void setup(void)
{
    side_make(&s, 1, NULL);
    peer_meet(&p, &s, false);
    iwarp_qp_set_emss(s.qp, 2068); /* 2048 octets of tagged payload a segment */
    for (uint32_t i = 0; i < 65536; i++)
        s.memory[i] = (uint8_t)(7 * i + i / 256);
}

static void teardown(void)
{
    side_free(&s);
}

TestSuite(answer, .init = setup, .fini = teardown);

static uint64_t addr(uint32_t offset)
{
    return (uintptr_t)(s.memory + offset);
}

static struct iwarp_read_req read_of(uint32_t offset, uint32_t size)
{
    return (struct iwarp_read_req){0x112201, 0x7f0000002000, size, s.mr->rkey, addr(offset)};
}

/* The next segment of a Read Response. */
static void expect_part(uint64_t to, uint32_t at, uint32_t len, bool is_last)
{
    struct iwarp_ulpdu u;
    struct iwarp_tagged ddp;
    cr_assert(peer_hear(&p, &s, &u));
    const uint8_t *payload = iwarp_tagged_get(&ddp, u.bytes + 2);
    cr_assert_eq(u.bytes[0] << 8 | u.bytes[1], is_last ? 0xc142 : 0x8142);
    cr_assert(ddp.stag == 0x112201 && ddp.to == to && u.len_bytes == 14 + len, "%lx, %u", ddp.to,
              u.len_bytes);
    cr_assert_arr_eq(payload, s.memory + at, len);
}

static uint64_t word_at(uint32_t offset)
{
    uint64_t word;
    memcpy(&word, s.memory + offset, 8);
    return word;
}

static struct iwarp_atomic_rsp expect_atomic(uint32_t msn)
{
    struct iwarp_ulpdu u;
    struct iwarp_untagged ddp;
    struct iwarp_atomic_rsp rsp;
    iwarp_atomic_rsp_get(&rsp, peer_expect(&p, &s, IWARP_OP_ATOMIC_RESPONSE, &u));
    iwarp_untagged_get(&ddp, u.bytes + 2);
    cr_expect(ddp.qn == 3 && ddp.msn == msn && ddp.mo == 0 && u.len_bytes == 30);
    return rsp;
}

/* covers: IWARP-RDMAP-10, IWARP-RDMAP-13, IWARP-DDP-06, IWARP-DDP-07, IWARP-VERB-11 */
Test(answer, a_read_is_answered_in_segments_to_its_sink)
{
    const struct iwarp_read_req req = read_of(5, 5000);
    peer_ask_read(&p, &s, 1, &req);
    expect_part(req.sink_to, 5, 2048, false);
    expect_part(req.sink_to + 2048, 2053, 2048, false);
    expect_part(req.sink_to + 4096, 4101, 904, true);
    peer_expect_silence(&p, &s);
    side_expect_nothing(&s);
}

/* covers: IWARP-ORD-06, IWARP-AMB-14 */
/* covers: IWARP-CM-32 */
Test(answer, a_read_or_atomic_finds_what_was_written_before_it)
{
    struct iwarp_ulpdu u;
    const struct iwarp_read_req read = read_of(4096, 8);
    side_post_recv(&s, 1, 4096, 8);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, s.mr->rkey, addr(4104), "\0\0\0\0\0\0\0\0", 8);
    peer_say_untagged(&p, &s, IWARP_OP_SEND, true, &(struct iwarp_untagged){.msn = 1}, "newdata!", 8);
    peer_ask_read(&p, &s, 1, &read);
    peer_ask_atomic(&p, &s, 2, &(struct iwarp_atomic_req){.stag = s.mr->rkey, .to = addr(4104), .data = 1});
    cr_expect_arr_eq(peer_expect(&p, &s, IWARP_OP_READ_RESPONSE, &u), "newdata!", 8);
    cr_expect_eq(expect_atomic(1).original, 0);
}

/* covers: IWARP-RDMAP-13, IWARP-ATOM-05, IWARP-ATOM-07 */
/* covers: IWARP-CM-30 */
Test(answer, reads_and_atomics_are_answered_in_the_order_of_their_requests)
{
    const uint64_t before = word_at(8);
    const struct iwarp_read_req read = read_of(8, 8);
    struct iwarp_atomic_req add = {.request_id = 0xa1, .stag = s.mr->rkey, .to = addr(8), .data = 1};
    struct iwarp_ulpdu u;
    peer_ask_read(&p, &s, 1, &read);
    peer_ask_atomic(&p, &s, 2, &add);
    peer_ask_read(&p, &s, 3, &read);
    add.request_id = 0xa2;
    peer_ask_atomic(&p, &s, 4, &add);
    uint64_t word;
    memcpy(&word, peer_expect(&p, &s, IWARP_OP_READ_RESPONSE, &u), 8);
    cr_expect_eq(word, before, "the READ came first");
    struct iwarp_atomic_rsp rsp = expect_atomic(1);
    cr_expect(rsp.request_id == 0xa1 && rsp.original == before);
    memcpy(&word, peer_expect(&p, &s, IWARP_OP_READ_RESPONSE, &u), 8);
    cr_expect_eq(word, before + 1);
    rsp = expect_atomic(2);
    cr_expect(rsp.request_id == 0xa2 && rsp.original == before + 1);
    cr_expect_eq(word_at(8), before + 2, "each once");
    peer_expect_silence(&p, &s);
}

/* covers: IWARP-FLOW-02, IWARP-AMB-11, IWARP-SEC-08 */
/* covers: IWARP-CM-34 */
Test(answer, one_request_more_than_this_side_serves)
{
    const struct iwarp_read_req req = read_of(0, 8);
    struct iwarp_term term;
    for (uint32_t i = 1; i <= 5; i++)
        peer_ask_read(&p, &s, i, &req);
    peer_expect_terminate(&p, &s, IWARP_TERM_DDP_NO_BUFFER, &term);
    cr_expect(term.m && term.d && !term.r);
}

/* covers: IWARP-FLOW-02 */
Test(answer, an_answer_makes_room_for_another_request)
{
    const struct iwarp_read_req req = read_of(0, 8);
    for (uint32_t i = 1; i <= 40; i++) {
        peer_ask_read(&p, &s, i, &req);
        if (i < 4)
            continue;
        for (int n = i == 4 ? 4 : 1; n; n--)
            expect_part(req.sink_to, 0, 8, true);
    }
    cr_expect_eq(s.qp->state, IWARP_QP_RTS);
}

/* covers: IWARP-RDMAP-33, IWARP-SEC-05 */
/* covers: IWARP-CM-26, IWARP-CM-39 */
Test(answer, a_read_that_fails_half_way_tells_what_is_left)
{
    struct rdma_mr *mr;
    struct iwarp_ulpdu u;
    struct iwarp_term term;
    struct iwarp_read_req req = read_of(0, 300000), left;
    uint32_t said = 0;
    cr_assert_eq(rdma_mr_reg(s.pd, s.memory, 300000, ALL_RIGHTS, &mr), 0);
    req.src_stag = mr->rkey;
    peer_ask_read(&p, &s, 1, &req);
    do { /* what one writing takes */
        cr_assert(peer_hear(&p, &s, &u));
        said += u.len_bytes - 14;
    } while (p.looked_bytes < p.heard_bytes);
    cr_assert_eq(rdma_mr_dereg(mr), 0);
    const uint8_t *body = peer_expect_terminate(&p, &s, IWARP_TERM_RDMAP_STAG, &term);
    cr_expect(term.m && term.d && term.r);
    iwarp_read_req_get(&left, body + 4 + 2 + 18);
    cr_expect(said >= 2048 && said % 2048 == 0);
    cr_expect(left.sink_to == req.sink_to + said && left.src_to == req.src_to + said);
    cr_expect_eq(left.size, 300000 - said);
    cr_expect(left.sink_stag == req.sink_stag && left.src_stag == req.src_stag);
}

/* covers: IWARP-RDMAP-33, IWARP-RDMAP-31 */
Test(answer, a_read_that_fails_at_once_is_told_as_it_came)
{
    struct iwarp_term term;
    struct iwarp_read_req req = read_of(SIDE_BYTES - 8, 16), told;
    peer_ask_read(&p, &s, 1, &req);
    const uint8_t *body = peer_expect_terminate(&p, &s, IWARP_TERM_RDMAP_BOUNDS, &term);
    iwarp_read_req_get(&told, body + 4 + 2 + 18);
    cr_expect(told.sink_to == req.sink_to && told.src_to == req.src_to && told.size == 16);
}

/* covers: IWARP-ATOM-01, IWARP-AMB-20, IWARP-VERB-13 */
/* covers: IWARP-CM-28 */
Test(answer_cases, an_atomic_is_aligned_by_its_memory_and_not_by_its_offset)
{
    for (uint32_t offset = 0; offset < 8; offset++) {
        struct iwarp_term term;
        struct rdma_mr *mr;
        setup();
        cr_assert_eq(rdma_mr_reg_iova(s.pd, s.memory + offset, 64, 0x1003, ALL_RIGHTS, &mr), 0);
        const uint64_t before = word_at(offset);
        peer_ask_atomic(&p, &s, 1, &(struct iwarp_atomic_req){.stag = mr->rkey, .to = 0x1003, .data = 1});
        if (offset == 0) {
            cr_expect_eq(expect_atomic(1).original, before, "the TO is odd, the address is not");
        } else {
            peer_expect_terminate(&p, &s, IWARP_TERM_RDMAP_CATASTROPHIC, &term);
            cr_expect(term.d && !term.r);
            cr_expect_eq(word_at(offset), before);
        }
        rdma_mr_dereg(mr);
        teardown();
    }
}

/* covers: IWARP-ATOM-08, IWARP-ATOM-03 */
Test(answer, the_three_atomics_and_no_fourth)
{
    struct iwarp_term term;
    struct iwarp_atomic_req req = {.stag = s.mr->rkey, .to = addr(16), .data = 7};
    const uint64_t first = word_at(16);
    req.aopcode = IWARP_SWAP;
    peer_ask_atomic(&p, &s, 1, &req);
    cr_expect_eq(expect_atomic(1).original, first);
    req = (struct iwarp_atomic_req){.aopcode = IWARP_CMP_SWAP,
                                    .stag = s.mr->rkey,
                                    .to = addr(16),
                                    .data = 9,
                                    .mask = UINT64_MAX,
                                    .compare = 7,
                                    .compare_mask = UINT64_MAX};
    peer_ask_atomic(&p, &s, 2, &req);
    cr_expect_eq(expect_atomic(2).original, 7);
    peer_ask_atomic(&p, &s, 3, &req);
    cr_expect_eq(expect_atomic(3).original, 9, "no longer 7");
    cr_expect_eq(word_at(16), 9);
    req.aopcode = 3;
    peer_ask_atomic(&p, &s, 4, &req);
    peer_expect_terminate(&p, &s, IWARP_TERM_RDMAP_OPCODE, &term);
    cr_expect_eq(word_at(16), 9);
}

/* covers: IWARP-SEC-05, IWARP-ATOM-11 */
/* covers: IWARP-CM-39 */
Test(answer, an_atomic_whose_region_goes_away_while_it_waits_is_not_executed)
{
    struct rdma_mr *mr;
    struct iwarp_ulpdu u;
    struct iwarp_term term;
    const uint64_t before = word_at(24);
    const struct iwarp_read_req read = read_of(0, 8);
    cr_assert_eq(rdma_mr_reg(s.pd, s.memory, 64, ALL_RIGHTS, &mr), 0);
    peer_ask_read(&p, &s, 1, &read);
    peer_ask_atomic(&p, &s, 2, &(struct iwarp_atomic_req){.stag = mr->rkey, .to = addr(24), .data = 1});
    cr_assert_eq(rdma_mr_dereg(mr), 0);
    peer_expect(&p, &s, IWARP_OP_READ_RESPONSE, &u);
    const uint8_t *body = peer_expect_terminate(&p, &s, IWARP_TERM_RDMAP_STAG, &term);
    cr_expect(term.d && !term.r && body[4] == 0 && body[5] == 70);
    cr_expect_eq(word_at(24), before);
}

/* Four answers are owed and four requests posted, each of ten segments: what comes is whole messages, by
 * turns. */
static void expect_turns(enum nornic_wr_opcode opcode)
{
    struct iwarp_ulpdu u;
    unsigned messages = 0, segments = 0;
    bool was_answer = false;
    for (uint32_t i = 0; i < 4; i++) {
        const struct iwarp_read_req req = read_of(0, 20000);
        peer_ask_read(&p, &s, i + 1, &req);
        side_post(&s, opcode, i, 0, 20000, 0x5000, 7);
    }
    while (peer_hear(&p, &s, &u)) {
        bool is_answer = (u.bytes[1] & 15) == IWARP_OP_READ_RESPONSE, is_last = u.bytes[0] & 0x40;
        bool is_first = segments++ == 0;
        if (messages || !is_first)
            cr_assert_eq(is_answer != was_answer, is_first, "message %u, segment %u", messages, segments);
        was_answer = is_answer;
        cr_assert_eq(is_last, segments == 10, "message %u, segment %u", messages, segments);
        messages += is_last;
        segments = is_last ? 0 : segments;
    }
    cr_expect_eq(messages, 8);
}

/* covers: IWARP-FLOW-05, IWARP-DDP-09 */
Test(answer_cases, answers_and_the_send_queue_take_turns_by_the_message)
{
    static const enum nornic_wr_opcode opcodes[] = {NORNIC_WR_SEND, NORNIC_WR_RDMA_WRITE};
    for (size_t i = 0; i < array_len(opcodes); i++) {
        setup();
        expect_turns(opcodes[i]);
        teardown();
    }
}

/* A READ of many pieces that waits for credits is no message half out: the peer's answers, for which it may
 * wait in its turn, go on.
 * covers: IWARP-FLOW-05, IWARP-RDMAP-15 */
Test(answer, a_read_that_waits_for_credits_holds_up_no_answer)
{
    struct iwarp_ulpdu u;
    struct nornic_sge sges[4];
    unsigned requests = 0;
    s.qp->session.ord = 2;
    for (uint32_t i = 0; i < array_len(sges); i++)
        sges[i] = side_sge(&s, 70000 + 8 * i, 8);
    side_post_wr(&s, &(struct nornic_send_wr){.opcode = NORNIC_WR_RDMA_READ,
                                              .sg_list = sges,
                                              .num_sge = array_len(sges),
                                              .remote_addr = 0x5000,
                                              .rkey = 7});
    const struct iwarp_read_req req = read_of(0, 5000);
    peer_ask_read(&p, &s, 1, &req);
    bool is_answered = false;
    while (peer_hear(&p, &s, &u)) {
        requests += (u.bytes[1] & 15) == IWARP_OP_READ_REQUEST;
        is_answered |= u.bytes[0] == 0xc1;
    }
    cr_expect(requests == 2 && is_answered, "%u", requests);
}

/* covers: IWARP-DDP-09, IWARP-CONN-02 */
Test(answer, nothing_follows_a_message_that_a_close_has_cut)
{
    struct iwarp_ulpdu u;
    uint32_t count;
    const struct iwarp_read_req req = read_of(0, 20000);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, 1, 0, "", 0);
    side_post(&s, NORNIC_WR_RDMA_WRITE, 1, 0, 300000, 0x5000, 7);
    iwarp_qp_output(s.qp, &count, 0);
    iwarp_qp_sent(s.qp, 0, 0);
    cr_assert(s.qp->source.is_amid_message);
    peer_ask_read(&p, &s, 1, &req);
    iwarp_qp_disconnect(s.qp, 0);
    while (peer_hear(&p, &s, &u))
        cr_assert_eq(u.bytes[1] & 15, IWARP_OP_WRITE);
    cr_expect_eq(s.qp->tcp, IWARP_TCP_SHUTDOWN, "the peer is not left to wait");
}

/* covers: IWARP-FLOW-05, IWARP-SEC-08 */
/* covers: IWARP-CM-36 */
Test(answer, what_comes_is_taken_while_tcp_takes_nothing)
{
    const struct iwarp_read_req req = read_of(0, 60000);
    uint32_t count;
    side_post_recv(&s, 1, 70000, 16);
    peer_ask_read(&p, &s, 1, &req);
    iwarp_qp_output(s.qp, &count, 0);
    iwarp_qp_sent(s.qp, 0, 0);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, s.mr->rkey, addr(80000), "still", 5);
    peer_say_untagged(&p, &s, IWARP_OP_SEND, true, &(struct iwarp_untagged){.msn = 1}, "there", 5);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
    cr_expect_arr_eq(s.memory + 80000, "still", 5);
}

/* The program goes on writing to memory that a peer reads: what is sent has the CRC of what is sent.
 * covers: IWARP-ORD-08 */
Test(answer, memory_that_changes_while_it_is_read_breaks_no_crc)
{
    struct iwarp_ulpdu u;
    uint32_t count, len = 0;
    static uint8_t octets[IWARP_BATCH_BYTES];
    const struct iwarp_read_req req = read_of(0, 1000);
    peer_ask_read(&p, &s, 1, &req);
    const struct iwarp_piece *pieces = iwarp_qp_output(s.qp, &count, 0);
    memset(s.memory, 0xee, 1000);
    for (uint32_t i = 0; i < count; len += pieces[i++].len_bytes)
        memcpy(octets + len, pieces[i].bytes, pieces[i].len_bytes);
    iwarp_qp_sent(s.qp, len, 0);
    size_t taken;
    cr_expect_eq(iwarp_fpdu_rx_take(&p.rx, octets, len, &taken, &u), IWARP_FPDU_WHOLE);
}
