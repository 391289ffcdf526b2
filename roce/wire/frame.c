/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/wire/frame.h"

#include <assert.h>
#include <string.h>

#include "net/bytes.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/wire/udp.h"
#include "roce/wire/icrc_parts.h"
#include "roce/wire.h"

/* ROCE-FRM-1 to FRM-3. Returns the position after the header. */
static uint8_t *put_ether(uint8_t *p, const struct roce_path *path, uint16_t ethertype)
{
    struct net_ether ether = {.ethertype = path->vlan_tci >= 0 ? NET_ETHERTYPE_VLAN : ethertype};
    memcpy(ether.dst, path->dst_mac.b, NORNIC_MAC_BYTES);
    memcpy(ether.src, path->src_mac.b, NORNIC_MAC_BYTES);
    p = net_ether_put(p, &ether);
    if (path->vlan_tci >= 0) {
        p = put_be16(p, (uint16_t)path->vlan_tci);
        p = put_be16(p, ethertype);
    }
    return p;
}

/* ROCE-FRM-10 to FRM-22, with total length, identification and checksum still 0. */
static uint8_t *put_ipv4(uint8_t *p, const struct roce_path *path)
{
    struct net_ipv4 ip = {
        .version = 4,
        .ihl = NET_IPV4_BYTES / 4,
        .dscp = path->traffic_class >> 2,
        .ecn = path->traffic_class & 3,
        .df = 1,
        .ttl = path->hop_limit,
        .protocol = NET_IP_PROTO_UDP,
    };
    memcpy(ip.src, path->src.b + 12, sizeof ip.src);
    memcpy(ip.dst, path->dst.b + 12, sizeof ip.dst);
    return net_ipv4_put(p, &ip);
}

/* ROCE-FRM-30 to FRM-38, with payload length still 0. */
static uint8_t *put_ipv6(uint8_t *p, const struct roce_path *path)
{
    struct net_ipv6 ip = {
        .version = 6,
        .dscp = path->traffic_class >> 2,
        .ecn = path->traffic_class & 3,
        .flow_label = path->flow_label,
        .next_header = NET_IP_PROTO_UDP,
        .hop_limit = path->hop_limit,
    };
    memcpy(ip.src, path->src.b, sizeof ip.src);
    memcpy(ip.dst, path->dst.b, sizeof ip.dst);
    return net_ipv6_put(p, &ip);
}

/* ROCE-FRM-51, with payload length still 0. */
static uint8_t *put_grh(uint8_t *p, const struct roce_path *path)
{
    struct roce_grh grh = {
        .ip_version = 6,
        .tclass = path->traffic_class,
        .flow_label = path->flow_label,
        .next_header = NET_IP_PROTO_IB_GRH,
        .hop_limit = path->hop_limit,
    };
    memcpy(grh.sgid, path->src.b, sizeof grh.sgid);
    memcpy(grh.dgid, path->dst.b, sizeof grh.dgid);
    return roce_grh_put(p, &grh);
}

static void init_v1(struct roce_frame_template *t, const struct roce_path *path)
{
    t->l3_kind = ROCE_L3_GRH;
    uint8_t *l3 = put_ether(t->bytes, path, NET_ETHERTYPE_ROCE);
    t->l3_offset = (uint8_t)(l3 - t->bytes);
    t->len_bytes = t->l4_offset = (uint8_t)(put_grh(l3, path) - t->bytes);
    t->icrc = roce_icrc_below(l3, ROCE_L3_GRH);
}

void roce_frame_template_init(struct roce_frame_template *t, const struct roce_path *path)
{
    bool is_v4 = nornic_addr_is_v4(&path->dst);
    struct net_udp udp = {.src_port = path->src_port, .dst_port = ROCE_UDP_PORT}; /* no checksum: FRM-43 */

    assert(nornic_addr_is_v4(&path->src) == is_v4);
    memset(t, 0, sizeof *t);
    if (path->v1) {
        init_v1(t, path);
        return;
    }
    t->l3_kind = is_v4 ? ROCE_L3_IPV4 : ROCE_L3_IPV6;
    uint8_t *l3 = put_ether(t->bytes, path, is_v4 ? NET_ETHERTYPE_IPV4 : NET_ETHERTYPE_IPV6);
    uint8_t *l4 = is_v4 ? put_ipv4(l3, path) : put_ipv6(l3, path);
    t->l3_offset = (uint8_t)(l3 - t->bytes);
    t->l4_offset = (uint8_t)(l4 - t->bytes);
    t->len_bytes = (uint8_t)(net_udp_put(l4, &udp) - t->bytes);
    if (is_v4)
        t->ipv4_sum = net_checksum_add(0, l3, NET_IPV4_BYTES);
    t->icrc = roce_icrc_below(l3, t->l3_kind);
}

