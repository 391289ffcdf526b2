/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast: ROCE section 10.2. */
#include <errno.h>
#include <string.h>

#include "test/support/alloc.h"
#include "test/support/dgram_suite.h"

static void setup(void)
{
    config = script_defaults();
    config.any_dest = true;
    type = NORNIC_QPT_UD;
    renew();
}

TestSuite(mcast, .init = setup, .fini = teardown);

#define AT 4096u

static struct nornic_addr group_v4(uint8_t last)
{
    return nornic_addr_from_v4((const uint8_t[]){239, 0x81, 2, last});
}

/* A datagram of the peer to a group. */
static struct script_pkt group_pkt(const struct nornic_addr *group)
{
    struct script_pkt p = dgram_pkt(s, script_data(), 32);
    p.bth.dest_qpn = 0xffffff;
    p.path.dst = *group;
    p.path.dst_mac = nornic_addr_mcast_mac(group);
    return p;
}

static void recv_on(struct roce_qp *qp, uint64_t wr_id, uint32_t len_bytes)
{
    struct nornic_sge sge = {(uintptr_t)s->mem + AT + wr_id * 256, len_bytes, s->mr->lkey};
    struct nornic_recv_wr wr = {.wr_id = wr_id, .sg_list = &sge, .num_sge = 1};
    cr_assert_eq(roce_post_recv(qp, &wr, NULL), 0);
}

/* Sends to a group and collects what leaves. */
static void send_to(const struct nornic_addr *group)
{
    struct nornic_ah *to = dgram_ah_to(s, group);
    struct nornic_sge sge;
    struct nornic_send_wr wr = dgram_wr(s, to, 99, &sge, 64, 32);
    wr.ud.remote_qpn = 0xffffff;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    expect_wc(s, send_cq, 99, NORNIC_WC_SUCCESS);
    cr_assert_eq(roce_ah_destroy(to), 0);
}

/* covers: ROCE-UD-20, ROCE-FRM-1, ROCE-UD-24, ROCE-AH-2 */
Test(mcast, ROCE_UD_20_group_qpn_and_mac)
{
    struct nornic_addr group = group_v4(3);
    struct nornic_av av = s->config.attr.av;
    av.dgid = group;
    struct nornic_mac all_ones = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    const struct nornic_mac given[] = {{{0}}, all_ones, {{0x33, 0x33, 0, 0, 0, 1}}};
    const struct nornic_mac sent[] = {
        {{1, 0, 0x5e, 1, 2, 3}}, {{1, 0, 0x5e, 1, 2, 3}}, {{0x33, 0x33, 0, 0, 0, 1}}};
    for (int i = 0; i < 3; i++) {
        struct nornic_ah *to;
        struct nornic_sge sge;
        av.dst_mac = given[i];
        cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &to), 0);
        struct nornic_send_wr wr = dgram_wr(s, to, 1, &sge, 0, 8);
        wr.ud.remote_qpn = 0xffffff;
        cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
        script_pump(s);
        const struct roce_pkt *pkt = script_next(s);
        cr_assert_not_null(pkt);
        cr_assert_eq(pkt->bth.dest_qpn, 0xffffff);
        cr_assert(nornic_addr_equal(&pkt->dst, &group));
        cr_assert(nornic_mac_equal(&pkt->dst_mac, &sent[i]));
        cr_assert_eq(roce_ah_destroy(to), 0);
    }
    struct nornic_ah *none;
    av.dgid = dgram_addr(s, 2);
    av.dst_mac = all_ones;
    cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &none), -EINVAL, "nobody resolved it");
}

/* A flow has one source; a CNP to a group would slow down everybody in it. */
/* covers: ROCE-RX-13, ROCE-CC-5 */
Test(mcast, ROCE_UD_22_a_cnp_is_for_no_group)
{
    struct nornic_addr group = group_v4(3);
    cr_assert_eq(roce_qp_attach_mcast(s->qp, &group), 0);
    struct script_pkt p = script_cnp_pkt(s);
    p.bth.dest_qpn = 0xffffff;
    p.path.dst = group;
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_TYPE, 1);
    cr_assert_eq(roce_dev_counters(s->dev)->qps.rp_cnp_ignored, 1);
    cr_assert_eq(roce_qp_counters(s->qp)->rx_pkts, 0);
    cr_assert_eq(roce_qp_detach_mcast(s->qp, &group), 0);
}

