/* SPDX-License-Identifier: BSD-2-Clause */
/* SEND with invalidate: what the requester emits, what the responder takes back. */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "rdma/transport.h"
#include "test/support/script_suite.h"

#define ALL_REMOTE (NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC)
#define PEER_KEY   0xabcd1234u

TestSuite(send_inv, .init = setup, .fini = teardown);

static void post_inv(uint64_t wr_id, uint32_t len_bytes, uint32_t flags)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, wr_id, NORNIC_WR_SEND_WITH_INV, &sge, 0, len_bytes);
    wr.send_flags |= flags;
    wr.invalidate_rkey = PEER_KEY;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
}

/* --- the requester --- */

/* covers: ROCE-OPC-3, ROCE-RC-11 */
Test(send_inv, the_key_travels_on_the_last_packet)
{
    static const uint32_t lengths[] = {0, 1, 1024, 1025, 2048, 3000};
    uint32_t psn = 0;
    for (int i = 0; i < 6; i++) {
        uint32_t pkts = lengths[i] ? (lengths[i] - 1) / 1024 + 1 : 1;
        post_inv((uint64_t)i, lengths[i], NORNIC_SEND_SOLICITED);
        for (uint32_t k = 0; k < pkts; k++) {
            bool first = k == 0, last = k == pkts - 1;
            enum roce_op op = first && last ? ROCE_OP_SEND_ONLY_INV
                              : last        ? ROCE_OP_SEND_LAST_INV
                              : first       ? ROCE_OP_SEND_FIRST
                                            : ROCE_OP_SEND_MIDDLE;
            const struct roce_pkt *p = expect_op(s, op, script_sq(s, psn + k));
            cr_assert_eq(p->bth.se, last);
            cr_assert_eq(p->ieth.rkey, last ? PEER_KEY : 0);
            cr_assert_eq(p->payload_bytes, last ? lengths[i] - k * 1024 : 1024);
            cr_assert_arr_eq(p->payload, s->mem + k * 1024, p->payload_bytes);
        }
        psn += pkts;
        ack(psn - 1, (uint32_t)i + 1);
        cr_assert_eq(expect_wc(s, send_cq, (uint64_t)i, NORNIC_WC_SUCCESS).opcode, NORNIC_WC_SEND);
    }
}

Test(send_inv, ROCE_RC_21_it_needs_a_credit_like_any_send)
{
    post_inv(1, 8, 0);
    post_inv(2, 8, 0);
    expect_op(s, ROCE_OP_SEND_ONLY_INV, script_sq(s, 0));
    expect_nothing(s);
    ack(0, 1);
    expect_op(s, ROCE_OP_SEND_ONLY_INV, script_sq(s, 1));
}

/* covers: ROCE-RS-45, ROCE-RC-50 */
Test(send_inv, a_peer_may_refuse_the_key)
{
    post_inv(1, 8, 0);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_NAK_REM_ACC, 0);
    expect_wc(s, send_cq, 1, NORNIC_WC_REM_ACCESS_ERR);
    expect_state(s, NORNIC_QPS_ERR);
}

/* --- the responder --- */

static struct rdma_mr *make_fast(uint32_t access, uint32_t *key)
{
    struct rdma_mr *fast = NULL;
    cr_assert_eq(rdma_mr_alloc_fast(s->pd, 4096, &fast), 0);
    *key = fast->rkey ^ 1;
    struct nornic_send_wr wr = {
        .opcode = NORNIC_WR_REG_MR,
        .rkey = *key,
        .bind = {.addr = (uintptr_t)s->mem + 8192, .len_bytes = 4096, .access = access}};
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    cr_assert_eq(rdma_mr_find(roce_dev_domain(s->dev), *key), fast);
    return fast;
}

