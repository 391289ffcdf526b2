/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/dev.h"

#include <errno.h>

#include "net/kernel.h"

int host_dev_resolve(struct host_dev *dev, const struct net_addr *dst, uint64_t timeout_ns,
                     struct net_mac *mac, struct net_error *err)
{
    if (dev->ifindex == 0)
        return net_error_set(err, EOPNOTSUPP, "port %s has no interface to resolve addresses on",
                             dev->port->name);
    struct net_addr next_hop;
    int rc = net_route_next_hop(dev->ifindex, dst, &next_hop, err);
    return rc == 0 ? net_neighbour_resolve(dev->ifindex, &next_hop, timeout_ns, mac, err) : rc;
}
