/* SPDX-License-Identifier: BSD-2-Clause */
/* A queue pair against a peer that breaks rules: one case a row of the tables of checks, with the exact
 * Terminate, and memory as it was. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "iwarp/wire/crc.h"
#include "test/iwarp/world.h"

static struct side s;
static struct peer p;

static void setup(void)
{
    side_make(&s, 1, NULL);
    peer_meet(&p, &s, false);
}

static void teardown(void)
{
    side_free(&s);
}

TestSuite(sink, .init = setup, .fini = teardown);

static uint64_t addr(uint32_t offset)
{
    return (uintptr_t)(s.memory + offset);
}

static void expect_untouched(void)
{
    for (uint32_t i = 0; i < SIDE_BYTES; i++)
        cr_assert_eq(s.memory[i], 0, "octet %u was written", i);
}

/* A Send of `len` octets as one segment. */
static void say_send(uint32_t msn, const void *payload, uint32_t len)
{
    peer_say_untagged(&p, &s, IWARP_OP_SEND, true, &(struct iwarp_untagged){.msn = msn}, payload, len);
}

/* --- correct messages --- */

/* covers: IWARP-RDMAP-20, IWARP-DDP-04, IWARP-DDP-11, IWARP-ORD-05 */
/* covers: IWARP-CM-24 */
Test(sink, sends_take_receives_in_order_and_tell_their_length)
{
    for (uint64_t i = 0; i < 3; i++)
        side_post_recv(&s, i, 100 * (uint32_t)i, i == 2 ? 0 : 5);
    say_send(1, "hello", 5);
    say_send(2, "abc", 3);
    say_send(3, "", 0);
    cr_expect_eq(side_expect(&s, 0, NORNIC_WC_SUCCESS).byte_len, 5);
    cr_expect_eq(side_expect(&s, 1, NORNIC_WC_SUCCESS).byte_len, 3);
    struct nornic_wc wc = side_expect(&s, 2, NORNIC_WC_SUCCESS);
    cr_expect(wc.byte_len == 0 && wc.opcode == NORNIC_WC_RECV && wc.qp_num == 0x123456 && !wc.wc_flags);
    cr_expect_arr_eq(s.memory, "hello", 6);
    cr_expect_arr_eq(s.memory + 100, "abc", 4);
    peer_expect_silence(&p, &s);
}

/* covers: IWARP-DDP-10, IWARP-DDP-11, IWARP-DDP-13, IWARP-RDMAP-08 */
Test(sink, a_message_of_many_segments_may_have_writes_between_them)
{
    side_post_recv(&s, 7, 0, 8);
    peer_say_untagged(&p, &s, IWARP_OP_SEND, false, &(struct iwarp_untagged){.msn = 1}, "abcd", 4);
    side_expect_nothing(&s);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, s.mr->rkey, addr(1000), "written", 7);
    cr_expect_arr_eq(s.memory + 1000, "written", 7);
    side_expect_nothing(&s);
    peer_say_untagged(&p, &s, IWARP_OP_SEND, true, &(struct iwarp_untagged){.msn = 1, .mo = 4}, "efg", 3);
    cr_expect_eq(side_expect(&s, 7, NORNIC_WC_SUCCESS).byte_len, 7);
    cr_expect_arr_eq(s.memory, "abcdefg", 8);
    side_expect_nothing(&s);
}

/* covers: IWARP-RDMAP-01, IWARP-RDMAP-02, IWARP-DDP-02 */
Test(sink, reserved_bits_are_ignored)
{
    uint8_t head[IWARP_HEAD_BYTES];
    side_post_recv(&s, 1, 0, 8);
    uint8_t *end = iwarp_put_untagged(head, IWARP_OP_SEND, true,
                                      &(struct iwarp_untagged){.inv_stag = 0xffffffff, .msn = 1});
    head[0] |= 0x3c;
    head[1] |= 0x30;
    peer_say(&p, &s, head, end, "x", 1);
    cr_expect_eq(side_expect(&s, 1, NORNIC_WC_SUCCESS).wc_flags, 0);
}

