/* SPDX-License-Identifier: BSD-2-Clause */
/* The notification point: marked packets are answered with CNPs. */
#include <criterion/criterion.h>

#include "net/bytes.h"
#include "test/support/script_suite.h"

#define ECN_ECT0 2
#define ECN_CE   3
#define US       SCRIPT_US

static uint32_t next; /* requests that were taken */

static void cc_setup(void)
{
    config = script_defaults();
    config.cc.on = true;
    renew();
}

TestSuite(cnp, .init = cc_setup, .fini = teardown);

static const struct roce_counters *counters(void)
{
    return &roce_dev_counters(s->dev)->qps;
}

/* The next WRITE of the peer's, with an ECN field. */
static struct script_pkt write_with_ecn(uint8_t ecn)
{
    struct script_pkt p =
        script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, next++), 0, 4, script_data(), 4);
    p.path.traffic_class = ecn;
    return p;
}

static void send_marked(void)
{
    struct script_pkt p = write_with_ecn(ECN_CE);
    script_send(s, &p);
}

static const struct roce_pkt *is_cnp(int line)
{
    const struct roce_pkt *pkt = script_next(s);
    cr_assert_not_null(pkt, "line %d: no CNP", line);
    cr_assert_eq(pkt->bth.opcode, ROCE_OPCODE_CNP, "line %d: opcode 0x%02x", line, pkt->bth.opcode);
    return pkt;
}
#define expect_cnp() is_cnp(__LINE__)

/* covers: ROCE-CC-1, CA17-5, CA17-44 */
Test(cnp, ROCE_CC_1_none_where_congestion_management_is_off)
{
    config.cc.on = false;
    renew();
    send_marked();
    expect_nothing(s);
    cr_assert_eq(counters()->np_ecn_marked, 1);
    cr_assert_eq(counters()->np_cnp_sent, 0);
    script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 4);
    cr_assert_eq(expect_op(s, ROCE_OP_WRITE_ONLY, script_sq(s, 0))->tclass & 3, 0);
}

/* Data, ACKs, READ responses and atomic answers, whatever ECN bits the address vector has.
 * covers: ROCE-CC-1, ROCE-FRM-13, ROCE-FRM-32 */
Test(cnp, ROCE_CC_1_what_is_sent_is_ECT0)
{
    for (int v6 = 0; v6 < 2; v6++) {
        config.ipv6 = v6;
        config.attr.av.traffic_class = 26 << 2 | 1;
        renew();
        script_post(s, 1, NORNIC_WR_RDMA_WRITE, 0, 3000);
        struct script_pkt p =
            script_write_pkt(s, ROCE_OP_WRITE_ONLY, script_rq(s, 0), 0, 4, script_data(), 4);
        p.bth.ack_req = 1;
        script_send(s, &p);
        p = script_read_pkt(s, script_rq(s, 1), 0, 3000);
        script_send(s, &p);
        p = script_atomic_pkt(s, ROCE_OP_FETCH_ADD, script_rq(s, 4), 0, 1, 0);
        script_send(s, &p);
        const struct roce_pkt *pkt;
        unsigned n = 0;
        for (; (pkt = script_next(s)); n++)
            cr_expect_eq(pkt->tclass, 26 << 2 | ECN_ECT0, "opcode 0x%02x", pkt->bth.opcode);
        cr_assert_eq(n, 3 + 1 + 3 + 1);
    }
}

/* Every byte: IPv4 total length 60, DSCP 48, ECN 00, 16 zero bytes; the QP's other headers.
 * covers: ROCE-CC-2, ROCE-CC-4, ROCE-HDR-12, CA17-44 */
Test(cnp, ROCE_HDR_12_the_packet)
{
    struct script_pkt p = write_with_ecn(ECN_CE);
    p.bth.pkey = 0x7fff;
    p.bth.se = p.bth.ack_req = 1;
    script_send(s, &p);
    const struct roce_pkt *pkt = expect_cnp();
    const uint8_t *ip = pkt->l3;
    cr_expect_eq(get_be16(ip + 2), 60);
    cr_expect_eq(ip[1], 48 << 2);
    cr_expect_eq(pkt->hop_limit, config.attr.av.hop_limit);
    cr_expect_eq(pkt->src_port, roce_label_src_port(roce_flow_label(0, roce_qp_num(s->qp), SCRIPT_PEER_QPN)));
    cr_expect_eq(pkt->bth.dest_qpn, SCRIPT_PEER_QPN);
    cr_expect_eq(pkt->bth.pkey, 0x7fff, "P_Key 0x%04x", pkt->bth.pkey);
    cr_expect_eq(pkt->bth.psn, 0);
    cr_expect_eq(pkt->bth.se + pkt->bth.mig_req + pkt->bth.pad_count + pkt->bth.tver, 0);
    cr_expect_eq(pkt->bth.fecn + pkt->bth.becn + pkt->bth.resv6 + pkt->bth.ack_req + pkt->bth.resv7, 0);
    const uint8_t *body = ip + 20 + 8 + 12;
    for (unsigned i = 0; i < 16; i++)
        cr_expect_eq(body[i], 0);
    cr_expect_eq(pkt->frame_bytes, 14 + 60);
    cr_expect_eq(memcmp(pkt->dst_mac.b, config.attr.av.dst_mac.b, 6), 0);
    expect_ack(s, script_rq(s, 0), 1); /* the packet itself is processed as ever */
}

/* The pace of CNPs belongs to the connection that was, and so does the CNP that waits.
 * covers: ROCE-CC-3, ROCE-QP-8 */
