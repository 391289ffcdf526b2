/* SPDX-License-Identifier: BSD-2-Clause */
/* Which headers a frame has, and where. Only lengths are judged here, so that a header is shown even where
 * what it says is wrong; what is wrong with it, the engine's parser says (explain_packet.verdict). */
#include "base/base.h"
#include "explain/packet/cursor.h"

#include "net/bytes.h"
#include "net/ether.h"
#include "net/ipv4.h"
#include "net/ipv6.h"
#include "net/udp.h"
#include "roce/cm/mad.h"
#include "roce/opcode.h"

#define GSI_QPN       1
#define CUT_FRAME_MAX 16384 /* a longer one that was cut is none that RoCE sends */

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

/* Where the parts of a REQ and a SIDR_REQ that have lists of their own lie: ROCE-CM-10, CM-11, CM-61. */
#define REQ_PRIMARY_OFFSET      52
#define REQ_ALTERNATE_OFFSET    96
#define REQ_PRIVATE_OFFSET      140
#define SIDR_REQ_PRIVATE_OFFSET 16

/* Private data that begins as the IP convention says (ROCE-CM-60, CM-61). */
static bool has_ip_header(uint64_t service_id)
{
    return service_id >> 24 == 1;
}

static void take_cm_parts(struct explain_cursor *c, uint16_t attr, uint32_t message)
{
    const uint8_t *m = c->packet->frame + message;
    if (attr == ROCE_CM_REQ) {
        static const uint8_t no_path[ROCE_CM_PATH_BYTES];
        explain_show(c, EXPLAIN_LAYER_CM_PATH, message + REQ_PRIMARY_OFFSET);
        if (memcmp(m + REQ_ALTERNATE_OFFSET, no_path, sizeof no_path) != 0)
            explain_show(c, EXPLAIN_LAYER_CM_ALT_PATH, message + REQ_ALTERNATE_OFFSET);
    }
    if (attr == ROCE_CM_REQ && has_ip_header(get_be64(m + 8)))
        explain_show(c, EXPLAIN_LAYER_CM_IP, message + REQ_PRIVATE_OFFSET);
    if (attr == ROCE_CM_SIDR_REQ && has_ip_header(get_be64(m + 8)))
        explain_show(c, EXPLAIN_LAYER_CM_IP, message + SIDR_REQ_PRIVATE_OFFSET);
}