/* covers: ROCE-UD-20, ROCE-UD-22 */
Test(mcast, ROCE_UD_20_ipv6_groups)
{
    config.ipv6 = true;
    renew();
    struct nornic_addr group = {{0xff, 0x0e, [12] = 1, 2, 3, 4}};
    cr_assert_eq(roce_qp_attach_mcast(s->qp, &group), 0);
    recv_on(s->qp, 1, 100);
    struct script_pkt p = group_pkt(&group);
    script_send(s, &p);
    struct nornic_wc wc = expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(wc.network, NORNIC_NETWORK_IPV6);
    cr_assert_arr_eq(s->mem + AT + 256 + 24, group.b, 16);
    struct nornic_av av = s->config.attr.av;
    struct nornic_ah *to;
    struct nornic_sge sge;
    av.dgid = group;
    av.dst_mac = (struct nornic_mac){{0}};
    cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &to), 0);
    struct nornic_send_wr wr = dgram_wr(s, to, 1, &sge, 0, 8);
    wr.ud.remote_qpn = 0xffffff;
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    static const uint8_t mac[] = {0x33, 0x33, 1, 2, 3, 4};
    cr_assert_arr_eq(script_next(s)->dst_mac.b, mac, 6);
    cr_assert_eq(roce_ah_destroy(to), 0);
    cr_assert_eq(roce_qp_detach_mcast(s->qp, &group), 0);
}

/* covers: ROCE-UD-21, ROCE-VB-3 */
Test(mcast, ROCE_UD_21_only_ud_qps_and_only_groups)
{
    struct nornic_addr group = group_v4(1), unicast = dgram_addr(s, 3);
    cr_assert_eq(roce_qp_attach_mcast(s->qp, &unicast), -EINVAL);
    cr_assert_eq(roce_qp_detach_mcast(s->qp, &group), -EINVAL, "was never attached");
    static const enum nornic_qp_type others[] = {NORNIC_QPT_RC, NORNIC_QPT_UC, NORNIC_QPT_GSI};
    for (int i = 0; i < 3; i++) {
        struct roce_qp_config c = {.type = others[i],
                                   .pd = s->pd,
                                   .send_cq = s->send_cq,
                                   .recv_cq = s->recv_cq,
                                   .caps = config.caps};
        struct roce_qp *qp;
        cr_assert_eq(roce_qp_create(s->dev, &c, &qp), 0);
        cr_assert_eq(roce_qp_attach_mcast(qp, &group), -EINVAL);
        cr_assert_eq(roce_qp_destroy(qp), 0);
    }
}

Test(mcast, ROCE_UD_21_an_attached_qp_is_not_destroyed)
{
    struct nornic_addr one = group_v4(1), two = group_v4(2);
    struct roce_qp *qp = dgram_qp(s, SCRIPT_QKEY);
    cr_assert_eq(roce_qp_attach_mcast(qp, &one), 0);
    cr_assert_eq(roce_qp_attach_mcast(qp, &one), 0, "twice is once");
    cr_assert_eq(roce_qp_attach_mcast(qp, &two), 0);
    cr_assert_eq(roce_qp_destroy(qp), -EBUSY);
    cr_assert_eq(roce_qp_detach_mcast(qp, &one), 0);
    cr_assert_eq(roce_qp_detach_mcast(qp, &one), -EINVAL);
    cr_assert_eq(roce_qp_destroy(qp), -EBUSY);
    recv_on(qp, 1, 100); /* it still works */
    struct script_pkt p = group_pkt(&two);
    script_send(s, &p);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(roce_qp_detach_mcast(qp, &two), 0);
    cr_assert_eq(roce_qp_destroy(qp), 0);
}

/* What the interface was told: + joins, - leaves, each with the group's last byte. */
static char joins[64];
static int join_result;

