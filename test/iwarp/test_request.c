/* SPDX-License-Identifier: BSD-2-Clause */
/* What a queue pair sends for the work that is posted, and what it makes of the answers. */
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
    peer_meet(&p, &s, true);
    iwarp_qp_set_emss(s.qp, 1460);
    for (uint32_t i = 0; i < 65536; i++)
        s.memory[i] = (uint8_t)(7 * i + i / 256);
}

static void teardown(void)
{
    side_free(&s);
}

TestSuite(request, .init = setup, .fini = teardown);

static void expect_tagged(const struct iwarp_ulpdu *u, unsigned octets, uint32_t stag, uint64_t to,
                          uint32_t at, uint32_t len)
{
    struct iwarp_tagged ddp;
    const uint8_t *payload = iwarp_tagged_get(&ddp, u->bytes + 2);
    cr_assert_eq(u->bytes[0] << 8 | u->bytes[1], octets, "%02x%02x", u->bytes[0], u->bytes[1]);
    cr_assert(ddp.stag == stag && ddp.to == to, "%x %lx", ddp.stag, ddp.to);
    cr_assert_eq(u->len_bytes, 14 + len);
    cr_assert_arr_eq(payload, s.memory + at, len);
}

static void expect_untagged(const struct iwarp_ulpdu *u, unsigned octets, const struct iwarp_untagged *wanted,
                            uint32_t at, uint32_t len)
{
    struct iwarp_untagged ddp;
    const uint8_t *payload = iwarp_untagged_get(&ddp, u->bytes + 2);
    cr_assert_eq(u->bytes[0] << 8 | u->bytes[1], octets, "%02x%02x", u->bytes[0], u->bytes[1]);
    cr_assert(ddp.inv_stag == wanted->inv_stag && ddp.qn == wanted->qn);
    cr_assert(ddp.msn == wanted->msn && ddp.mo == wanted->mo, "%u %u", ddp.msn, ddp.mo);
    cr_assert_eq(u->len_bytes, 18 + len);
    if (len)
        cr_assert_arr_eq(payload, s.memory + at, len);
}