/* covers: IWARP-DDP-08, IWARP-SEC-07, IWARP-RDMAP-08, IWARP-RDMAP-11 */
/* covers: IWARP-CM-20 */
Test(sink, nothing_is_checked_where_nothing_is_placed_or_read)
{
    struct iwarp_ulpdu ulpdu;
    struct iwarp_tagged ddp;
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, 0xdeadbeef, UINT64_MAX, "", 0);
    peer_ask_read(&p, &s, 1, &(struct iwarp_read_req){.sink_stag = 5, .sink_to = 6, .src_stag = 0xdeadbeef});
    peer_expect(&p, &s, IWARP_OP_READ_RESPONSE, &ulpdu);
    iwarp_tagged_get(&ddp, ulpdu.bytes + 2);
    cr_expect(ulpdu.len_bytes == 14 && ddp.stag == 5 && ddp.to == 6);
    cr_expect_eq(s.qp->state, IWARP_QP_RTS);
}

/* Takes a Write that was altered on its way and sealed anew, since each writer to the TCP stream is the peer.
 * Refuses the Write that was altered alone: a CRC detects errors only.
 * covers: IWARP-SEC-09 */
Test(sink_cases, a_crc_tells_errors_and_not_forgery)
{
    for (int is_sealed = 0; is_sealed < 2; is_sealed++) {
        uint8_t octets[2 + 14 + 4 + 4] = {0, 18};
        setup();
        uint8_t *payload = iwarp_put_tagged(octets + 2, IWARP_OP_WRITE, true, s.mr->rkey, addr(0));
        memcpy(payload, "true", 4);
        iwarp_crc_put(octets + 20, iwarp_crc(0, octets, 20));
        memcpy(payload, "fals", 4);
        if (is_sealed)
            iwarp_crc_put(octets + 20, iwarp_crc(0, octets, 20));
        iwarp_qp_input(s.qp, octets, sizeof octets);
        cr_expect_eq(s.qp->state == IWARP_QP_RTS, is_sealed);
        cr_expect_arr_eq(s.memory, is_sealed ? "fals" : "\0\0\0\0", 4);
        teardown();
    }
}

/* covers: IWARP-RDMAP-22, IWARP-SEC-06 */
/* covers: IWARP-CM-25 */
Test(sink, a_send_with_invalidate_takes_the_key_away_and_says_which)
{
    struct rdma_mr *fast;
    const struct rdma_fast_reg reg = {.addr = s.memory + 4096, .len_bytes = 64, .access = ALL_RIGHTS};
    cr_assert_eq(rdma_mr_alloc_fast(s.pd, 4096, &fast), 0);
    struct rdma_fast_reg named = reg;
    named.key = fast->rkey;
    cr_assert_eq(rdma_mr_fast_reg(s.domain, s.pd, &named), 0);
    side_post_recv(&s, 1, 0, 8);
    peer_say_untagged(&p, &s, IWARP_OP_SEND_INV, true,
                      &(struct iwarp_untagged){.inv_stag = fast->rkey, .msn = 1}, "x", 1);
    struct nornic_wc wc = side_expect(&s, 1, NORNIC_WC_SUCCESS);
    cr_expect(wc.wc_flags == NORNIC_WC_WITH_INV && wc.invalidated_rkey == fast->rkey);
    cr_expect_not(fast->is_valid);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, fast->rkey, 0, "x", 1);
    struct iwarp_term term;
    peer_expect_terminate(&p, &s, IWARP_TERM_DDP_STAG, &term);
    cr_assert_eq(rdma_mr_dereg(fast), 0);
}

/* A plain region, a fast one without remote rights, a region of another PD.
 * covers: IWARP-RDMAP-22, IWARP-SEC-06, IWARP-AMB-06 */
