/* SPDX-License-Identifier: BSD-2-Clause */
/* The headers of a frame, and their places. Only lengths are judged here, so that a header is shown even if
 * its content is wrong; the engine's parser tells the error (explain_packet.verdict). */
#include "base/base.h"
#include "explain/packet/cursor.h"

#include "net/bytes.h"
#include "net/ipv4.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/wire/ipv6.h"
#include "net/wire/udp.h"
#include "roce/cm/mad.h"
#include "roce/opcode.h"

#define GSI_QPN         1
#define UDP_DST_PORT    2 /* in the UDP header */
#define UDP_PORTS_BYTES 4
#define CUT_FRAME_MAX   4352 /* a longer one that was cut is no packet: 4096 bytes of data, IP, all headers */

static const uint8_t *here(const struct explain_cursor *c)
{
    return c->packet->frame + c->at;
}

/* --- communication management --- */

/* By attribute id, from ROCE_CM_ATTR_FIRST on. */
static const enum explain_layer_id cm_messages[ROCE_CM_ATTR_COUNT] = {
    EXPLAIN_LAYER_CM_REQ,      EXPLAIN_LAYER_CM_MRA,  EXPLAIN_LAYER_CM_REJ,  EXPLAIN_LAYER_CM_REP,
    EXPLAIN_LAYER_CM_RTU,      EXPLAIN_LAYER_CM_DREQ, EXPLAIN_LAYER_CM_DREP, EXPLAIN_LAYER_CM_SIDR_REQ,
    EXPLAIN_LAYER_CM_SIDR_REP, EXPLAIN_LAYER_CM_LAP,  EXPLAIN_LAYER_CM_APR,
};

/* The places of the parts of a REQ and a SIDR_REQ that have lists of their own: ROCE-CM-10, CM-11, CM-61. */
#define REQ_PRIMARY_OFFSET      52
#define REQ_ALTERNATE_OFFSET    96
#define REQ_PRIVATE_OFFSET      140
#define SIDR_REQ_PRIVATE_OFFSET 16
#define SERVICE_OFFSET          8 /* in both, a service id */
#define SERVICE_END             16

/* Private data that begins as the IP convention says (ROCE-CM-60, CM-61). */
static bool has_ip_header(uint64_t service_id)
{
    return service_id >> 24 == 1;
}

/* Whether any of the `n` bytes that are there is not 0: a part that is all 0 is none. */
static bool is_used(const uint8_t *bytes, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (bytes[i])
            return true;
    return false;
}

/* Takes the parts of the message at `message`, as far as it is there. */
static void take_cm_parts(struct explain_cursor *c, uint16_t attr, uint32_t message)
{
    uint32_t there = c->end - message;
    const uint8_t *m = c->packet->frame + message;
    if (attr == ROCE_CM_REQ) {
        explain_show(c, EXPLAIN_LAYER_CM_PATH, message + REQ_PRIMARY_OFFSET);
        if (there > REQ_ALTERNATE_OFFSET &&
            is_used(m + REQ_ALTERNATE_OFFSET, min_u32(there - REQ_ALTERNATE_OFFSET, ROCE_CM_PATH_BYTES)))
            explain_show(c, EXPLAIN_LAYER_CM_ALT_PATH, message + REQ_ALTERNATE_OFFSET);
    }
    if (there < SERVICE_END || !has_ip_header(get_be64(m + SERVICE_OFFSET)))
        return;
    if (attr == ROCE_CM_REQ)
        explain_show(c, EXPLAIN_LAYER_CM_IP, message + REQ_PRIVATE_OFFSET);
    else if (attr == ROCE_CM_SIDR_REQ)
        explain_show(c, EXPLAIN_LAYER_CM_IP, message + SIDR_REQ_PRIVATE_OFFSET);
}

