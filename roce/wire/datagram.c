/* SPDX-License-Identifier: BSD-2-Clause */
/* Ethernet, IP and UDP of a received packet, or Ethernet and GRH (RoCEv1). Whether a frame is ours at all (it
 * reaches UDP/4791, or has the EtherType of RoCEv1) is found out first, by looking only at what leads there;
 * then everything is judged. So a broken RoCE packet has its own counter, and a broken packet of somebody
 * else is not counted as ours. */
#include "roce/wire/datagram.h"

#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "net/wire/udp.h"

#define MIN_TRANSPORT_BYTES (ROCE_BTH_BYTES + ROCE_ICRC_BYTES)

/* Where an IP header is, what it says, and what follows it. */
struct datagram {
    const uint8_t *ip;
    uint32_t left_bytes; /* of the frame from `ip` on */
    uint32_t l4_offset;  /* from `ip` to the UDP header */
    uint32_t l4_bytes;   /* that the IP header says follow it */
};

/* IPv6 extension headers that may stand before UDP (RFC 8200, 4). */
enum { NH_HOP_BY_HOP = 0, NH_ROUTING = 43, NH_FRAGMENT = 44, NH_DEST_OPTIONS = 60 };
#define MAX_EXTENSIONS 8 /* bounds the walk; a longer chain is not ours */

static bool has_roce_port(const struct datagram *d)
{
    struct net_udp udp;
    if (d->l4_offset + NET_UDP_BYTES > d->left_bytes)
        return false;
    net_udp_get(&udp, d->ip + d->l4_offset);
    return udp.dst_port == ROCE_UDP_PORT;
}

/* Does it reach UDP/4791, whatever else is wrong with it? A header length below 5 is read as 5. */
static bool ipv4_is_ours(struct datagram *d, const struct net_ipv4 *ip)
{
    d->l4_offset = ip->ihl > 5 ? ip->ihl * 4u : NET_IPV4_BYTES;
    return ip->protocol == NET_IP_PROTO_UDP && has_roce_port(d);
}

/* As ipv4_is_ours(), beyond extension headers too, so that a packet dropped for having one is counted. */
static bool ipv6_is_ours(struct datagram *d, const struct net_ipv6 *ip)
{
    uint8_t next = ip->next_header;
    d->l4_offset = NET_IPV6_BYTES;
    for (unsigned i = 0; i < MAX_EXTENSIONS && next != NET_IP_PROTO_UDP; i++) {
        const uint8_t *ext = d->ip + d->l4_offset;
        if (next != NH_HOP_BY_HOP && next != NH_ROUTING && next != NH_FRAGMENT && next != NH_DEST_OPTIONS)
            return false;
        if (d->l4_offset + 8 > d->left_bytes)
            return false;
        d->l4_offset += next == NH_FRAGMENT ? 8 : (ext[1] + 1u) * 8;
        next = ext[0];
    }
    return next == NET_IP_PROTO_UDP && has_roce_port(d);
}

/* ROCE-FRM-10 to FRM-20. */
static bool ipv4_is_good(struct datagram *d, const struct net_ipv4 *ip, unsigned flags)
{
    if (ip->version != 4 || ip->ihl != 5)
        return false;
    if (ip->total_len < NET_IPV4_BYTES + NET_UDP_BYTES || ip->total_len > d->left_bytes)
        return false;
    if (ip->mf || ip->frag_offset != 0)
        return false;
    if (!(flags & ROCE_PARSE_ALLOW_NO_DF) && (ip->resv1 || !ip->df)) /* ROCE-FRM-16, FRM-23 */
        return false;
    d->l4_bytes = ip->total_len - NET_IPV4_BYTES;
    return net_checksum_ipv4_is_ok(d->ip, NET_IPV4_BYTES);
}

/* ROCE-FRM-30 to FRM-35. */
static bool ipv6_is_good(struct datagram *d, const struct net_ipv6 *ip)
{
    if (ip->version != 6 || ip->next_header != NET_IP_PROTO_UDP)
        return false;
    if (ip->payload_len < NET_UDP_BYTES || ip->payload_len > d->left_bytes - NET_IPV6_BYTES)
        return false;
    d->l4_bytes = ip->payload_len;
    return true;
}

static enum roce_rx_verdict parse_ipv4(struct roce_pkt *pkt, struct datagram *d, unsigned flags)
{
    struct net_ipv4 ip;
    if (d->left_bytes < NET_IPV4_BYTES)
        return ROCE_RX_NOT_ROCE;
    net_ipv4_get(&ip, d->ip);
    if (!ipv4_is_ours(d, &ip))
        return ROCE_RX_NOT_ROCE;
    pkt->l3_kind = ROCE_L3_IPV4;
    pkt->src = nornic_addr_from_v4(ip.src);
    pkt->dst = nornic_addr_from_v4(ip.dst);
    pkt->tclass = (uint8_t)(ip.dscp << 2 | ip.ecn);
    pkt->hop_limit = ip.ttl;
    return ipv4_is_good(d, &ip, flags) ? ROCE_RX_TAKEN : ROCE_RX_DROP_IP;
}

static enum roce_rx_verdict parse_ipv6(struct roce_pkt *pkt, struct datagram *d)
{
    struct net_ipv6 ip;
    if (d->left_bytes < NET_IPV6_BYTES)
        return ROCE_RX_NOT_ROCE;
    net_ipv6_get(&ip, d->ip);
    if (!ipv6_is_ours(d, &ip))
        return ROCE_RX_NOT_ROCE;
    pkt->l3_kind = ROCE_L3_IPV6;
    memcpy(pkt->src.b, ip.src, sizeof pkt->src.b);
    memcpy(pkt->dst.b, ip.dst, sizeof pkt->dst.b);
    pkt->tclass = (uint8_t)(ip.dscp << 2 | ip.ecn);
    pkt->hop_limit = ip.hop_limit;
    return ipv6_is_good(d, &ip) ? ROCE_RX_TAKEN : ROCE_RX_DROP_IP;
}