/* covers: IWARP-CM-25 */
Test(sink_cases, keys_that_a_peer_may_not_invalidate)
{
    for (int kind = 0; kind < 3; kind++) {
        struct iwarp_term term;
        struct rdma_mr *fast, *other;
        setup();
        cr_assert_eq(rdma_mr_alloc_fast(s.pd, 4096, &fast), 0);
        cr_assert_eq(rdma_mr_reg(s.other_pd, s.memory, 64, ALL_RIGHTS, &other), 0);
        struct rdma_fast_reg local = {
            .key = fast->rkey, .addr = s.memory, .len_bytes = 64, .access = NORNIC_ACCESS_LOCAL_WRITE};
        cr_assert_eq(rdma_mr_fast_reg(s.domain, s.pd, &local), 0);
        const uint32_t keys[] = {s.mr->rkey, fast->rkey, other->rkey};
        side_post_recv(&s, 1, 100, 8);
        peer_say_untagged(&p, &s, IWARP_OP_SEND_INV, true,
                          &(struct iwarp_untagged){.inv_stag = keys[kind], .msn = 1}, "x", 1);
        peer_expect_terminate(
            &p, &s, kind == 2 ? IWARP_TERM_RDMAP_INVALIDATE : IWARP_TERM_RDMAP_NO_INVALIDATE, &term);
        side_expect(&s, 1, NORNIC_WC_LOC_QP_OP_ERR);
        cr_expect(s.mr->is_valid && fast->is_valid && other->is_valid);
        cr_assert_eq(rdma_mr_dereg(fast), 0);
        cr_assert_eq(rdma_mr_dereg(other), 0);
        teardown();
    }
}

/* --- the table of opcodes --- */

/* covers: IWARP-RDMAP-01, IWARP-RDMAP-04, IWARP-DDP-20, IWARP-AMB-16 */
/* covers: IWARP-CM-21 */
Test(sink_cases, every_opcode_with_either_t_and_any_queue)
{
    for (unsigned off = 0; off < 2; off++) {
        for (unsigned opcode = 0; opcode < 16; opcode++) {
            for (uint32_t qn = 0; qn < 5; qn++) {
                for (unsigned t = 0; t < 2; t++) {
                    const struct side_options options = {.no_extensions = off};
                    uint8_t octets[20 + 52] = {(uint8_t)(t << 7 | 0x41), (uint8_t)(0x40 | opcode)};
                    octets[9] = (uint8_t)qn;
                    octets[13] = 1;
                    side_make(&s, 1, &options);
                    peer_meet(&p, &s, false);
                    peer_say(&p, &s, octets, octets + 18, "", 0);
                    bool is_known = opcode < (off ? 8 : 12);
                    bool is_tagged = opcode == 0 || opcode == 2;
                    static const uint8_t queues[] = {0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 1, 3};
                    if (opcode == IWARP_OP_TERMINATE)
                        cr_expect(s.qp->end.has_received && !s.qp->end.has_sent, "T=%u, queue %u", t, qn);
                    else if (!is_known || is_tagged != t)
                        cr_expect_eq(s.qp->end.code, IWARP_TERM_RDMAP_OPCODE, "%x, T=%u", opcode, t);
                    else if (!t && queues[opcode] != qn)
                        cr_expect_eq(s.qp->end.code, IWARP_TERM_DDP_QN, "%x on queue %u", opcode, qn);
                    else
                        cr_expect(s.qp->end.code != IWARP_TERM_DDP_QN, "%x on queue %u", opcode, qn);
                    side_free(&s);
                }
            }
        }
    }
}