static void take_mad(struct explain_cursor *c)
{
    uint32_t envelope = c->at;
    if (c->end - c->at < ROCE_MAD_BYTES || !explain_take(c, EXPLAIN_LAYER_MAD))
        return;
    c->packet->kind = EXPLAIN_CM;
    struct roce_mad mad;
    roce_mad_get(&mad, c->packet->frame + envelope);
    unsigned i = mad.attr_id - ROCE_CM_ATTR_FIRST;
    uint32_t message = c->at;
    if (mad.mgmt_class == ROCE_MAD_CLASS_CM && i < ROCE_CM_ATTR_COUNT && explain_take(c, cm_messages[i]))
        take_cm_parts(c, mad.attr_id, message);
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

/* --- below --- */

static bool take_udp(struct explain_cursor *c)
{
    struct net_udp udp;
    uint32_t from = c->at;
    if (!explain_take(c, EXPLAIN_LAYER_UDP))
        return false;
    net_udp_get(&udp, c->packet->frame + from);
    if (udp.len >= NET_UDP_BYTES)
        explain_end_at(c, from, udp.len); /* what Ethernet padded does not count: ROCE-FRM-5 */
    return udp.dst_port == ROCE_UDP_PORT;
}

static void take_ip(struct explain_cursor *c, uint16_t ethertype)
{
    uint8_t protocol = 0;
    uint32_t from = c->at;
    if (ethertype == NET_ETHERTYPE_IPV4 && explain_take(c, EXPLAIN_LAYER_IP)) {
        struct net_ipv4 ip;
        net_ipv4_get(&ip, c->packet->frame + from);
        protocol = ip.protocol;
        uint32_t header_bytes = ip.ihl > 5 ? ip.ihl * 4u : NET_IPV4_BYTES;
        c->at = from + header_bytes <= c->end ? from + header_bytes : c->end;
        if (ip.total_len >= header_bytes)
            explain_end_at(c, from, ip.total_len);
    } else if (ethertype == NET_ETHERTYPE_IPV6 && explain_take(c, EXPLAIN_LAYER_IP6)) {
        struct net_ipv6 ip;
        net_ipv6_get(&ip, c->packet->frame + from);
        protocol = ip.next_header;
        explain_end_at(c, c->at, ip.payload_len);
    }
    if (protocol == NET_IP_PROTO_UDP && take_udp(c))
        take_transport(c);
    else if (protocol == NET_IP_PROTO_TCP)
        explain_take_tcp(c);
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

static void take_frame(struct explain_cursor *c)
{
    struct net_ether ether;
    if (!explain_take(c, EXPLAIN_LAYER_ETH))
        return;
    net_ether_get(&ether, c->packet->frame);
    uint16_t ethertype = ether.ethertype;
    if (ethertype == NET_ETHERTYPE_VLAN) {
        struct net_vlan vlan;
        uint32_t from = c->at;
        if (!explain_take(c, EXPLAIN_LAYER_VLAN))
            return;
        net_vlan_get(&vlan, c->packet->frame + from);
        ethertype = vlan.ethertype;
    }
    if (ethertype == NET_ETHERTYPE_ROCE)
        take_grh(c);
    else
        take_ip(c, ethertype);
}

#define PARSE_FLAGS (ROCE_PARSE_ALLOW_NO_DF | ROCE_PARSE_V1)

/* Where the UDP checksum of the frame is set, it is no more: of what is not there nobody can add it up. */
static void clear_udp_checksum(const struct explain_packet *p, uint8_t *frame)
{
    for (unsigned i = 0; i < p->layer_count; i++)
        if (p->layers[i].kind->id == EXPLAIN_LAYER_UDP) {
            struct net_udp udp;
            net_udp_get(&udp, frame + p->layers[i].offset);
            udp.checksum = 0;
            net_udp_put(frame + p->layers[i].offset, &udp);
        }
}

/* RDMA is often captured with a snap length of 96 or 256 bytes, which all headers fit into. The parser sees
 * such a frame with zeros for what is missing; if it then takes it and no header is among what is missing,
 * the packet is what it would have been. */
static void parse_cut(struct explain_packet *p)
{
    uint8_t whole[CUT_FRAME_MAX];
    struct roce_pkt pkt;
    if (p->wire_bytes > sizeof whole)
        return;
    memcpy(whole, p->frame, p->len_bytes);
    memset(whole + p->len_bytes, 0, p->wire_bytes - p->len_bytes);
    clear_udp_checksum(p, whole);
    if (roce_pkt_parse(&pkt, whole, p->wire_bytes, PARSE_FLAGS | ROCE_PARSE_SKIP_ICRC) != ROCE_RX_TAKEN ||
        (size_t)(pkt.payload - whole) > p->len_bytes)
        return;
    pkt.frame = p->frame;
    pkt.frame_bytes = p->len_bytes;
    pkt.l3 = p->frame + (pkt.l3 - whole);
    pkt.payload = p->frame + (pkt.payload - whole);
    pkt.icrc_found = pkt.icrc_expected = 0;
    p->roce = pkt;
    p->verdict = ROCE_RX_TAKEN;
    p->is_cut = true;
}

void explain_dissect(struct explain_packet *packet, const struct net_capture_record *record, uint64_t number)
{
    *packet = (struct explain_packet){.number = number,
                                      .time_ns = record->time_ns,
                                      .frame = record->data,
                                      .len_bytes = record->len_bytes,
                                      .wire_bytes = record->wire_bytes};
    packet->verdict = roce_pkt_parse(&packet->roce, record->data, record->len_bytes, PARSE_FLAGS);
    if (packet->verdict != ROCE_RX_NOT_ROCE)
        packet->kind = EXPLAIN_ROCE;
    struct explain_cursor c = {.packet = packet,
                               .end = record->len_bytes,
                               .wire_end = max_u32(record->len_bytes, record->wire_bytes)};
    take_frame(&c);
    if (packet->kind == EXPLAIN_ROCE && packet->len_bytes < packet->wire_bytes)
        parse_cut(packet);
}

/* The verdicts are in the order of the parser's checks. */
bool explain_has_icrc(const struct explain_packet *p)
{
    return (p->kind == EXPLAIN_ROCE || p->kind == EXPLAIN_CM) && !p->is_cut &&
           (p->verdict == ROCE_RX_TAKEN || p->verdict >= ROCE_RX_DROP_ICRC);
}
