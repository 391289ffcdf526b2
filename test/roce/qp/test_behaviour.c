/* SPDX-License-Identifier: BSD-2-Clause */
/* ROCE section 11.1, and what a post refuses (ROCE-QP-40). */
#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#include "test/support/rc_masks.h"
#include "test/support/script.h"

static struct script *s;
static struct script_config config;

static void renew(enum nornic_qp_state state)
{
    if (s)
        script_free(s);
    config.state = state;
    s = script_new(&config);
}

static void setup(void)
{
    config = script_defaults();
    renew(NORNIC_QPS_RTS);
}

static void teardown(void)
{
    script_free(s);
    s = NULL;
}

TestSuite(qp_behaviour, .init = setup, .fini = teardown);

static int post_send(void)
{
    struct nornic_sge sge;
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_RDMA_WRITE, &sge, 0, 4);
    int err = roce_post_send(s->qp, &wr, NULL);
    script_pump(s);
    return err;
}

static int post_recv(uint64_t wr_id)
{
    struct nornic_sge sge = {(uintptr_t)s->mem, 64, s->mr->lkey};
    struct nornic_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
    return roce_post_recv(s->qp, &wr, NULL);
}

static void peer_sends(uint32_t i)
{
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, i), script_data(), 4);
    p.bth.ack_req = 1;
    script_send(s, &p);
}

Test(qp_behaviour, ROCE_QP_1_reset)
{
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    expect_state(s, NORNIC_QPS_RESET);
    cr_assert_eq(post_send(), -EINVAL);
    cr_assert_eq(post_recv(1), -EINVAL);
    peer_sends(0);
    expect_nothing(s);
    expect_no_wc(s, send_cq);
    expect_no_wc(s, recv_cq);
}

Test(qp_behaviour, ROCE_QP_2_init)
{
    renew(NORNIC_QPS_INIT);
    cr_assert_eq(post_send(), -EINVAL);
    cr_assert_eq(post_recv(1), 0);
    peer_sends(0);
    expect_nothing(s);
    expect_no_wc(s, recv_cq);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), 0);
    peer_sends(0);
    expect_ack(s, script_rq(s, 0), 1);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
}

/* covers: ROCE-QP-3, ROCE-EV-5, ROCE-RC-18 */
Test(qp_behaviour, ROCE_QP_3_rtr)
{
    renew(NORNIC_QPS_RTR);
    cr_assert_eq(post_send(), -EINVAL);
    cr_assert_eq(post_recv(1), 0);
    cr_assert_eq(post_recv(2), 0);
    expect_no_event(s);
    peer_sends(0);
    expect_ack(s, script_rq(s, 0), 1);
    expect_event(s, NORNIC_EVENT_COMM_EST);
    peer_sends(1);
    expect_ack(s, script_rq(s, 1), 2);
    struct script_pkt p = script_read_pkt(s, script_rq(s, 2), 0, 8);
    script_send(s, &p);
    expect_op(s, ROCE_OP_READ_RESP_ONLY, script_rq(s, 2));
    expect_no_event(s); /* once */
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    expect_state(s, NORNIC_QPS_RTR);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, RC_RTS_MASK), 0);
    cr_assert_eq(post_send(), 0);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
}

Test(qp_behaviour, ROCE_EV_5_only_a_valid_packet_establishes)
{
    renew(NORNIC_QPS_RTR);
    struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, 0), script_data(), 4);
    p.bad_icrc = true;
    script_send(s, &p);
    p.bad_icrc = false;
    p.bth.pkey = 0x1234;
    script_send(s, &p);
    expect_no_event(s);
}

Test(qp_behaviour, ROCE_EV_5_not_in_rts)
{
    cr_assert_eq(post_recv(1), 0);
    peer_sends(0);
    expect_ack(s, script_rq(s, 0), 1);
    expect_no_event(s);
}

Test(qp_behaviour, ROCE_QP_4_rts_does_both)
{
    cr_assert_eq(post_recv(1), 0);
    cr_assert_eq(post_send(), 0);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    peer_sends(0);
    expect_ack(s, script_rq(s, 0), 1);
}

Test(qp_behaviour, ROCE_QP_7_err_flushes_what_is_posted)
{
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    cr_assert_eq(post_send(), 0);
    cr_assert_eq(post_recv(2), 0);
    script_pump(s);
    expect_wc(s, send_cq, 1, NORNIC_WC_WR_FLUSH_ERR);
    expect_wc(s, recv_cq, 2, NORNIC_WC_WR_FLUSH_ERR);
    expect_nothing(s);
    peer_sends(0);
    expect_nothing(s);
}

