/* SPDX-License-Identifier: BSD-2-Clause */
/* What is in order and what is not: between streams, between the directions of one, between what is placed
 * and what is told of, between the set-up and the end. */
#include <criterion/criterion.h>
#include <string.h>

#include "base/base.h"
#include "test/iwarp/world.h"

static struct side s;
static struct peer p;

static void setup(void)
{
    side_make(&s, 1, NULL);
    peer_meet(&p, &s, true);
}

static void teardown(void)
{
    side_free(&s);
}

TestSuite(order, .init = setup, .fini = teardown);

static uint64_t addr(uint32_t offset)
{
    return (uintptr_t)(s.memory + offset);
}

/* One stream's TCP takes nothing, and another's goes on; of the first, what comes is taken all the same. */
Test(order, IWARP_ORD_01_neither_streams_nor_directions_wait_for_each_other)
{
    static struct side other;
    static struct peer others;
    struct iwarp_ulpdu u;
    uint32_t count;
    side_make(&other, 2, NULL);
    peer_meet(&others, &other, true);
    side_post(&s, NORNIC_WR_SEND, 1, 0, 4, 0, 0);
    side_post(&other, NORNIC_WR_SEND, 2, 0, 4, 0, 0);
    iwarp_qp_output(s.qp, &count, 0);
    cr_assert_gt(count, 0);
    iwarp_qp_sent(s.qp, 0, 0);
    peer_expect(&others, &other, IWARP_OP_SEND, &u);
    side_expect(&other, 2, NORNIC_WC_SUCCESS);
    side_post_recv(&s, 3, 100, 8);
    peer_say_untagged(&p, &s, IWARP_OP_SEND, true, &(struct iwarp_untagged){.msn = 1}, "abc", 3);
    side_expect(&s, 3, NORNIC_WC_SUCCESS);
    side_expect_nothing(&s);
    peer_expect(&p, &s, IWARP_OP_SEND, &u);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
    side_free(&other);
}

/* Two Writes to the same place, a Send and the answer to a READ in two segments each: of all that is placed
 * nothing is told before its message, or one behind it, is whole. */
Test(order, IWARP_ORD_02_what_is_placed_is_not_told_of_before_it_is_whole)
{
    struct iwarp_ulpdu u;
    struct iwarp_read_req req;
    side_post_recv(&s, 1, 200, 8);
    side_post(&s, NORNIC_WR_RDMA_READ, 2, 300, 8, 0x5000, 7);
    iwarp_read_req_get(&req, peer_expect(&p, &s, IWARP_OP_READ_REQUEST, &u));
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, s.mr->rkey, addr(100), "older", 5);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, s.mr->rkey, addr(100), "newer", 5);
    peer_say_untagged(&p, &s, IWARP_OP_SEND, false, &(struct iwarp_untagged){.msn = 1}, "abcd", 4);
    peer_say_tagged(&p, &s, IWARP_OP_READ_RESPONSE, false, req.sink_stag, req.sink_to, "1234", 4);
    side_expect_nothing(&s);
    cr_expect_arr_eq(s.memory + 300, "1234\0\0\0\0", 8, "it is there, and means nothing yet");
    peer_say_tagged(&p, &s, IWARP_OP_READ_RESPONSE, true, req.sink_stag, req.sink_to + 4, "5678", 4);
    side_expect(&s, 2, NORNIC_WC_SUCCESS);
    side_expect_nothing(&s);
    peer_say_untagged(&p, &s, IWARP_OP_SEND, true, &(struct iwarp_untagged){.msn = 1, .mo = 4}, "efgh", 4);
    side_expect(&s, 1, NORNIC_WC_SUCCESS);
    cr_expect_arr_eq(s.memory + 100, "newer", 5);
    cr_expect_arr_eq(s.memory + 200, "abcdefgh", 8);
    cr_expect_arr_eq(s.memory + 300, "12345678", 8);
}

/* The last octets of a Write stand in memory before the first: tagged segments may come in any order, so
 * whoever looks at the end of a buffer learns nothing of its beginning. Only what is told of counts. */
Test(order, IWARP_VERB_19_the_end_of_a_buffer_says_nothing_of_its_beginning)
{
    struct iwarp_term term;
    side_post_recv(&s, 1, 4096, 8);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, false, s.mr->rkey, addr(104), "efgh", 4);
    cr_expect_arr_eq(s.memory + 100, "\0\0\0\0efgh", 8);
    side_expect_nothing(&s);
    peer_say_tagged(&p, &s, IWARP_OP_WRITE, true, s.mr->rkey ^ 1, addr(100), "abcd", 4);
    peer_expect_terminate(&p, &s, IWARP_TERM_DDP_STAG, &term);
    cr_expect_arr_eq(s.memory + 100, "\0\0\0\0efgh", 8, "the Write has failed, and its end is there");
    side_expect(&s, 1, NORNIC_WC_WR_FLUSH_ERR);
}

/* All kinds of work, an answer, an empty Write of its own accord, and the end: peer_hear() reads the octets
 * from the set-up on as FPDUs, each with a good CRC, and fails the test where anything else stands. */
Test(order, IWARP_CONN_01_between_set_up_and_end_all_octets_are_fpdus)
{
    static const enum nornic_wr_opcode kinds[] = {NORNIC_WR_SEND, NORNIC_WR_RDMA_WRITE, NORNIC_WR_RDMA_READ,
                                                  NORNIC_WR_RDMA_WRITE_WITH_IMM,
                                                  NORNIC_WR_ATOMIC_FETCH_AND_ADD};
    struct iwarp_ulpdu u;
    unsigned heard = 0;
    for (uint32_t i = 0; i < array_len(kinds); i++)
        side_post(&s, kinds[i], i, 0, 8, addr(1000), s.mr->rkey);
    for (uint32_t len = 0; len < 8; len++)
        side_post(&s, NORNIC_WR_SEND, 100 + len, 0, 700 + len, 0, 0);
    while (peer_hear(&p, &s, &u))
        heard++;
    /* each Send has two segments, and a Write with immediate is two messages */
    cr_expect_eq(heard, array_len(kinds) + 1 + 8 * 2, "%u", heard);
    iwarp_qp_advance(s.qp, IWARP_NUDGE_NS);
    peer_expect(&p, &s, IWARP_OP_WRITE, &u);
    cr_expect_eq(u.len_bytes, IWARP_DDP_TAGGED_BYTES);
    peer_ask_read(&p, &s, 1, &(struct iwarp_read_req){1, 2, 5, s.mr->rkey, addr(0)});
    peer_expect(&p, &s, IWARP_OP_READ_RESPONSE, &u);
    iwarp_qp_disconnect(s.qp, 0);
    peer_expect_silence(&p, &s);
    cr_expect_eq(s.qp->tcp, IWARP_TCP_SHUTDOWN);
    cr_expect(iwarp_fpdu_rx_is_between(&p.rx));
}
