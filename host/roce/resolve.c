/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/dev/dev.h"
#include "host/roce/gids.h"

#include <errno.h>

#include "net/kernel/kernel.h"

static int resolve(unsigned ifindex, const struct nornic_addr *dst, uint64_t timeout_ns,
                   struct nornic_mac *mac, struct nornic_error *why)
{
    struct nornic_addr next_hop;
    int err = net_route_next_hop(ifindex, dst, &next_hop, why);
    return !err ? net_neighbour_resolve(ifindex, &next_hop, timeout_ns, mac, why) : err;
}

int host_dev_resolve(struct host_dev *dev, const struct nornic_addr *dst, uint64_t timeout_ns,
                     struct nornic_mac *mac, struct nornic_error *why)
{
    if (dev->port->limits.is_udp_socket) {
        *mac = (struct nornic_mac){{0}}; /* the kernel finds it with each packet */
        return 0;
    }
    if (dev->ifindex == 0)
        return net_error_set(why, EOPNOTSUPP, "port %s has no interface to resolve addresses on",
                             dev->port->name);
    return resolve(dev->ifindex, dst, timeout_ns, mac, why);
}

int host_dev_resolve_from(struct host_dev *dev, unsigned sgid_index, const struct nornic_addr *dst,
                          uint64_t timeout_ns, struct nornic_mac *mac, struct nornic_error *why)
{
    if (!dev->gids || dev->port->limits.is_udp_socket)
        return host_dev_resolve(dev, dst, timeout_ns, mac, why);
    host_dev_lock(dev);
    unsigned ifindex = host_gids_ifindex(dev->gids, sgid_index);
    host_dev_unlock(dev);
    if (ifindex == 0)
        return net_error_set(why, ENOENT, "%s has no GID with index %u", dev->port->name, sgid_index);
    return resolve(ifindex, dst, timeout_ns, mac, why);
}