static struct rdma_mw *make_window(struct roce_qp *qp, const struct rdma_mr *mr, uint32_t lkey, uint32_t *key)
{
    struct rdma_mw *mw = NULL;
    cr_assert_eq(rdma_mw_alloc(s->pd, NORNIC_MW_TYPE_2, &mw), 0);
    *key = mw->rkey ^ 1;
    struct nornic_send_wr wr = {
        .opcode = NORNIC_WR_BIND_MW,
        .rkey = *key,
        .bind = {.lkey = lkey, .addr = mr->iova, .len_bytes = 64, .access = ALL_REMOTE}};
    cr_assert_eq(roce_post_send(qp, &wr, NULL), 0);
    script_pump(s);
    return mw;
}

static bool is_reachable(uint32_t key, uint64_t va)
{
    return rdma_mr_remote(roce_dev_domain(s->dev), s->pd, roce_qp_num(s->qp), key, va, 1,
                          NORNIC_ACCESS_REMOTE_WRITE) != NULL;
}

static void peer_sends(enum roce_op op, uint32_t i, uint32_t key, uint32_t len)
{
    struct script_pkt p = script_send_pkt(s, op, script_rq(s, i), script_data(), len);
    p.ieth_rkey = key;
    p.bth.ack_req = 1;
    script_send(s, &p);
}

/* covers: ROCE-MR-6 */
Test(send_inv, ROCE_RS_44_a_fast_region_is_invalidated_and_the_completion_says_so)
{
    uint32_t key;
    struct rdma_mr *fast = make_fast(NORNIC_ACCESS_LOCAL_WRITE | ALL_REMOTE, &key);
    script_recv(s, 7, 0, 2000);
    peer_sends(ROCE_OP_SEND_FIRST, 0, 0, 1024);
    expect_ack(s, script_rq(s, 0), 0);
    cr_assert(is_reachable(key, 0), "not before the last packet");
    peer_sends(ROCE_OP_SEND_LAST_INV, 1, key, 100);
    expect_ack(s, script_rq(s, 1), 1);
    struct nornic_wc wc = expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.opcode, NORNIC_WC_RECV);
    cr_assert_eq(wc.byte_len, 1124);
    cr_assert_eq(wc.wc_flags, NORNIC_WC_WITH_INV);
    cr_assert_eq(wc.invalidated_rkey, key);
    cr_assert_arr_eq(s->mem, script_data(), 1024);
    cr_assert_arr_eq(s->mem + 1024, script_data(), 100);
    cr_assert_not(is_reachable(key, 0));
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 2), 0, 4, script_data(), 4);
    p.reth.rkey = key;
    p.reth.va = 0;
    script_send(s, &p);
    expect_nak(s, script_rq(s, 2), ROCE_SYNDROME_NAK_REM_ACC, 1);
    expect_event(s, NORNIC_EVENT_QP_ACCESS_ERR);
    cr_assert_eq(rdma_mr_dereg(fast), 0);
}

Test(send_inv, ROCE_RS_44_a_window_of_this_qp_is_invalidated)
{
    uint32_t key;
    struct rdma_mw *mw = make_window(s->qp, s->mr, s->mr->lkey, &key);
    script_recv(s, 7, 0, 8);
    peer_sends(ROCE_OP_SEND_ONLY_INV, 0, key, 8);
    expect_ack(s, script_rq(s, 0), 1);
    cr_assert_eq(expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS).invalidated_rkey, key);
    cr_assert_not(is_reachable(key, s->mr->iova));
    cr_assert_eq(s->mr->windows, 0);
    rdma_mw_dealloc(mw);
}

/* covers: ROCE-RS-20, ROCE-RS-24 */
Test(send_inv, a_duplicate_is_acknowledged_and_invalidates_nothing)
{
    uint32_t key;
    struct rdma_mw *mw = make_window(s->qp, s->mr, s->mr->lkey, &key);
    script_recv(s, 7, 0, 8);
    script_recv(s, 8, 0, 8);
    peer_sends(ROCE_OP_SEND_ONLY_INV, 0, key, 8);
    expect_ack(s, script_rq(s, 0), 1);
    expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS);
    struct nornic_send_wr wr = {
        .opcode = NORNIC_WR_BIND_MW,
        .rkey = key,
        .bind = {.lkey = s->mr->lkey, .addr = s->mr->iova, .len_bytes = 64, .access = ALL_REMOTE}};
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    peer_sends(ROCE_OP_SEND_ONLY_INV, 0, key, 8);
    expect_ack(s, script_rq(s, 0), 1);
    expect_no_wc(s, recv_cq);
    cr_assert(is_reachable(key, s->mr->iova));
    rdma_mw_dealloc(mw);
}