/* ROCE-FRM-20 without walking the header: the words that a packet has of its own are added to those of the
 * template. Three 16-bit words carry once into the upper half, and that carry at most once more. */
static uint16_t ipv4_checksum(const struct roce_frame_template *t, uint16_t total_bytes, uint16_t ip_id)
{
    uint32_t sum = t->ipv4_sum + total_bytes + ip_id;
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

/* What follows the L3 header of a packet. */
static uint16_t l4_bytes_of(const struct roce_frame_template *t, uint32_t transport_bytes)
{
    uint32_t l4_header_bytes = (uint32_t)t->len_bytes - t->l4_offset; /* UDP, or nothing */
    return (uint16_t)(l4_header_bytes + transport_bytes + ROCE_ICRC_BYTES);
}

uint8_t *roce_frame_begin(const struct roce_frame_template *t, uint8_t *frame, uint32_t transport_bytes,
                          uint16_t ip_id)
{
    uint16_t l4_bytes = l4_bytes_of(t, transport_bytes);
    uint8_t *l3 = frame + t->l3_offset, *l4 = frame + t->l4_offset;

    memcpy(frame, t->bytes, t->len_bytes);
    switch (t->l3_kind) {
    case ROCE_L3_IPV4: {
        uint16_t total_bytes = (uint16_t)(NET_IPV4_BYTES + l4_bytes);
        put_be16(l3 + 2, total_bytes);
        put_be16(l3 + 4, ip_id);
        put_be16(l3 + 10, ipv4_checksum(t, total_bytes, ip_id));
        put_be16(l4 + 4, l4_bytes);
        break;
    }
    case ROCE_L3_IPV6:
        put_be16(l3 + 4, l4_bytes); /* the UDP header counts: ROCE-FRM-34 */
        put_be16(l4 + 4, l4_bytes);
        break;
    case ROCE_L3_GRH:
        put_be16(l3 + 4, l4_bytes);
        break;
    }
    return frame + t->len_bytes;
}

uint32_t roce_frame_icrc_below(const struct roce_frame_template *t, uint32_t transport_bytes, uint16_t ip_id)
{
    uint16_t l4_bytes = l4_bytes_of(t, transport_bytes);
    uint16_t l3_len = t->l3_kind == ROCE_L3_IPV4 ? (uint16_t)(NET_IPV4_BYTES + l4_bytes) : l4_bytes;
    uint32_t icrc = t->icrc ^ roce_icrc_change_of_lengths(t->l3_kind, l3_len, l4_bytes);
    return t->l3_kind == ROCE_L3_IPV4 ? icrc ^ roce_icrc_change_of_id(ip_id) : icrc;
}

uint32_t roce_frame_seal(const struct roce_frame_template *t, uint8_t *frame, uint32_t transport_bytes)
{
    uint8_t *bth = frame + t->len_bytes, *end = bth + transport_bytes;
    uint16_t ip_id = t->l3_kind == ROCE_L3_IPV4 ? get_be16(frame + t->l3_offset + 4) : 0;
    uint32_t below = roce_frame_icrc_below(t, transport_bytes, ip_id);
    end = put_le32(end, roce_icrc_above(below, bth, transport_bytes));
    return (uint32_t)(end - frame);
}

uint32_t roce_flow_label(uint32_t flow_label, uint32_t local_qpn, uint32_t remote_qpn)
{
    uint32_t label = flow_label & 0xfffff;
    if (label == 0) {
        uint64_t v = (uint64_t)local_qpn * remote_qpn;
        v ^= v >> 20;
        v ^= v >> 40;
        label = v & 0xfffff;
    }
    return label;
}

uint16_t roce_label_src_port(uint32_t flow_label)
{
    return (uint16_t)(0xc000 | ((flow_label & 0x3fff) ^ (flow_label >> 14)));
}