Test(qp_behaviour, ROCE_QP_8_reset_forgets)
{
    for (uint64_t i = 0; i < 4; i++)
        cr_assert_eq(post_recv(i), 0);
    peer_sends(0);
    cr_assert_eq(post_send(), 0);
    script_ack(s, script_sq(s, 0), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    cr_assert_eq(post_send(), 0);
    struct script_pkt add = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 1), 64, 5, 0);
    script_send(s, &add);
    script_forget(s);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    script_pump(s);
    expect_wc(s, recv_cq, 0, NORNIC_WC_SUCCESS); /* what was there stays */
    expect_wc(s, send_cq, 1, NORNIC_WC_SUCCESS);
    expect_no_wc(s, recv_cq); /* nothing is flushed */
    expect_no_wc(s, send_cq);
    script_advance(s, SCRIPT_S);
    expect_nothing(s);
    cr_assert_eq(script_modify(s, NORNIC_QPS_INIT, RC_INIT_MASK), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, RC_RTS_MASK), 0);
    script_send(s, &add); /* the saved result is gone, and PSN 1 is ahead again */
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_NAK_PSN_SEQ, 0);
    peer_sends(0);
    expect_nak(s, script_rq(s, 0), ROCE_SYNDROME_RNR | 12, 0); /* the receives are gone */
    cr_assert_eq(post_send(), 0);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
}

Test(qp_behaviour, ROCE_QP_9_only_reset_leaves_err)
{
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_INIT, RC_INIT_MASK), -EINVAL);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), -EINVAL);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, 0), -EINVAL);
    cr_assert_eq(script_modify(s, NORNIC_QPS_SQD, 0), -EINVAL);
    expect_state(s, NORNIC_QPS_ERR);
    cr_assert_eq(script_modify(s, NORNIC_QPS_ERR, 0), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_INIT, RC_INIT_MASK), 0);
}

Test(qp_behaviour, ROCE_QP_10_a_failed_modify_changes_nothing)
{
    renew(NORNIC_QPS_INIT);
    struct nornic_qp_attr before, after;
    roce_qp_query(s->qp, &before, NULL);
    const struct nornic_qp_attr good = s->config.attr;
    s->config.attr.min_rnr_timer = 32;
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), -EINVAL);
    s->config.attr = good;
    s->config.attr.av.sgid_index = 63; /* no such entry */
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), -EINVAL);
    s->config.attr = good;
    s->config.attr.av.dgid = (struct nornic_addr){{0x20, 1, 0x0d, 0xb8, [15] = 2}}; /* ROCE-FRM-39 */
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), -EINVAL);
    s->config.attr = good;
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK | NORNIC_QP_QKEY), -EINVAL);
    roce_qp_query(s->qp, &after, NULL);
    cr_assert_eq(before.state, after.state);
    cr_assert_eq(before.min_rnr_timer, after.min_rnr_timer);
    cr_assert_eq(before.dest_qpn, after.dest_qpn);
    cr_assert_eq(before.rq_psn, after.rq_psn);
    expect_state(s, NORNIC_QPS_INIT);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), 0);
}

Test(qp_behaviour, ROCE_QP_32_the_path_mtu_fits_the_port)
{
    struct test_random rnd = {.state = 7};
    struct roce_dev_config dc = {.random = test_random_source(&rnd), .port_mtu_bytes = 1500};
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct roce_qp *qp;
    cr_assert_eq(roce_dev_create(&dc, &dev), 0);
    struct nornic_addr own = s->from_peer.dst;
    cr_assert_eq(roce_dev_gid_add(dev, &(struct nornic_gid){.addr = own, .mac = s->from_peer.dst_mac}), 0);
    cr_assert_eq(rdma_pd_create(roce_dev_domain(dev), &pd), 0);
    struct roce_qp_config qc = {.type = NORNIC_QPT_RC,
                                .pd = pd,
                                .send_cq = s->send_cq,
                                .recv_cq = s->recv_cq,
                                .caps = s->config.caps};
    cr_assert_eq(roce_qp_create(dev, &qc, &qp), 0);
    struct nornic_qp_attr attr = s->config.attr;
    attr.state = NORNIC_QPS_INIT;
    cr_assert_eq(roce_qp_modify(qp, &attr, NORNIC_QP_STATE | RC_INIT_MASK, 0), 0);
    attr.state = NORNIC_QPS_RTR;
    attr.path_mtu = NORNIC_MTU_2048;
    cr_assert_eq(roce_qp_modify(qp, &attr, NORNIC_QP_STATE | RC_RTR_MASK, 0), -EINVAL);
    attr.path_mtu = NORNIC_MTU_1024;
    cr_assert_eq(roce_qp_modify(qp, &attr, NORNIC_QP_STATE | RC_RTR_MASK, 0), 0);
    roce_qp_destroy(qp);
    cr_assert_eq(rdma_pd_destroy(pd), 0);
    cr_assert_eq(roce_dev_destroy(dev), 0);
}

