/* SPDX-License-Identifier: BSD-2-Clause */
/* The messages of a queue pair for posted work, and the time of its completion. READs and atomics:
 * test_request_read.c. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/iwarp/asker.h"

static void expect_tagged(const struct iwarp_ulpdu *u, unsigned octets, uint32_t stag, uint64_t to,
                          uint32_t at, uint32_t len)
{
    struct iwarp_tagged ddp;
    const uint8_t *payload = iwarp_tagged_get(&ddp, u->bytes + 2);
    cr_assert_eq(u->bytes[0] << 8 | u->bytes[1], octets, "%02x%02x", u->bytes[0], u->bytes[1]);
    cr_assert(ddp.stag == stag && ddp.to == to, "%x %lx", ddp.stag, ddp.to);
    cr_assert_eq(u->len_bytes, 14 + len);
    cr_assert_arr_eq(payload, asker.memory + at, len);
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
        cr_assert_arr_eq(payload, asker.memory + at, len);
}

/* covers: IWARP-GEN-01, IWARP-DDP-01, IWARP-DDP-03, IWARP-DDP-05, IWARP-DDP-07, IWARP-DDP-09 */
/* covers: IWARP-CM-16 */
Test(request, a_send_of_2048_octets_over_an_emss_of_1460)
{
    struct iwarp_ulpdu u;
    side_post(&asker, NORNIC_WR_SEND, 1, 0, 2048, 0, 0);
    cr_assert(peer_hear(&asked, &asker, &u));
    cr_expect_eq(u.len_bytes, 1454);
    expect_untagged(&u, 0x0143, &(struct iwarp_untagged){.msn = 1}, 0, 1436);
    cr_assert(peer_hear(&asked, &asker, &u));
    cr_expect_eq(u.len_bytes, 630);
    expect_untagged(&u, 0x4143, &(struct iwarp_untagged){.msn = 1, .mo = 1436}, 1436, 612);
    peer_expect_silence(&asked, &asker);
    side_expect(&asker, 1, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-DDP-01, IWARP-DDP-06, IWARP-DDP-07, IWARP-RDMAP-08 */
/* covers: IWARP-CM-16 */
Test(request, a_write_of_2048_octets_over_an_emss_of_1460)
{
    struct iwarp_ulpdu u;
    side_post(&asker, NORNIC_WR_RDMA_WRITE, 1, 3, 2048, 16385, 0xabcd01);
    cr_assert(peer_hear(&asked, &asker, &u));
    cr_expect_eq(u.len_bytes, 1454);
    expect_tagged(&u, 0x8140, 0xabcd01, 16385, 3, 1440);
    cr_assert(peer_hear(&asked, &asker, &u));
    cr_expect_eq(u.len_bytes, 622);
    expect_tagged(&u, 0xc140, 0xabcd01, 16385 + 1440, 1443, 608);
    peer_expect_silence(&asked, &asker);
    side_expect(&asker, 1, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-FPDU-05 */
Test(request, a_new_emss_counts_from_the_next_segment_on)
{
    struct iwarp_ulpdu u;
    side_post(&asker, NORNIC_WR_SEND, 1, 0, 3000, 0, 0);
    iwarp_qp_set_emss(asker.qp, 900);
    cr_assert(peer_hear(&asked, &asker, &u));
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
        const struct nornic_sge sge = side_sge(&asker, 0, i);
        side_post_wr(&asker, &(struct nornic_send_wr){.wr_id = i,
                                                      .opcode = rows[i].opcode,
                                                      .send_flags = rows[i].flags,
                                                      .sg_list = &sge,
                                                      .num_sge = i != 0,
                                                      .invalidate_rkey = rows[i].key});
        cr_assert(peer_hear(&asked, &asker, &u));
        expect_untagged(&u, rows[i].octets, &(struct iwarp_untagged){.inv_stag = rows[i].key, .msn = i + 1},
                        0, i);
        side_expect(&asker, i, NORNIC_WC_SUCCESS);
    }
}

/* covers: IWARP-DDP-04 */
/* covers: IWARP-CM-17 */
Test(request, the_msn_goes_on_behind_ffffffff)
{
    static const uint32_t msns[] = {0xfffffffe, 0xffffffff, 0, 1};
    asker.qp->source.msn[0] = asker.qp->sink.msn[0] = 0xfffffffe;
    for (uint32_t i = 0; i < array_len(msns); i++) {
        struct iwarp_ulpdu u;
        side_post(&asker, NORNIC_WR_SEND, i, 0, 4, 0, 0);
        cr_assert(peer_hear(&asked, &asker, &u));
        expect_untagged(&u, 0x4143, &(struct iwarp_untagged){.msn = msns[i]}, 0, 4);
        side_expect(&asker, i, NORNIC_WC_SUCCESS);
        side_post_recv(&asker, 9, 100, 4);
        peer_say_untagged(&asked, &asker, IWARP_OP_SEND, true, &(struct iwarp_untagged){.msn = msns[i]},
                          "abc", 3);
        side_expect(&asker, 9, NORNIC_WC_SUCCESS);
    }
}

/* covers: IWARP-VERB-07, IWARP-RDMAP-40, IWARP-RDMAP-43 */
Test(request, a_write_with_immediate_is_two_messages_and_one_completion)
{
    struct iwarp_ulpdu u;
    const struct nornic_sge sge = side_sge(&asker, 0, 5);
    struct nornic_send_wr wr = {.wr_id = 3,
                                .opcode = NORNIC_WR_RDMA_WRITE_WITH_IMM,
                                .sg_list = &sge,
                                .num_sge = 1,
                                .remote_addr = 0x1000,
                                .rkey = 0xabcd01};
    memcpy(&wr.imm_data, "\x11\x22\x33\x44", 4);
    side_post_wr(&asker, &wr);
    wr.send_flags = NORNIC_SEND_SOLICITED;
    side_post_wr(&asker, &wr);
    for (uint32_t i = 0; i < 2; i++) {
        cr_assert(peer_hear(&asked, &asker, &u));
        expect_tagged(&u, 0xc140, 0xabcd01, 0x1000, 0, 5);
        const uint8_t *imm = peer_expect(&asked, &asker, i ? IWARP_OP_IMM_SE : IWARP_OP_IMM, &u);
        cr_expect_arr_eq(imm, "\x11\x22\x33\x44\0\0\0\0", 8);
        cr_expect_eq(u.len_bytes, 26);
        cr_expect_eq(u.bytes[13], i + 1, "an MSN of queue 0");
    }
    side_expect(&asker, 3, NORNIC_WC_SUCCESS);
    side_expect(&asker, 3, NORNIC_WC_SUCCESS);
    side_expect_nothing(&asker);
}

/* covers: IWARP-VERB-06, IWARP-VERB-18, IWARP-AMB-16 */
/* covers: IWARP-CM-40 */
Test(request, what_cannot_be_said_cannot_be_posted)
{
    const struct nornic_send_wr imm = {.opcode = NORNIC_WR_SEND_WITH_IMM};
    cr_expect_eq(rdma_qp_post_send(&asker.qp->base, &imm, NULL), -EINVAL);
    const struct nornic_sge longest[] = {side_sge(&asker, 0, NORNIC_MAX_MSG_BYTES), side_sge(&asker, 0, 1)};
    const struct nornic_send_wr too_long = {.opcode = NORNIC_WR_SEND, .sg_list = longest, .num_sge = 2};
    cr_expect_eq(rdma_qp_post_send(&asker.qp->base, &too_long, NULL), -EINVAL);
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

/* covers: IWARP-DDP-12, IWARP-FPDU-06, IWARP-ORD-04 */
/* covers: IWARP-CM-22 */
Test(request, a_send_completes_when_tcp_took_all_of_it)
{
    uint32_t count, len = 0;
    side_post(&asker, NORNIC_WR_SEND, 1, 0, 1000, 0, 0);
    const struct iwarp_piece *pieces = iwarp_qp_output(asker.qp, &count, 0);
    for (uint32_t i = 0; i < count; i++)
        len += pieces[i].len_bytes;
    iwarp_qp_sent(asker.qp, len - 1, 0);
    side_expect_nothing(&asker);
    pieces = iwarp_qp_output(asker.qp, &count, 0);
    cr_assert(count == 1 && pieces->len_bytes == 1);
    iwarp_qp_sent(asker.qp, 0, 0);
    side_expect_nothing(&asker);
    iwarp_qp_output(asker.qp, &count, 0);
    iwarp_qp_sent(asker.qp, 1, 0);
    side_expect(&asker, 1, NORNIC_WC_SUCCESS);
}

/* A program may change posted bytes before the work is complete, as perftest does with its
 * credits: the peer gets the old value or the new, and the stream goes on.
 * covers: IWARP-ORD-08 */
Test(request, memory_that_changes_while_it_is_sent_breaks_no_crc)
{
    static uint8_t octets[IWARP_BATCH_BYTES];
    const enum nornic_wr_opcode opcodes[] = {NORNIC_WR_SEND, NORNIC_WR_RDMA_WRITE};
    for (unsigned i = 0; i < array_len(opcodes); i++) {
        struct iwarp_ulpdu u;
        uint32_t count, len = 0;
        size_t taken;
        side_post(&asker, opcodes[i], i, 0, 1000, 0, 7);
        const struct iwarp_piece *pieces = iwarp_qp_output(asker.qp, &count, 0);
        memset(asker.memory, 0xee + (int)i, 1000);
        for (uint32_t k = 0; k < count; len += pieces[k++].len_bytes)
            memcpy(octets + len, pieces[k].bytes, pieces[k].len_bytes);
        iwarp_qp_sent(asker.qp, len, 0);
        cr_expect_eq(iwarp_fpdu_rx_take(&asked.rx, octets, len, &taken, &u), IWARP_FPDU_WHOLE);
        side_expect(&asker, i, NORNIC_WC_SUCCESS);
    }
}
/* covers: IWARP-VERB-16, IWARP-SEC-05 */
Test(request, local_work_takes_its_turn_in_the_send_queue)
{
    struct rdma_mr *fast;
    struct rdma_mw *window;
    struct iwarp_ulpdu u;
    struct iwarp_term term;
    cr_assert_eq(rdma_mr_alloc_fast(asker.pd, 4096, &fast), 0);
    cr_assert_eq(rdma_mw_alloc(asker.pd, NORNIC_MW_TYPE_2, &window), 0);
    side_post_wr(&asker,
                 &(struct nornic_send_wr){
                     .wr_id = 1,
                     .opcode = NORNIC_WR_REG_MR,
                     .rkey = fast->rkey + 1,
                     .bind = {.addr = (uintptr_t)asker.memory, .len_bytes = 64, .access = ALL_RIGHTS}});
    side_post_wr(&asker, &(struct nornic_send_wr){.wr_id = 2,
                                                  .opcode = NORNIC_WR_BIND_MW,
                                                  .rkey = window->rkey + 1,
                                                  .bind = {.lkey = asker.mr->lkey,
                                                           .addr = (uintptr_t)asker.memory + 64,
                                                           .len_bytes = 64,
                                                           .access = NORNIC_ACCESS_REMOTE_WRITE}});
    side_post(&asker, NORNIC_WR_SEND, 3, 0, 4, 0, 0);
    side_post_wr(&asker, &(struct nornic_send_wr){
                             .wr_id = 4, .opcode = NORNIC_WR_LOCAL_INV, .invalidate_rkey = fast->rkey + 1});
    peer_expect(&asked, &asker, IWARP_OP_SEND, &u);
    peer_expect_silence(&asked, &asker); /* the work behind the Send happens after it */
    for (uint64_t i = 1; i <= 4; i++)
        side_expect(&asker, i, NORNIC_WC_SUCCESS);
    peer_say_tagged(&asked, &asker, IWARP_OP_WRITE, true, window->rkey + 1, (uintptr_t)asker.memory + 64, "w",
                    1);
    cr_expect_eq(asker.memory[64], 'w');
    peer_say_tagged(&asked, &asker, IWARP_OP_WRITE, true, fast->rkey + 1, 0, "x", 1);
    peer_expect_terminate(&asked, &asker, IWARP_TERM_DDP_STAG, &term);
    cr_expect_neq(asker.memory[0], 'x');
    rdma_mw_dealloc(window);
    rdma_mr_dereg(fast);
}

/* --- work that fails here --- */

/* A READ or atomic without its answer has no result, also if later work fails. Earlier work has a result.
 * covers: IWARP-ORD-03, IWARP-ORD-04, IWARP-VERB-09 */
Test(request, an_unanswered_read_is_flushed_when_later_work_fails)
{
    struct iwarp_ulpdu u;
    struct iwarp_term term;
    struct nornic_sge bad = side_sge(&asker, 0, 8);
    bad.lkey ^= 0x100;
    side_post(&asker, NORNIC_WR_RDMA_READ, 1, 1000, 8, 0x5000, 7);
    side_post(&asker, NORNIC_WR_RDMA_READ, 2, 2000, 8, 0x6000, 7);
    side_post(&asker, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 3, 3000, 8, 0x7000, 7);
    side_post(&asker, NORNIC_WR_SEND, 4, 0, 4, 0, 0);
    struct iwarp_read_req req = asker_read_request(1);
    (void)asker_read_request(2);
    peer_expect(&asked, &asker, IWARP_OP_ATOMIC_REQUEST, &u);
    peer_expect(&asked, &asker, IWARP_OP_SEND, &u);
    asker_answer(&req, "12345678");
    side_expect(&asker, 1, NORNIC_WC_SUCCESS);
    side_post_wr(&asker, &(struct nornic_send_wr){
                             .wr_id = 5, .opcode = NORNIC_WR_SEND, .sg_list = &bad, .num_sge = 1});
    peer_expect_terminate(&asked, &asker, IWARP_TERM_RDMAP_LOCAL, &term);
    side_expect(&asker, 2, NORNIC_WC_WR_FLUSH_ERR);
    side_expect(&asker, 3, NORNIC_WC_WR_FLUSH_ERR);
    side_expect(&asker, 4, NORNIC_WC_SUCCESS);
    side_expect(&asker, 5, NORNIC_WC_LOC_PROT_ERR);
    side_expect_nothing(&asker);
}

/* covers: IWARP-RDMAP-34, IWARP-SEC-04, IWARP-VERB-17 */
Test(request_cases, local_memory_that_may_not_be_used)
{
    for (int kind = 0; kind < 4; kind++) {
        struct iwarp_ulpdu u;
        struct iwarp_term term;
        struct rdma_mr *read_only;
        asker_make();
        cr_assert_eq(rdma_mr_reg(asker.pd, asker.memory, 64, 0, &read_only), 0);
        struct nornic_sge sge = side_sge(&asker, 0, 8);
        if (kind == 1)
            sge.lkey = read_only->lkey; /* of a READ's sink */
        else if (kind == 2)
            sge.addr += SIDE_BYTES;
        else
            sge.lkey ^= 0x100;
        side_post(&asker, NORNIC_WR_SEND, 1, 0, 4, 0, 0);
        side_post_wr(&asker, &(struct nornic_send_wr){.wr_id = 2,
                                                      .opcode = kind == 1   ? NORNIC_WR_RDMA_READ
                                                                : kind == 3 ? NORNIC_WR_RDMA_WRITE
                                                                            : NORNIC_WR_SEND,
                                                      .sg_list = &sge,
                                                      .num_sge = 1});
        side_post(&asker, NORNIC_WR_SEND, 3, 0, 4, 0, 0);
        peer_expect(&asked, &asker, IWARP_OP_SEND, &u);
        peer_expect_terminate(&asked, &asker, IWARP_TERM_RDMAP_LOCAL, &term);
        cr_expect(!term.m && !term.d && !term.r);
        side_expect(&asker, 1, NORNIC_WC_SUCCESS);
        side_expect(&asker, 2, NORNIC_WC_LOC_PROT_ERR);
        side_expect(&asker, 3, NORNIC_WC_WR_FLUSH_ERR);
        cr_expect_eq(asker.event_count, 0);
        rdma_mr_dereg(read_only);
        asker_free();
    }
}
