/* SPDX-License-Identifier: BSD-2-Clause */
/* What lies below IP, and how packets of one network travel through another: links, tags, tunnels. */
#include "explain/packet/cursor.h"

#include <inttypes.h>
#include <stdio.h>

#include "net/wire/link.h"
#include "net/wire/tunnel.h"

static const uint8_t *here(const struct explain_cursor *c)
{
    return c->packet->frame + c->at;
}

/* --- links --- */

/* Which IP it is that begins here. */
static uint16_t ip_by_version(const struct explain_cursor *c)
{
    if (c->at == c->end)
        return 0;
    unsigned version = *here(c) >> 4;
    return version == 4 ? NET_ETHERTYPE_IPV4 : version == 6 ? NET_ETHERTYPE_IPV6 : 0;
}

static uint16_t take_sll(struct explain_cursor *c)
{
    struct net_sll sll;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_SLL))
        return 0;
    net_sll_get(&sll, at);
    return sll.protocol;
}

static uint16_t take_sll2(struct explain_cursor *c)
{
    struct net_sll2 sll;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_SLL2))
        return 0;
    net_sll2_get(&sll, at);
    return sll.protocol;
}

static uint16_t take_loopback(struct explain_cursor *c)
{
    struct net_null header;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_LOOPBACK))
        return 0;
    net_null_get(&header, at);
    return net_null_ethertype(header.family);
}

uint16_t explain_take_link(struct explain_cursor *c, enum net_link link)
{
    switch (link) {
    case NET_LINK_ETHERNET:
        return NET_ETHERTYPE_TEB;
    case NET_LINK_NULL:
    case NET_LINK_LOOP:
        return take_loopback(c);
    case NET_LINK_IP:
        return ip_by_version(c);
    case NET_LINK_SLL:
        return take_sll(c);
    case NET_LINK_SLL2:
        return take_sll2(c);
    case NET_LINK_OTHER:
        return 0;
    }
    return 0;
}

uint16_t explain_take_ether(struct explain_cursor *c)
{
    struct net_ether ether;
    uint32_t from = c->at;
    if (!explain_take(c, EXPLAIN_LAYER_ETH))
        return 0;
    net_ether_get(&ether, c->packet->frame + from);
    c->has_ether = true;
    c->ether_at = from;
    c->vlan_tci = -1;
    return ether.ethertype;
}

uint16_t explain_take_vlan(struct explain_cursor *c)
{
    struct net_vlan vlan;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_VLAN))
        return 0;
    net_vlan_get(&vlan, at);
    c->vlan_tci = vlan.pcp << 13 | vlan.dei << 12 | vlan.vid;
    return vlan.ethertype;
}

/* --- tunnels --- */

static void enter(struct explain_cursor *c, enum explain_tunnel tunnel, bool has_id, uint32_t id)
{
    c->packet->network = (struct explain_network){.tunnel = tunnel, .has_id = has_id, .id = id};
    c->packet->inner_layer = c->packet->layer_count;
    c->has_ether = false;
    c->vlan_tci = -1;
}

static uint16_t take_vxlan(struct explain_cursor *c)
{
    struct net_vxlan vxlan;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_VXLAN))
        return 0;
    net_vxlan_get(&vxlan, at);
    enter(c, EXPLAIN_TUNNEL_VXLAN, vxlan.i, vxlan.vni);
    return NET_ETHERTYPE_TEB;
}

static uint16_t take_geneve(struct explain_cursor *c)
{
    struct net_geneve geneve;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_GENEVE))
        return 0;
    net_geneve_get(&geneve, at);
    if (geneve.version != 0 || geneve.opt_len * 4u > c->end - c->at)
        return 0;
    c->at += geneve.opt_len * 4u;
    enter(c, EXPLAIN_TUNNEL_GENEVE, true, geneve.vni);
    return geneve.protocol;
}

uint16_t explain_take_udp_tunnel(struct explain_cursor *c, uint16_t port)
{
    if (port == NET_PORT_VXLAN || port == NET_PORT_VXLAN_LINUX)
        return take_vxlan(c);
    return port == NET_PORT_GENEVE ? take_geneve(c) : 0;
}

