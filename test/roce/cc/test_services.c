/* SPDX-License-Identifier: BSD-2-Clause */
/* Congestion management of UD and UC. */
#include "test/support/dgram_suite.h"

#define ECN_ECT0 2
#define ECN_CE   3
#define US       SCRIPT_US

static void setup(void)
{
    config = script_defaults();
    config.any_dest = true;
    config.cc.on = true;
    type = NORNIC_QPT_UD;
    renew();
}

TestSuite(cc_services, .init = setup, .fini = teardown);

static const struct roce_counters *counters(void)
{
    return &roce_dev_counters(s->dev)->qps;
}

static struct script_pkt marked(void)
{
    struct script_pkt p = dgram_pkt(s, script_data(), 16);
    p.path.traffic_class = ECN_CE;
    return p;
}

static const struct roce_pkt *next_cnp(int line)
{
    const struct roce_pkt *pkt = script_next(s);
    cr_assert_not_null(pkt, "line %d: no CNP", line);
    cr_assert_eq(pkt->bth.opcode, ROCE_OPCODE_CNP, "line %d: opcode %02x", line, pkt->bth.opcode);
    return pkt;
}
#define expect_cnp() next_cnp(__LINE__)

/* To the QP that the DETH names, at the address and the MAC that the datagram came from.
 * covers: ROCE-CC-2, ROCE-HDR-12, CA17-44 */
Test(cc_services, ROCE_CC_2_the_source_of_a_datagram_is_in_its_deth)
{
    for (int v6 = 0; v6 < 2; v6++) {
        config.ipv6 = v6;
        renew();
        struct script_pkt p = marked();
        p.path.src = dgram_addr(s, 9);
        p.path.src_mac = (struct nornic_mac){{2, 0, 0, 0, 0, 9}};
        p.bth.pkey = 0x7fff;
        p.deth.src_qpn = 0x4321;
        script_send(s, &p);
        const struct roce_pkt *cnp = expect_cnp();
        cr_expect_eq(cnp->bth.dest_qpn, 0x4321);
        cr_expect_eq(cnp->bth.pkey, 0x7fff);
        cr_expect(nornic_addr_equal(&cnp->dst, &p.path.src));
        cr_expect(nornic_addr_equal(&cnp->src, &p.path.dst));
        cr_expect_arr_eq(cnp->dst_mac.b, p.path.src_mac.b, 6);
        cr_expect_eq(cnp->tclass, 48 << 2);
        expect_nothing(s);
    }
}

/* Each has its interval; the datagram need not find a receive.
 * covers: ROCE-CC-3 */
Test(cc_services, ROCE_CC_3_sources_of_one_qp_are_flows_of_their_own)
{
    unsigned sent = 0;
    for (uint8_t round = 0; round < 2; round++)
        for (uint8_t i = 10; i < 20; i++) {
            struct script_pkt p = marked();
            p.path.src = dgram_addr(s, i);
            script_send(s, &p);
            for (const struct roce_pkt *cnp; (cnp = script_next(s)); sent++)
                cr_expect(nornic_addr_equal(&cnp->dst, &p.path.src));
        }
    cr_assert_eq(sent, 10);
    cr_assert_eq(counters()->np_ecn_marked, 20);
}

/* covers: ROCE-RX-21 */
Test(cc_services, ROCE_RX_21_none_for_a_datagram_with_another_qkey)
{
    struct script_pkt p = marked();
    p.deth.qkey = SCRIPT_QKEY + 1;
    script_send(s, &p);
    expect_nothing(s);
    cr_assert_eq(counters()->np_ecn_marked, 0);
}

/* Whoever has no Q_Key to show, or names a source that no QP can have, is a stranger: nothing is sent for
 * him. covers: ROCE-CC-2, ROCE-RX-21 */
Test(cc_services, ROCE_CC_2_none_for_a_strangers_datagram)
{
    for (uint8_t op = 0; op < 4; op++) {
        struct script_pkt p = marked();
        p.bth.opcode = ROCE_OPCODE(ROCE_SERVICE_UD, op); /* reserved: no DETH follows */
        script_send(s, &p);
        expect_nothing(s);
    }
    static const uint32_t nobody[] = {0, ROCE_MULTICAST_QPN};
    for (unsigned i = 0; i < 2; i++) {
        struct script_pkt p = marked();
        p.deth.src_qpn = nobody[i];
        script_send(s, &p);
        expect_nothing(s);
    }
    cr_assert_eq(counters()->np_ecn_marked, 0);
    cr_assert_eq(counters()->np_cnp_sent, 0);
    struct script_pkt p = marked();
    script_send(s, &p);
    expect_cnp();
}

/* A group is no source, and one CNP would slow its sender down for all members. */
Test(cc_services, none_for_a_datagram_to_a_group)
{
    struct nornic_addr group = nornic_addr_from_v4((const uint8_t[]){239, 0x81, 2, 3});
    cr_assert_eq(roce_qp_attach_mcast(s->qp, &group), 0);
    struct script_pkt p = marked();
    p.bth.dest_qpn = ROCE_MULTICAST_QPN;
    p.path.dst = group;
    p.path.dst_mac = nornic_addr_mcast_mac(&group);
    script_send(s, &p);
    expect_nothing(s);
    cr_assert_eq(counters()->np_ecn_marked, 1);
    cr_assert_eq(roce_qp_detach_mcast(s->qp, &group), 0);
}

/* covers: ROCE-CC-1, ROCE-CC-5, CA17-45 */
Test(cc_services, ROCE_CC_5_datagrams_are_paced)
{
    struct script_pkt cnp = script_cnp_pkt(s);
    for (unsigned i = 0; i < 4; i++)
        script_send(s, &cnp);
    cr_assert_eq(counters()->rp_cnp_handled, 4);
    for (uint64_t i = 0; i < 4; i++)
        dgram_post(s, ah, i, 0, 1000);
    uint64_t last_ns = 0;
    for (unsigned i = 0; i < 4; i++) {
        const struct roce_pkt *pkt = script_next(s);
        cr_assert(pkt || script_until_sent(s, SCRIPT_MS));
        pkt = pkt ? pkt : script_next(s);
        cr_expect_eq(pkt->tclass & 3, ECN_ECT0);
        /* 625 Mb/s: a frame of 1000 bytes and its headers takes 13.6 us */
        if (i > 0)
            cr_expect(script_last_ns(s) - last_ns > 13 * US && script_last_ns(s) - last_ns < 15 * US);
        last_ns = script_last_ns(s);
        expect_nothing(s);
        cr_expect_not(roce_dev_tx_pending(s->dev));
    }
    for (uint64_t i = 0; i < 4; i++)
        expect_wc(s, send_cq, i, NORNIC_WC_SUCCESS);
}
