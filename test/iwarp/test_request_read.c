/* SPDX-License-Identifier: BSD-2-Clause */
/* READs and atomics: what a queue pair asks, and what it makes of the answers. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "test/iwarp/asker.h"

/* The sink has the right to local writes and no other. */
Test(request, IWARP_AMB_05_a_sink_needs_no_remote_right)
{
    struct rdma_mr *local;
    cr_assert_eq(rdma_mr_reg(asker.pd, asker.memory, 64, NORNIC_ACCESS_LOCAL_WRITE, &local), 0);
    const struct nornic_sge sge = {(uintptr_t)asker.memory, 8, local->lkey};
    side_post_wr(&asker,
                 &(struct nornic_send_wr){
                     .wr_id = 1, .opcode = NORNIC_WR_RDMA_READ, .sg_list = &sge, .num_sge = 1, .rkey = 7});
    struct iwarp_read_req req = asker_read_request(1);
    asker_answer(&req, "ABCDEFGH");
    side_expect(&asker, 1, NORNIC_WC_SUCCESS);
    cr_expect_arr_eq(asker.memory, "ABCDEFGH", 8);
    cr_assert_eq(rdma_mr_dereg(local), 0);
}

/* covers: IWARP-RDMAP-09, IWARP-RDMAP-10, IWARP-RDMAP-14, IWARP-RDMAP-16, IWARP-ORD-04 */
Test(request, a_read_names_its_sink_and_takes_the_answer_in_segments)
{
    side_post(&asker, NORNIC_WR_RDMA_READ, 1, 1000, 8, 0x5000, 0xabcd01);
    struct iwarp_read_req req = asker_read_request(1);
    cr_expect(req.sink_stag == asker.mr->lkey && req.sink_to == (uintptr_t)(asker.memory + 1000));
    cr_expect(req.size == 8 && req.src_stag == 0xabcd01 && req.src_to == 0x5000);
    peer_say_tagged(&asked, &asker, IWARP_OP_READ_RESPONSE, false, req.sink_stag, req.sink_to, "ABCD", 4);
    side_expect_nothing(&asker);
    peer_say_tagged(&asked, &asker, IWARP_OP_READ_RESPONSE, true, req.sink_stag, req.sink_to + 4, "EFGH", 4);
    struct nornic_wc wc = side_expect(&asker, 1, NORNIC_WC_SUCCESS);
    cr_expect(wc.opcode == NORNIC_WC_RDMA_READ && wc.byte_len == 8);
    cr_expect_arr_eq(asker.memory + 1000, "ABCDEFGH", 8);
}

/* covers: IWARP-RDMAP-15, IWARP-FLOW-01, IWARP-VERB-10 */
Test(request, a_read_into_many_pieces_is_a_request_each_and_one_completion)
{
    const struct nornic_sge sges[] = {side_sge(&asker, 100, 3), side_sge(&asker, 0, 0),
                                      side_sge(&asker, 200, 4), side_sge(&asker, 300, 5)};
    side_post_wr(&asker, &(struct nornic_send_wr){.wr_id = 1,
                                                  .opcode = NORNIC_WR_RDMA_READ,
                                                  .sg_list = sges,
                                                  .num_sge = 4,
                                                  .remote_addr = 0x5000,
                                                  .rkey = 7});
    struct iwarp_read_req reqs[3];
    for (uint32_t i = 0; i < 3; i++)
        reqs[i] = asker_read_request(i + 1);
    cr_expect(reqs[0].size == 3 && reqs[1].size == 4 && reqs[2].size == 5);
    cr_expect(reqs[0].src_to == 0x5000 && reqs[1].src_to == 0x5003 && reqs[2].src_to == 0x5007);
    for (uint32_t i = 0; i < 3; i++) {
        side_expect_nothing(&asker);
        asker_answer(&reqs[i], "abcdefgh");
    }
    side_expect(&asker, 1, NORNIC_WC_SUCCESS);
    cr_expect(!memcmp(asker.memory + 100, "abc", 3) && !memcmp(asker.memory + 300, "abcde", 5));
}