static void take_mad(struct explain_cursor *c)
{
    struct explain_cursor inner = *c;
    inner.takes_cut = true;
    if (c->wire_end - c->at < ROCE_MAD_BYTES)
        return;
    c->packet->kind = EXPLAIN_CM;
    if (!explain_take(&inner, EXPLAIN_LAYER_MAD))
        return;
    struct roce_mad mad;
    roce_mad_get(&mad, c->packet->frame + c->at);
    unsigned i = mad.attr_id - ROCE_CM_ATTR_FIRST;
    uint32_t message = inner.at;
    if (mad.mgmt_class != ROCE_MAD_CLASS_CM || i >= ROCE_CM_ATTR_COUNT)
        return;
    explain_take(&inner, cm_messages[i]);
    take_cm_parts(&inner, mad.attr_id, message);
}

/* --- transport --- */

/* In the order of ROCE-HDR-10. */
static const struct extension {
    uint32_t flag;
    enum explain_layer_id layer;
} extensions[] = {
    {ROCE_PKT_RDETH, EXPLAIN_LAYER_RDETH},
    {ROCE_PKT_DETH, EXPLAIN_LAYER_DETH},
    {ROCE_PKT_XRCETH, EXPLAIN_LAYER_XRCETH},
    {ROCE_PKT_RETH, EXPLAIN_LAYER_RETH},
    {ROCE_PKT_ATOMICETH, EXPLAIN_LAYER_ATOMICETH},
    {ROCE_PKT_MASKETH, EXPLAIN_LAYER_MASKETH},
    {ROCE_PKT_AETH, EXPLAIN_LAYER_AETH},
    {ROCE_PKT_SACKETH, EXPLAIN_LAYER_SACKETH},
    {ROCE_PKT_ATOMICACKETH, EXPLAIN_LAYER_ATOMICACKETH},
    {ROCE_PKT_IMMDT, EXPLAIN_LAYER_IMMDT},
    {ROCE_PKT_IETH, EXPLAIN_LAYER_IETH},
    {ROCE_PKT_CNP, EXPLAIN_LAYER_CNP},
};

static void take_transport(struct explain_cursor *c)
{
    struct explain_packet *p = c->packet;
    struct roce_bth bth;
    if (c->end - c->at < ROCE_BTH_BYTES)
        return;
    roce_bth_get(&bth, here(c));
    explain_take(c, EXPLAIN_LAYER_BTH);
    if (c->end < c->wire_end && p->verdict != ROCE_RX_TAKEN)
        p->roce.bth = bth; /* a part that is cut behind it still has its place */
    p->icrc_offset = c->wire_end - min_u32(c->wire_end - c->at, ROCE_ICRC_BYTES);
    explain_end_at(c, p->icrc_offset, 0);
    const struct roce_opcode *op = &roce_opcodes[bth.opcode];
    for (unsigned i = 0; i < array_len(extensions); i++)
        if (op->flags & extensions[i].flag && !explain_take(c, extensions[i].layer))
            return;
    if (op->flags & ROCE_PKT_DEFINED && bth.pad_count <= c->wire_end - c->at)
        explain_end_at(c, c->wire_end - bth.pad_count, 0);
    p->payload_offset = c->at;
    p->payload_bytes = c->end - c->at;
    if (bth.dest_qpn == GSI_QPN && op->flags & ROCE_PKT_DETH)
        take_mad(c);
    else if (op->flags & ROCE_PKT_SEND && op->flags & ROCE_PKT_ONLY)
        explain_take_smc_message(c);
}

/* --- IP --- */

/* Of a UDP header that the capture cut: its ports tell RoCE. */
static void take_ports(struct explain_cursor *c)
{
    bool is_cut = c->wire_end - c->at >= NET_UDP_BYTES && c->end - c->at >= UDP_PORTS_BYTES;
    if (!is_cut || get_be16(here(c) + UDP_DST_PORT) != ROCE_UDP_PORT)
        return;
    c->packet->kind = EXPLAIN_ROCE;
    c->packet->verdict = ROCE_RX_DROP_SHORT;
}