/* covers: IWARP-DDP-02, IWARP-RDMAP-01, IWARP-RDMAP-31, IWARP-GEN-05, IWARP-AMB-12 */
/* covers: IWARP-CM-26 */
Test(sink_cases, versions)
{
    for (unsigned version = 0; version < 4; version++) {
        for (unsigned t = 0; t < 2; t++) {
            for (unsigned rdmap = 0; rdmap < 2; rdmap++) {
                struct iwarp_term term;
                uint8_t octets[18] = {(uint8_t)(t << 7 | 0x40 | (rdmap ? 1 : version)),
                                      (uint8_t)((rdmap ? version : 1) << 6 | 15)};
                setup();
                peer_say(&p, &s, octets, octets + 18, "", 0);
                bool is_valid = version == 1 || (rdmap && version == 0); /* RFC 5040 4.1 */
                uint16_t code = rdmap ? IWARP_TERM_RDMAP_VERSION
                                : t   ? IWARP_TERM_DDP_TAGGED_VERSION
                                      : IWARP_TERM_DDP_VERSION;
                peer_expect_terminate(&p, &s, is_valid ? IWARP_TERM_RDMAP_OPCODE : code, &term);
                bool has_layout = version == 1 || rdmap;
                cr_expect(term.m == has_layout && term.d == has_layout && !term.r);
                teardown();
            }
        }
    }
}

/* --- each failing check --- */

struct untagged_case {
    const char *what;
    enum iwarp_op op;
    bool is_last;
    struct iwarp_untagged ddp;
    uint32_t len;
    uint16_t code;
    enum nornic_wc_status recv_status; /* SUCCESS: the receive is flushed */
};

static const struct untagged_case untagged_cases[] = {
    {"a skipped MSN", IWARP_OP_SEND, true, {.msn = 2}, 1, IWARP_TERM_DDP_MSN, 0},
    {"a repeated MSN", IWARP_OP_SEND, true, {.msn = 0}, 1, IWARP_TERM_DDP_MSN, 0},
    {"a skipped MSN of a request",
     IWARP_OP_READ_REQUEST,
     true,
     {.qn = 1, .msn = 2},
     28,
     IWARP_TERM_DDP_MSN,
     0},
    {"an MO that leaves a hole", IWARP_OP_SEND, true, {.msn = 1, .mo = 4}, 1, IWARP_TERM_DDP_MO, 0},
    {"an MO beyond 2^32", IWARP_OP_SEND, true, {.msn = 1, .mo = UINT32_MAX}, 8, IWARP_TERM_DDP_MO, 0},
    {"a request that goes on", IWARP_OP_READ_REQUEST, false, {.qn = 1, .msn = 1}, 28, IWARP_TERM_DDP_MO, 0},
    {"a request's MO", IWARP_OP_READ_REQUEST, true, {.qn = 1, .msn = 1, .mo = 1}, 28, IWARP_TERM_DDP_MO, 0},
    {"Immediate Data that goes on", IWARP_OP_IMM, false, {.msn = 1}, 8, IWARP_TERM_DDP_MO, 0},
    {"7 octets of Immediate Data", IWARP_OP_IMM, true, {.msn = 1}, 7, IWARP_TERM_RDMAP_CATASTROPHIC, 0},
    {"9 octets of Immediate Data", IWARP_OP_IMM_SE, true, {.msn = 1}, 9, IWARP_TERM_RDMAP_CATASTROPHIC, 0},
    {"a short Read Request",
     IWARP_OP_READ_REQUEST,
     true,
     {.qn = 1, .msn = 1},
     27,
     IWARP_TERM_RDMAP_CATASTROPHIC,
     0},
    {"a long Atomic Request",
     IWARP_OP_ATOMIC_REQUEST,
     true,
     {.qn = 1, .msn = 1},
     53,
     IWARP_TERM_RDMAP_CATASTROPHIC,
     0},
    {"a Send too long", IWARP_OP_SEND, true, {.msn = 1}, 17, IWARP_TERM_DDP_TOO_LONG, NORNIC_WC_LOC_LEN_ERR},
    {"no Read is outstanding",
     IWARP_OP_ATOMIC_RESPONSE,
     true,
     {.qn = 3, .msn = 1},
     12,
     IWARP_TERM_RDMAP_OPCODE,
     0},
    {"an unknown STag to invalidate",
     IWARP_OP_SEND_INV,
     true,
     {.inv_stag = 0x777, .msn = 1},
     1,
     IWARP_TERM_RDMAP_NO_INVALIDATE,
     NORNIC_WC_LOC_QP_OP_ERR},
};

