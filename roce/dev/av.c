/* SPDX-License-Identifier: BSD-2-Clause */
/* Address vectors and handles: ROCE section 13.1. */
#include "roce/dev/av.h"

#include <errno.h>

#include "net/wire/udp.h"
#include "roce/dev/inner.h"

bool roce_av_is_valid(const struct roce_dev *dev, const struct nornic_av *av)
{
    const struct nornic_gid *e = roce_gid_get(&dev->gids, av->sgid_index);
    return e && av->sl <= 7 && nornic_addr_is_v4(&e->addr) == nornic_addr_is_v4(&av->dgid);
}

void roce_av_template(const struct roce_dev *dev, const struct nornic_av *av, uint32_t flow_label,
                      struct roce_frame_template *tmpl)
{
    /* ROCE-FRM-13. RoCEv1 has no ECN field: the bits belong to the GRH's traffic class. */
    bool ect = dev->config.cc.on && roce_gid_get(&dev->gids, av->sgid_index)->type == NORNIC_GID_V2;
    roce_av_template_ecn(dev, av, ect ? ROCE_ECN_ECT0 : 0, flow_label, tmpl);
}

/* Picks the UDP source port of a flow: of a UDP socket port those that it has (net_port_limits). */
static uint16_t src_port_of(const struct roce_dev *dev, uint32_t flow_label)
{
    uint16_t port = roce_label_src_port(flow_label), count = dev->config.src_port_count;
    if (!dev->config.udp_socket)
        return port;
    return count ? (uint16_t)(NET_UDP_SRC_PORT_FIRST + port % count) : ROCE_UDP_PORT;
}

/* The flow label in the packets. The kernel below a UDP socket writes its own. */
static uint32_t label_of(const struct roce_dev *dev, const struct nornic_av *av, uint32_t flow_label)
{
    if (dev->config.udp_socket)
        return 0;
    return dev->config.labels == ROCE_LABELS_OF_FLOWS ? flow_label : av->flow_label;
}

void roce_av_template_ecn(const struct roce_dev *dev, const struct nornic_av *av, uint8_t ecn,
                          uint32_t flow_label, struct roce_frame_template *tmpl)
{
    const struct nornic_gid *e = roce_gid_get(&dev->gids, av->sgid_index);
    bool v1 = e->type == NORNIC_GID_V1; /* ROCE-FRM-52, FRM-54 */
    uint8_t tclass = av->traffic_class ? av->traffic_class : dev->config.traffic_class;
    struct roce_path path = {
        .v1 = v1,
        .src_mac = e->mac,
        .dst_mac = av->dst_mac,
        .vlan_tci = e->vlan_id ? av->sl << 13 | e->vlan_id : -1,
        .src = e->addr,
        .dst = av->dgid,
        .traffic_class = v1 ? tclass : (tclass & 0xfc) | ecn, /* a GRH has no ECN */
        .flow_label = label_of(dev, av, flow_label),
        .hop_limit = dev->config.hop_limit ? dev->config.hop_limit : av->hop_limit,
        .src_port = src_port_of(dev, flow_label),
    };
    roce_frame_template_init(tmpl, &path);
}

/* ROCE-FRM-46: one flow, where the address vector has no flow label. */
void roce_ah_template(struct roce_ah *ah)
{
    roce_av_template(ah->dev, &ah->av, roce_flow_label(ah->av.flow_label, 1, 1), &ah->tmpl);
}

bool roce_mac_is_resolved(const struct nornic_mac *mac)
{
    static const struct nornic_mac all_ones = {{0xff, 0xff, 0xff, 0xff, 0xff, 0xff}};
    return !nornic_mac_equal(mac, &all_ones);
}

bool roce_av_is_of_peer(const struct roce_dev *dev, const struct nornic_av *av)
{
    return roce_av_is_valid(dev, av) && !nornic_addr_is_multicast(&av->dgid) &&
           roce_mac_is_resolved(&av->dst_mac);
}

/* A group's MAC follows from its address (ROCE-UD-20), anybody else's is not for the engine to find out. */
static bool resolve_mac(struct nornic_av *av)
{
    static const struct nornic_mac zero;
    bool is_resolved = roce_mac_is_resolved(&av->dst_mac);
    if (!nornic_addr_is_multicast(&av->dgid))
        return is_resolved;
    if (!is_resolved || nornic_mac_equal(&av->dst_mac, &zero))
        av->dst_mac = nornic_addr_mcast_mac(&av->dgid);
    return true;
}

int roce_ah_create(struct roce_dev *dev, struct rdma_pd *pd, const struct nornic_av *av,
                   struct nornic_ah **out)
{
    struct nornic_av resolved = *av;
    if (!resolve_mac(&resolved) || !roce_av_is_valid(dev, av) || rdma_pd_domain(pd) != dev->domain)
        return -EINVAL;
    struct roce_ah *ah = roce_alloc(dev, sizeof *ah);
    if (!ah)
        return -ENOMEM;
    ah->dev = dev;
    ah->base.pd = pd;
    ah->av = resolved;
    ah->local = *roce_gid_get(&dev->gids, av->sgid_index);
    roce_ah_template(ah);
    rdma_pd_get(pd);
    *out = &ah->base;
    return 0;
}

int roce_ah_destroy(struct nornic_ah *base)
{
    struct roce_ah *ah = roce_ah_of(base);
    if (atomic_load(&base->users))
        return -EBUSY;
    rdma_pd_put(base->pd);
    roce_free(ah->dev, ah);
    return 0;
}