static int on_mcast(void *ctx, const struct nornic_addr *group, bool join)
{
    size_t n = strlen(joins);
    (void)ctx;
    joins[n] = join ? '+' : '-';
    joins[n + 1] = (char)('0' + group->b[15]);
    return join_result;
}

/* A device of its own, since the script's has no interface. */
struct own {
    struct test_alloc alloc;
    struct test_random rnd;
    struct roce_dev *dev;
    struct rdma_pd *pd;
    struct rdma_cq *cq;
    struct roce_qp *qps[3];
};

static void own_init(struct own *o)
{
    *o = (struct own){.rnd = {.state = 1}};
    test_alloc_init(&o->alloc);
    struct roce_dev_config c = {.mem = &o->alloc.mem,
                                .random = test_random_source(&o->rnd),
                                .port_mtu_bytes = 1500,
                                .mcast = on_mcast,
                                .max_qp = 16,
                                .max_mr = 16};
    cr_assert_eq(roce_dev_create(&c, &o->dev), 0);
    cr_assert_eq(rdma_pd_create(roce_dev_domain(o->dev), &o->pd), 0);
    struct rdma_cq_config cq = {.capacity = 8};
    cr_assert_eq(rdma_cq_create(&rdma_mem_libc, &cq, &o->cq), 0);
    for (int i = 0; i < 3; i++) {
        struct roce_qp_config qp = {.type = NORNIC_QPT_UD,
                                    .pd = o->pd,
                                    .send_cq = o->cq,
                                    .recv_cq = o->cq,
                                    .caps = {.max_send_wr = 1, .max_recv_wr = 1}};
        cr_assert_eq(roce_qp_create(o->dev, &qp, &o->qps[i]), 0);
    }
}

static void own_fini(struct own *o)
{
    for (int i = 0; i < 3; i++)
        cr_assert_eq(roce_qp_destroy(o->qps[i]), 0);
    cr_assert_eq(rdma_cq_destroy(o->cq), 0);
    cr_assert_eq(rdma_pd_destroy(o->pd), 0);
    cr_assert_eq(roce_dev_destroy(o->dev), 0);
    cr_assert_eq(o->alloc.live, 0);
}

Test(mcast, ROCE_UD_21_first_joins_last_leaves)
{
    struct own o;
    own_init(&o);
    struct nornic_addr one = group_v4(1), two = group_v4(2);
    for (int i = 0; i < 3; i++)
        cr_assert_eq(roce_qp_attach_mcast(o.qps[i], &one), 0);
    cr_assert_eq(roce_qp_attach_mcast(o.qps[0], &two), 0);
    cr_assert_str_eq(joins, "+1+2");
    cr_assert_eq(roce_qp_detach_mcast(o.qps[1], &one), 0);
    cr_assert_eq(roce_qp_detach_mcast(o.qps[0], &one), 0);
    cr_assert_str_eq(joins, "+1+2");
    cr_assert_eq(roce_qp_detach_mcast(o.qps[2], &one), 0);
    cr_assert_eq(roce_qp_detach_mcast(o.qps[0], &two), 0);
    cr_assert_str_eq(joins, "+1+2-1-2");
    /* what the interface cannot join, no QP is attached to */
    join_result = -ENOBUFS;
    cr_assert_eq(roce_qp_attach_mcast(o.qps[0], &one), -ENOBUFS);
    cr_assert_eq(roce_qp_detach_mcast(o.qps[0], &one), -EINVAL);
    own_fini(&o);
}

Test(mcast, ROCE_UD_21_an_attach_that_finds_no_memory_changes_nothing)
{
    struct own o;
    own_init(&o);
    struct nornic_addr one = group_v4(1);
    for (unsigned i = 1; i <= 2; i++) {
        o.alloc.fail_at = o.alloc.calls + i;
        cr_assert_eq(roce_qp_attach_mcast(o.qps[0], &one), -ENOMEM);
        cr_assert_str_eq(joins, "");
        cr_assert_eq(roce_qp_detach_mcast(o.qps[0], &one), -EINVAL);
    }
    own_fini(&o);
}

