/* SPDX-License-Identifier: BSD-2-Clause */
/* Datagrams over RoCEv1: ROCE-FRM-54 and what ROCE-UD-4 says of it. The device has its address twice, as
 * index 0 for RoCEv2 and as index 1 for RoCEv1. */
#include <errno.h>
#include <string.h>

#include "net/bytes.h"
#include "test/support/dgram_suite.h"

#define AT 4096u

static void start(void)
{
    renew();
    struct nornic_gid v1 = *roce_dev_gid_get(s->dev, 0);
    v1.type = NORNIC_GID_V1;
    cr_assert_eq(roce_dev_gid_add(s->dev, &v1), 1);
    s->event_read = s->event_count;
}

static void setup(void)
{
    config = script_defaults();
    config.also_v1 = config.any_dest = true;
    config.ipv6 = true;
    type = NORNIC_QPT_UD;
    start();
}

TestSuite(v1_ud, .init = setup, .fini = teardown);

static struct script_pkt pkt_of(bool v1)
{
    struct script_pkt p = dgram_pkt(s, script_data(), 33);
    p.path.v1 = v1;
    p.path.traffic_class = 0x68;
    p.path.flow_label = 0x12345;
    return p;
}

/* One QP takes both, and its completions say which.
 * covers: ROCE-FRM-54, CA17-43, ROCE-UD-4, ROCE-UD-5, ROCE-RX-16, ROCE-VB-4 */
Test(v1_ud, CA17_43_both_protocols_are_accepted)
{
    for (int i = 0; i < 4; i++) {
        bool v1 = i % 2;
        struct script_pkt p = pkt_of(v1);
        memset(s->mem + AT, 0xee, 100);
        script_recv(s, 7, AT, 100);
        script_send(s, &p);
        struct nornic_wc wc = expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS);
        const uint8_t *area = s->mem + AT;
        cr_assert_eq(wc.byte_len, 73);
        cr_assert_eq(wc.network, v1 ? NORNIC_NETWORK_IB : NORNIC_NETWORK_IPV6);
        cr_assert_eq(get_be32(area), 0x66812345);
        cr_assert_eq(get_be16(area + 4), (v1 ? 0 : 8) + 12 + 8 + 33 + 3 + 4, "as the header counts");
        cr_assert_eq(area[6], v1 ? 0x1b : 17);
        cr_assert_arr_eq(area + 8, p.path.src.b, 16);
        cr_assert_arr_eq(area + 24, p.path.dst.b, 16);
        cr_assert_arr_eq(area + 40, script_data(), 33);
        cr_assert_eq(area[73], 0xee);
    }
}

/* The address must be in the table with the type of the packet's protocol.
 * covers: CA17-41, ROCE-FRM-53, ROCE-RX-16 */
Test(v1_ud, ROCE_FRM_53_an_entry_of_the_other_protocol_is_no_match)
{
    for (unsigned gone = 0; gone < 2; gone++) {
        struct nornic_gid entry = *roce_dev_gid_get(s->dev, gone);
        uint64_t before = roce_dev_counters(s->dev)->verdicts[ROCE_RX_DROP_GID];
        cr_assert_eq(roce_dev_gid_remove(s->dev, gone, s->now_ns), 0);
        struct script_pkt p = pkt_of(gone == 1);
        script_recv(s, gone, AT, 100);
        script_send(s, &p);
        expect_verdict(s, ROCE_RX_DROP_GID, before + 1);
        expect_no_wc(s, recv_cq);
        p = pkt_of(gone != 1);
        script_send(s, &p);
        expect_wc(s, recv_cq, gone, NORNIC_WC_SUCCESS);
        cr_assert_eq(roce_dev_gid_add(s->dev, &entry), (int)gone);
    }
}

/* What a send goes out as, its address vector's SGID entry says.
 * covers: ROCE-FRM-54, CA17-42 */
Test(v1_ud, CA17_42_a_send_has_the_protocol_of_its_sgid)
{
    for (int i = 0; i < 4; i++) {
        struct nornic_av av = {.dgid = dgram_addr(s, 2),
                               .sgid_index = (uint8_t)(i % 2),
                               .traffic_class = 0x6b,
                               .flow_label = 0x54321,
                               .hop_limit = 9,
                               .dst_mac = {{2, 0, 0, 0, 0, 2}}};
        struct nornic_ah *to;
        cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &to), 0);
        dgram_post(s, to, 5, 0, 10);
        const struct roce_pkt *pkt = script_next(s);
        cr_assert_not_null(pkt);
        cr_assert_eq(pkt->l3_kind, i % 2 ? ROCE_L3_GRH : ROCE_L3_IPV6);
        cr_assert_eq(get_be32(pkt->l3), i % 2 ? 0x66b54321 : 0x66854321, "ECN is 00 where there is one");
        cr_assert_eq(pkt->hop_limit, 9);
        cr_assert_eq(pkt->payload_bytes, 10);
        expect_wc(s, send_cq, 5, NORNIC_WC_SUCCESS);
        cr_assert_eq(roce_ah_destroy(to), 0);
    }
}

/* covers: ROCE-UD-6, CA17-42 */
Test(v1_ud, ROCE_UD_6_a_reply_goes_back_in_the_same_protocol)
{
    for (int v1 = 0; v1 < 2; v1++) {
        struct script_pkt p = pkt_of(v1);
        struct nornic_av av;
        script_recv(s, 7, AT, 100);
        script_send(s, &p);
        struct nornic_wc wc = expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS);
        cr_assert_eq(roce_ah_from_wc(s->dev, &wc, s->mem + AT, &av), 0);
        cr_assert_eq(av.sgid_index, v1);
        cr_assert(nornic_addr_equal(&av.dgid, &p.path.src));
        cr_assert_eq(av.traffic_class, 0x68);
        cr_assert_eq(av.flow_label, 0x12345);
        struct nornic_ah *to;
        cr_assert_eq(roce_ah_create(s->dev, s->pd, &av, &to), 0);
        dgram_post(s, to, 5, 0, 10);
        const struct roce_pkt *pkt = script_next(s);
        cr_assert_eq(pkt->l3_kind, v1 ? ROCE_L3_GRH : ROCE_L3_IPV6);
        expect_wc(s, send_cq, 5, NORNIC_WC_SUCCESS);
        cr_assert_eq(roce_ah_destroy(to), 0);
    }
}

/* QP1 is a datagram QP: MADs come and go over RoCEv1 as well.
 * covers: CA17-43 */
Test(v1_ud, CA17_43_mads_in_both_protocols)
{
    type = NORNIC_QPT_GSI;
    start();
    for (int v1 = 0; v1 < 2; v1++) {
        struct script_pkt p = dgram_pkt(s, script_data(), 256);
        p.path.v1 = v1;
        script_recv(s, 7, AT, 296);
        script_send(s, &p);
        struct nornic_wc wc = expect_wc(s, recv_cq, 7, NORNIC_WC_SUCCESS);
        cr_assert_eq(wc.network, v1 ? NORNIC_NETWORK_IB : NORNIC_NETWORK_IPV6);
    }
}
