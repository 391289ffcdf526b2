/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/packet/train.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "net/bytes.h"
#include "net/ipv4.h"
#include "net/wire/checksum.h"
#include "net/wire/ether.h"
#include "net/wire/ipv6.h"
#include "net/wire/udp.h"
#include "roce/icrc.h"
#include "roce/psn.h"
#include "roce/wire/ip_id_restore.h"

#define LEAST_BYTES (ROCE_BTH_BYTES + ROCE_ICRC_BYTES) /* of a packet */
#define UNIT_BYTES  4                                  /* ROCE-HDR-5: packets are filled up to it */
#define SUM_BYTES   (1u << 20) /* are run through the ICRC at most, to find where a first packet ends */

/* The datagram that a packet was found to be. */
struct datagram {
    const uint8_t *l3;
    enum roce_l3 kind;
    uint32_t head_bytes;    /* IP and UDP header */
    uint32_t payload_bytes; /* UDP payload on the wire */
    uint32_t there_bytes;   /* of it, captured */
};

/* Which BTH may follow the first one. */
enum follow {
    FOLLOW_NEXT, /* that of the next packet to the same queue pair: a sender makes such trains */
    FOLLOW_ANY,  /* of any packet: GRO looks at addresses and ports alone */
};

/* The frame has a good ICRC as it is, and so it is one packet; or it may be a train. */
static bool may_be_train(const struct explain_packet *p)
{
    bool is_roce = (p->kind == EXPLAIN_ROCE || p->kind == EXPLAIN_CM) && p->ethertype != NET_ETHERTYPE_ROCE;
    return is_roce && (!explain_has_icrc(p) || p->roce.icrc_found != p->roce.icrc_expected);
}

static bool get_ip(struct datagram *d, uint16_t ethertype, uint32_t there_bytes)
{
    struct net_ipv4 ip;
    struct net_ipv6 ip6;
    if (ethertype == NET_ETHERTYPE_IPV4 && there_bytes >= NET_IPV4_BYTES + NET_UDP_BYTES) {
        net_ipv4_get(&ip, d->l3);
        d->kind = ROCE_L3_IPV4;
        d->head_bytes = NET_IPV4_BYTES + NET_UDP_BYTES;
        d->payload_bytes = ip.total_len - d->head_bytes;
        return ip.version == 4 && ip.ihl == 5 && ip.protocol == NET_IP_PROTO_UDP && !ip.mf &&
               ip.frag_offset == 0 && ip.total_len > d->head_bytes;
    }
    if (ethertype == NET_ETHERTYPE_IPV6 && there_bytes >= NET_IPV6_BYTES + NET_UDP_BYTES) {
        net_ipv6_get(&ip6, d->l3);
        d->kind = ROCE_L3_IPV6;
        d->head_bytes = NET_IPV6_BYTES + NET_UDP_BYTES;
        d->payload_bytes = ip6.payload_len - NET_UDP_BYTES;
        return ip6.version == 6 && ip6.next_header == NET_IP_PROTO_UDP && ip6.payload_len > NET_UDP_BYTES;
    }
    return false;
}

/* False: it is none with sound lengths, as every train has. */
static bool get_datagram(struct datagram *d, const struct explain_packet *p)
{
    uint32_t there_bytes = p->len_bytes - p->l3_offset;
    struct net_udp udp;
    d->l3 = p->frame + p->l3_offset;
    if (!get_ip(d, p->ethertype, there_bytes))
        return false;
    net_udp_get(&udp, d->l3 + d->head_bytes - NET_UDP_BYTES);
    d->there_bytes = min_u32(there_bytes - d->head_bytes, d->payload_bytes);
    uint32_t wire_bytes = max_u32(p->wire_bytes, p->len_bytes) - p->l3_offset;
    return udp.dst_port == NET_ROCE_UDP_PORT && udp.len == NET_UDP_BYTES + d->payload_bytes &&
           wire_bytes >= d->head_bytes + d->payload_bytes;
}

static bool may_follow(const struct roce_bth *first, const struct roce_bth *next, enum follow follow)
{
    if (follow == FOLLOW_NEXT)
        return next->pkey == first->pkey && next->dest_qpn == first->dest_qpn && next->tver == 0 &&
               next->psn == roce_psn_add(first->psn, 1);
    return next->tver == 0 && next->dest_qpn != 0 && roce_opcodes[next->opcode].flags & ROCE_PKT_DEFINED;
}

/* Writes the lengths of a first packet with that UDP payload, and an IPv4 checksum that is as right as it
 * was, or that a NIC would have filled in. */
static void put_lengths(uint8_t *l3, const struct datagram *d, uint32_t payload_bytes)
{
    uint8_t *udp = l3 + d->head_bytes - NET_UDP_BYTES;
    struct net_udp u;
    struct net_ipv4 ip;
    struct net_ipv6 ip6;
    net_udp_get(&u, udp);
    u.len = (uint16_t)(NET_UDP_BYTES + payload_bytes);
    u.checksum = 0;
    net_udp_put(udp, &u);
    if (d->kind == ROCE_L3_IPV6) {
        net_ipv6_get(&ip6, l3);
        ip6.payload_len = u.len;
        net_ipv6_put(l3, &ip6);
        return;
    }
    net_ipv4_get(&ip, l3);
    uint16_t total_len = (uint16_t)(NET_IPV4_BYTES + u.len);
    bool has_checksum = ip.checksum != 0;
    ip.checksum = has_checksum ? net_checksum_replace(ip.checksum, ip.total_len, total_len) : 0;
    ip.total_len = total_len;
    net_ipv4_put(l3, &ip);
    if (!has_checksum) {
        ip.checksum = net_checksum_ipv4(l3, NET_IPV4_BYTES);
        net_ipv4_put(l3, &ip);
    }
}