/* All ones says that nobody has resolved the peer's MAC: to send there would be to broadcast.
 * covers: ROCE-FRM-1, ROCE-QP-22 */
Test(qp_behaviour, ROCE_FRM_1_a_peer_without_a_mac_is_no_peer)
{
    renew(NORNIC_QPS_INIT);
    struct nornic_mac mac = s->config.attr.av.dst_mac;
    memset(s->config.attr.av.dst_mac.b, 0xff, sizeof mac.b);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), -EINVAL);
    expect_state(s, NORNIC_QPS_INIT);
    s->config.attr.av.dst_mac = mac;
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), 0);
}

/* PSNs are cut to 24 bits (ROCE-QP-32), and every operation works over the wrap (RC-4). */
Test(qp_behaviour, ROCE_QP_32_psns_are_masked)
{
    config.attr.sq_psn = 0xff000005;
    config.attr.rq_psn = 0xaa000009;
    renew(NORNIC_QPS_RTS);
    cr_assert_eq(post_send(), 0);
    expect_op(s, ROCE_OP_WRITE_ONLY, 5);
    cr_assert_eq(post_recv(1), 0);
    peer_sends(0);
    expect_ack(s, 9, 1);
}

/* A work request that is refused at once, and the queue as it was. */
static void is_refused(struct nornic_send_wr wr, int line)
{
    const struct nornic_send_wr *bad = NULL;
    cr_assert_eq(roce_post_send(s->qp, &wr, &bad), -EINVAL, "line %d", line);
    cr_assert_eq(bad, &wr, "line %d", line);
    script_pump(s);
    script_expect_nothing(s, line);
    script_expect_no_wc(s->send_cq, line);
    script_expect_state(s, NORNIC_QPS_RTS, line);
}
#define expect_refused(wr) is_refused(wr, __LINE__)

Test(qp_behaviour, ROCE_QP_40_what_a_post_refuses)
{
    struct nornic_sge sges[NORNIC_MAX_SGE + 1], sge;
    for (int i = 0; i <= NORNIC_MAX_SGE; i++)
        sges[i] = (struct nornic_sge){(uintptr_t)s->mem, 8, s->mr->lkey};
    struct nornic_send_wr wr = script_wr(s, 1, NORNIC_WR_SEND, &sge, 0, 8);
    wr.opcode = (enum nornic_wr_opcode)7;
    expect_refused(wr);
    wr.opcode = (enum nornic_wr_opcode) - 1;
    expect_refused(wr);
    wr = script_wr(s, 1, NORNIC_WR_SEND, &sge, 0, 8);
    wr.sg_list = sges;
    wr.num_sge = NORNIC_MAX_SGE + 1;
    expect_refused(wr);
    /* total above 2^31 */
    sges[0].len_bytes = 0x80000000;
    sges[1].len_bytes = 1;
    wr.num_sge = 2;
    expect_refused(wr);
    sges[0].len_bytes = sges[1].len_bytes = UINT32_MAX;
    expect_refused(wr);
    /* inline: too long, or not for this operation */
    wr = script_wr(s, 1, NORNIC_WR_SEND, &sge, 0, 257);
    wr.send_flags |= NORNIC_SEND_INLINE;
    expect_refused(wr);
    static const enum nornic_wr_opcode not_inline[] = {NORNIC_WR_RDMA_READ, NORNIC_WR_ATOMIC_CMP_AND_SWP,
                                                       NORNIC_WR_ATOMIC_FETCH_AND_ADD};
    for (int i = 0; i < 3; i++) {
        wr = script_wr(s, 1, not_inline[i], &sge, 0, 8);
        wr.send_flags |= NORNIC_SEND_INLINE;
        expect_refused(wr);
    }
    static const uint32_t wrong[] = {0, 4, 7, 9, 16};
    for (int i = 0; i < 5; i++) {
        expect_refused(script_wr(s, 1, NORNIC_WR_ATOMIC_FETCH_AND_ADD, &sge, 0, wrong[i]));
        expect_refused(script_wr(s, 1, NORNIC_WR_ATOMIC_CMP_AND_SWP, &sge, 0, wrong[i]));
    }
    cr_assert_eq(post_send(), 0);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
}

