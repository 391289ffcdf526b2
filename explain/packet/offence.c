/* SPDX-License-Identifier: BSD-2-Clause */
/* Which fields make a packet bad: of those that the parser's verdict is about, the ones that are wrong. */
#include "base/base.h"
#include "explain/packet/packet.h"

#include "net/ipv4.h"
#include "net/wire/checksum.h"
#include "net/wire/ipv6.h"
#include "net/wire/udp.h"

/* A layer in its frame: `left_bytes` from its first byte to the end of what was captured. */
struct place {
    const struct explain_packet *packet;
    unsigned layer;
    const uint8_t *at;
    uint32_t left_bytes;
};

static struct net_ipv4 ipv4_of(const struct place *place)
{
    struct net_ipv4 ip;
    net_ipv4_get(&ip, place->at);
    return ip;
}

/* ROCE-FRM-14 */
static bool is_total_len_wrong(const struct place *place, uint64_t value)
{
    return value < ipv4_of(place).ihl * 4u || value > place->left_bytes;
}

/* ROCE-FRM-20 */
static bool is_ip_checksum_wrong(const struct place *place, uint64_t value)
{
    (void)value;
    uint32_t header_bytes = ipv4_of(place).ihl * 4u;
    return header_bytes >= NET_IPV4_BYTES && header_bytes <= place->left_bytes &&
           !net_checksum_ipv4_is_ok(place->at, header_bytes);
}

static bool is_not_zero(const struct place *place, uint64_t value)
{
    (void)place;
    return value != 0;
}

static bool is_not_4(const struct place *place, uint64_t value)
{
    (void)place;
    return value != 4;
}

static bool is_not_6(const struct place *place, uint64_t value)
{
    (void)place;
    return value != 6;
}

static bool is_ihl_wrong(const struct place *place, uint64_t value)
{
    (void)place;
    return value * 4 < NET_IPV4_BYTES;
}

static bool is_payload_len_wrong(const struct place *place, uint64_t value)
{
    return value + NET_IPV6_BYTES > place->left_bytes;
}

/* Of the whole datagram, as its IP header says. */
static uint64_t ip_bytes_of(enum explain_layer_id layer, const uint8_t *ip)
{
    if (layer == EXPLAIN_LAYER_IP) {
        struct net_ipv4 v4;
        net_ipv4_get(&v4, ip);
        return v4.total_len;
    }
    struct net_ipv6 v6;
    net_ipv6_get(&v6, ip);
    return (uint64_t)NET_IPV6_BYTES + v6.payload_len;
}

/* What IP says is there for UDP; ROCE-FRM-42. */
static bool is_udp_len_wrong(const struct place *place, uint64_t value)
{
    if (value < NET_UDP_BYTES || value > place->left_bytes || place->layer == 0)
        return true;
    const struct explain_layer *below = &place->packet->layers[place->layer - 1];
    const uint8_t *ip = place->packet->frame + below->offset;
    uint32_t header_bytes = (uint32_t)(place->at - ip);
    return header_bytes + value > ip_bytes_of(below->kind->id, ip);
}

/* ROCE-FRM-43 */
static bool is_udp_checksum_wrong(const struct place *place, uint64_t value)
{
    (void)value;
    struct net_udp udp;
    net_udp_get(&udp, place->at);
    if (udp.len < NET_UDP_BYTES || udp.len > place->left_bytes || place->layer == 0)
        return false;
    const uint8_t *ip = place->packet->frame + place->packet->layers[place->layer - 1].offset;
    return !net_checksum_udp_is_ok(ip, place->at, udp.len);
}

static bool is_always_wrong(const struct place *place, uint64_t value)
{
    (void)place;
    (void)value;
    return true;
}

static const struct offence {
    enum roce_rx_verdict verdict;
    enum explain_layer_id layer;
    const char *field;
    bool (*is_wrong)(const struct place *place, uint64_t value);
} offences[] = {
    {ROCE_RX_DROP_IP, EXPLAIN_LAYER_IP, "version", is_not_4},
    {ROCE_RX_DROP_IP, EXPLAIN_LAYER_IP, "ihl", is_ihl_wrong},
    {ROCE_RX_DROP_IP, EXPLAIN_LAYER_IP, "total_len", is_total_len_wrong},
    {ROCE_RX_DROP_IP, EXPLAIN_LAYER_IP, "checksum", is_ip_checksum_wrong},
    {ROCE_RX_DROP_IP, EXPLAIN_LAYER_IP, "mf", is_not_zero},
    {ROCE_RX_DROP_IP, EXPLAIN_LAYER_IP, "frag_offset", is_not_zero},
    {ROCE_RX_DROP_IP, EXPLAIN_LAYER_IP6, "version", is_not_6},
    {ROCE_RX_DROP_IP, EXPLAIN_LAYER_IP6, "payload_len", is_payload_len_wrong},
    {ROCE_RX_DROP_UDP, EXPLAIN_LAYER_UDP, "len", is_udp_len_wrong},
    {ROCE_RX_DROP_UDP, EXPLAIN_LAYER_UDP, "checksum", is_udp_checksum_wrong},
    {ROCE_RX_DROP_SHORT, EXPLAIN_LAYER_BTH, "opcode", is_always_wrong},
    {ROCE_RX_DROP_SHORT, EXPLAIN_LAYER_BTH, "pad_count", is_not_zero},
    {ROCE_RX_DROP_TVER, EXPLAIN_LAYER_BTH, "tver", is_not_zero},
};

bool explain_field_offends(const struct explain_packet *p, unsigned layer, const struct net_field *field)
{
    const struct explain_layer *l = &p->layers[layer];
    struct place place = {p, layer, p->frame + l->offset, p->len_bytes - l->offset};
    for (unsigned i = 0; i < array_len(offences); i++)
        if (offences[i].verdict == p->verdict && offences[i].layer == l->kind->id &&
            strcmp(offences[i].field, field->name) == 0)
            return offences[i].is_wrong(&place, explain_field_value(p, layer, field));
    return false;
}
