/* SPDX-License-Identifier: BSD-2-Clause */
/* IPv4 and IPv6 at the same time on one port. */
#include <criterion/criterion.h>
#include <string.h>

#include "test/support/dgram.h"
#include "test/support/rc_masks.h"

#define AT 65536u

static struct script *s;
static struct nornic_addr own[2], peer[2]; /* IPv4, IPv6 */

static void setup(void)
{
    struct script_config config = script_defaults();
    config.any_dest = true;
    s = script_new(&config);
    for (uint8_t i = 1; i <= 2; i++) {
        *(i == 1 ? &own[0] : &peer[0]) = dgram_addr(s, i);
        *(i == 1 ? &own[1] : &peer[1]) = (struct nornic_addr){{0x20, 0x01, 0x0d, 0xb8, [15] = i}};
    }
    struct nornic_gid gid = {.addr = own[1], .mac = {{2, 0, 0, 0, 0, 1}}};
    cr_assert_eq(roce_dev_gid_add(s->dev, &gid), 1);
    expect_event(s, NORNIC_EVENT_GID_CHANGE);
}

static void teardown(void)
{
    script_free(s);
}

TestSuite(families, .init = setup, .fini = teardown);

/* A second RC QP, towards the peer's IPv6 address. */
static struct roce_qp *rc_v6(void)
{
    struct roce_qp_config config = {.type = NORNIC_QPT_RC,
                                    .pd = s->pd,
                                    .send_cq = s->send_cq,
                                    .recv_cq = s->recv_cq,
                                    .caps = s->config.caps};
    struct roce_qp *v4 = s->qp;
    cr_assert_eq(roce_qp_create(s->dev, &config, &s->qp), 0);
    s->config.attr.av.dgid = peer[1];
    s->config.attr.av.sgid_index = 1;
    cr_assert_eq(script_modify(s, NORNIC_QPS_INIT, RC_INIT_MASK), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTR, RC_RTR_MASK), 0);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RTS, RC_RTS_MASK), 0);
    struct roce_qp *v6 = s->qp;
    s->qp = v4;
    return v6;
}

static void expect_family(const struct roce_pkt *pkt, int v6)
{
    cr_assert_not_null(pkt);
    cr_assert_eq(pkt->l3_kind, v6 ? ROCE_L3_IPV6 : ROCE_L3_IPV4);
    cr_assert(nornic_addr_equal(&pkt->src, &own[v6]));
    cr_assert(nornic_addr_equal(&pkt->dst, &peer[v6]));
}

static struct script_pkt from(struct script_pkt p, const struct roce_qp *qp, int v6)
{
    p.path.src = peer[v6];
    p.path.dst = own[v6];
    p.bth.dest_qpn = roce_qp_num(qp);
    return p;
}

/* covers: ROCE-GEN-2, CA17-1 */
Test(families, ROCE_GEN_2_rc_over_both_at_once)
{
    struct roce_qp *qps[2] = {s->qp, rc_v6()};
    for (uint32_t i = 0; i < 8; i++) {
        int v6 = i & 1;
        struct nornic_sge sge;
        struct nornic_send_wr wr = script_wr(s, i, NORNIC_WR_SEND, &sge, 0, 100);
        cr_assert_eq(roce_post_send(qps[v6], &wr, NULL), 0);
        script_pump(s);
        expect_family(script_next(s), v6);
        struct nornic_recv_wr recv = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
        cr_assert_eq(roce_post_recv(qps[v6], &recv, NULL), 0);
        struct script_pkt p = script_send_pkt(s, ROCE_OP_SEND_ONLY, script_rq(s, i / 2), script_data(), 100);
        p.bth.ack_req = 1;
        p = from(p, qps[v6], !v6); /* the other family's addresses are not this QP's */
        script_send(s, &p);
        expect_nothing(s);
        p = from(p, qps[v6], v6);
        script_send(s, &p);
        expect_family(expect_ack(s, script_rq(s, i / 2), i / 2 + 1), v6);
        expect_wc(s, recv_cq, i, NORNIC_WC_SUCCESS);
        p = from(script_ack_pkt(s, script_sq(s, i / 2), ROCE_SYNDROME_ACK_UNLIMITED, i / 2 + 1), qps[v6], v6);
        script_send(s, &p);
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
    }
    expect_verdict(s, ROCE_RX_DROP_GID, 8);
    cr_assert_eq(roce_qp_destroy(qps[1]), 0);
}

/* covers: ROCE-GEN-2, CA17-1, ROCE-UD-4, ROCE-UD-5 */
Test(families, ROCE_GEN_2_one_ud_qp_over_both)
{
    struct roce_qp *qp = dgram_qp(s, SCRIPT_QKEY);
    struct nornic_ah *ahs[2];
    for (int v6 = 0; v6 < 2; v6++) {
        struct nornic_av av = s->config.attr.av;
        av.dgid = peer[v6];
        av.sgid_index = (uint8_t)v6;
        cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &ahs[v6]), 0);
    }
    for (uint32_t i = 0; i < 8; i++) {
        int v6 = i & 1;
        struct nornic_sge sge;
        struct nornic_send_wr wr = dgram_wr(s, ahs[v6], i, &sge, 0, 100);
        cr_assert_eq(roce_post_send(qp, &wr, NULL), 0);
        script_pump(s);
        const struct roce_pkt *pkt = script_next(s);
        expect_family(pkt, v6);
        cr_assert_eq(pkt->bth.psn, script_sq(s, i));
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
        sge = (struct nornic_sge){(uintptr_t)s->mem + AT, 140, s->mr->lkey};
        struct nornic_recv_wr recv = {.wr_id = i, .sg_list = &sge, .num_sge = 1};
        cr_assert_eq(roce_post_recv(qp, &recv, NULL), 0);
        struct script_pkt p = from(dgram_pkt(s, script_data(), 100), qp, v6);
        script_send(s, &p);
        struct nornic_wc wc = expect_wc(s, recv_cq, i, NORNIC_WC_SUCCESS);
        cr_assert_eq(wc.network, v6 ? NORNIC_NETWORK_IPV6 : NORNIC_NETWORK_IPV4);
        struct nornic_av av;
        cr_assert_eq(roce_ah_from_wc(s->dev, &wc, s->mem + AT, &av), 0);
        cr_assert_eq(av.sgid_index, v6);
        cr_assert(nornic_addr_equal(&av.dgid, &peer[v6]));
    }
    cr_assert_eq(roce_qp_destroy(qp), 0);
    for (int v6 = 0; v6 < 2; v6++)
        cr_assert_eq(roce_ah_destroy(ahs[v6]), 0);
}