static uint16_t take_erspan2(struct explain_cursor *c)
{
    struct net_erspan2 erspan;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_ERSPAN2))
        return 0;
    net_erspan2_get(&erspan, at);
    enter(c, EXPLAIN_TUNNEL_ERSPAN, true, erspan.session_id);
    return NET_ETHERTYPE_TEB;
}

static uint16_t take_erspan3(struct explain_cursor *c)
{
    struct net_erspan3 erspan;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_ERSPAN3))
        return 0;
    net_erspan3_get(&erspan, at);
    if (erspan.o && !explain_take(c, EXPLAIN_LAYER_ERSPAN_PLATFORM))
        return 0;
    enter(c, EXPLAIN_TUNNEL_ERSPAN, true, erspan.session_id);
    const char *frame = net_erspan_frame_name(erspan.frame_type);
    if (!frame)
        return 0;
    return erspan.frame_type == 0 ? NET_ETHERTYPE_TEB : ip_by_version(c);
}

/* NVGRE is GRE with an Ethernet frame and a key; that the key is a VSID, its value tells. */
static bool take_gre_key(struct explain_cursor *c, bool is_ethernet)
{
    struct net_nvgre nvgre;
    struct net_gre_key key;
    if (c->end - c->at < NET_GRE_PART_BYTES)
        return false;
    net_nvgre_get(&nvgre, here(c));
    net_gre_key_get(&key, here(c));
    if (is_ethernet && nvgre.vsid >= NET_NVGRE_VSID_FIRST && nvgre.vsid <= NET_NVGRE_VSID_LAST) {
        enter(c, EXPLAIN_TUNNEL_NVGRE, true, nvgre.vsid);
        return explain_take(c, EXPLAIN_LAYER_NVGRE);
    }
    enter(c, EXPLAIN_TUNNEL_GRE, true, key.key);
    return explain_take(c, EXPLAIN_LAYER_GRE_KEY);
}

uint16_t explain_take_gre(struct explain_cursor *c)
{
    struct net_gre gre;
    const uint8_t *at = here(c);
    if (!explain_take(c, EXPLAIN_LAYER_GRE))
        return 0;
    net_gre_get(&gre, at);
    if (gre.version != 0 || gre.routing)
        return 0;
    enter(c, EXPLAIN_TUNNEL_GRE, false, 0);
    if ((gre.c && !explain_take(c, EXPLAIN_LAYER_GRE_CHECKSUM)) ||
        (gre.k && !take_gre_key(c, gre.protocol == NET_ETHERTYPE_TEB)) ||
        (gre.s && !explain_take(c, EXPLAIN_LAYER_GRE_SEQ)))
        return 0;
    if (gre.protocol == NET_ETHERTYPE_ERSPAN3)
        return take_erspan3(c);
    if (gre.protocol != NET_ETHERTYPE_ERSPAN)
        return gre.protocol;
    if (gre.s)
        return take_erspan2(c);
    enter(c, EXPLAIN_TUNNEL_ERSPAN, false, 0);
    return NET_ETHERTYPE_TEB;
}

/* --- words --- */

const char *explain_network_text(const struct explain_network *network, char *text, size_t size)
{
    static const char *const names[] = {
        [EXPLAIN_TUNNEL_NONE] = "",      [EXPLAIN_TUNNEL_VXLAN] = "VXLAN", [EXPLAIN_TUNNEL_GENEVE] = "Geneve",
        [EXPLAIN_TUNNEL_GRE] = "GRE",    [EXPLAIN_TUNNEL_NVGRE] = "NVGRE", [EXPLAIN_TUNNEL_ERSPAN] = "ERSPAN",
        [EXPLAIN_TUNNEL_IP] = "IP in IP"};
    if (network->has_id)
        snprintf(text, size, "%s %" PRIu32, names[network->tunnel], network->id);
    else
        snprintf(text, size, "%s", names[network->tunnel]);
    return text;
}