/* covers: IWARP-RDMAP-11, IWARP-GEN-04 */
Test(request, a_read_of_nothing_is_asked_and_answered)
{
    side_post(&asker, NORNIC_WR_RDMA_READ, 1, 0, 0, 0x5000, 7);
    struct iwarp_read_req req = asker_read_request(1);
    cr_expect_eq(req.size, 0);
    side_expect_nothing(&asker);
    peer_say_tagged(&asked, &asker, IWARP_OP_READ_RESPONSE, true, 0x999, 0x888, "",
                    0); /* as siw: another STag */
    side_expect(&asker, 1, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-FLOW-01, IWARP-RDMAP-05 */
/* covers: IWARP-CM-34 */
Test(request, no_more_requests_than_credits_and_everything_behind_them_waits)
{
    for (uint32_t i = 0; i < 6; i++)
        side_post(&asker, NORNIC_WR_RDMA_READ, i, 100 * i, 8, 0, 7);
    side_post(&asker, NORNIC_WR_SEND, 6, 0, 4, 0, 0);
    struct iwarp_read_req reqs[6];
    struct iwarp_ulpdu u;
    for (uint32_t i = 0; i < 4; i++)
        reqs[i] = asker_read_request(i + 1);
    peer_expect_silence(&asked, &asker);
    /* what is owed to the peer does not wait */
    peer_ask_read(&asked, &asker, 1,
                  &(struct iwarp_read_req){1, 2, 4, asker.mr->rkey, (uintptr_t)asker.memory});
    peer_expect(&asked, &asker, IWARP_OP_READ_RESPONSE, &u);
    asker_answer(&reqs[0], "12345678");
    reqs[4] = asker_read_request(5);
    peer_expect_silence(&asked, &asker);
    asker_answer(&reqs[1], "12345678");
    reqs[5] = asker_read_request(6);
    peer_expect(&asked, &asker, IWARP_OP_SEND, &u);
    for (uint32_t i = 2; i < 6; i++)
        asker_answer(&reqs[i], "12345678");
    for (uint32_t i = 0; i < 7; i++)
        side_expect(&asker, i, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-ORD-03, IWARP-ORD-04, IWARP-VERB-09 */
/* covers: IWARP-CM-32 */
Test(request, a_send_completes_behind_the_read_before_it)
{
    struct iwarp_ulpdu u;
    side_post(&asker, NORNIC_WR_SEND, 1, 0, 4, 0, 0);
    side_post(&asker, NORNIC_WR_RDMA_READ, 2, 100, 8, 0, 7);
    side_post(&asker, NORNIC_WR_RDMA_WRITE, 3, 0, 4, 0, 7);
    peer_expect(&asked, &asker, IWARP_OP_SEND, &u);
    struct iwarp_read_req req = asker_read_request(1);
    peer_expect(&asked, &asker, IWARP_OP_WRITE, &u);
    side_expect(&asker, 1, NORNIC_WC_SUCCESS);
    side_expect_nothing(&asker);
    asker_answer(&req, "12345678");
    side_expect(&asker, 2, NORNIC_WC_SUCCESS);
    side_expect(&asker, 3, NORNIC_WC_SUCCESS);
}

/* covers: IWARP-ORD-07 */
/* covers: IWARP-CM-33 */
Test(request, a_fence_waits_for_the_answers_before_it)
{
    struct iwarp_ulpdu u;
    side_post(&asker, NORNIC_WR_RDMA_READ, 1, 100, 8, 0, 7);
    const struct nornic_sge sge = side_sge(&asker, 0, 4);
    side_post_wr(&asker, &(struct nornic_send_wr){.wr_id = 2,
                                                  .opcode = NORNIC_WR_SEND,
                                                  .send_flags = NORNIC_SEND_FENCE,
                                                  .sg_list = &sge,
                                                  .num_sge = 1});
    struct iwarp_read_req req = asker_read_request(1);
    peer_expect_silence(&asked, &asker);
    asker_answer(&req, "12345678");
    peer_expect(&asked, &asker, IWARP_OP_SEND, &u);
}

/* A READ may wait for its answer while more than 2^31 octets go out; what was sent behind it completes with
 * it. */
Test(request, what_was_sent_stays_sent_however_much_follows)
{
    struct iwarp_ulpdu u;
    side_post(&asker, NORNIC_WR_RDMA_READ, 1, 100, 8, 0, 7);
    side_post(&asker, NORNIC_WR_SEND, 2, 0, 4, 0, 0);
    struct iwarp_read_req req = asker_read_request(1);
    peer_expect(&asked, &asker, IWARP_OP_SEND, &u);
    asker.qp->source.made_bytes += 0x90000000; /* as if so many had followed */
    asker_answer(&req, "12345678");
    side_expect(&asker, 1, NORNIC_WC_SUCCESS);
    side_expect(&asker, 2, NORNIC_WC_SUCCESS);
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
        asker_make();
        memset(asker.memory, 0, SIDE_BYTES);
        side_post(&asker, NORNIC_WR_RDMA_READ, 1, 1000, 8, 0x5000, 7);
        struct iwarp_read_req req = asker_read_request(1);
        peer_say_tagged(&asked, &asker, IWARP_OP_READ_RESPONSE, c->is_last, req.sink_stag + c->stag,
                        req.sink_to + c->to, "123456789", c->len);
        peer_expect_terminate(&asked, &asker, c->code, &term);
        for (uint32_t octet = 0; octet < 2000; octet++)
            cr_assert_eq(asker.memory[octet], 0, "%s", c->what);
        side_expect(&asker, 1, NORNIC_WC_WR_FLUSH_ERR);
        asker_free();
    }
}

/* covers: IWARP-RDMAP-14, IWARP-ATOM-06 */
/* covers: IWARP-CM-23 */
Test(request_cases, an_answer_to_nothing)
{
    const uint8_t body[12] = {0};
    for (int kind = 0; kind < 4; kind++) {
        struct iwarp_term term;
        asker_make();
        if (kind == 1)
            side_post(&asker, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 1, 1000, 8, 0x5000, 7);
        if (kind == 3)
            side_post(&asker, NORNIC_WR_RDMA_READ, 1, 1000, 8, 0x5000, 7);
        struct iwarp_ulpdu u;
        if (kind & 1)
            cr_assert(peer_hear(&asked, &asker, &u));
        if (kind < 2)
            peer_say_tagged(&asked, &asker, IWARP_OP_READ_RESPONSE, true, 1, 0, "", 0);
        else
            peer_say_untagged(&asked, &asker, IWARP_OP_ATOMIC_RESPONSE, true,
                              &(struct iwarp_untagged){.qn = 3, .msn = 1}, body, 12);
        peer_expect_terminate(&asked, &asker, IWARP_TERM_RDMAP_OPCODE, &term);
        asker_free();
    }
}

/* --- atomics --- */

/* covers: IWARP-ATOM-03, IWARP-ATOM-06, IWARP-ATOM-10, IWARP-ATOM-12 */
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
        const struct nornic_sge sge = side_sge(&asker, 1000, 8);
        struct nornic_send_wr wr = rows[i].wr;
        wr.wr_id = i;
        wr.sg_list = &sge;
        wr.num_sge = 1;
        wr.remote_addr = 0x5008;
        wr.rkey = 0xabcd01;
        side_post_wr(&asker, &wr);
        iwarp_atomic_req_get(&req, peer_expect(&asked, &asker, IWARP_OP_ATOMIC_REQUEST, &u));
        cr_expect(req.aopcode == rows[i].req.aopcode && req.data == rows[i].req.data, "row %u", i);
        cr_expect(req.mask == rows[i].req.mask && req.compare == rows[i].req.compare, "row %u", i);
        cr_expect(req.compare_mask == rows[i].req.compare_mask && req.resv28 == 0, "row %u", i);
        cr_expect(req.stag == 0xabcd01 && req.to == 0x5008);
        iwarp_atomic_rsp_put(body, &(struct iwarp_atomic_rsp){req.request_id, 0x1122334455667788});
        peer_say_untagged(&asked, &asker, IWARP_OP_ATOMIC_RESPONSE, true,
                          &(struct iwarp_untagged){.qn = 3, .msn = i + 1}, body, 12);
        side_expect(&asker, i, NORNIC_WC_SUCCESS);
        memcpy(&original, asker.memory + 1000, 8);
        cr_expect_eq(original, 0x1122334455667788);
    }
}

/* covers: IWARP-VERB-12, IWARP-FLOW-01 */
Test(request, reads_and_atomics_share_the_credits)
{
    struct iwarp_ulpdu u;
    for (uint32_t i = 0; i < 3; i++) {
        side_post(&asker, NORNIC_WR_ATOMIC_FETCH_AND_ADD, i, 1000, 8, 0x5000, 7);
        side_post(&asker, NORNIC_WR_RDMA_READ, i, 1000, 8, 0x5000, 7);
    }
    for (uint32_t i = 0; i < 4; i++)
        peer_expect(&asked, &asker, i & 1 ? IWARP_OP_READ_REQUEST : IWARP_OP_ATOMIC_REQUEST, &u);
    peer_expect_silence(&asked, &asker);
}

/* covers: IWARP-ATOM-06 */
Test(request, another_request_identifier_is_no_answer)
{
    struct iwarp_ulpdu u;
    struct iwarp_term term;
    uint8_t body[12];
    side_post(&asker, NORNIC_WR_ATOMIC_FETCH_AND_ADD, 1, 1000, 8, 0x5000, 7);
    struct iwarp_atomic_req req;
    iwarp_atomic_req_get(&req, peer_expect(&asked, &asker, IWARP_OP_ATOMIC_REQUEST, &u));
    iwarp_atomic_rsp_put(body, &(struct iwarp_atomic_rsp){req.request_id + 1, 1});
    peer_say_untagged(&asked, &asker, IWARP_OP_ATOMIC_RESPONSE, true,
                      &(struct iwarp_untagged){.qn = 3, .msn = 1}, body, 12);
    peer_expect_terminate(&asked, &asker, IWARP_TERM_RDMAP_OPCODE, &term);
}