/* covers: ROCE-UD-22, ROCE-RX-17, ROCE-RX-18, ROCE-RX-14 */
Test(mcast, ROCE_UD_22_each_member_judges_for_itself)
{
    config.num_pkeys = 2;
    renew();
    cr_assert_eq(roce_dev_pkey_set(s->dev, 1, 0x8001), 0);
    enum { GOOD, BAD_QKEY, BAD_PKEY, NO_RECV, SHORT_RECV, NOT_RTR, BROKEN, GOOD_TOO, COUNT };
    struct nornic_addr group = group_v4(1);
    struct roce_qp *qps[COUNT];
    for (int i = 0; i < COUNT; i++) {
        qps[i] = dgram_qp(s, i == BAD_QKEY ? 1 : SCRIPT_QKEY);
        if (i != NO_RECV && i != BROKEN)
            recv_on(qps[i], (uint64_t)i, i == SHORT_RECV ? 71 : 72);
        cr_assert_eq(roce_qp_attach_mcast(qps[i], &group), 0);
    }
    struct nornic_sge bad_key = {(uintptr_t)s->mem, 100, 0};
    struct nornic_recv_wr wr = {.wr_id = BROKEN, .sg_list = &bad_key, .num_sge = 1};
    cr_assert_eq(roce_post_recv(qps[BROKEN], &wr, NULL), 0);
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_SQD, .pkey_index = 1};
    cr_assert_eq(roce_qp_modify(qps[BAD_PKEY], &attr, NORNIC_QP_STATE, 0), 0);
    cr_assert_eq(roce_qp_modify(qps[BAD_PKEY], &attr, NORNIC_QP_PKEY_INDEX, 0), 0);
    attr.state = NORNIC_QPS_RESET;
    cr_assert_eq(roce_qp_modify(qps[NOT_RTR], &attr, NORNIC_QP_STATE, 0), 0);
    script_recv(s, 77, 0, 100); /* s->qp is not a member */

    struct script_pkt p = group_pkt(&group);
    script_send(s, &p);
    unsigned got = 0;
    struct nornic_wc wc;
    while (rdma_cq_poll(s->recv_cq, &wc, 1) == 1) {
        cr_assert_eq(wc.status, wc.wr_id == BROKEN ? NORNIC_WC_LOC_PROT_ERR : NORNIC_WC_SUCCESS);
        cr_assert_eq(got & 1u << wc.wr_id, 0, "one copy each");
        got |= 1u << wc.wr_id;
        if (wc.status == NORNIC_WC_SUCCESS)
            cr_assert_arr_eq(s->mem + AT + wc.wr_id * 256 + 40, script_data(), 32);
    }
    cr_assert_eq(got, 1u << GOOD | 1u << GOOD_TOO | 1u << BROKEN, "%x", got);
    expect_verdict(s, ROCE_RX_TAKEN, 2);
    expect_verdict(s, ROCE_RX_DROP_QKEY, 1);
    expect_verdict(s, ROCE_RX_DROP_PKEY, 1);
    expect_verdict(s, ROCE_RX_DROP_NO_RECV, 1);
    expect_verdict(s, ROCE_RX_DROP_TOO_LONG, 1);
    expect_verdict(s, ROCE_RX_DROP_STATE, 1);
    expect_verdict(s, ROCE_RX_DROP_LOCAL, 1);
    for (int i = 0; i < COUNT; i++) {
        cr_assert_eq(roce_qp_state(qps[i]), i == BROKEN     ? NORNIC_QPS_ERR
                                            : i == NOT_RTR  ? NORNIC_QPS_RESET
                                            : i == BAD_PKEY ? NORNIC_QPS_SQD
                                                            : NORNIC_QPS_RTS);
        cr_assert_eq(roce_qp_detach_mcast(qps[i], &group), 0);
        cr_assert_eq(roce_qp_destroy(qps[i]), 0);
    }
}

