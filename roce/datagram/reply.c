/* SPDX-License-Identifier: BSD-2-Clause */
/* The way back to whoever sent a datagram: ROCE-UD-6. */
#include <errno.h>
#include <string.h>

#include "net/ipv4.h"
#include "net/wire/ipv6.h"
#include "roce/dev/inner.h"
#include "roce/datagram/ud.h"

#define REPLY_HOP_LIMIT 255

/* What the L3 area says. */
struct l3 {
    struct nornic_addr src, dst;
    uint8_t traffic_class;
    uint32_t flow_label;
};

static bool read_ipv4(const uint8_t *p, struct l3 *l3)
{
    struct net_ipv4 ip;
    net_ipv4_get(&ip, p);
    l3->src = nornic_addr_from_v4(ip.src);
    l3->dst = nornic_addr_from_v4(ip.dst);
    l3->traffic_class = (uint8_t)(ip.dscp << 2 | ip.ecn);
    return ip.version == 4;
}

static bool read_ipv6(const uint8_t *p, struct l3 *l3)
{
    struct net_ipv6 ip;
    net_ipv6_get(&ip, p);
    memcpy(l3->src.b, ip.src, sizeof l3->src.b);
    memcpy(l3->dst.b, ip.dst, sizeof l3->dst.b);
    l3->traffic_class = (uint8_t)(ip.dscp << 2 | ip.ecn);
    l3->flow_label = ip.flow_label;
    return ip.version == 6;
}

/* The entry of a type and VLAN that the datagram was sent to; of one that went to a group, the first entry of
 * the group's family. -1: none. */
static int sgid_of(const struct roce_dev *dev, const struct l3 *l3, enum nornic_gid_type type,
                   uint16_t vlan_id)
{
    if (!nornic_addr_is_multicast(&l3->dst))
        return roce_gid_find(&dev->gids, &l3->dst, type, vlan_id);
    for (unsigned i = 0; i < dev->gids.end; i++) {
        const struct nornic_gid *e = roce_gid_get(&dev->gids, i);
        if (e && e->type == type && e->vlan_id == vlan_id &&
            nornic_addr_is_v4(&e->addr) == nornic_addr_is_v4(&l3->dst))
            return (int)i;
    }
    return -1;
}

int roce_ah_from_wc(const struct roce_dev *dev, const struct nornic_wc *wc, const void *l3_area,
                    struct nornic_av *av)
{
    const uint8_t *area = l3_area;
    struct l3 l3 = {.flow_label = 0};
    bool is_v4 = wc->network == NORNIC_NETWORK_IPV4;
    if (!(wc->wc_flags & NORNIC_WC_GRH))
        return -EINVAL;
    if (!(is_v4 ? read_ipv4(area + NORNIC_L3_AREA_BYTES - NET_IPV4_BYTES, &l3) : read_ipv6(area, &l3)))
        return -EINVAL;
    enum nornic_gid_type type = wc->network == NORNIC_NETWORK_IB ? NORNIC_GID_V1 : NORNIC_GID_V2;
    int sgid_index = sgid_of(dev, &l3, type, wc->vlan_id);
    if (sgid_index < 0)
        return -EADDRNOTAVAIL;
    *av = (struct nornic_av){
        .dgid = l3.src,
        .sgid_index = (uint8_t)sgid_index,
        /* a mark of congestion is not for the reply; a GRH has none */
        .traffic_class = type == NORNIC_GID_V1 ? l3.traffic_class : l3.traffic_class & 0xfc,
        .hop_limit = REPLY_HOP_LIMIT,
        .flow_label = l3.flow_label,
    };
    memcpy(av->dst_mac.b, wc->src_mac, sizeof av->dst_mac.b);
    return 0;
}
