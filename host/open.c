/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a device on an interface: the port and the GIDs. */
#include "host/dev.h"

#include <errno.h>
#include <string.h>

#include "host/port_open.h"
#include "host/random.h"
#include "net/claim.h"
#include "net/kernel.h"
#include "net/multicast.h"

/* At least one address now: without one nothing can be done, and the user learns why. */
static int open_gids(struct host_dev *dev, const struct net_interface *interface, bool roce_v1,
                     struct nornic_error *why)
{
    int err = host_gids_open(dev, &dev->gids, roce_v1, why);
    if (err)
        return err;
    unsigned count;
    host_dev_lock(dev);
    net_watch_addrs(dev->gids->watch, &count);
    host_dev_unlock(dev);
    if (count == 0)
        return net_error_set(
            why, EADDRNOTAVAIL,
            "interface %s has no IP address: add one with `ip addr add ADDRESS/PREFIX dev %s`",
            interface->name, interface->name);
    return 0;
}

int host_dev_open(const struct host_dev_config *config, struct host_dev **out, struct nornic_error *why)
{
    struct net_port *port;
    struct net_interface interface;
    int err = host_port_open(config->port, config->roce_v1, &port, &interface, why);
    if (err)
        return err;
    if (!nornic_mtu_for_port(interface.mtu_bytes)) {
        net_port_close(port);
        return net_error_set(
            why, EMSGSIZE,
            "MTU %u of %s is too small for RDMA: at least 352; set it with `ip link set %s mtu 1500`",
            interface.mtu_bytes, interface.name, interface.name);
    }
    struct host_dev_config own = *config;
    if (own.cc.on && own.cc.line_rate_bps == 0)
        own.cc.line_rate_bps = net_interface_rate_bps(interface.name);
    if (own.first_qpn == 0)
        own.first_qpn = roce_draw_first_qpn(&host_random, 0);
    err = host_dev_create_on(port, &own, out, why);
    if (err)
        return err;
    (*out)->ifindex = interface.index;
    (*out)->claims_fd = net_claim_asker();
    err = net_multicast_open(interface.index, &(*out)->multicast);
    if (err)
        net_error_set(why, -err, "cannot create a device: %s", strerror(-err));
    else
        err = open_gids(*out, &interface, config->roce_v1, why);
    if (err)
        host_dev_close(*out, NULL);
    return err;
}
