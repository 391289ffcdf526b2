/* SPDX-License-Identifier: BSD-2-Clause */
/* Where packets go: out of the port, or to a QP of this device or a linked one, since a port does not loop
 * back. */
#include "roce/dev/av.h"
#include "roce/dev/inner.h"

static bool is_local(const struct roce_dev *dev, const struct nornic_addr *addr)
{
    const struct roce_dev *d = dev;
    do {
        if (roce_dev_owns(d, addr))
            return true;
        d = d->linked;
    } while (d != dev);
    return false;
}

/* A group has members elsewhere, whether or not some are here: ROCE-UD-23. */
static bool has_local_members(const struct roce_dev *dev, const struct nornic_addr *group)
{
    const struct roce_dev *d = dev;
    do {
        if (roce_mcast_find(&d->groups, group))
            return true;
        d = d->linked;
    } while (d != dev);
    return false;
}

static enum roce_route find_route(const struct roce_dev *dev, const struct nornic_addr *dgid)
{
    if (nornic_addr_is_multicast(dgid))
        return has_local_members(dev, dgid) ? ROCE_ROUTE_BOTH : ROCE_ROUTE_PORT;
    return is_local(dev, dgid) ? ROCE_ROUTE_LOOP : ROCE_ROUTE_PORT;
}

enum roce_route roce_route_to(const struct roce_dev *dev, const struct nornic_addr *dgid,
                              struct roce_way *way)
{
    if (way->gid_epoch != dev->gid_epoch) {
        way->route = find_route(dev, dgid);
        way->gid_epoch = dev->gid_epoch;
    }
    return way->route;
}

/* An address of ours is another process's as well: the kernel hands that what is for it. QP 1 each of them
 * has; to whom a management datagram goes, the port knows. */
enum roce_route roce_route_qpn(const struct roce_dev *dev, enum roce_route route, uint32_t qpn)
{
    const struct roce_dev *d = dev;
    if (route != ROCE_ROUTE_LOOP || !dev->config.shared_addrs)
        return route;
    do {
        if (roce_dev_has_qpn(d, qpn))
            return ROCE_ROUTE_LOOP;
        d = d->linked;
    } while (d != dev);
    return ROCE_ROUTE_PORT;
}

struct roce_dest roce_dest_of_peer(struct roce_qp *qp)
{
    enum roce_route route = roce_route_to(qp->dev, &qp->attr.av.dgid, &qp->way);
    return (struct roce_dest){.route = roce_route_qpn(qp->dev, route, qp->attr.dest_qpn),
                              .dgid = &qp->attr.av.dgid,
                              .qpn = qp->attr.dest_qpn};
}

bool roce_ah_route(struct roce_ah *ah, enum roce_route *route)
{
    if (ah->way.gid_epoch != ah->dev->gid_epoch) {
        const struct nornic_gid *e = roce_gid_get(&ah->dev->gids, ah->av.sgid_index);
        if (!e || e->type != ah->local.type || e->vlan_id != ah->local.vlan_id ||
            !nornic_addr_equal(&e->addr, &ah->local.addr))
            return false;
        roce_ah_template(ah); /* the interface may have another MAC address now */
    }
    *route = roce_route_to(ah->dev, &ah->av.dgid, &ah->way);
    return true;
}