/* covers: IWARP-DDP-04, IWARP-DDP-13, IWARP-DDP-21, IWARP-DDP-22, IWARP-DDP-28, IWARP-RDMAP-03 */
/* covers: IWARP-RDMAP-20, IWARP-RDMAP-22, IWARP-RDMAP-42, IWARP-CONN-04, IWARP-AMB-07, IWARP-AMB-09 */
/* covers: IWARP-CM-18, IWARP-CM-19, IWARP-CM-24, IWARP-CM-27 */
Test(sink_cases, untagged_segments_that_are_refused)
{
    static const uint8_t ones[64] = {1, 1, 1, 1, 1, 1, 1, 1, 1};
    for (const struct untagged_case *c = untagged_cases; c < untagged_cases + array_len(untagged_cases);
         c++) {
        struct iwarp_term term;
        setup();
        side_post_recv(&s, 5, 64, 16);
        peer_say_untagged(&p, &s, c->op, c->is_last, &c->ddp, ones, c->len);
        cr_expect_eq(s.qp->state, IWARP_QP_TERMINATE, "%s", c->what);
        peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, s.mr->rkey, addr(0), "late", 4);
        const uint8_t *body = peer_expect_terminate(&p, &s, c->code, &term);
        cr_expect(term.m && term.d && !term.r, "%s", c->what);
        cr_expect_eq(body[4] << 8 | body[5], 18 + c->len, "%s", c->what);
        cr_expect_eq(body[7] & 15, c->op);
        cr_expect_eq(body[8 + 10] << 8 | body[8 + 11], c->ddp.msn & 0xffff);
        side_expect(&s, 5, c->recv_status ? c->recv_status : NORNIC_WC_WR_FLUSH_ERR);
        if (c->code != IWARP_TERM_RDMAP_NO_INVALIDATE)
            expect_untouched();
        teardown();
    }
}

/* covers: IWARP-FLOW-04, IWARP-DDP-21, IWARP-AMB-11, IWARP-VERB-14 */
/* covers: IWARP-CM-35 */
Test(sink, without_a_receive_there_is_no_buffer)
{
    struct iwarp_term term;
    say_send(1, "hello", 5);
    peer_expect_terminate(&p, &s, IWARP_TERM_DDP_NO_BUFFER, &term);
    cr_expect(side_has_event(&s, NORNIC_EVENT_QP_FATAL));
}

/* The program polls nothing: no message is lost without a word, neither a Send nor Immediate Data; and a key
 * is not taken away for a Send that is not delivered.
 * covers: IWARP-RDMAP-34, IWARP-VERB-14 */
Test(sink_cases, a_message_that_finds_the_completion_queue_full_ends_the_stream)
{
    static const enum iwarp_op ops[] = {IWARP_OP_SEND, IWARP_OP_IMM, IWARP_OP_SEND_INV};
    for (size_t op = 0; op < array_len(ops); op++) {
        const struct side_options options = {.cq_entries = 4};
        struct iwarp_term term;
        side_make(&s, 1, &options);
        peer_meet(&p, &s, false);
        uint32_t room = rdma_cq_capacity(s.cq);
        for (uint32_t i = 0; i <= room; i++)
            side_post_recv(&s, i, 16 * i, 16);
        for (uint32_t i = 0; i < room; i++)
            say_send(i + 1, "hello", 5);
        peer_expect_silence(&p, &s);
        struct rdma_mr *fast;
        struct rdma_fast_reg reg = {.addr = s.memory + 4096, .len_bytes = 64, .access = ALL_RIGHTS};
        cr_assert_eq(rdma_mr_alloc_fast(s.pd, 4096, &fast), 0);
        reg.key = fast->rkey;
        cr_assert_eq(rdma_mr_fast_reg(s.domain, s.pd, &reg), 0);
        const struct iwarp_untagged ddp = {.msn = room + 1,
                                           .inv_stag = ops[op] == IWARP_OP_SEND_INV ? fast->rkey : 0};
        peer_say_untagged(&p, &s, ops[op], true, &ddp, "12345678", 8);
        peer_expect_terminate(&p, &s, IWARP_TERM_RDMAP_LOCAL, &term);
        cr_expect(!term.m && !term.d && !term.r);
        for (uint32_t i = 0; i < room; i++)
            side_expect(&s, i, NORNIC_WC_SUCCESS);
        cr_expect(side_has_event(&s, NORNIC_EVENT_CQ_ERR));
        cr_expect(fast->is_valid);
        cr_assert_eq(rdma_mr_dereg(fast), 0);
        side_free(&s);
    }
}