/* covers: ROCE-RX-12, ROCE-RX-16 */
Test(mcast, ROCE_RX_12_group_address_and_group_qpn_belong_together)
{
    struct nornic_addr group = group_v4(1), other = group_v4(2);
    cr_assert_eq(roce_qp_attach_mcast(s->qp, &group), 0);
    script_recv(s, 1, AT, 200);
    struct script_pkt p = group_pkt(&group);
    p.bth.dest_qpn = roce_qp_num(s->qp);
    script_send(s, &p);
    p = dgram_pkt(s, script_data(), 32);
    p.bth.dest_qpn = 0xffffff;
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_NO_QP, 2);
    p = group_pkt(&other);
    script_send(s, &p);
    expect_verdict(s, ROCE_RX_DROP_NO_QP, 3);
    for (unsigned opcode = 0; opcode < 256; opcode++) {
        p = group_pkt(&group);
        p.bth.opcode = (uint8_t)opcode;
        if (opcode >> 5 != ROCE_SERVICE_UD)
            script_send(s, &p);
    }
    expect_verdict(s, ROCE_RX_DROP_TYPE, 224); /* a CNP too: nobody sends to a group from one flow */
    expect_no_wc(s, recv_cq);
    p = group_pkt(&group);
    script_send(s, &p);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(roce_qp_detach_mcast(s->qp, &group), 0);
    script_recv(s, 2, AT, 200);
    script_send(s, &p);
    expect_no_wc(s, recv_cq);
    expect_nothing(s);
}

/* covers: ROCE-RX-12 */
Test(mcast, ROCE_RX_12_a_group_is_no_peer)
{
    struct script *rc = script_new(&config);
    rc->config.attr.av.dgid = group_v4(1);
    cr_assert_eq(script_modify(rc, NORNIC_QPS_SQD, 0), 0);
    cr_assert_eq(script_modify(rc, NORNIC_QPS_SQD, NORNIC_QP_AV), -EINVAL);
    script_free(rc);
}

Test(mcast, ROCE_UD_23_the_senders_host_gets_a_copy)
{
    struct nornic_addr group = group_v4(1);
    send_to(&group);
    cr_assert_not_null(script_next(s));
    expect_nothing(s);
    struct roce_qp *other = dgram_qp(s, SCRIPT_QKEY);
    cr_assert_eq(roce_qp_attach_mcast(s->qp, &group), 0);
    cr_assert_eq(roce_qp_attach_mcast(other, &group), 0);
    script_recv(s, 1, AT, 100);
    recv_on(other, 2, 100);
    send_to(&group); /* an attach is seen by handles that exist already, too */
    cr_assert_not_null(script_next(s), "the others get it as well");
    expect_nothing(s);
    struct nornic_wc wcs[3];
    cr_assert_eq(rdma_cq_poll(s->recv_cq, wcs, 3), 2);
    for (int i = 0; i < 2; i++)
        cr_assert_eq(wcs[i].src_qpn, roce_qp_num(s->qp));
    cr_assert_arr_eq(s->mem + AT + 40, s->mem + 64, 32);
    cr_assert_eq(roce_qp_detach_mcast(s->qp, &group), 0);
    cr_assert_eq(roce_qp_detach_mcast(other, &group), 0);
    recv_on(other, 3, 100);
    send_to(&group);
    cr_assert_not_null(script_next(s));
    expect_no_wc(s, recv_cq);
    cr_assert_eq(roce_qp_destroy(other), 0);
}

Test(mcast, ROCE_UD_23_unless_it_does_not_want_its_own)
{
    struct roce_qp_config c = {.type = NORNIC_QPT_UD,
                               .pd = s->pd,
                               .send_cq = s->send_cq,
                               .recv_cq = s->recv_cq,
                               .caps = config.caps,
                               .block_multicast_loopback = true};
    cr_assert_eq(roce_qp_destroy(s->qp), 0);
    cr_assert_eq(roce_qp_create(s->dev, &c, &s->qp), 0);
    dgram_raise(s, s->qp, NORNIC_QPS_RTS, SCRIPT_QKEY);
    struct roce_qp *other = dgram_qp(s, SCRIPT_QKEY);
    struct nornic_addr group = group_v4(1);
    cr_assert_eq(roce_qp_attach_mcast(s->qp, &group), 0);
    cr_assert_eq(roce_qp_attach_mcast(other, &group), 0);
    script_recv(s, 1, AT, 100);
    recv_on(other, 2, 100);
    send_to(&group);
    expect_wc(s, recv_cq, 2, NORNIC_WC_SUCCESS);
    expect_no_wc(s, recv_cq);
    expect_verdict(s, ROCE_RX_DROP_OWN, 1);
    /* somebody else's datagram, though its QPN is the same */
    struct script_pkt p = group_pkt(&group);
    p.deth.src_qpn = roce_qp_num(s->qp);
    script_send(s, &p);
    expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
    cr_assert_eq(roce_qp_detach_mcast(s->qp, &group), 0);
    cr_assert_eq(roce_qp_detach_mcast(other, &group), 0);
    cr_assert_eq(roce_qp_destroy(other), 0);
}

