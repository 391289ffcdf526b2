/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/wire/parse.h"

#include "net/bytes.h"
#include "net/wire/ether.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/wire/udp.h"

#define VLAN_TCI_AT 14

static enum net_parse_result parse_udp(struct net_parsed *out, const uint8_t *frame)
{
    if (out->l4_bytes < NET_UDP_BYTES)
        return NET_PARSE_BAD_UDP;
    struct net_udp udp;
    net_udp_get(&udp, frame + out->l4_offset);
    if (udp.len < NET_UDP_BYTES || udp.len > out->l4_bytes)
        return NET_PARSE_BAD_UDP;
    out->udp_bytes = udp.len;
    return NET_PARSE_UDP;
}

static enum net_parse_result parse_ipv4(struct net_parsed *out, const uint8_t *frame, size_t left_bytes)
{
    if (left_bytes < NET_IPV4_BYTES)
        return NET_PARSE_BAD_IP;
    struct net_ipv4 ip;
    net_ipv4_get(&ip, frame + out->l3_offset);
    uint32_t header_bytes = ip.ihl * 4u;
    if (ip.version != 4 || header_bytes < NET_IPV4_BYTES || ip.total_len < header_bytes ||
        ip.total_len > left_bytes)
        return NET_PARSE_BAD_IP;
    out->ip_version = 4;
    out->ip_protocol = ip.protocol;
    out->is_fragment = ip.mf || ip.frag_offset;
    out->l3_bytes = ip.total_len;
    out->l4_offset = out->l3_offset + header_bytes;
    out->l4_bytes = ip.total_len - header_bytes;
    if (ip.protocol != NET_IP_PROTO_UDP || out->is_fragment)
        return NET_PARSE_IP;
    return parse_udp(out, frame);
}

static enum net_parse_result parse_ipv6(struct net_parsed *out, const uint8_t *frame, size_t left_bytes)
{
    if (left_bytes < NET_IPV6_BYTES)
        return NET_PARSE_BAD_IP;
    struct net_ipv6 ip;
    net_ipv6_get(&ip, frame + out->l3_offset);
    if (ip.version != 6 || ip.payload_len > left_bytes - NET_IPV6_BYTES)
        return NET_PARSE_BAD_IP;
    out->ip_version = 6;
    out->ip_protocol = ip.next_header;
    out->l3_bytes = NET_IPV6_BYTES + (uint32_t)ip.payload_len;
    out->l4_offset = out->l3_offset + NET_IPV6_BYTES;
    out->l4_bytes = ip.payload_len;
    if (ip.next_header != NET_IP_PROTO_UDP)
        return NET_PARSE_IP;
    return parse_udp(out, frame);
}

enum net_parse_result net_parse(struct net_parsed *out, const uint8_t *frame, size_t len_bytes)
{
    *out = (struct net_parsed){.vlan_tci = -1};
    if (len_bytes < NET_ETHER_BYTES)
        return NET_PARSE_BAD_L2;
    struct net_ether ether;
    net_ether_get(&ether, frame);
    uint32_t at = NET_ETHER_BYTES;
    out->ethertype = ether.ethertype;
    if (ether.ethertype == NET_ETHERTYPE_VLAN) {
        if (len_bytes < NET_ETHER_BYTES + NET_VLAN_BYTES)
            return NET_PARSE_BAD_L2;
        struct net_vlan vlan;
        net_vlan_get(&vlan, frame + at);
        out->vlan_tci = get_be16(frame + VLAN_TCI_AT);
        out->ethertype = vlan.ethertype;
        at += NET_VLAN_BYTES;
    }
    if (out->ethertype != NET_ETHERTYPE_IPV4 && out->ethertype != NET_ETHERTYPE_IPV6)
        return NET_PARSE_NOT_IP;
    out->l3_offset = at;
    return out->ethertype == NET_ETHERTYPE_IPV4 ? parse_ipv4(out, frame, len_bytes - at)
                                                : parse_ipv6(out, frame, len_bytes - at);
}