/* covers: IWARP-SEC-01, IWARP-SEC-04, IWARP-DDP-22 */
Test(sink, a_receive_whose_memory_is_not_writable_fails)
{
    struct rdma_mr *read_only;
    struct iwarp_term term;
    cr_assert_eq(rdma_mr_reg(s.pd, s.memory, 64, NORNIC_ACCESS_REMOTE_READ, &read_only), 0);
    const struct nornic_sge sge = {addr(0), 16, read_only->lkey};
    const struct nornic_recv_wr wr = {.wr_id = 1, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(rdma_qp_post_recv(&s.qp->base, &wr, NULL), 0);
    side_post_recv(&s, 2, 0, 8);
    say_send(1, "hello", 5);
    side_expect(&s, 1, NORNIC_WC_LOC_PROT_ERR);
    side_expect(&s, 2, NORNIC_WC_WR_FLUSH_ERR);
    peer_expect_terminate(&p, &s, IWARP_TERM_DDP_LOCAL, &term);
    cr_expect_eq(s.event_count, 0, "the completion has said it");
    expect_untouched();
    rdma_mr_dereg(read_only);
}

struct reach_case {
    const char *what;
    int region;  /* 0 the usual, 1 read only, 2 write only, 3 of another PD, 4 none */
    uint64_t at; /* from the beginning of the region */
    uint32_t len;
    uint16_t of_write, of_read, of_atomic; /* 0: fine */
};

static const struct reach_case reach_cases[] = {
    {"the first octets", 0, 0, 8, 0, 0, 0},
    {"the last octets", 0, SIDE_BYTES - 8, 8, 0, 0, 0},
    {"one octet too far", 0, SIDE_BYTES - 7, 8, 0x1101, 0x0101, 0x0101},
    {"before the region", 0, UINT64_MAX - 7, 8, 0x1101, 0x0101, 0x0101},
    {"no right to write", 1, 0, 8, 0x1100, 0, 0x0102},
    {"no right to read", 2, 0, 8, 0, 0x0102, 0x0102},
    {"another PD", 3, 0, 8, 0x1102, 0x0103, 0x0103},
    {"no such STag", 4, 0, 8, 0x1100, 0x0100, 0x0100},
};

/* Says it with a peer of its own, and expects the error, or none. */
static void check_reach(const struct reach_case *c, int op, uint16_t code)
{
    static const uint32_t rights[] = {ALL_RIGHTS, NORNIC_ACCESS_REMOTE_READ,
                                      NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE, ALL_RIGHTS,
                                      ALL_RIGHTS};
    struct rdma_mr *mr;
    setup();
    struct rdma_pd *pd = c->region == 3 ? s.other_pd : s.pd;
    cr_assert_eq(rdma_mr_reg(pd, s.memory, SIDE_BYTES, rights[c->region], &mr), 0);
    uint32_t stag = mr->rkey ^ (c->region == 4); /* the right index, a wrong key */
    uint64_t to = addr(0) + c->at;
    if (op == 0)
        peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, stag, to, "12345678", c->len);
    if (op == 1)
        peer_ask_read(&p, &s, 1, &(struct iwarp_read_req){1, 2, c->len, stag, to});
    if (op == 2)
        peer_ask_atomic(&p, &s, 1, &(struct iwarp_atomic_req){.stag = stag, .to = to, .data = 1});
    if (code) {
        struct iwarp_term term;
        const uint8_t *body = peer_expect_terminate(&p, &s, code, &term);
        cr_expect(term.m && term.d && term.r == (op == 1), "%s", c->what);
        static const uint8_t lengths[] = {14 + 8, 46, 70};
        cr_expect_eq(body[5], lengths[op], "%s", c->what);
        cr_expect(side_has_event(&s, NORNIC_EVENT_QP_ACCESS_ERR));
        expect_untouched();
    } else {
        cr_expect_eq(s.qp->state, IWARP_QP_RTS, "%s", c->what);
    }
    cr_assert_eq(rdma_mr_dereg(mr), 0);
    teardown();
}