Test(mcast, ROCE_UD_22_many_groups_are_told_apart)
{
    struct nornic_addr groups[200];
    for (unsigned i = 0; i < 200; i++) {
        groups[i] = group_v4((uint8_t)i);
        cr_assert_eq(roce_qp_attach_mcast(s->qp, &groups[i]), 0);
    }
    for (unsigned i = 0; i < 200; i += 2)
        cr_assert_eq(roce_qp_detach_mcast(s->qp, &groups[i]), 0);
    for (unsigned i = 0; i < 200; i++) {
        struct script_pkt p = group_pkt(&groups[i]);
        script_recv(s, i, AT, 100);
        script_send(s, &p);
        if (i % 2)
            cr_assert_eq(rdma_cq_poll(s->recv_cq, &(struct nornic_wc){0}, 1), 1);
        expect_no_wc(s, recv_cq);
    }
    for (unsigned i = 1; i < 200; i += 2)
        cr_assert_eq(roce_qp_detach_mcast(s->qp, &groups[i]), 0);
}

/* covers: CA17-43, ROCE-FRM-54, ROCE-RX-16 */
Test(mcast, CA17_43_groups_in_both_protocols)
{
    config.also_v1 = true;
    renew();
    struct nornic_gid v1 = *roce_dev_gid_get(s->dev, 0);
    v1.type = NORNIC_GID_V1;
    int index = roce_dev_gid_add(s->dev, &v1);
    cr_assert_eq(index, 1);
    struct nornic_addr group = group_v4(1);
    cr_assert_eq(roce_qp_attach_mcast(s->qp, &group), 0);
    for (int i = 0; i < 2; i++) {
        struct script_pkt p = group_pkt(&group);
        p.path.v1 = i == 1;
        script_recv(s, 1, AT, 100);
        script_send(s, &p);
        struct nornic_wc wc = expect_wc(s, recv_cq, 1, NORNIC_WC_SUCCESS);
        cr_assert_eq(wc.network, i ? NORNIC_NETWORK_IB : NORNIC_NETWORK_IPV4);
        struct nornic_av av;
        cr_assert_eq(roce_ah_from_wc(s->dev, &wc, s->mem + AT, &av), 0);
        cr_assert_eq(av.sgid_index, i, "the reply is of the same protocol");
    }
    struct nornic_av av = {.dgid = group, .sgid_index = (uint8_t)index, .hop_limit = 1};
    struct nornic_ah *to;
    struct nornic_sge sge;
    cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &to), 0);
    struct nornic_send_wr wr = dgram_wr(s, to, 9, &sge, 64, 32);
    wr.ud.remote_qpn = 0xffffff;
    script_recv(s, 2, AT, 100);
    cr_assert_eq(roce_post_send(s->qp, &wr, NULL), 0);
    script_pump(s);
    const struct roce_pkt *pkt = script_next(s);
    cr_assert_not_null(pkt);
    cr_assert_eq(pkt->l3_kind, ROCE_L3_GRH);
    static const uint8_t mac[] = {1, 0, 0x5e, 1, 2, 1};
    cr_assert_arr_eq(pkt->dst_mac.b, mac, 6);
    cr_assert_eq(expect_wc(s, recv_cq, 2, NORNIC_WC_SUCCESS).network, NORNIC_NETWORK_IB);
    cr_assert_eq(roce_ah_destroy(to), 0);
    cr_assert_eq(roce_qp_detach_mcast(s->qp, &group), 0);
}
