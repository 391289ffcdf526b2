/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/frame.h"

#include <assert.h>
#include <string.h>

#include "net/bytes.h"
#include "roce/wire.h"

#define ETHERTYPE_VLAN 0x8100
#define ETHERTYPE_IPV4 0x0800
#define ETHERTYPE_IPV6 0x86dd
#define IPPROTO_OF_UDP 0x11
#define IPV4_BYTES     20
#define IPV6_BYTES     40
#define UDP_BYTES      8
#define IPV4_DF        0x4000

/* ROCE-FRM-1..3. Returns the position after the header. */
static uint8_t *put_ether(uint8_t *p, const struct roce_path *path)
{
    p = put_bytes(p, path->dst_mac.b, NET_MAC_BYTES);
    p = put_bytes(p, path->src_mac.b, NET_MAC_BYTES);
    if (path->vlan_tci >= 0) {
        p = put_be16(p, ETHERTYPE_VLAN);
        p = put_be16(p, (uint16_t)path->vlan_tci);
    }
    return put_be16(p, net_addr_is_v4(&path->dst) ? ETHERTYPE_IPV4 : ETHERTYPE_IPV6);
}

/* ROCE-FRM-10..22 with total length, identification and checksum 0. */
static uint8_t *put_ipv4(uint8_t *p, const struct roce_path *path)
{
    p = put_u8(p, 0x45);
    p = put_u8(p, path->traffic_class);
    p = put_be32(p, 0);
    p = put_be16(p, IPV4_DF);
    p = put_u8(p, path->hop_limit);
    p = put_u8(p, IPPROTO_OF_UDP);
    p = put_be16(p, 0);
    p = put_bytes(p, path->src.b + 12, 4);
    return put_bytes(p, path->dst.b + 12, 4);
}

/* ROCE-FRM-30..38 with payload length 0. */
static uint8_t *put_ipv6(uint8_t *p, const struct roce_path *path)
{
    p = put_be32(p, 6u << 28 | (uint32_t)path->traffic_class << 20 | (path->flow_label & 0xfffff));
    p = put_be16(p, 0);
    p = put_u8(p, IPPROTO_OF_UDP);
    p = put_u8(p, path->hop_limit);
    p = put_bytes(p, path->src.b, 16);
    return put_bytes(p, path->dst.b, 16);
}

void roce_frame_template_init(struct roce_frame_template *t, const struct roce_path *path)
{
    assert(net_addr_is_v4(&path->src) == net_addr_is_v4(&path->dst));
    memset(t, 0, sizeof *t);
    t->l3_kind = net_addr_is_v4(&path->dst) ? ROCE_L3_IPV4 : ROCE_L3_IPV6;

    uint8_t *l3 = put_ether(t->bytes, path);
    uint8_t *l4 = t->l3_kind == ROCE_L3_IPV4 ? put_ipv4(l3, path) : put_ipv6(l3, path);
    t->l3_offset = (uint8_t)(l3 - t->bytes);
    t->l4_offset = (uint8_t)(l4 - t->bytes);
    t->len_bytes = t->l4_offset + UDP_BYTES;
    put_be32(l4,
             (uint32_t)path->src_port << 16 | ROCE_UDP_PORT); /* length and checksum stay 0: ROCE-FRM-43 */

    if (t->l3_kind == ROCE_L3_IPV4)
        for (unsigned i = 0; i < IPV4_BYTES; i += 2)
            t->ipv4_sum += get_be16(l3 + i);
}

/* The RFC 791 checksum of a header whose words add up to `sum`. */
static uint16_t checksum_of(uint32_t sum)
{
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

uint8_t *roce_frame_begin(const struct roce_frame_template *t, uint8_t *frame, uint32_t transport_bytes,
                          uint16_t ip_id)
{
    uint16_t udp_bytes = (uint16_t)(UDP_BYTES + transport_bytes + ROCE_ICRC_BYTES);
    uint8_t *l3 = frame + t->l3_offset;

    memcpy(frame, t->bytes,
           sizeof t->bytes); /* a fixed size copies faster; what is too much is overwritten */
    put_be16(frame + t->l4_offset + 4, udp_bytes);
    if (t->l3_kind == ROCE_L3_IPV4) {
        uint16_t total_bytes = (uint16_t)(IPV4_BYTES + udp_bytes);
        put_be16(l3 + 2, total_bytes);
        put_be16(l3 + 4, ip_id);
        put_be16(l3 + 10, checksum_of(t->ipv4_sum + total_bytes + ip_id));
    } else {
        put_be16(l3 + 4, udp_bytes); /* the UDP header counts: ROCE-FRM-34 */
    }
    return frame + t->len_bytes;
}

uint32_t roce_frame_seal(const struct roce_frame_template *t, uint8_t *frame, uint32_t transport_bytes)
{
    const uint8_t *l3 = frame + t->l3_offset;
    uint8_t *end = frame + t->len_bytes + transport_bytes;

    end = put_le32(end, roce_icrc(l3, t->l3_kind, (size_t)(end - l3)));
    return (uint32_t)(end - frame);
}

uint16_t roce_flow_src_port(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn)
{
    uint32_t label = flow_label & 0xfffff;
    if (label == 0) {
        uint64_t v = (uint64_t)local_qpn * remote_qpn;
        v ^= v >> 20;
        v ^= v >> 40;
        label = v & 0xfffff;
    }
    return (uint16_t)(0xc000 | ((label & 0x3fff) ^ (label >> 14)));
}