static uint16_t take_udp(struct explain_cursor *c)
{
    struct net_udp udp;
    uint32_t from = c->at;
    if (!explain_take(c, EXPLAIN_LAYER_UDP)) {
        take_ports(c);
        return 0;
    }
    net_udp_get(&udp, c->packet->frame + from);
    if (udp.len >= NET_UDP_BYTES)
        explain_end_at(c, from, udp.len); /* Ethernet padding does not count: ROCE-FRM-5 */
    if (udp.dst_port != ROCE_UDP_PORT)
        return explain_take_udp_tunnel(c, udp.dst_port);
    take_transport(c);
    return 0;
}

/* Returns the next header that an IP header's protocol names; as an EtherType if that is a packet of its
 * own. */
static uint16_t take_protocol(struct explain_cursor *c, uint8_t protocol)
{
    switch (protocol) {
    case NET_IP_PROTO_UDP:
        return take_udp(c);
    case NET_IP_PROTO_TCP:
        explain_take_tcp(c);
        return 0;
    case NET_IP_PROTO_GRE:
        return explain_take_gre(c);
    case NET_IP_PROTO_IPV4:
    case NET_IP_PROTO_IPV6:
        c->packet->network = (struct explain_network){.tunnel = EXPLAIN_TUNNEL_IP};
        c->packet->inner_layer = c->packet->layer_count;
        return protocol == NET_IP_PROTO_IPV4 ? NET_ETHERTYPE_IPV4 : NET_ETHERTYPE_IPV6;
    }
    return 0;
}

static uint16_t take_ipv4(struct explain_cursor *c)
{
    struct net_ipv4 ip;
    uint32_t from = c->at;
    if (!explain_take(c, EXPLAIN_LAYER_IP))
        return 0;
    net_ipv4_get(&ip, c->packet->frame + from);
    uint32_t header_bytes = ip.ihl > 5 ? ip.ihl * 4u : NET_IPV4_BYTES;
    c->at = from + header_bytes <= c->end ? from + header_bytes : c->end;
    if (ip.total_len >= header_bytes)
        explain_end_at(c, from, ip.total_len);
    return take_protocol(c, ip.protocol);
}

static uint16_t take_ipv6(struct explain_cursor *c)
{
    struct net_ipv6 ip;
    uint32_t from = c->at;
    if (!explain_take(c, EXPLAIN_LAYER_IP6))
        return 0;
    net_ipv6_get(&ip, c->packet->frame + from);
    explain_end_at(c, c->at, ip.payload_len);
    return take_protocol(c, ip.next_header);
}

static void take_grh(struct explain_cursor *c)
{
    struct roce_grh grh;
    uint32_t from = c->at;
    if (!explain_take(c, EXPLAIN_LAYER_GRH))
        return;
    roce_grh_get(&grh, c->packet->frame + from);
    explain_end_at(c, c->at, grh.payload_len);
    take_transport(c);
}

/* --- the parser's verdict --- */

#define PARSE_FLAGS (ROCE_PARSE_ALLOW_NO_DF | ROCE_PARSE_V1)

static void copy_link(const struct explain_cursor *c, struct roce_pkt *pkt)
{
    const struct explain_packet *p = c->packet;
    pkt->frame = p->frame;
    pkt->frame_bytes = p->len_bytes;
    pkt->vlan_tci = c->vlan_tci;
    if (!c->has_ether)
        return;
    struct net_ether ether;
    net_ether_get(&ether, p->frame + c->ether_at);
    memcpy(pkt->dst_mac.b, ether.dst, sizeof pkt->dst_mac.b);
    memcpy(pkt->src_mac.b, ether.src, sizeof pkt->src_mac.b);
}

