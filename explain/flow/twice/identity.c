/* SPDX-License-Identifier: BSD-2-Clause */
/* The identity of a packet: all bytes that no hop changes. It leaves out TTL, traffic class and checksum of
 * the network header, the UDP checksum, which a host may leave to its card, and the congestion bits of the
 * BTH (ROCE-ICRC-4: the ICRC leaves out the same). A good ICRC stands for the data. */
#include "explain/flow/twice/identity.h"

#include "base/base.h"
#include "base/hash.h"
#include "net/bytes.h"

#define DATA_BYTES     64
#define SPREAD         1024 /* a power of two */
#define BTH_CONGESTION 4    /* a switch may set bits of this byte of the BTH */

/* --- the identity of a packet --- */

static bool is_network_layer(const struct explain_layer *layer)
{
    enum explain_layer_id id = layer->kind->id;
    return id == EXPLAIN_LAYER_IP || id == EXPLAIN_LAYER_IP6 || id == EXPLAIN_LAYER_GRH;
}

/* The header with the addresses: of IPv4, IPv6, or a GRH. */
static const struct explain_layer *network_layer(const struct explain_packet *p)
{
    if (p->kind == EXPLAIN_ROCE || p->kind == EXPLAIN_CM)
        return p->l3_layer < p->layer_count && is_network_layer(&p->layers[p->l3_layer])
                   ? &p->layers[p->l3_layer]
                   : NULL;
    for (unsigned i = p->layer_count; i > 0; i--)
        if (is_network_layer(&p->layers[i - 1]))
            return &p->layers[i - 1];
    return NULL;
}

/* Behind the network header: the UDP checksum is left out, which a host may leave to its card. */
static uint64_t mix_rest(uint64_t h, const struct explain_packet *p, uint32_t at)
{
    const struct explain_layer *bth = explain_layer_from(p, 0, EXPLAIN_LAYER_BTH);
    uint32_t end =
        p->payload_offset >= at && p->payload_offset <= p->len_bytes ? p->payload_offset : p->len_bytes;
    bool is_good = p->verdict == ROCE_RX_TAKEN;
    if (!bth || !is_good || bth->offset + BTH_CONGESTION >= end)
        return hash_keyed_bytes(h, p->frame + at, p->len_bytes - at);
    h = hash_keyed_bytes(hash_keyed_word(h, p->roce.src_port), p->frame + bth->offset, BTH_CONGESTION);
    h = hash_keyed_bytes(h, p->frame + bth->offset + BTH_CONGESTION + 1,
                         end - bth->offset - BTH_CONGESTION - 1);
    h = hash_keyed_bytes(h, p->frame + end, min_u32(p->len_bytes - end, DATA_BYTES));
    return hash_keyed_word(h, explain_has_icrc(p) ? p->roce.icrc_found : 0);
}

/* Of a sender that counts PSNs, or identifications as well, one packet is next to the other, or close to it:
 * if all packets have the same PSN and identification, they still lie at SPREAD places. Senders of
 * datagrams need not count. */
static uint32_t place_of(const struct explain_packet *p, const struct explain_identity *id)
{
    if (p->kind == EXPLAIN_SMC_TCP || p->verdict != ROCE_RX_TAKEN || p->roce.op->flags & ROCE_PKT_DETH)
        return (uint32_t)id->digest;
    uint32_t flow = (uint32_t)hash_keyed_word(id->way, p->roce.bth.dest_qpn);
    return (flow + p->roce.bth.psn + id->ip_id) ^ ((uint32_t)id->digest & (SPREAD - 1));
}

bool explain_identify(const struct explain_packet *p, struct explain_identity *id)
{
    const struct explain_layer *l3 = network_layer(p);
    if (!l3 || (p->kind != EXPLAIN_ROCE && p->kind != EXPLAIN_CM && p->kind != EXPLAIN_SMC_TCP))
        return false;
    const uint8_t *at = p->frame + l3->offset;
    bool is_v4 = l3->kind->id == EXPLAIN_LAYER_IP;
    uint32_t header = is_v4 ? 4 * (at[0] & 15u) : 40, addr = is_v4 ? 12 : 8, addr_bytes = is_v4 ? 4 : 16;
    if (l3->offset + header > p->len_bytes || header < (is_v4 ? 20u : 40u))
        return false;
    uint64_t network = (uint64_t)p->network.id << 8 | p->network.tunnel << 1 | (p->kind == EXPLAIN_SMC_TCP);
    id->way = hash_bytes(hash_bytes(network, at + addr, addr_bytes), at + addr + addr_bytes, addr_bytes);
    id->back = hash_bytes(hash_bytes(network, at + addr + addr_bytes, addr_bytes), at + addr, addr_bytes);
    id->has_ip_id = is_v4;
    id->ip_id = is_v4 ? get_be16(at + 4) : 0;
    id->digest = mix_rest(
        hash_keyed_word(hash_keyed_word(id->way, id->ip_id), is_v4 ? get_be16(at + 2) : get_be16(at + 4)), p,
        l3->offset + header);
    id->place = place_of(p, id);
    return true;
}

struct explain_view explain_view_of(const struct explain_packet *p)
{
    const struct explain_layer *vlan = explain_layer_from(p, 0, EXPLAIN_LAYER_VLAN), *l3 = network_layer(p);
    unsigned first = 0;
    while (!is_network_layer(&p->layers[first]))
        first++;
    bool is_v4 = l3->kind->id == EXPLAIN_LAYER_IP;
    struct explain_view v = {.interface = p->interface,
                             .vlan = vlan ? get_be16(p->frame + vlan->offset) & 0xfff : EXPLAIN_NO_VLAN,
                             .link = (uint8_t)p->link,
                             .hops_left = p->frame[l3->offset + (is_v4 ? 8 : 7)]};
    uint64_t h = hash_bytes(v.link, p->frame, p->layers[first].offset);
    v.hash = (uint32_t)(hash_word(h, (uint64_t)v.interface << 8 | v.hops_left) >> 32);
    return v;
}
