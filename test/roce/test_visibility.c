/* SPDX-License-Identifier: BSD-2-Clause */
/* What an application may see of a message that is not complete: ROCE section 8.7. */
#include <criterion/criterion.h>
#include <string.h>

#include "test/support/script_suite.h"

TestSuite(visibility, .init = setup, .fini = teardown);

/* Packets are placed as they come; what failed half-way stays as far as it got, and nothing tells of it.
 * covers: ROCE-RS-60, ROCE-UC-5 */
Test(visibility, ROCE_RS_60_a_message_is_placed_packet_by_packet)
{
    memset(s->mem, 0, 4096);
    script_recv(s, 1, 0, 4096);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_FIRST, script_rq(s, 0), script_data(), 1024);
    script_send(s, &p);
    cr_assert_arr_eq(s->mem, script_data(), 1024, "it is there");
    expect_no_wc(s, recv_cq);
    p = script_send_pkt(s, ROCE_OP_SEND_LAST, script_rq(s, 1), NULL, 0); /* may not be empty */
    script_send(s, &p);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_INV_REQ, 0);
    expect_wc(s, recv_cq, 1, NORNIC_WC_LOC_QP_OP_ERR);
    cr_assert_arr_eq(s->mem, script_data(), 1024, "and stays");
    cr_assert_eq(s->mem[1024], 0);
}

/* An application that polls the last byte of a WRITE finds all the others: no packet is placed before those
 * that precede it, also when they are kept until a gap is filled.
 * covers: ROCE-RS-62 */
Test(visibility, ROCE_RS_62_the_last_packet_is_placed_last)
{
    for (uint32_t reorder = 0; reorder <= 8; reorder += 8) {
        config.reorder_pkts = reorder;
        renew();
        memset(s->mem, 0, 4096);
        const struct script_pkt first =
            script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 0, 2148, script_data(), 1024);
        struct script_pkt middle =
            script_write_pkt(s, ROCE_OP_WRITE_MIDDLE, script_rq(s, 1), 0, 0, script_data() + 1024, 1024);
        struct script_pkt last =
            script_write_pkt(s, ROCE_OP_WRITE_LAST, script_rq(s, 2), 0, 0, script_data() + 2048, 100);
        script_send(s, &last);
        cr_assert_eq(s->mem[2048], 0);
        script_send(s, &middle);
        cr_assert_eq(s->mem[1024], 0);
        script_send(s, &first);
        cr_assert_arr_eq(s->mem, script_data(), 1024);
        if (reorder == 0) {
            cr_assert_eq(s->mem[1024], 0);
            script_send(s, &middle);
            script_send(s, &last);
        }
        cr_assert_arr_eq(s->mem, script_data(), 2148);
        cr_assert_eq(s->mem[2148], 0);
    }
}

/* A READ that is asked for again brings bytes once more, and may change what was there; only its completion
 * says that they are whole.
 * covers: ROCE-RS-63, ROCE-RC-44 */
Test(visibility, ROCE_RS_63_a_read_may_rewrite_what_it_brought)
{
    script_post(s, 1, NORNIC_WR_RDMA_READ, 0, 3000);
    expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 0));
    struct script_pkt p =
        script_read_resp_pkt(s, ROCE_OP_READ_RESP_FIRST, script_sq(s, 0), 1, script_data(), 1024);
    script_send(s, &p);
    cr_assert_arr_eq(s->mem, script_data(), 1024, "before its completion");
    expect_no_wc(s, send_cq);
    cr_assert(script_until_sent(s, SCRIPT_S));
    const struct roce_pkt *again = expect_op(s, ROCE_OP_READ_REQUEST, script_sq(s, 1));
    cr_assert_eq(again->reth.dma_len, 3000 - 1024);
    p = script_read_resp_pkt(s, ROCE_OP_READ_RESP_FIRST, script_sq(s, 1), 1, script_data() + 1, 1024);
    script_send(s, &p);
    cr_assert_arr_eq(s->mem + 1024, script_data() + 1, 1024);
    cr_assert(script_until_sent(s, SCRIPT_S));
    script_forget(s);
    p = script_read_resp_pkt(s, ROCE_OP_READ_RESP_LAST, script_sq(s, 2), 1, script_data() + 2048, 952);
    script_send(s, &p);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_arr_eq(s->mem + 2048, script_data() + 2048, 952);
}
