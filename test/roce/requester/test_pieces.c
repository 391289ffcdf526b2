/* SPDX-License-Identifier: BSD-2-Clause */
/* A device whose port holds little (answer_bytes) asks for a long READ in pieces, so that no more of the
 * answer is under way than fits. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/support/script_suite.h"

#define PMTU       1024u
#define PIECE_PKTS 4u /* half of what is under way at the most */
#define READ_BYTES (10 * PMTU + 100)

static void begin(void)
{
    config = script_defaults();
    config.answer_bytes = 2 * PIECE_PKTS * PMTU + 17;
    renew();
}

TestSuite(requester_pieces, .init = begin, .fini = teardown);

static void post_read(uint64_t wr_id, uint32_t len_bytes)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, wr_id, NORNIC_WR_RDMA_READ, &sge, 0, len_bytes);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
}

/* A READ request for `bytes` that begin at `offset`, at PSN `i`. */
static void expect_ask(uint32_t i, uint32_t offset, uint32_t bytes)
{
    const struct roce_pkt *pkt = expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, i));
    cr_assert_eq(pkt->reth.dma_len, bytes, "at PSN %u", i);
    cr_assert_eq(pkt->reth.va, SCRIPT_PEER_VA + offset, "at PSN %u", i);
}

/* Packets `from` to `to` - 1 of the answer, of pieces that begin at multiples of PIECE_PKTS. */
static void answer(uint32_t from, uint32_t to)
{
    const uint32_t last = READ_BYTES / PMTU;
    for (uint32_t i = from; i < to; i++) {
        bool begins = i % PIECE_PKTS == 0, ends = i == last || i % PIECE_PKTS == PIECE_PKTS - 1;
        enum roce_op op = begins ? (ends ? ROCE_OP_READ_RESP_ONLY : ROCE_OP_READ_RESP_FIRST)
                                 : (ends ? ROCE_OP_READ_RESP_LAST : ROCE_OP_READ_RESP_MIDDLE);
        struct script_pkt pkt =
            script_read_resp_pkt(s, op, script_sq(s, i), 1 + i / PIECE_PKTS, script_data() + i * PMTU,
                                 i == last ? READ_BYTES % PMTU : PMTU);
        script_send(s, &pkt);
    }
}

/* covers: ROCE-RC-2, ROCE-RC-13, ROCE-RC-35 */
Test(requester_pieces, long_read_is_asked_for_as_room_comes)
{
    post_read(7, READ_BYTES);
    expect_ask(0, 0, 4 * PMTU);
    expect_ask(4, 4 * PMTU, 4 * PMTU);
    expect_nothing(s);
    answer(0, 2);
    expect_nothing(s);
    answer(2, 3); /* room for the three that are left */
    expect_ask(8, 8 * PMTU, 2 * PMTU + 100);
    answer(3, 11);
    expect_wc(s, send_cq, 7, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem, script_data(), READ_BYTES);
    expect_nothing(s);
    post_read(8, 100);
    expect_ask(11, 0, 100);
}

/* The peer serves as many at once as it said, and a piece is one. */
Test(requester_pieces, ROCE_RC_13_each_counts)
{
    config.attr.max_rd_atomic = 1;
    renew();
    post_read(7, READ_BYTES);
    expect_ask(0, 0, 4 * PMTU);
    expect_nothing(s);
    answer(0, 3);
    expect_nothing(s);
    answer(3, 4);
    expect_ask(4, 4 * PMTU, 4 * PMTU);
    expect_nothing(s);
    answer(4, 8);
    expect_ask(8, 8 * PMTU, 2 * PMTU + 100);
    post_read(8, 100);
    expect_nothing(s);
    answer(8, 11);
    expect_wc(s, send_cq, 7, NORNIC_WC_SUCCESS);
    expect_ask(11, 0, 100);
}

/* What is missing is asked for again up to the end of its piece, and the pieces behind it as they were. */
Test(requester_pieces, ROCE_RC_44_lost_answer_is_asked_for_again_in_the_same_pieces)
{
    post_read(7, READ_BYTES);
    expect_ask(0, 0, 4 * PMTU);
    expect_ask(4, 4 * PMTU, 4 * PMTU);
    answer(0, 2);
    answer(3, 4); /* 2 is lost */
    expect_ask(2, 2 * PMTU, 2 * PMTU);
    expect_ask(4, 4 * PMTU, 4 * PMTU);
    expect_nothing(s);
    struct script_pkt again[2] = {
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_FIRST, script_sq(s, 2), 1, script_data() + 2 * PMTU, PMTU),
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_LAST, script_sq(s, 3), 1, script_data() + 3 * PMTU, PMTU)};
    script_send(s, &again[0]);
    script_send(s, &again[1]);
    expect_ask(8, 8 * PMTU, 2 * PMTU + 100);
    answer(4, 11);
    expect_wc(s, send_cq, 7, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem, script_data(), READ_BYTES);
    expect_nothing(s);
}

/* Nothing passes a fence before the last piece is there. */
Test(requester_pieces, ROCE_RC_14_fence_waits_for_all)
{
    struct nornic_sge sge;
    post_read(7, READ_BYTES);
    struct nornic_send_wr wr = script_wr(s, 8, NORNIC_WR_RDMA_WRITE, &sge, 0, 100);
    wr.send_flags |= NORNIC_SEND_FENCE;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    script_forget(s);
    answer(0, 8);
    expect_ask(8, 8 * PMTU, 2 * PMTU + 100);
    expect_nothing(s);
    answer(8, 10);
    expect_nothing(s);
    answer(10, 11);
    expect_wc(s, send_cq, 7, NORNIC_WC_SUCCESS);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 11));
}