/* covers: IWARP-GEN-01, IWARP-DDP-01, IWARP-DDP-03, IWARP-DDP-05, IWARP-DDP-07, IWARP-DDP-09 */
/* covers: IWARP-CM-16 */
Test(request, a_send_of_2048_octets_over_an_emss_of_1460)
{
    struct iwarp_ulpdu u;
    side_post(&s, NORNIC_WR_SEND, 1, 0, 2048, 0, 0);
    cr_assert(peer_hear(&p, &s, &u));
    cr_expect_eq(u.len_bytes, 1454);
    expect_untagged(&u, 0x0143, &(struct iwarp_untagged){.msn = 1}, 0, 1436);
    cr_assert(peer_hear(&p, &s, &u));
    cr_expect_eq(u.len_bytes, 630);
    expect_untagged(&u, 0x4143, &(struct iwarp_untagged){.msn = 1, .mo = 1436}, 1436, 612);
    peer_expect_silence(&p, &s);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-DDP-01, IWARP-DDP-06, IWARP-DDP-07, IWARP-RDMAP-08 */
/* covers: IWARP-CM-16 */
Test(request, a_write_of_2048_octets_over_an_emss_of_1460)
{
    struct iwarp_ulpdu u;
    side_post(&s, NORNIC_WR_RDMA_WRITE, 1, 3, 2048, 16385, 0xabcd01);
    cr_assert(peer_hear(&p, &s, &u));
    cr_expect_eq(u.len_bytes, 1454);
    expect_tagged(&u, 0x8140, 0xabcd01, 16385, 3, 1440);
    cr_assert(peer_hear(&p, &s, &u));
    cr_expect_eq(u.len_bytes, 622);
    expect_tagged(&u, 0xc140, 0xabcd01, 16385 + 1440, 1443, 608);
    peer_expect_silence(&p, &s);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-FPDU-05 */
Test(request, a_new_emss_counts_from_the_next_segment_on)
{
    struct iwarp_ulpdu u;
    side_post(&s, NORNIC_WR_SEND, 1, 0, 3000, 0, 0);
    iwarp_qp_set_emss(s.qp, 900);
    cr_assert(peer_hear(&p, &s, &u));
    cr_expect_eq(u.len_bytes, 894);
}

/* covers: IWARP-RDMAP-02, IWARP-RDMAP-04, IWARP-VERB-05, IWARP-DDP-04, IWARP-DDP-08 */
Test(request, the_four_kinds_of_send)
{
    static const struct {
        enum nornic_wr_opcode opcode;
        uint32_t flags, key;
        unsigned octets;
    } rows[] = {
        {NORNIC_WR_SEND, 0, 0, 0x4143},
        {NORNIC_WR_SEND_WITH_INV, 0, 0x12301, 0x4144},
        {NORNIC_WR_SEND, NORNIC_SEND_SOLICITED, 0, 0x4145},
        {NORNIC_WR_SEND_WITH_INV, NORNIC_SEND_SOLICITED, 0x12402, 0x4146},
    };
    for (uint32_t i = 0; i < array_len(rows); i++) {
        struct iwarp_ulpdu u;
        const struct nornic_sge sge = side_sge(&s, 0, i);
        side_post_wr(&s, &(struct nornic_send_wr){.wr_id = i,
                                                  .opcode = rows[i].opcode,
                                                  .send_flags = rows[i].flags,
                                                  .sg_list = &sge,
                                                  .num_sge = i != 0,
                                                  .invalidate_rkey = rows[i].key});
        cr_assert(peer_hear(&p, &s, &u));
        expect_untagged(&u, rows[i].octets, &(struct iwarp_untagged){.inv_stag = rows[i].key, .msn = i + 1},
                        0, i);
        side_expect(&s, i, NORNIC_WC_SUCCESS);
    }
}

/* covers: IWARP-DDP-04 */
/* covers: IWARP-CM-17 */
Test(request, the_msn_goes_on_behind_ffffffff)
{
    static const uint32_t msns[] = {0xfffffffe, 0xffffffff, 0, 1};
    s.qp->source.msn[0] = s.qp->sink.msn[0] = 0xfffffffe;
    for (uint32_t i = 0; i < array_len(msns); i++) {
        struct iwarp_ulpdu u;
        side_post(&s, NORNIC_WR_SEND, i, 0, 4, 0, 0);
        cr_assert(peer_hear(&p, &s, &u));
        expect_untagged(&u, 0x4143, &(struct iwarp_untagged){.msn = msns[i]}, 0, 4);
        side_expect(&s, i, NORNIC_WC_SUCCESS);
        side_post_recv(&s, 9, 100, 4);
        peer_say_untagged(&p, &s, IWARP_OP_SEND, true, &(struct iwarp_untagged){.msn = msns[i]}, "abc", 3);
        side_expect(&s, 9, NORNIC_WC_SUCCESS);
    }
}

/* covers: IWARP-VERB-07, IWARP-RDMAP-40, IWARP-RDMAP-43 */
Test(request, a_write_with_immediate_is_two_messages_and_one_completion)
{
    struct iwarp_ulpdu u;
    const struct nornic_sge sge = side_sge(&s, 0, 5);
    struct nornic_send_wr wr = {.wr_id = 3,
                                .opcode = NORNIC_WR_RDMA_WRITE_WITH_IMM,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .remote_addr = 0x1000,
                                .rkey = 0xabcd01};
    memcpy(&wr.imm_data, "\x11\x22\x33\x44", 4);
    side_post_wr(&s, &wr);
    wr.send_flags = NORNIC_SEND_SOLICITED;
    side_post_wr(&s, &wr);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(peer_hear(&p, &s, &u));
        expect_tagged(&u, 0xc140, 0xabcd01, 0x1000, 0, 5);
        const uint8_t *imm = peer_expect(&p, &s, i ? IWARP_OP_IMM_SE : IWARP_OP_IMM, &u);
        cr_expect_arr_eq(imm, "\x11\x22\x33\x44\0\0\0\0", 8);
        cr_expect_eq(u.len_bytes, 26);
        cr_expect_eq(u.bytes[13], i + 1, "an MSN of queue 0");
    }
    side_expect(&s, 3, NORNIC_WC_SUCCESS);
    side_expect(&s, 3, NORNIC_WC_SUCCESS);
    side_expect_nothing(&s);
}

/* covers: IWARP-VERB-06, IWARP-VERB-18, IWARP-AMB-16 */
/* covers: IWARP-CM-40 */
Test(request, what_cannot_be_said_cannot_be_posted)
{
    const struct nornic_send_wr imm = {.opcode = NORNIC_WR_SEND_WITH_IMM};
    cr_expect_eq(rdma_qp_post_send(&s.qp->base, &imm, NULL), -EINVAL);
    const struct nornic_sge longest[] = {side_sge(&s, 0, NORNIC_MAX_MSG_BYTES), side_sge(&s, 0, 1)};
    const struct nornic_send_wr too_long = {.opcode = NORNIC_WR_SEND, .sg_list = longest, .num_sge = 2};
    cr_expect_eq(rdma_qp_post_send(&s.qp->base, &too_long, NULL), -EINVAL);
    struct side plain;
    static struct peer other;
    const struct side_options options = {.no_extensions = true};
    side_make(&plain, 2, &options);
    peer_meet(&other, &plain, true);
    const struct nornic_sge sge = side_sge(&plain, 0, 8);
    struct nornic_send_wr wr = {.sg_list = &sge, .num_sge = 1, .opcode = NORNIC_WR_ATOMIC_FETCH_AND_ADD};
    cr_expect_eq(rdma_qp_post_send(&plain.qp->base, &wr, NULL), -EINVAL);
    wr.opcode = NORNIC_WR_RDMA_WRITE_WITH_IMM;
    cr_expect_eq(rdma_qp_post_send(&plain.qp->base, &wr, NULL), -EINVAL);
    wr.opcode = NORNIC_WR_RDMA_WRITE;
    cr_expect_eq(rdma_qp_post_send(&plain.qp->base, &wr, NULL), 0);
    side_free(&plain);
}

/* --- READs --- */

static struct iwarp_read_req expect_read_request(uint32_t msn)
{
    struct iwarp_ulpdu u;
    struct iwarp_untagged ddp;
    struct iwarp_read_req req;
    iwarp_read_req_get(&req, peer_expect(&p, &s, IWARP_OP_READ_REQUEST, &u));
    iwarp_untagged_get(&ddp, u.bytes + 2);
    cr_assert(ddp.qn == 1 && ddp.msn == msn && ddp.mo == 0 && ddp.inv_stag == 0, "MSN %u", ddp.msn);
    return req;
}

static void answer(const struct iwarp_read_req *req, const void *data)
{
    peer_say_tagged(&p, &s, IWARP_OP_READ_RESPONSE, true, req->sink_stag, req->sink_to, data, req->size);
}

/* The sink has the right to local writes and no other. */
Test(request, IWARP_AMB_05_a_sink_needs_no_remote_right)
{
    struct rdma_mr *local;
    cr_assert_eq(rdma_mr_reg(s.pd, s.memory, 64, NORNIC_ACCESS_LOCAL_WRITE, &local), 0);
    const struct nornic_sge sge = {(uintptr_t)s.memory, 8, local->lkey};
    side_post_wr(&s,
                 &(struct nornic_send_wr){
                     .wr_id = 1, .opcode = NORNIC_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1, .rkey = 7});
    struct iwarp_read_req req = expect_read_request(1);
    answer(&req, "ABCDEFGH");
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
    cr_expect_arr_eq(s.memory, "ABCDEFGH", 8);
    cr_assert_eq(rdma_mr_dereg(local), 0);
}

/* covers: IWARP-RDMAP-09, IWARP-RDMAP-10, IWARP-RDMAP-14, IWARP-RDMAP-16, IWARP-ORD-04 */
Test(request, a_read_names_its_sink_and_takes_the_answer_in_segments)
{
    side_post(&s, NORNIC_WR_RDMA_READ, 1, 1000, 8, 0x5000, 0xabcd01);
    struct iwarp_read_req req = expect_read_request(1);
    cr_expect(req.sink_stag == s.mr->lkey && req.sink_to == (uintptr_t)(s.memory + 1000));
    cr_expect(req.size == 8 && req.src_stag == 0xabcd01 && req.src_to == 0x5000);
    peer_say_tagged(&p, &s, IWARP_OP_READ_RESPONSE, false, req.sink_stag, req.sink_to, "ABCD", 4);
    side_expect_nothing(&s);
    peer_say_tagged(&p, &s, IWARP_OP_READ_RESPONSE, true, req.sink_stag, req.sink_to + 4, "EFGH", 4);
    struct nornic_wc wc = side_expect(&s, 1, NORNIC_WC_SUCCESS);
    cr_expect(wc.opcode == NORNIC_WC_RDMA_READ && wc.byte_len == 8);
    cr_expect_arr_eq(s.memory + 1000, "ABCDEFGH", 8);
}

/* covers: IWARP-RDMAP-15, IWARP-FLOW-01, IWARP-VERB-10 */
Test(request, a_read_into_many_pieces_is_a_request_each_and_one_completion)
{
    const struct nornic_sge sges[] = {side_sge(&s, 100, 3), side_sge(&s, 0, 0), side_sge(&s, 200, 4),
                                      side_sge(&s, 300, 5)};
    side_post_wr(&s, &(struct nornic_send_wr){.wr_id = 1,
                                              .opcode = NORNIC_WR_RDMA_READ,
                                              .sg_list = sges,
                                              .num_sge = 4,
                                              .remote_addr = 0x5000,
                                              .rkey = 7});
    struct iwarp_read_req reqs[3];
    for (uint32_t i = 0; i < 3; i++)
        reqs[i] = expect_read_request(i + 1);
    cr_expect(reqs[0].size == 3 && reqs[1].size == 4 && reqs[2].size == 5);
    cr_expect(reqs[0].src_to == 0x5000 && reqs[1].src_to == 0x5003 && reqs[2].src_to == 0x5007);
    for (uint32_t i = 0; i < 3; i++) {
        side_expect_nothing(&s);
        answer(&reqs[i], "abcdefgh");
    }
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
    cr_expect(!memcmp(s.memory + 100, "abc", 3) && !memcmp(s.memory + 300, "abcde", 5));
}

/* covers: IWARP-RDMAP-11, IWARP-GEN-04 */
Test(request, a_read_of_nothing_is_asked_and_answered)
{
    side_post(&s, NORNIC_WR_RDMA_READ, 1, 0, 0, 0x5000, 7);
    struct iwarp_read_req req = expect_read_request(1);
    cr_expect_eq(req.size, 0);
    side_expect_nothing(&s);
    peer_say_tagged(&p, &s, IWARP_OP_READ_RESPONSE, true, 0x999, 0x888, "", 0); /* as siw: another STag */
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-FLOW-01, IWARP-RDMAP-05 */
/* covers: IWARP-CM-34 */
Test(request, no_more_requests_than_credits_and_everything_behind_them_waits)
{
    for (uint32_t i = 0; i < 6; i++)
        side_post(&s, NORNIC_WR_RDMA_READ, i, 100 * i, 8, 0, 7);
    side_post(&s, NORNIC_WR_SEND, 6, 0, 4, 0, 0);
    struct iwarp_read_req reqs[6];
    struct iwarp_ulpdu u;
    for (uint32_t i = 0; i < 4; i++)
        reqs[i] = expect_read_request(i + 1);
    peer_expect_silence(&p, &s);
    /* what is owed to the peer does not wait */
    peer_ask_read(&p, &s, 1, &(struct iwarp_read_req){1, 2, 4, s.mr->rkey, (uintptr_t)s.memory});
    peer_expect(&p, &s, IWARP_OP_READ_RESPONSE, &u);
    answer(&reqs[0], "12345678");
    reqs[4] = expect_read_request(5);
    peer_expect_silence(&p, &s);
    answer(&reqs[1], "12345678");
    reqs[5] = expect_read_request(6);
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    for (uint32_t i = 2; i < 6; i++)
        answer(&reqs[i], "12345678");
    for (uint32_t i = 0; i < 7; i++)
        side_expect(&s, i, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-ORD-03, IWARP-ORD-04, IWARP-VERB-09 */
/* covers: IWARP-CM-32 */
Test(request, a_send_completes_behind_the_read_before_it)
{
    struct iwarp_ulpdu u;
    side_post(&s, NORNIC_WR_SEND, 1, 0, 4, 0, 0);
    side_post(&s, NORNIC_WR_RDMA_READ, 2, 100, 8, 0, 7);
    side_post(&s, NORNIC_WR_RDMA_WRITE, 3, 0, 4, 0, 7);
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    struct iwarp_read_req req = expect_read_request(1);
    peer_expect(&p, &s, IWARP_OP_WRITE, &u);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
    side_expect_nothing(&s);
    answer(&req, "12345678");
    side_expect(&s, 2, NORNIC_WC_SUCCESS);
    side_expect(&s, 3, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-ORD-07 */
/* covers: IWARP-CM-33 */
Test(request, a_fence_waits_for_the_answers_before_it)
{
    struct iwarp_ulpdu u;
    side_post(&s, NORNIC_WR_RDMA_READ, 1, 100, 8, 0, 7);
    const struct nornic_sge sge = side_sge(&s, 0, 4);
    side_post_wr(&s, &(struct nornic_send_wr){.wr_id = 2,
                                              .opcode = NORNIC_WR_SEND,
                                              .send_flags = NORNIC_SEND_FENCE,
                                              .sg_list = &sge,
                                              .num_sge = 1});
    struct iwarp_read_req req = expect_read_request(1);
    peer_expect_silence(&p, &s);
    answer(&req, "12345678");
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
}

/* covers: IWARP-DDP-12, IWARP-FPDU-06, IWARP-ORD-04 */
/* covers: IWARP-CM-22 */
Test(request, a_send_completes_when_tcp_took_all_of_it)
{
    uint32_t count, len = 0;
    side_post(&s, NORNIC_WR_SEND, 1, 0, 1000, 0, 0);
    const struct iwarp_piece *pieces = iwarp_qp_output(s.qp, &count, 0);
    for (uint32_t i = 0; i < count; i++)
        len += pieces[i].len_bytes;
    iwarp_qp_sent(s.qp, len - 1, 0);
    side_expect_nothing(&s);
    pieces = iwarp_qp_output(s.qp, &count, 0);
    cr_assert(count == 1 && pieces->len_bytes == 1);
    iwarp_qp_sent(s.qp, 0, 0);
    side_expect_nothing(&s);
    iwarp_qp_output(s.qp, &count, 0);
    iwarp_qp_sent(s.qp, 1, 0);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
}

/* A program may change what it has posted before it is complete, as perftest does with the credits that it
 * writes: the peer gets the one value or the other, and the stream goes on.
 * covers: IWARP-ORD-08 */
Test(request, memory_that_changes_while_it_is_sent_breaks_no_crc)
{
    static uint8_t octets[IWARP_BATCH_BYTES];
    const enum nornic_wr_opcode opcodes[] = {NORNIC_WR_SEND, NORNIC_WR_RDMA_WRITE};
    for (unsigned i = 0; i < array_len(opcodes); i++) {
        struct iwarp_ulpdu u;
        uint32_t count, len = 0;
        size_t taken;
        side_post(&s, opcodes[i], i, 0, 1000, 0, 7);
        const struct iwarp_piece *pieces = iwarp_qp_output(s.qp, &count, 0);
        memset(s.memory, 0xee + (int)i, 1000);
        for (uint32_t k = 0; k < count; len += pieces[k++].len_bytes)
            memcpy(octets + len, pieces[k].bytes, pieces[k].len_bytes);
        iwarp_qp_sent(s.qp, len, 0);
        cr_expect_eq(iwarp_fpdu_rx_take(&p.rx, octets, len, &taken, &u), IWARP_FPDU_WHOLE);
        side_expect(&s, i, NORNIC_WC_SUCCESS);
    }
}

/* A READ may wait for its answer while more than 2^31 octets go out; what was sent behind it completes with
 * it. */
Test(request, what_was_sent_stays_sent_however_much_follows)
{
    struct iwarp_ulpdu u;
    side_post(&s, NORNIC_WR_RDMA_READ, 1, 100, 8, 0, 7);
    side_post(&s, NORNIC_WR_SEND, 2, 0, 4, 0, 0);
    struct iwarp_read_req req = expect_read_request(1);
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    s.qp->source.made_bytes += 0x90000000; /* as if so many had followed */
    answer(&req, "12345678");
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
    side_expect(&s, 2, NORNIC_WC_SUCCESS);
}

/* --- answers that are wrong --- */

struct response_case {
    const char *what;
    bool is_last;
    uint32_t stag; /* added to the right one */
    uint64_t to;
    uint32_t len;
    uint16_t code;
};

static const struct response_case response_cases[] = {
    {"another STag", true, 1, 0, 8, IWARP_TERM_DDP_STAG},
    {"another TO", true, 0, 1, 8, IWARP_TERM_DDP_BOUNDS},
    {"too short", true, 0, 0, 7, IWARP_TERM_DDP_BOUNDS},
    {"too long", true, 0, 0, 9, IWARP_TERM_DDP_BOUNDS},
    {"all of it and not the last", false, 0, 0, 8, IWARP_TERM_DDP_BOUNDS},
    {"nothing and the last", true, 0, 0, 0, IWARP_TERM_DDP_BOUNDS},
};

/* covers: IWARP-RDMAP-14, IWARP-SEC-01 */
/* covers: IWARP-CM-23 */
Test(request_cases, an_answer_that_is_not_what_was_asked)
{
    for (size_t i = 0; i < array_len(response_cases); i++) {
        const struct response_case *c = &response_cases[i];
        struct iwarp_term term;
        setup();
        memset(s.memory, 0, SIDE_BYTES);
        side_post(&s, NORNIC_WR_RDMA_READ, 1, 1000, 8, 0x5000, 7);
        struct iwarp_read_req req = expect_read_request(1);
        peer_say_tagged(&p, &s, IWARP_OP_READ_RESPONSE, c->is_last, req.sink_stag + c->stag,
                        req.sink_to + c->to, "123456789", c->len);
        peer_expect_terminate(&p, &s, c->code, &term);
        for (uint32_t octet = 0; octet < 2000; octet++)
            cr_assert_eq(s.memory[octet], 0, "%s", c->what);
        side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
        teardown();
    }
}

/* covers: IWARP-RDMAP-14, IWARP-ATOM-06 */
/* covers: IWARP-CM-23 */
Test(request_cases, an_answer_to_nothing)
{
    const uint8_t body[12] = {0};
    for (int kind = 0; kind < 4; kind++) {
        struct iwarp_term term;
        setup();
        if (kind == 1)
            side_post(&s, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 1, 1000, 8, 0x5000, 7);
        if (kind == 3)
            side_post(&s, NORNIC_WR_RDMA_READ, 1, 1000, 8, 0x5000, 7);
        struct iwarp_ulpdu u;
        if (kind & 1)
            cr_assert(peer_hear(&p, &s, &u));
        if (kind < 2)
            peer_say_tagged(&p, &s, IWARP_OP_READ_RESPONSE, true, 1, 0, "", 0);
        else
            peer_say_untagged(&p, &s, IWARP_OP_ATOMIC_RESPONSE, true,
                              &(struct iwarp_untagged){.qn = 3, .msn = 1}, body, 12);
        peer_expect_terminate(&p, &s, IWARP_TERM_RDMAP_OPCODE, &term);
        teardown();
    }
}

/* --- atomics --- */

/* covers: IWARP-ATOM-03, IWARP-ATOM-06, IWARP-ATOM-10 */
Test(request, atomics_as_masks_and_the_answer_as_a_number)
{
    static const struct {
        struct nornic_send_wr wr;
        struct iwarp_atomic_req req;
    } rows[] = {
        {{.opcode = NORNIC_WR_ATOMIC_FETCH_AND_ADD, .compare_add = 5},
         {.aopcode = 0, .data = 5, .compare_mask = UINT64_MAX}},
        {{.opcode = NORNIC_WR_ATOMIC_CMP_AND_SWP, .compare_add = 42, .swap = 100},
         {.aopcode = 2, .data = 100, .mask = UINT64_MAX, .compare = 42, .compare_mask = UINT64_MAX}},
        {{.opcode = NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD, .compare_add = 5, .compare_mask = 0x8000},
         {.aopcode = 0, .data = 5, .mask = 0x8000, .compare_mask = UINT64_MAX}},
        {{.opcode = NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP,
          .compare_add = 4,
          .swap = 9,
          .compare_mask = 6,
          .swap_mask = 3},
         {.aopcode = 2, .data = 9, .mask = 3, .compare = 4, .compare_mask = 6}},
        {{.opcode = NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP,
          .compare_add = 4,
          .swap = 9,
          .swap_mask = UINT64_MAX},
         {.aopcode = 1, .data = 9, .mask = UINT64_MAX, .compare_mask = UINT64_MAX}},
    };
    for (uint32_t i = 0; i < array_len(rows); i++) {
        struct iwarp_ulpdu u;
        struct iwarp_atomic_req req;
        uint64_t original;
        uint8_t body[12];
        const struct nornic_sge sge = side_sge(&s, 1000, 8);
        struct nornic_send_wr wr = rows[i].wr;
        wr.wr_id = i;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.remote_addr = 0x5008;
        wr.rkey = 0xabcd01;
        side_post_wr(&s, &wr);
        iwarp_atomic_req_get(&req, peer_expect(&p, &s, IWARP_OP_ATOMIC_REQUEST, &u));
        cr_expect(req.aopcode == rows[i].req.aopcode && req.data == rows[i].req.data, "row %u", i);
        cr_expect(req.mask == rows[i].req.mask && req.compare == rows[i].req.compare, "row %u", i);
        cr_expect(req.compare_mask == rows[i].req.compare_mask && req.resv28 == 0, "row %u", i);
        cr_expect(req.stag == 0xabcd01 && req.to == 0x5008);
        iwarp_atomic_rsp_put(body, &(struct iwarp_atomic_rsp){req.request_id, 0x1122334455667788});
        peer_say_untagged(&p, &s, IWARP_OP_ATOMIC_RESPONSE, true,
                          &(struct iwarp_untagged){.qn = 3, .msn = i + 1}, body, 12);
        side_expect(&s, i, NORNIC_WC_SUCCESS);
        memcpy(&original, s.memory + 1000, 8);
        cr_expect_eq(original, 0x1122334455667788);
    }
}

/* covers: IWARP-VERB-12, IWARP-FLOW-01 */
Test(request, reads_and_atomics_share_the_credits)
{
    struct iwarp_ulpdu u;
    for (uint32_t i = 0; i < 3; i++) {
        side_post(&s, NORNIC_WR_ATOMIC_FETCH_AND_ADD, i, 1000, 8, 0x5000, 7);
        side_post(&s, NORNIC_WR_RDMA_READ, i, 1000, 8, 0x5000, 7);
    }
    for (uint32_t i = 0; i < 4; i++)
        peer_expect(&p, &s, i & 1 ? IWARP_OP_READ_REQUEST : IWARP_OP_ATOMIC_REQUEST, &u);
    peer_expect_silence(&p, &s);
}

/* covers: IWARP-VERB-16, IWARP-SEC-05 */
Test(request, local_work_takes_its_turn_in_the_send_queue)
{
    struct rdma_mr *fast;
    struct rdma_mw *window;
    struct iwarp_ulpdu u;
    struct iwarp_term term;
    cr_assert_eq(rdma_mr_alloc_fast(s.pd, 4096, &fast), 0);
    cr_assert_eq(rdma_mw_alloc(s.pd, NORNIC_MW_TYPE_2, &window), 0);
    side_post_wr(&s, &(struct nornic_send_wr){
                         .wr_id = 1,
                         .opcode = NORNIC_WR_REG_MR,
                         .rkey = fast->rkey + 1,
                         .bind = {.addr = (uintptr_t)s.memory, .len_bytes = 64, .access = ALL_RIGHTS}});
    side_post_wr(&s, &(struct nornic_send_wr){.wr_id = 2,
                                              .opcode = NORNIC_WR_BIND_MW,
                                              .rkey = window->rkey + 1,
                                              .bind = {.lkey = s.mr->lkey,
                                                       .addr = (uintptr_t)s.memory + 64,
                                                       .len_bytes = 64,
                                                       .access = NORNIC_ACCESS_REMOTE_WRITE}});
    side_post(&s, NORNIC_WR_SEND, 3, 0, 4, 0, 0);
    side_post_wr(&s, &(struct nornic_send_wr){
                         .wr_id = 4, .opcode = NORNIC_WR_LOCAL_INV, .invalidate_rkey = fast->rkey + 1});
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    peer_expect_silence(&p, &s); /* what is behind the Send happens when that is gone */
    for (uint64_t i = 1; i <= 4; i++)
        side_expect(&s, i, NORNIC_WC_SUCCESS);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, window->rkey + 1, (uintptr_t)s.memory + 64, "w", 1);
    cr_expect_eq(s.memory[64], 'w');
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, fast->rkey + 1, 0, "x", 1);
    peer_expect_terminate(&p, &s, IWARP_TERM_DDP_STAG, &term);
    cr_expect_neq(s.memory[0], 'x');
    rdma_mw_dealloc(window);
    rdma_mr_dereg(fast);
}

/* covers: IWARP-ATOM-06 */
Test(request, another_request_identifier_is_no_answer)
{
    struct iwarp_ulpdu u;
    struct iwarp_term term;
    uint8_t body[12];
    side_post(&s, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 1, 1000, 8, 0x5000, 7);
    struct iwarp_atomic_req req;
    iwarp_atomic_req_get(&req, peer_expect(&p, &s, IWARP_OP_ATOMIC_REQUEST, &u));
    iwarp_atomic_rsp_put(body, &(struct iwarp_atomic_rsp){req.request_id + 1, 1});
    peer_say_untagged(&p, &s, IWARP_OP_ATOMIC_RESPONSE, true, &(struct iwarp_untagged){.qn = 3, .msn = 1},
                      body, 12);
    peer_expect_terminate(&p, &s, IWARP_TERM_RDMAP_OPCODE, &term);
}

/* --- work that fails here --- */

/* covers: IWARP-RDMAP-34, IWARP-SEC-04, IWARP-VERB-17 */
Test(request_cases, local_memory_that_may_not_be_used)
{
    for (int kind = 0; kind < 4; kind++) {
        struct iwarp_ulpdu u;
        struct iwarp_term term;
        struct rdma_mr *read_only;
        setup();
        cr_assert_eq(rdma_mr_reg(s.pd, s.memory, 64, 0, &read_only), 0);
        struct nornic_sge sge = side_sge(&s, 0, 8);
        if (kind == 1)
            sge.lkey = read_only->lkey; /* of a READ's sink */
        else if (kind == 2)
            sge.addr += SIDE_BYTES;
        else
            sge.lkey ^= 0x100;
        side_post(&s, NORNIC_WR_SEND, 1, 0, 4, 0, 0);
        side_post_wr(&s, &(struct nornic_send_wr){.wr_id = 2,
                                                  .opcode = kind == 1   ? NORNIC_WR_RDMA_READ
                                                            : kind == 3 ? NORNIC_WR_RDMA_WRITE
                                                                        : NORNIC_WR_SEND,
                                                  .sg_list = &sge,
                                                  .num_sge = 1});
        side_post(&s, NORNIC_WR_SEND, 3, 0, 4, 0, 0);
        peer_expect(&p, &s, IWARP_OP_SEND, &u);
        peer_expect_terminate(&p, &s, IWARP_TERM_RDMAP_LOCAL, &term);
        cr_expect(!term.m && !term.d && !term.r);
        side_expect(&s, 1, NORNIC_WC_SUCCESS);
        side_expect(&s, 2, NORNIC_WC_LOC_PROT_ERR);
        side_expect(&s, 3, NORNIC_WC_WR_FLUSH_ERR);
        cr_expect_eq(s.event_count, 0);
        rdma_mr_dereg(read_only);
        teardown();
    }
}