Test(cnp, ROCE_CC_3_a_reset_forgets_the_pace_of_CNPs)
{
    send_marked();
    expect_cnp();
    send_marked();
    expect_nothing(s);
    script_restart(s);
    next = 0;
    send_marked();
    expect_cnp();
}

/* covers: ROCE-CC-2, ROCE-CC-4, ROCE-HDR-12 */
Test(cnp, ROCE_HDR_12_the_packet_over_IPv6_on_a_VLAN)
{
    config.ipv6 = true;
    config.vlan_id = 7;
    renew();
    send_marked();
    const struct roce_pkt *pkt = expect_cnp();
    cr_expect_eq(pkt->tclass, 48 << 2);
    cr_expect_eq(pkt->vlan_tci, 6 << 13 | 7);
    cr_expect_eq(pkt->frame_bytes, 18 + 40 + 8 + 12 + 16 + 4);
}

/* covers: ROCE-CC-4 */
Test(cnp, ROCE_CC_4_class_as_configured)
{
    config.cc.cnp_dscp = 46;
    config.cc.cnp_priority = 3;
    config.cc.cnp_ect = true;
    config.vlan_id = 7;
    renew();
    send_marked();
    const struct roce_pkt *pkt = expect_cnp();
    cr_expect_eq(pkt->tclass, 46 << 2 | ECN_ECT0);
    cr_expect_eq(pkt->vlan_tci, 3 << 13 | 7);
}

/* covers: ROCE-CC-2 */
Test(cnp, none_for_packets_without_a_mark)
{
    for (uint8_t ecn = 0; ecn < ECN_CE; ecn++) {
        struct script_pkt p = write_with_ecn(ecn);
        script_send(s, &p);
    }
    expect_nothing(s);
    cr_assert_eq(counters()->np_ecn_marked, 0);
}

/* covers: ROCE-CC-3, ROCE-CC-8 */
Test(cnp, ROCE_CC_3_one_in_an_interval)
{
    send_marked();
    expect_cnp();
    for (unsigned i = 0; i < 7; i++) {
        script_advance(s, 7 * US);
        send_marked();
    }
    expect_nothing(s);
    script_advance(s, US - 1);
    send_marked();
    expect_nothing(s);
    script_advance(s, 1);
    send_marked();
    expect_cnp();
    send_marked();
    expect_nothing(s);
    cr_assert_eq(counters()->np_ecn_marked, 11);
    cr_assert_eq(counters()->np_cnp_sent, 2);
}

/* covers: ROCE-CC-3, ROCE-CC-24 */
Test(cnp, ROCE_CC_3_the_interval_is_configured)
{
    config.cc.cnp_interval_ns = 4000;
    renew();
    send_marked();
    expect_cnp();
    script_advance(s, 3999);
    send_marked();
    expect_nothing(s);
    script_advance(s, 1);
    send_marked();
    expect_cnp();
}

/* covers: ROCE-CC-3 */
Test(cnp, ROCE_CC_3_none_for_a_CNP)
{
    struct script_pkt p = script_cnp_pkt(s);
    p.path.traffic_class = 48 << 2 | ECN_CE;
    script_send(s, &p);
    expect_nothing(s);
    cr_assert_eq(counters()->np_ecn_marked, 1);
    cr_assert_eq(counters()->rp_cnp_handled, 1);
}

/* covers: ROCE-CC-2, ROCE-RX-21, CA17-44 */
Test(cnp, ROCE_RX_21_none_for_invalid_packets)
{
    struct script_pkt p = write_with_ecn(ECN_CE);
    struct script_pkt bad[6] = {p, p, p, p, p, p};
    bad[0].bad_icrc = true;
    bad[1].bth.dest_qpn = 0x123;
    bad[2].bth.tver = 1;
    bad[3].bth.pkey = 0x1234;
    bad[4].path.src.b[15] ^= 4;
    bad[5].bth.opcode |= ROCE_SERVICE_UC << 5;
    for (unsigned i = 0; i < 6; i++) {
        script_send(s, &bad[i]);
        expect_nothing(s);
    }
    cr_assert_eq(counters()->np_ecn_marked, 0);
    script_send(s, &p);
    expect_cnp();
}

/* A duplicate, a packet ahead of its turn, a response to nothing: valid all the same.
 * covers: ROCE-RX-21 */
Test(cnp, ROCE_RX_21_whatever_the_transport_makes_of_the_packet)
{
    struct script_pkt p = write_with_ecn(0);
    script_send(s, &p);
    p.path.traffic_class = ECN_CE;
    p.bth.ack_req = 1;
    script_send(s, &p);
    expect_cnp();
    expect_ack(s, script_rq(s, 0), 1);
    script_advance(s, 50 * US);
    next += 5;
    send_marked();
    expect_cnp();
    expect_nak(s, script_rq(s, 1), ROCE_SYNDROME_NAK_PSN_SEQ, 1);
    script_advance(s, 50 * US);
    p = script_ack_pkt(s, script_sq(s, 3), ROCE_SYNDROME_ACK_UNLIMITED, 1);
    p.path.traffic_class = ECN_CE;
    script_send(s, &p);
    expect_cnp();
    expect_nothing(s);
}

/* A receiver that has never sent yet: requests are taken in RTR, and marked ones reported.
 * covers: ROCE-CC-2 */
Test(cnp, sent_from_RTR)
{
    config.state = NORNIC_QPS_RTR;
    renew();
    send_marked();
    expect_cnp();
}

Test(cnp, one_that_waits_is_forgotten_with_the_connection)
{
    struct script_pkt p = write_with_ecn(ECN_CE);
    script_give(s, &p, 1);
    cr_assert_eq(script_modify(s, NORNIC_QPS_RESET, 0), 0);
    script_pump(s);
    expect_nothing(s);
}
