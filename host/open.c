/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a device on an interface: the port and the GIDs. */
#include "host/dev.h"

#include <errno.h>

#include "host/port_open.h"
#include "net/kernel.h"

#define MAX_GIDS 64

/* The GID table is in the order of net_interface_addrs(): ROCE-AH-11. */
static int add_gids(struct host_dev *dev, const struct net_interface *interface, struct net_error *err)
{
    struct net_addr addrs[MAX_GIDS];
    int n = net_interface_addrs(interface->index, addrs, MAX_GIDS, err);
    if (n < 0)
        return n;
    if (n == 0)
        return net_error_set(
            err, EADDRNOTAVAIL,
            "interface %s has no IP address: add one with `ip addr add ADDRESS/PREFIX dev %s`",
            interface->name, interface->name);
    host_dev_lock(dev);
    for (int i = 0; i < n; i++)
        roce_dev_gid_add(dev->engine, &(struct roce_gid){.addr = addrs[i], .mac = interface->mac});
    host_dev_unlock(dev);
    return 0;
}

int host_dev_open(const struct host_dev_config *config, struct host_dev **out, struct net_error *err)
{
    struct net_port *port;
    struct net_interface interface;
    int rc = host_port_open(config->port, &port, &interface, err);
    if (rc != 0)
        return rc;
    rc = host_dev_create_on(port, config, out, err);
    if (rc != 0)
        return rc;
    (*out)->ifindex = interface.index;
    rc = add_gids(*out, &interface, err);
    if (rc != 0)
        host_dev_close(*out);
    return rc;
}
