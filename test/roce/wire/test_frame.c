/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/wire/frame.h"

#include <criterion/criterion.h>
#include <string.h>

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/wire/udp.h"
#include "roce/packet.h"
#include "test/support/vectors.h"

/* The flows of the vectors in ROCE section 3.1. */
static struct roce_path path_v4(void)
{
    return (struct roce_path){
        .src_mac = {{2, 0, 0, 0, 0, 1}},
        .dst_mac = {{2, 0, 0, 0, 0, 2}},
        .vlan_tci = -1,
        .src = nornic_addr_from_v4((const uint8_t[]){192, 0, 2, 1}),
        .dst = nornic_addr_from_v4((const uint8_t[]){192, 0, 2, 2}),
        .traffic_class = 0x0a,
        .hop_limit = 64,
        .src_port = 0xc123,
    };
}

static struct roce_path path_v6(void)
{
    struct roce_path path = path_v4();
    path.src = (struct nornic_addr){{0x20, 0x01, 0x0d, 0xb8, [15] = 1}};
    path.dst = (struct nornic_addr){{0x20, 0x01, 0x0d, 0xb8, [15] = 2}};
    path.flow_label = 0xabcde;
    return path;
}

/* Builds the frame of a vector from its transport bytes, and compares it with the published bytes. */
static void expect_vector(const struct vector *v, struct roce_path *path, int vlan_tci)
{
    uint8_t expected[VECTOR_MAX_BYTES], built[VECTOR_MAX_BYTES];
    struct roce_frame_template t;
    size_t expected_bytes = vector_frame(v, vlan_tci, expected);

    path->vlan_tci = vlan_tci;
    roce_frame_template_init(&t, path);
    memset(built, 0xa5, sizeof built);
    uint32_t transport_bytes = (uint32_t)expected_bytes - t.len_bytes - ROCE_ICRC_BYTES;
    uint8_t *bth = roce_frame_begin(&t, built, transport_bytes, 0x1234);
    memcpy(bth, expected + t.len_bytes, transport_bytes);
    cr_expect_eq(roce_frame_seal(&t, built, transport_bytes), expected_bytes, "%s", v->id);
    cr_expect_arr_eq(built, expected, expected_bytes, "%s, tag %d", v->id, vlan_tci);
}

/* covers: CA17-1, CA17-2, CA17-20, CA17-21, CA17-22, ROCE-FRM-1, ROCE-FRM-2, ROCE-FRM-41, ROCE-FRM-43,
 * ROCE-ICRC-3, ROCE-GEN-2 */
Test(frame, builds_the_vectors_bit_for_bit)
{
    struct roce_path v4 = path_v4(), v6 = path_v6();
    for (size_t i = 0; i < 8; i++)
        expect_vector(&vectors[i], &v4, -1);
    for (size_t i = 8; i < 14; i++)
        expect_vector(&vectors[i], &v6, -1);
}

/* covers: ROCE-FRM-3 */
Test(frame, ROCE_FRM_3_tag_with_priority_and_vid)
{
    struct roce_path v4 = path_v4(), v6 = path_v6();
    expect_vector(&vectors[1], &v4, 0x6000 | 101);
    expect_vector(&vectors[9], &v6, 0xffff);
    expect_vector(&vectors[9], &v6, 0);
}

/* Builds a packet of `transport_bytes` zero bytes (an RC SEND_FIRST to QP 0) and takes it apart. */
static uint32_t build(const struct roce_path *path, uint8_t *frame, uint32_t transport_bytes, uint16_t ip_id,
                      struct roce_pkt *pkt)
{
    struct roce_frame_template t;
    roce_frame_template_init(&t, path);
    memset(roce_frame_begin(&t, frame, transport_bytes, ip_id), 0, transport_bytes);
    uint32_t len = roce_frame_seal(&t, frame, transport_bytes);
    cr_expect_eq(roce_pkt_parse(pkt, frame, len, 0), ROCE_RX_TAKEN);
    return len;
}

