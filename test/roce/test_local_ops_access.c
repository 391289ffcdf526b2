/* SPDX-License-Identifier: BSD-2-Clause */
/* The rights of windows and of regions registered by a work request are asked for with every packet. */
#include "test/roce/local_ops.h"
#include "rdma/transport.h"

TestSuite(local_ops_access, .init = make_objects, .fini = free_objects);

static struct script_pkt long_write(enum roce_op op, uint32_t i, uint32_t key, uint64_t va, uint32_t bytes)
{
    struct script_pkt p = script_write_pkt(s, op, script_rq(s, i), 0, 2048 + 100, script_data(), bytes);
    p.reth.rkey = key;
    p.reth.va = va;
    p.bth.ack_req = 1;
    return p;
}

/* covers: ROCE-RS-8 */
Test(local_ops_access, ROCE_MW_5_a_window_that_goes_away_ends_a_write_half_way)
{
    post(bind_wr(1));
    struct script_pkt p = long_write(ROCE_OP_WRITE_FIRST, 0, window_key(), s->mr->iova + WINDOW_AT, 1024);
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 0);
    post(inv_wr(2, window_key()));
    memset(s->mem + WINDOW_AT, 0xee, WINDOW_BYTES);
    p = long_write(ROCE_OP_WRITE_MIDDLE, 1, 0, 0, 1024);
    script_send(s, &p);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_REM_ACC, 0);
    expect_event(s, NORNIC_EVENT_QP_ACCESS_ERR);
    for (uint32_t i = 0; i < WINDOW_BYTES; i++)
        cr_assert_eq(s->mem[WINDOW_AT + i], 0xee);
}

/* covers: ROCE-MR-6 */
Test(local_ops_access, ROCE_RS_8_a_fast_region_that_is_invalidated_ends_a_write_half_way)
{
    post(reg_wr(1));
    struct script_pkt p = long_write(ROCE_OP_WRITE_FIRST, 0, fast_key(), FAST_IOVA, 1024);
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 0);
    cr_assert_arr_eq(s->mem + WINDOW_AT, script_data(), 1024);
    post(inv_wr(2, fast_key()));
    p = long_write(ROCE_OP_WRITE_LAST, 1, 0, 0, 100);
    script_send(s, &p);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_REM_ACC, 0);
    expect_event(s, NORNIC_EVENT_QP_ACCESS_ERR);
}

Test(local_ops_access, ROCE_MW_5_a_window_that_goes_away_ends_a_read)
{
    post(bind_wr(1));
    struct script_pkt p = script_read_pkt(s, script_rq(s, 0), 0, 3000);
    p.reth.rkey = window_key();
    p.reth.va = s->mr->iova + WINDOW_AT;
    script_give(s, &p, 1);
    rdma_mw_dealloc(mw);
    script_pump(s);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 1);
    expect_event(s, NORNIC_EVENT_QP_ACCESS_ERR);
    cr_assert_eq(rdma_mw_alloc(s->pd, NORNIC_MW_TYPE_2, &mw), 0);
}

/* covers: ROCE-RS-5, ROCE-MW-5 */
Test(local_ops_access, ROCE_MW_2_another_qp_cannot_use_the_window)
{
    struct roce_qp *other = script_more_qp(s);
    post(bind_wr(1));
    struct script_pkt p =
        script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), WINDOW_AT, 4, script_data(), 4);
    p.reth.rkey = window_key();
    p.bth.dest_qpn = roce_qp_num(other);
    script_send(s, &p);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
    cr_assert_eq(roce_qp_state(other), NORNIC_QPS_ERR);
    expect_state(s, NORNIC_QPS_RTS);
    roce_qp_destroy(other);
}

Test(local_ops_access, ROCE_MW_2_a_window_does_not_outlive_its_qp)
{
    struct roce_qp *other = script_more_qp(s);
    struct nornic_send_wr wr = bind_wr(1);
    cr_assert_eq(roce_post_send(other, &wr, NULL), 0);
    script_pump(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(s->mr->windows, 1);
    roce_qp_destroy(other);
    cr_assert_eq(s->mr->windows, 0);
}

/* What connects to the QP next is another peer, which finds no window of the old one's. */
Test(local_ops_access, ROCE_MW_2_a_window_does_not_outlive_the_connection)
{
    post(bind_wr(1));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(s->mr->windows, 1);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    cr_assert_eq(s->mr->windows, 0);
    cr_assert_null(rdma_mr_remote(roce_dev_domain(s->dev), s->pd, roce_qp_num(s->qp), window_key(),
                                  s->mr->iova + WINDOW_AT, 4, NORNIC_ACCESS_REMOTE_WRITE));
    script_restart(s);
    peer_writes(0, window_key(), s->mr->iova + WINDOW_AT);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
}

Test(local_ops_access, atomics_and_reads_go_through_a_window)
{
    uint64_t before, after;
    memcpy(&before, s->mem + WINDOW_AT, 8);
    post(bind_wr(1));
    struct script_pkt p = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 0), WINDOW_AT, 5, 0);
    p.atomiceth.rkey = window_key();
    script_send(s, &p);
    cr_assert_eq(expect_op(s, ROCE_OP_ATOMIC_ACK, script_rq(s, 0))->atomicacketh.original, before);
    memcpy(&after, s->mem + WINDOW_AT, 8);
    cr_assert_eq(after, before + 5);
    p = script_read_pkt(s, script_rq(s, 1), WINDOW_AT, 8);
    p.reth.rkey = window_key();
    script_send(s, &p);
    cr_assert_arr_eq(expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 1))->payload, &after, 8);
}

/* The rights of a WRITE are asked for with every packet: here they are gone when its second one comes.
 * covers: ROCE-RS-48 */
Test(local_ops_access, ROCE_RS_48_a_write_in_progress_loses_its_right)
{
    post(reg_wr(1));
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    struct script_pkt first =
        script_write_pkt(s, ROCE_OP_WRITE_FIRST, script_rq(s, 0), 0, 1028, script_data(), 1024);
    first.reth.rkey = fast_key();
    first.reth.va = FAST_IOVA;
    script_send(s, &first);
    expect_nothing(s);
    post(inv_wr(2, fast_key()));
    expect_wc(s, send_cq, 2, NORNIC_WC_SUCCESS);
    struct nornic_send_wr again = reg_wr(3);
    again.bind.access = NORNIC_ACCESS_REMOTE_READ;
    post(again);
    expect_wc(s, send_cq, 3, NORNIC_WC_SUCCESS);
    struct script_pkt last = script_write_pkt(s, ROCE_OP_WRITE_LAST, script_rq(s, 1), 0, 0, script_data(), 4);
    script_send(s, &last);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_REM_ACC, 0);
    expect_event(s, NORNIC_EVENT_QP_ACCESS_ERR);
}
