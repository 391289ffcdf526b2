/* SPDX-License-Identifier: BSD-2-Clause */
/* The captures of real peers in pcaps/: every packet is taken, and every packet that is taken can be built
 * again, bit for bit, from what the parser made of it. */
#include <criterion/criterion.h>
#include <glob.h>
#include <inttypes.h>
#include <string.h>

#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/pcap_file.h"
#include "roce/wire/frame.h"
#include "roce/packet.h"
#include "test/support/headers.h"

typedef void each_packet(const char *path, uint64_t number, const struct net_capture_record *record);

/* Calls `each` for every record of every capture and returns how many there were. */
static uint64_t for_each_packet(each_packet *each)
{
    glob_t captures;
    uint64_t records = 0;
    cr_assert_eq(glob("pcaps/*.pcap", 0, NULL, &captures), 0,
                 "no captures; run from the root of the project");
    for (size_t i = 0; i < captures.gl_pathc; i++) {
        struct net_capture *capture;
        struct net_capture_record record;
        struct nornic_error why;
        uint64_t number = 0;
        int more;
        cr_assert_eq(net_capture_open(captures.gl_pathv[i], &capture, &why), 0, "%s", why.text);
        while ((more = net_capture_next(capture, &record, &why)) > 0)
            each(captures.gl_pathv[i], ++number, &record);
        cr_assert_eq(more, 0, "%s", why.text);
        net_capture_close(capture);
        records += number;
    }
    globfree(&captures);
    return records;
}

static void expect_taken(const char *path, uint64_t number, const struct net_capture_record *record)
{
    struct roce_pkt pkt;
    enum roce_rx_verdict verdict = roce_pkt_parse(&pkt, record->data, record->len_bytes, 0);
    cr_expect(verdict == ROCE_RX_TAKEN || verdict == ROCE_RX_NOT_ROCE, "%s frame %" PRIu64 ": %s", path,
              number, roce_rx_verdict_words(verdict));
    if (verdict == ROCE_RX_TAKEN)
        cr_expect(pkt.op->flags & ROCE_PKT_DEFINED, "%s frame %" PRIu64, path, number);
}

/* covers: ROCE-ICRC-8, CA17-22, ROCE-INT-2, ROCE-INT-3, ROCE-INT-6 */
Test(golden, ROCE_ICRC_8_every_packet_of_real_peers_is_taken)
{
    cr_expect_gt(for_each_packet(expect_taken), 2500);
}

/* What is constant in a flow, out of one of its packets; the IPv4 identification apart. */
static struct roce_path path_of(const struct roce_pkt *pkt, uint16_t *ip_id)
{
    struct roce_path path = {
        .src_mac = pkt->src_mac,
        .dst_mac = pkt->dst_mac,
        .vlan_tci = pkt->vlan_tci,
        .src = pkt->src,
        .dst = pkt->dst,
        .traffic_class = pkt->tclass,
        .hop_limit = pkt->hop_limit,
        .src_port = pkt->src_port,
    };
    *ip_id = 0;
    if (pkt->l3_kind == ROCE_L3_IPV4) {
        struct net_ipv4 ip;
        net_ipv4_get(&ip, pkt->l3);
        *ip_id = ip.id;
    } else {
        struct net_ipv6 ip;
        net_ipv6_get(&ip, pkt->l3);
        path.flow_label = ip.flow_label;
    }
    return path;
}

static void expect_built_again(const char *path, uint64_t number, const struct net_capture_record *record)
{
    static uint8_t frame[ROCE_FRAME_OVERHEAD_BYTES + ROCE_PMTU_MAX_BYTES];
    struct roce_frame_template t;
    struct roce_pkt pkt;
    uint16_t ip_id;
    if (roce_pkt_parse(&pkt, record->data, record->len_bytes, 0) != ROCE_RX_TAKEN)
        return;
    struct roce_path flow = path_of(&pkt, &ip_id);
    uint32_t transport_bytes = ROCE_BTH_BYTES + pkt.op->ext_bytes + pkt.payload_bytes + pkt.bth.pad_count;
    cr_assert_leq(transport_bytes, sizeof frame - 70);

    roce_frame_template_init(&t, &flow);
    uint8_t *p = headers_put(roce_frame_begin(&t, frame, transport_bytes, ip_id), &pkt);
    memcpy(p, pkt.payload, pkt.payload_bytes);
    memset(p + pkt.payload_bytes, 0, pkt.bth.pad_count);
    uint32_t len = roce_frame_seal(&t, frame, transport_bytes);
    cr_assert_eq(len, record->len_bytes, "%s frame %" PRIu64 ": no Ethernet padding in these", path, number);
    cr_assert_arr_eq(frame, record->data, len, "%s frame %" PRIu64, path, number);
}

/* covers: CA17-2, CA17-6, CA17-7, CA17-8, CA17-15, CA17-20, CA17-21, ROCE-HDR-3, ROCE-HDR-10, ROCE-FRM-5 */
Test(golden, CA17_2_real_packets_are_built_again_bit_for_bit)
{
    for_each_packet(expect_built_again);
}

static void expect_port(const char *path, uint64_t number, const struct net_capture_record *record)
{
    struct roce_pkt pkt;
    if (roce_pkt_parse(&pkt, record->data, record->len_bytes, 0) != ROCE_RX_TAKEN)
        return;
    if (pkt.bth.opcode >> 5 == ROCE_SERVICE_UD) /* another rule: ROCE-INT-1 */
        return;
    cr_expect_geq(pkt.src_port, 0xc000, "%s frame %" PRIu64, path, number);
    /* in these captures both QPs of a pair have one number */
    if (strstr(path, "rc_send") || strstr(path, "rc_ipv6"))
        cr_expect_eq(pkt.src_port,
                     roce_label_src_port(roce_flow_label(0, pkt.bth.dest_qpn, pkt.bth.dest_qpn)),
                     "%s frame %" PRIu64 ": QPN %u, port %04x", path, number, pkt.bth.dest_qpn, pkt.src_port);
}

/* covers: ROCE-FRM-45, ROCE-INT-1 */
Test(golden, ROCE_FRM_45_linux_chooses_the_same_source_port)
{
    for_each_packet(expect_port);
}