/* The last of the headers that nothing needs which counts packets: operands and immediate data. */
static uint32_t spare_bytes(const struct roce_opcode *op)
{
    if (op->flags & ROCE_PKT_ATOMICETH)
        return op->ext_bytes;
    return op->flags & (ROCE_PKT_IMMDT | ROCE_PKT_IETH) ? ROCE_IMMDT_BYTES : 0;
}

/* RDMA is often captured with a snap length of 96 or 256 bytes, which all headers fit into. The parser sees
 * such a frame with zeros for the missing bytes; if it then takes it and no header is among these, the packet
 * is as it would have been. */
static void parse_cut(const struct explain_cursor *c, uint16_t ethertype, const uint8_t *datagram)
{
    struct explain_packet *p = c->packet;
    uint8_t whole[CUT_FRAME_MAX];
    struct roce_pkt pkt;
    uint32_t wire_bytes = c->wire_end - c->at, len_bytes = c->end - c->at;
    p->cut.is_train = wire_bytes > sizeof whole;
    if (p->cut.is_train)
        return;
    memcpy(whole, datagram, len_bytes);
    memset(whole + len_bytes, 0, wire_bytes - len_bytes);
    /* the UDP checksum of missing bytes cannot be added up */
    if (roce_pkt_parse_l3(&pkt, ethertype, whole, wire_bytes,
                          PARSE_FLAGS | ROCE_PARSE_SKIP_ICRC | ROCE_PARSE_SKIP_UDP_CHECKSUM) != ROCE_RX_TAKEN)
        return;
    uint32_t header_bytes = (uint32_t)(pkt.payload - whole);
    if (header_bytes - spare_bytes(pkt.op) > len_bytes)
        return;
    p->cut.is_operand = header_bytes > len_bytes;
    pkt.l3 = p->frame + c->at;
    pkt.payload = pkt.l3 + (pkt.payload - whole);
    pkt.icrc_found = pkt.icrc_expected = 0;
    p->roce = pkt;
    p->verdict = ROCE_RX_TAKEN;
    p->cut.is_end = true;
}

/* Copies an IPv4 datagram to `mended`, of CUT_FRAME_MAX bytes, with the header checksum that it should have;
 * false: it has that. */
static bool mend(const struct explain_cursor *c, uint16_t ethertype, uint8_t *mended)
{
    const uint8_t *datagram = c->packet->frame + c->at;
    uint32_t bytes = c->end - c->at;
    struct net_ipv4 ip;
    if (ethertype != NET_ETHERTYPE_IPV4 || bytes < NET_IPV4_BYTES || bytes > CUT_FRAME_MAX)
        return false;
    net_ipv4_get(&ip, datagram);
    if (ip.version != 4 || ip.ihl != 5 || net_checksum_ipv4_is_ok(datagram, NET_IPV4_BYTES))
        return false;
    c->packet->checksum.is_ip_absent = ip.checksum == 0;
    memcpy(mended, datagram, bytes);
    ip.checksum = net_checksum_ipv4(datagram, NET_IPV4_BYTES);
    net_ipv4_put(mended, &ip);
    return true;
}

/* Returns the parser's verdict about the datagram, or about the datagram with its checksum right. */
static enum roce_rx_verdict parse(const struct explain_cursor *c, uint16_t ethertype, const uint8_t *datagram,
                                  unsigned flags, struct roce_pkt *pkt)
{
    const uint8_t *own = c->packet->frame + c->at;
    enum roce_rx_verdict verdict = roce_pkt_parse_l3(pkt, ethertype, datagram, c->end - c->at, flags);
    if (verdict != ROCE_RX_NOT_ROCE && datagram != own) {
        pkt->l3 = own;
        pkt->payload = pkt->payload ? own + (pkt->payload - datagram) : NULL;
    }
    return verdict;
}