/* ROCE-FRM-51. What follows the GRH is the transport, as long as the GRH says. */
static enum roce_rx_verdict parse_grh(struct roce_pkt *pkt, const struct datagram *d,
                                      const uint8_t **transport, uint32_t *transport_bytes)
{
    struct roce_grh grh;
    if (d->left_bytes < ROCE_GRH_BYTES)
        return ROCE_RX_DROP_IP;
    *transport = roce_grh_get(&grh, d->ip);
    *transport_bytes = grh.payload_len;
    memcpy(pkt->src.b, grh.sgid, sizeof pkt->src.b);
    memcpy(pkt->dst.b, grh.dgid, sizeof pkt->dst.b);
    pkt->tclass = grh.tclass;
    pkt->hop_limit = grh.hop_limit;
    if (grh.ip_version != 6 || grh.next_header != NET_IP_PROTO_IB_GRH)
        return ROCE_RX_DROP_IP;
    if (grh.payload_len < MIN_TRANSPORT_BYTES || grh.payload_len % 4 != 0 ||
        grh.payload_len > d->left_bytes - ROCE_GRH_BYTES)
        return ROCE_RX_DROP_IP;
    return ROCE_RX_TAKEN;
}

/* ROCE-FRM-41 to FRM-43; the port is known to be ours. */
static bool udp_is_good(const struct datagram *d, const struct net_udp *udp, unsigned flags)
{
    if (udp->len != d->l4_bytes || udp->len < NET_UDP_BYTES + MIN_TRANSPORT_BYTES || udp->len % 4 != 0)
        return false;
    return flags & ROCE_PARSE_SKIP_UDP_CHECKSUM ||
           net_checksum_udp_is_ok(d->ip, d->ip + d->l4_offset, udp->len);
}

/* Fills MAC addresses and tag; returns the EtherType and the length of what precedes its payload, or 0 in
 * `*l3_offset` when the frame is too short to tell. */
static uint16_t parse_ether(struct roce_pkt *pkt, uint32_t *l3_offset)
{
    struct net_ether ether;
    struct net_vlan vlan;

    *l3_offset = 0;
    pkt->vlan_tci = -1;
    if (pkt->frame_bytes < NET_ETHER_BYTES)
        return 0;
    net_ether_get(&ether, pkt->frame);
    memcpy(pkt->dst_mac.b, ether.dst, NORNIC_MAC_BYTES);
    memcpy(pkt->src_mac.b, ether.src, NORNIC_MAC_BYTES);
    if (ether.ethertype != NET_ETHERTYPE_VLAN) {
        *l3_offset = NET_ETHER_BYTES;
        return ether.ethertype;
    }
    if (pkt->frame_bytes < NET_ETHER_BYTES + NET_VLAN_BYTES)
        return 0;
    net_vlan_get(&vlan, pkt->frame + NET_ETHER_BYTES);
    pkt->vlan_tci = vlan.pcp << 13 | vlan.dei << 12 | vlan.vid;
    *l3_offset = NET_ETHER_BYTES + NET_VLAN_BYTES;
    return vlan.ethertype;
}

enum roce_rx_verdict roce_datagram_parse(struct roce_pkt *pkt, unsigned flags, const uint8_t **transport,
                                         uint32_t *transport_bytes)
{
    uint32_t l3_offset;
    uint16_t ethertype = parse_ether(pkt, &l3_offset);
    if (l3_offset == 0)
        return ROCE_RX_NOT_ROCE;
    return roce_l3_parse(pkt, ethertype, l3_offset, flags, transport, transport_bytes);
}

enum roce_rx_verdict roce_l3_parse(struct roce_pkt *pkt, uint16_t ethertype, uint32_t l3_offset,
                                   unsigned flags, const uint8_t **transport, uint32_t *transport_bytes)
{
    struct datagram d = {.ip = pkt->frame + l3_offset, .left_bytes = pkt->frame_bytes - l3_offset};
    enum roce_rx_verdict verdict = ROCE_RX_NOT_ROCE;
    pkt->l3 = d.ip;
    if (ethertype == NET_ETHERTYPE_IPV4) {
        verdict = parse_ipv4(pkt, &d, flags);
    } else if (ethertype == NET_ETHERTYPE_IPV6) {
        verdict = parse_ipv6(pkt, &d);
    } else if (ethertype == NET_ETHERTYPE_ROCE) {
        pkt->l3_kind = ROCE_L3_GRH;
        if (flags & ROCE_PARSE_V1)
            return parse_grh(pkt, &d, transport, transport_bytes);
        verdict = ROCE_RX_DROP_L2; /* not spoken: ROCE-FRM-55 */
    }
    if (verdict != ROCE_RX_TAKEN)
        return verdict;

    struct net_udp udp;
    net_udp_get(&udp, d.ip + d.l4_offset);
    pkt->src_port = udp.src_port;
    if (!udp_is_good(&d, &udp, flags))
        return ROCE_RX_DROP_UDP;
    *transport = d.ip + d.l4_offset + NET_UDP_BYTES;
    *transport_bytes = udp.len - NET_UDP_BYTES;
    return ROCE_RX_TAKEN;
}