/* Lays the datagram out behind an Ethernet header, as net_train_begin() reads it, with zeros for what was not
 * captured. NULL: no memory. */
static uint8_t *lay_out(const struct datagram *d)
{
    uint8_t *whole = calloc(1, NET_ETHER_BYTES + d->head_bytes + d->payload_bytes);
    if (!whole)
        return NULL;
    struct net_ether ether = {.ethertype = d->kind == ROCE_L3_IPV4 ? NET_ETHERTYPE_IPV4 : NET_ETHERTYPE_IPV6};
    net_ether_put(whole, &ether);
    memcpy(whole + NET_ETHER_BYTES, d->l3, d->head_bytes + d->there_bytes);
    return whole;
}

/* How long the first packet is, from its BTH to its ICRC; 0: the datagram is no train. The lengths in `l3`, a
 * copy of it, are those of a first packet of that length then. */
static uint32_t find_length(const struct datagram *d, uint8_t *l3, enum follow follow)
{
    struct roce_bth first, next;
    const uint8_t *payload = l3 + d->head_bytes;
    uint32_t summed_bytes = 0;
    uint32_t least_bytes = (d->payload_bytes - 1) / NET_TRAIN_MAX_PKTS + 1;
    least_bytes = max_u32(LEAST_BYTES, (least_bytes + UNIT_BYTES - 1) / UNIT_BYTES * UNIT_BYTES);
    roce_bth_get(&first, payload);
    for (uint32_t s = least_bytes; s + ROCE_BTH_BYTES <= d->there_bytes; s += UNIT_BYTES) {
        roce_bth_get(&next, payload + s);
        if ((d->payload_bytes - 1) % s + 1 < LEAST_BYTES || !may_follow(&first, &next, follow))
            continue;
        summed_bytes += s;
        if (summed_bytes > SUM_BYTES)
            return 0;
        put_lengths(l3, d, s);
        if (roce_icrc(l3, d->kind, d->head_bytes + s - ROCE_ICRC_BYTES) ==
            get_le32(payload + s - ROCE_ICRC_BYTES))
            return s;
    }
    return 0;
}

/* Looks whether the record that `packet` was taken from holds a train. */
static void look(struct explain_cutter *c, const struct explain_packet *packet)
{
    struct datagram d;
    if (!may_be_train(packet) || !get_datagram(&d, packet) || d.payload_bytes % UNIT_BYTES != 0 ||
        d.there_bytes < LEAST_BYTES + ROCE_BTH_BYTES)
        return;
    uint8_t *whole = lay_out(&d);
    if (!whole)
        return;
    uint32_t s = find_length(&d, whole + NET_ETHER_BYTES, FOLLOW_NEXT);
    if (!s)
        s = find_length(&d, whole + NET_ETHER_BYTES, FOLLOW_ANY);
    if (s)
        c->packet = malloc(packet->l3_offset + d.head_bytes + s);
    if (!c->packet) {
        free(whole);
        return;
    }
    c->whole = whole;
    c->l3_offset = packet->l3_offset;
    c->there_bytes = d.head_bytes + d.there_bytes;
    net_train_begin(&c->train,
                    &(struct net_frame){.data = whole,
                                        .len_bytes = NET_ETHER_BYTES + d.head_bytes + d.payload_bytes,
                                        .seg_bytes = s});
    c->count = c->train.count;
}

/* Takes the train's next packet apart, as a record of its own. */
static void cut(struct explain_cutter *c, struct explain_packet *packet)
{
    struct net_capture_record record = c->record;
    struct net_frame frame = net_train_packet(&c->train, c->at);
    uint32_t bytes = frame.len_bytes - NET_ETHER_BYTES;
    uint32_t head_bytes = c->train.head_bytes - NET_ETHER_BYTES, before_bytes = c->at * c->train.seg_bytes;
    uint32_t there_bytes = max_u32(c->there_bytes, head_bytes + before_bytes) - before_bytes;
    if (c->at > 0 && there_bytes >= bytes)
        roce_ip_id_restore(frame.data, frame.len_bytes);
    memcpy(c->packet, c->record.data, c->l3_offset);
    memcpy(c->packet + c->l3_offset, frame.data + NET_ETHER_BYTES, bytes);
    record.data = c->packet;
    record.len_bytes = c->l3_offset + min_u32(there_bytes, bytes);
    record.wire_bytes = c->l3_offset + bytes;
    explain_dissect(packet, &record, c->number);
    packet->train = (struct explain_train){.packet = c->at + 1, .of = c->count};
}

void explain_cutter_begin(struct explain_cutter *cutter, const struct net_capture_record *record,
                          uint64_t number)
{
    *cutter = (struct explain_cutter){.record = *record, .number = number};
}

bool explain_cutter_next(struct explain_cutter *c, struct explain_packet *packet)
{
    if (c->count == 0) {
        explain_dissect(packet, &c->record, c->number);
        c->count = 1;
        look(c, packet);
    }
    if (c->at == c->count) {
        explain_cutter_end(c);
        return false;
    }
    if (c->whole)
        cut(c, packet);
    c->at++;
    return true;
}

void explain_cutter_end(struct explain_cutter *c)
{
    free(c->whole);
    free(c->packet);
    c->whole = c->packet = NULL;
}