/* Asks the engine's parser for its verdict about the datagram at the cursor. */
static void judge(struct explain_cursor *c, uint16_t ethertype)
{
    struct explain_packet *p = c->packet;
    uint8_t mended[CUT_FRAME_MAX];
    bool is_mended = mend(c, ethertype, mended);
    const uint8_t *datagram = is_mended ? mended : p->frame + c->at;
    enum roce_rx_verdict verdict = parse(c, ethertype, datagram, PARSE_FLAGS, &p->roce);
    p->verdict = verdict;
    p->l3_offset = c->at;
    p->l3_layer = p->layer_count;
    if (verdict == ROCE_RX_NOT_ROCE)
        return;
    p->kind = EXPLAIN_ROCE;
    if (verdict == ROCE_RX_DROP_UDP) {
        struct roce_pkt pkt;
        enum roce_rx_verdict rest =
            parse(c, ethertype, datagram, PARSE_FLAGS | ROCE_PARSE_SKIP_UDP_CHECKSUM, &pkt);
        p->checksum.is_only_udp = rest == ROCE_RX_TAKEN || rest >= ROCE_RX_DROP_ICRC;
        if (p->checksum.is_only_udp)
            p->roce = pkt;
    }
    if (c->end < c->wire_end && (!is_mended || p->checksum.is_ip_absent))
        parse_cut(c, ethertype, datagram);
    if (is_mended && !p->checksum.is_ip_absent) {
        p->checksum.is_only_ip = verdict == ROCE_RX_TAKEN;
        p->verdict = ROCE_RX_DROP_IP;
    }
    copy_link(c, &p->roce);
}

/* --- the frame --- */

/* Takes the header that an EtherType stands for; returns the EtherType of its content, 0 at the end. */
static uint16_t take_type(struct explain_cursor *c, uint16_t ethertype)
{
    switch (ethertype) {
    case NET_ETHERTYPE_TEB:
        return explain_take_ether(c);
    case NET_ETHERTYPE_VLAN:
    case NET_ETHERTYPE_QINQ:
    case NET_ETHERTYPE_QINQ_OLD:
        return explain_take_vlan(c);
    case NET_ETHERTYPE_IPV4:
        judge(c, ethertype);
        return take_ipv4(c);
    case NET_ETHERTYPE_IPV6:
        judge(c, ethertype);
        return take_ipv6(c);
    case NET_ETHERTYPE_ROCE:
        judge(c, ethertype);
        take_grh(c);
        return 0;
    case NET_ETHERTYPE_MAC_CONTROL:
        explain_take_mac_control(c);
        return 0;
    case NET_ETHERTYPE_LLDP:
        explain_take_lldp(c);
        return 0;
    }
    return 0;
}

void explain_dissect(struct explain_packet *packet, const struct net_capture_record *record, uint64_t number)
{
    *packet = (struct explain_packet){.number = number,
                                      .time_ns = record->time_ns,
                                      .frame = record->data,
                                      .len_bytes = record->len_bytes,
                                      .wire_bytes = record->wire_bytes,
                                      .link = record->link,
                                      .interface = record->interface,
                                      .verdict = ROCE_RX_NOT_ROCE,
                                      .roce.op = &roce_opcodes[UINT8_MAX]};
    struct explain_cursor c = {.packet = packet,
                               .end = record->len_bytes,
                               .wire_end = max_u32(record->len_bytes, record->wire_bytes),
                               .vlan_tci = -1};
    uint16_t ethertype = explain_take_link(&c, record->link);
    while (ethertype) {
        packet->ethertype = ethertype;
        ethertype = take_type(&c, ethertype);
    }
}

/* The verdicts are in the order of the parser's checks. */
bool explain_has_icrc(const struct explain_packet *p)
{
    return (p->kind == EXPLAIN_ROCE || p->kind == EXPLAIN_CM) && !p->cut.is_end &&
           (p->verdict == ROCE_RX_TAKEN || p->verdict >= ROCE_RX_DROP_ICRC || p->checksum.is_only_udp);
}