/* covers: CA17-3, CA17-4, CA17-6, CA17-7, CA17-8, CA17-9, CA17-10, CA17-11, CA17-12, ROCE-FRM-10,
 * ROCE-FRM-11, ROCE-FRM-12, ROCE-FRM-14, ROCE-FRM-15, ROCE-FRM-16, ROCE-FRM-17, ROCE-FRM-18, ROCE-FRM-19,
 * ROCE-FRM-21, ROCE-FRM-22 */
Test(frame, ROCE_FRM_10_ipv4_header)
{
    static const uint8_t hop_limits[] = {1, 64, 255};
    for (size_t i = 0; i < sizeof hop_limits; i++) {
        struct roce_path path = path_v4();
        struct roce_pkt pkt;
        struct net_ipv4 ip;
        uint8_t frame[512];
        path.hop_limit = hop_limits[i];
        path.traffic_class = 0x68; /* DSCP 26 */
        uint32_t len = build(&path, frame, 16, 0xbeef, &pkt);
        net_ipv4_get(&ip, frame + NET_ETHER_BYTES);
        cr_expect_eq(ip.version, 4);
        cr_expect_eq(ip.ihl, 5);
        cr_expect_eq(ip.dscp, 26);
        cr_expect_eq(ip.ecn, 0);
        cr_expect_eq(ip.total_len, len - NET_ETHER_BYTES);
        cr_expect_eq(ip.id, 0xbeef);
        cr_expect(!ip.resv1 && ip.df && !ip.mf && ip.frag_offset == 0);
        cr_expect_eq(ip.ttl, hop_limits[i]);
        cr_expect_eq(ip.protocol, 0x11);
        cr_expect_arr_eq(ip.src, path.src.b + 12, 4);
        cr_expect_arr_eq(ip.dst, path.dst.b + 12, 4);
    }
}

/* covers: CA17-13, CA17-15, CA17-16, CA17-17, CA17-18, CA17-19, ROCE-FRM-30, ROCE-FRM-31, ROCE-FRM-33,
 * ROCE-FRM-34, ROCE-FRM-35, ROCE-FRM-36, ROCE-FRM-37, ROCE-FRM-38 */
Test(frame, ROCE_FRM_34_ipv6_header)
{
    struct roce_path path = path_v6();
    struct roce_pkt pkt;
    struct net_ipv6 ip;
    uint8_t frame[512];
    path.hop_limit = 255;
    path.traffic_class = 0x68;
    build(&path, frame, 16, 0, &pkt);
    net_ipv6_get(&ip, frame + NET_ETHER_BYTES);
    cr_expect_eq(ip.version, 6);
    cr_expect_eq(ip.dscp, 26);
    cr_expect_eq(ip.ecn, 0);
    cr_expect_eq(ip.flow_label, 0xabcde);
    cr_expect_eq(ip.payload_len, 28, "an ACK: UDP 8, BTH 12, AETH 4, ICRC 4");
    cr_expect_eq(ip.next_header, 0x11);
    cr_expect_eq(ip.hop_limit, 255);
    cr_expect_arr_eq(ip.src, path.src.b, 16);
    cr_expect_arr_eq(ip.dst, path.dst.b, 16);
}

/* A template knows the sum of the constant words only; every identification and length must still verify.
 * covers: ROCE-FRM-20 */
Test(frame, ROCE_FRM_20_checksum_of_every_identification)
{
    static uint8_t frame[4200];
    struct roce_path path = path_v4();
    struct roce_frame_template t;
    for (unsigned tclass = 0; tclass < 256; tclass += 85) {
        path.traffic_class = (uint8_t)tclass;
        roce_frame_template_init(&t, &path);
        for (unsigned id = 0; id <= 0xffff; id++) {
            roce_frame_begin(&t, frame, 12 + (id * 4 & 0xffc), (uint16_t)id);
            cr_assert(net_checksum_ipv4_is_ok(frame + t.l3_offset, NET_IPV4_BYTES), "id %u", id);
        }
    }
}