Test(qp_behaviour, ROCE_QP_40_a_list_stops_at_the_bad_one)
{
    struct nornic_sge sge[3];
    struct nornic_send_wr wr[3] = {script_wr(s, 1, NORNIC_WR_RDMA_WRITE, &sge[0], 0, 8),
                                   script_wr(s, 2, NORNIC_WR_ATOMIC_FETCH_AND_ADD, &sge[1], 0, 7),
                                   script_wr(s, 3, NORNIC_WR_RDMA_WRITE, &sge[2], 0, 8)};
    wr[0].next = &wr[1];
    wr[1].next = &wr[2];
    const struct nornic_send_wr *bad = NULL;
    cr_assert_eq(roce_post_send(s->qp, wr, &bad), -EINVAL);
    cr_assert_eq(bad, &wr[1]);
    script_pump(s);
    expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0));
    expect_nothing(s);
}

Test(qp_behaviour, ROCE_QP_40_full_queues)
{
    config.caps.max_send_wr = 4;
    config.caps.max_recv_wr = 4;
    renew(NORNIC_QPS_RTS);
    struct nornic_qp_caps caps;
    roce_qp_query(s->qp, NULL, &caps);
    cr_assert_geq(caps.max_send_wr, 4);
    for (uint32_t i = 0; i < caps.max_send_wr; i++)
        cr_assert_eq(post_send(), 0);
    cr_assert_eq(post_send(), -ENOMEM);
    for (uint32_t i = 0; i < caps.max_recv_wr; i++)
        cr_assert_eq(post_recv(i), 0);
    struct nornic_recv_wr wr = {.wr_id = 9};
    const struct nornic_recv_wr *bad = NULL;
    cr_assert_eq(roce_post_recv(s->qp, &wr, &bad), -ENOMEM);
    cr_assert_eq(bad, &wr);
    peer_sends(0);
    cr_assert_eq(post_recv(10), 0, "a completed receive makes room");
}

Test(qp_behaviour, ROCE_QP_34_qpns_are_not_reused_soon)
{
    struct roce_qp_config qc = {.type = NORNIC_QPT_RC,
                                .pd = s->pd,
                                .send_cq = s->send_cq,
                                .recv_cq = s->recv_cq,
                                .caps = s->config.caps};
    uint32_t last = roce_qp_num(s->qp);
    cr_assert_geq(last, 16);
    for (int i = 0; i < 100; i++) {
        struct roce_qp *qp;
        cr_assert_eq(roce_qp_create(s->dev, &qc, &qp), 0);
        cr_assert_neq(roce_qp_num(qp), last);
        cr_assert_neq(roce_qp_num(qp), roce_qp_num(s->qp));
        cr_assert_geq(roce_qp_num(qp), 16);
        last = roce_qp_num(qp);
        roce_qp_destroy(qp);
    }
    qc.type = (enum nornic_qp_type)5; /* RD: ROCE-GEN-1 */
    struct roce_qp *qp;
    cr_assert_eq(roce_qp_create(s->dev, &qc, &qp), -EOPNOTSUPP);
}

/* covers: ROCE-CQ-6, ROCE-PD-2 */
Test(qp_behaviour, ROCE_CQ_6_a_qp_holds_its_cqs_and_pd)
{
    cr_assert_eq(rdma_cq_destroy(s->send_cq), -EBUSY);
    cr_assert_eq(rdma_cq_destroy(s->recv_cq), -EBUSY);
    cr_assert_eq(rdma_pd_destroy(s->pd), -EBUSY);
    cr_assert_eq(roce_dev_destroy(s->dev), -EBUSY);
}

/* covers: ROCE-QP-24, ROCE-RS-3 */
Test(qp_behaviour, rights_may_change_in_rts)
{
    struct script_pkt p = script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 0, 4, script_data(), 4);
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_ack(s, script_rq(s, 0), 1);
    s->config.attr.access_flags = 0;
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, NORNIC_QP_ACCESS_FLAGS), 0);
    p.bth.psn = script_rq(s, 1);
    script_send(s, &p);
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_INV_REQ, 1);
}