/* The data is placed, but the receive fails, and with it the connection. */
static void expect_refused(uint32_t key, const char *why)
{
    memset(s->mem, 0xee, 8);
    script_recv(s, 9, 0, 8);
    peer_sends(ROCE_OP_SEND_ONLY_INV, 0, key, 8);
    const struct roce_pkt *p = script_next(s);
    cr_assert(p && p->aeth.syndrome == ROCE_SYNDROME_NAK_REM_ACC && p->bth.psn == script_rq(s, 0), "%s", why);
    cr_assert_arr_eq(s->mem, script_data(), 8);
    expect_wc(s, recv_cq, 9, NORNIC_WC_LOC_QP_OP_ERR);
    expect_no_event(s);
    expect_state(s, NORNIC_QPS_ERR);
}

/* covers: ROCE-RS-44, ROCE-MR-7 */
Test(send_inv, ROCE_RS_45_what_may_not_be_invalidated_ends_the_connection)
{
    uint32_t key, window_key;
    expect_refused(s->mr->rkey, "a plain region");
    renew();
    expect_refused(PEER_KEY, "nobody's key");
    renew();
    struct rdma_mr *fast = make_fast(NORNIC_ACCESS_LOCAL_WRITE, &key);
    expect_refused(key, "a region without remote rights");
    cr_assert_eq(rdma_mr_dereg(fast), 0);
    renew();
    fast = make_fast(NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_MW_BIND | ALL_REMOTE, &key);
    struct rdma_mw *mw = make_window(s->qp, fast, key, &window_key);
    expect_refused(key, "a region with a window");
    rdma_mw_dealloc(mw);
    cr_assert_eq(rdma_mr_dereg(fast), 0);
}

/* covers: ROCE-MW-2 */
Test(send_inv, ROCE_RS_45_nor_a_window_of_another_qp_or_of_type_1)
{
    uint32_t key;
    struct roce_qp *other = script_more_qp(s);
    struct rdma_mw *mw = make_window(other, s->mr, s->mr->lkey, &key), *one = NULL;
    expect_refused(key, "another QP's window");
    roce_qp_destroy(other);
    rdma_mw_dealloc(mw);
    renew();
    struct nornic_bind bind = {
        .lkey = s->mr->lkey, .addr = s->mr->iova, .len_bytes = 64, .access = NORNIC_ACCESS_REMOTE_WRITE};
    cr_assert_eq(rdma_mw_alloc(s->pd, NORNIC_MW_TYPE_1, &one), 0);
    cr_assert_eq(roce_bind_mw(s->qp, one, 1, 0, &bind), 0);
    script_pump(s);
    expect_refused(one->rkey, "a type 1 window");
    cr_assert(is_reachable(one->rkey, s->mr->iova));
    rdma_mw_dealloc(one);
}

/* covers: ROCE-RS-16 */
Test(send_inv, a_full_cq_leaves_the_key_as_it_is)
{
    config.recv_cq_capacity = 1;
    renew();
    uint32_t key;
    struct rdma_mr *fast = make_fast(NORNIC_ACCESS_LOCAL_WRITE | ALL_REMOTE, &key);
    script_recv(s, 1, 0, 8);
    script_recv(s, 2, 0, 8);
    peer_sends(ROCE_OP_SEND_ONLY, 0, 0, 8);
    expect_ack(s, script_rq(s, 0), 1);
    peer_sends(ROCE_OP_SEND_ONLY_INV, 1, key, 8);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_REM_OP, 1);
    cr_assert(is_reachable(key, 0), "nobody was told that it is gone");
    cr_assert_eq(rdma_mr_dereg(fast), 0);
}