/* covers: ROCE-FRM-42, ROCE-FRM-40, ROCE-FRM-14, ROCE-FRM-34 */
Test(frame, ROCE_FRM_42_lengths_agree_at_every_size)
{
    static uint8_t frame[4300];
    for (uint32_t transport = 12; transport <= 12 + 16 + 4 + 4096; transport += transport < 200 ? 4 : 388) {
        struct roce_path paths[2] = {path_v4(), path_v6()};
        for (int i = 0; i < 2; i++) {
            struct roce_pkt pkt;
            struct net_udp udp;
            paths[i].vlan_tci = transport % 8 ? -1 : 5;
            uint32_t len = build(&paths[i], frame, transport, 7, &pkt);
            net_udp_get(&udp, frame + len - ROCE_ICRC_BYTES - transport - NET_UDP_BYTES);
            cr_expect_eq(udp.src_port, 0xc123);
            cr_expect_eq(udp.dst_port, 4791);
            cr_expect_eq(udp.len, 8 + transport + 4);
            cr_expect_eq(udp.checksum, 0);
            cr_expect_eq(pkt.payload_bytes, transport - 12);
        }
    }
}

/* What stands behind the headers is the caller's, also while they are written.
 * covers: ROCE-FRM-6 */
Test(frame, ROCE_FRM_6_headers_take_what_they_say)
{
    struct roce_path paths[] = {path_v4(), path_v6(), path_v4(), path_v6()};
    static const uint8_t expected[] = {14 + 20 + 8, 14 + 40 + 8, 18 + 20 + 8, 18 + 40 + 8};
    paths[2].vlan_tci = paths[3].vlan_tci = 3;
    for (int i = 0; i < 4; i++) {
        struct roce_frame_template t;
        uint8_t frame[128];
        memset(frame, 0x5a, sizeof frame);
        roce_frame_template_init(&t, &paths[i]);
        uint8_t *bth = roce_frame_begin(&t, frame, 16, 0);
        cr_expect_eq(t.len_bytes, expected[i]);
        cr_expect_eq(bth, frame + expected[i]);
        for (uint8_t *p = bth; p < frame + sizeof frame; p++)
            cr_expect_eq(*p, 0x5a);
    }
    cr_expect_eq(ROCE_FRAME_OVERHEAD_BYTES,
                 expected[3] + ROCE_BTH_BYTES + ROCE_RETH_BYTES + ROCE_IMMDT_BYTES + ROCE_ICRC_BYTES);
}

/* covers: ROCE-FRM-44, ROCE-FRM-45 */
Test(frame, ROCE_FRM_45_source_ports)
{
    cr_expect_eq(roce_label_src_port(roce_flow_label(0, 17, 17)), 0xc121);
    cr_expect_eq(roce_label_src_port(roce_flow_label(0, 18, 18)), 0xc144);
    cr_expect_eq(roce_label_src_port(roce_flow_label(0, 27, 27)), 0xc2d9);
    /* worked out by hand: all 48 bits of the product count */
    cr_expect_eq(roce_label_src_port(roce_flow_label(0, 0xabcdef, 0xfedcba)), 0xe47d);
    cr_expect_eq(roce_label_src_port(roce_flow_label(0, 0xffffff, 0xfffffe)), 0xff12);
    cr_expect_eq(roce_label_src_port(roce_flow_label(0xabcde, 1, 2)), 0xc000 | (0x3cde ^ 0x2a));
    for (uint32_t a = 1; a < 0xffffff; a += 77777) {
        uint16_t port = roce_label_src_port(roce_flow_label(0, a, 0xfedcba));
        cr_expect_eq(port, roce_label_src_port(roce_flow_label(0, 0xfedcba, a)), "both ends choose one port");
        cr_expect_geq(port, 0xc000);
    }
}

/* covers: ROCE-FRM-39 */
Test(frame, ROCE_FRM_39_a_mapped_address_is_ipv4)
{
    struct roce_path path = path_v4();
    struct roce_pkt pkt;
    uint8_t frame[128];
    build(&path, frame, 12, 0, &pkt);
    cr_expect_eq(get_be16(frame + 12), 0x0800);
    cr_expect_eq(pkt.l3_kind, ROCE_L3_IPV4);
    cr_expect(nornic_addr_equal(&pkt.src, &path.src));
    cr_expect(nornic_addr_equal(&pkt.dst, &path.dst));
}