/* covers: IWARP-DDP-23, IWARP-DDP-24, IWARP-DDP-25, IWARP-DDP-27, IWARP-SEC-02, IWARP-SEC-03, IWARP-SEC-04 */
/* covers: IWARP-AMB-04, IWARP-CONN-05, IWARP-RDMAP-31, IWARP-RDMAP-32, IWARP-SEC-01, IWARP-SEC-10 */
/* covers: IWARP-CM-19 */
Test(sink_cases, writes_that_do_not_reach)
{
    for (const struct reach_case *c = reach_cases; c < reach_cases + array_len(reach_cases); c++)
        check_reach(c, 0, c->of_write);
}

/* covers: IWARP-RDMAP-12, IWARP-RDMAP-31, IWARP-SEC-03, IWARP-SEC-04, IWARP-AMB-13 */
/* covers: IWARP-CM-38 */
Test(sink_cases, reads_that_do_not_reach)
{
    for (const struct reach_case *c = reach_cases; c < reach_cases + array_len(reach_cases); c++)
        check_reach(c, 1, c->of_read);
}

/* covers: IWARP-ATOM-02, IWARP-ATOM-11 */
/* covers: IWARP-CM-28 */
Test(sink_cases, atomics_that_do_not_reach)
{
    for (const struct reach_case *c = reach_cases; c < reach_cases + array_len(reach_cases); c++)
        check_reach(c, 2, c->of_atomic);
}

/* covers: IWARP-DDP-26, IWARP-RDMAP-12, IWARP-SEC-01 */
/* covers: IWARP-CM-38 */
Test(sink_cases, a_range_that_wraps)
{
    for (int op = 0; op < 3; op++) {
        struct iwarp_term term;
        setup();
        if (op == 0)
            peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, s.mr->rkey, UINT64_MAX - 3, "12345678", 8);
        if (op == 1)
            peer_ask_read(&p, &s, 1, &(struct iwarp_read_req){1, 2, UINT32_MAX, s.mr->rkey, UINT64_MAX - 3});
        if (op == 2)
            peer_ask_atomic(&p, &s, 1, &(struct iwarp_atomic_req){.stag = s.mr->rkey, .to = UINT64_MAX - 3});
        peer_expect_terminate(&p, &s, op ? IWARP_TERM_RDMAP_WRAP : IWARP_TERM_DDP_WRAP, &term);
        expect_untouched();
        teardown();
    }
}

/* covers: IWARP-RDMAP-29, IWARP-RDMAP-30, IWARP-RDMAP-35 */
/* covers: IWARP-CM-26 */
Test(sink, a_terminate_is_not_answered)
{
    const uint8_t term[4] = {0x12, 0x02, 0, 0};
    side_post_recv(&s, 1, 0, 8);
    peer_say_untagged(&p, &s, IWARP_OP_TERMINATE, true, &(struct iwarp_untagged){.qn = 2, .msn = 1}, term, 4);
    cr_expect_eq(s.qp->state, IWARP_QP_ERROR);
    cr_expect_eq(s.qp->tcp, IWARP_TCP_CLOSE);
    cr_expect(s.qp->end.has_received && s.qp->end.code == IWARP_TERM_DDP_NO_BUFFER && !s.qp->end.is_turned);
    side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
    cr_expect(side_has_event(&s, NORNIC_EVENT_QP_FATAL));
    peer_expect_silence(&p, &s);
}

/* covers: IWARP-RDMAP-30, IWARP-RDMAP-35 */
Test(sink_cases, a_terminate_that_is_wrong_is_not_answered_either)
{
    static const struct {
        const char *what;
        struct iwarp_untagged ddp;
        bool is_tagged, goes_on;
        uint32_t len;
    } rows[] = {
        {"a tagged one", {0}, true, false, 4},
        {"another queue", {.msn = 1}, false, false, 4},
        {"a second one's MSN", {.qn = 2, .msn = 2}, false, false, 4},
        {"an MO", {.qn = 2, .msn = 1, .mo = 4}, false, false, 4},
        {"one that goes on", {.qn = 2, .msn = 1}, false, true, 4},
        {"no control", {.qn = 2, .msn = 1}, false, false, 0},
        {"half a control", {.qn = 2, .msn = 1}, false, false, 3},
    };
    for (size_t i = 0; i < array_len(rows); i++) {
        setup();
        side_post_recv(&s, 1, 0, 8);
        if (rows[i].is_tagged) {
            const uint8_t octets[18] = {0xc1, 0x40 | IWARP_OP_TERMINATE};
            peer_say(&p, &s, octets, octets + sizeof octets, "", 0);
        } else {
            peer_say_untagged(&p, &s, IWARP_OP_TERMINATE, !rows[i].goes_on, &rows[i].ddp, "\x12\2\0\0",
                              rows[i].len);
        }
        cr_expect(s.qp->state == IWARP_QP_ERROR && s.qp->tcp == IWARP_TCP_CLOSE, "%s", rows[i].what);
        cr_expect(s.qp->end.has_received && s.qp->end.is_mute && !s.qp->end.has_sent, "%s", rows[i].what);
        side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
        cr_expect(side_has_event(&s, NORNIC_EVENT_QP_FATAL), "%s", rows[i].what);
        peer_expect_silence(&p, &s);
        teardown();
    }
}

/* One family of adapters says 2/3 where the registry has 2/0. covers: IWARP-AMB-01 */
Test(sink, a_terminate_of_mpa_is_taken_with_any_type)
{
    const uint8_t term[4] = {0x23, 0x02, 0, 0};
    peer_say_untagged(&p, &s, IWARP_OP_TERMINATE, true, &(struct iwarp_untagged){.qn = 2, .msn = 1}, term, 4);
    cr_expect_eq(s.qp->state, IWARP_QP_ERROR);
    cr_expect(s.qp->end.has_received && s.qp->end.code == 0x2302 && !s.qp->end.is_turned);
}

/* covers: IWARP-VERB-22 */
Test(sink_cases, a_send_takes_its_receive_from_a_shared_queue)
{
    const struct side_options options = {.has_srq = true};
    const struct nornic_recv_wr wr = {.wr_id = 9};
    side_make(&s, 1, &options);
    peer_meet(&p, &s, false);
    const struct nornic_sge sge = side_sge(&s, 0, 8);
    for (uint64_t i = 1; i <= 3; i++) {
        const struct nornic_recv_wr shared = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
        cr_assert_eq(rdma_srq_post(s.srq, &shared, NULL), 0);
    }
    cr_expect_neq(rdma_qp_post_recv(&s.qp->base, &wr, NULL), 0);
    say_send(1, "hello", 5);
    cr_expect_eq(side_expect(&s, 1, NORNIC_WC_SUCCESS).byte_len, 5);
    peer_say_untagged(&p, &s, IWARP_OP_SEND, false, &(struct iwarp_untagged){.msn = 2}, "", 0);
    iwarp_qp_lost(s.qp);
    side_expect(&s, 2, NORNIC_WC_WR_FLUSH_ERR);
    side_expect_nothing(&s);
    cr_expect(side_has_event(&s, NORNIC_EVENT_QP_LAST_WQE_REACHED));
    side_free(&s);
}
