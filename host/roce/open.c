/* SPDX-License-Identifier: BSD-2-Clause */
/* Opening a device on an interface: the port and the GIDs. */
#include "host/roce/dev.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/base.h"
#include "host/dev/clock.h"
#include "host/dev/dev.h"
#include "host/port/open.h"
#include "host/roce/gids.h"
#include "net/kernel/claim.h"
#include "net/kernel/kernel.h"
#include "net/kernel/multicast.h"
#include "net/share/ledger.h"
#include "net/share/share.h"
#include "net/udp/owner.h"

#define WINDOW_LEAST   16
#define HOST_FIRST_QPN 17             /* ROCE-QP-34 */
#define KEEPER_NS      (3 * NS_PER_S) /* more than the keeper takes for a process */
#define KEEPER_NAP_NS  (10 * NS_PER_MS)

/* At least one address now: without one nothing can be done, and the user learns why. */
static int open_gids(struct host_dev *dev, const struct host_port *opened, bool roce_v1,
                     struct nornic_error *why)
{
    const struct net_interface *interface = &opened->interface;
    int err = host_gids_open(dev, &opened->addr, &dev->gids, roce_v1, why);
    if (err)
        return err;
    struct nornic_error refusal;
    struct nornic_addr refused;
    bool has_gid = false;
    host_dev_lock(dev);
    for (unsigned i = 0; i < NORNIC_GID_MAX && !has_gid; i++)
        has_gid = roce_dev_gid_get(dev->engine, i) != NULL;
    int refused_err = dev->gids->refused_err;
    refused = dev->gids->refused;
    refusal = dev->gids->refusal;
    host_dev_unlock(dev);
    if (!has_gid && refused_err == -EADDRINUSE)
        return net_udp_owner_explain(&refused, why);
    if (!has_gid && refused_err)
        return net_error_set(why, -refused_err, "%s", refusal.text);
    if (!has_gid)
        return net_error_set(
            why, EADDRNOTAVAIL,
            "interface %s has no IP address: add one with `ip addr add ADDRESS/PREFIX dev %s`",
            interface->name, interface->name);
    return 0;
}

/* Half of the port's room, as the peer is taken to have as much: packets under way to a slow reader
 * then waits, and is not lost. */
static uint32_t window_for(const struct net_port *port)
{
    uint32_t pmtu_bytes = nornic_mtu_bytes(nornic_mtu_for_port(port->limits.mtu_bytes));
    uint32_t pkts = port->limits.rx_room_bytes / 2 / pmtu_bytes;
    return port->limits.rx_room_bytes ? max_u32(WINDOW_LEAST, min_u32(pkts, ROCE_DEFAULT_WINDOW_PKTS)) : 0;
}

/* All numbers are of the range that the port has leased. */
static int check_first_qpn(const struct net_port *port, uint32_t first_qpn, struct nornic_error *why)
{
    const struct net_share *share = net_port_share(port);
    uint32_t last_qpn = first_qpn + ROCE_DEFAULT_MAX_QP - 1;
    if (!share || first_qpn == 0 || last_qpn < net_share_first_qpn(share) + NET_SHARE_QPNS)
        return 0;
    return net_error_set(
        why, EINVAL,
        "first_qpn %u leaves no room for %u queue pairs below the next multiple of %u, where "
        "those of another process begin",
        first_qpn, ROCE_DEFAULT_MAX_QP, NET_SHARE_QPNS);
}

/* Sets the range that the device draws its QPNs from: all of a lease. */
static void take_lease(const struct net_port *port, struct host_dev_config *config)
{
    const struct net_share *share = net_port_lease(port);
    if (!share)
        return;
    uint32_t first = net_share_first_qpn(share), end = first + NET_SHARE_QPNS;
    config->first_qpn = max_u32(first, HOST_FIRST_QPN);
    config->num_qpns = end - config->first_qpn;
}

/* Opens the port. The keeper may have it, or the numbers from `first_qpn` on, for the connections of a
 * process that has just died: waits until the keeper is done. */
static int open_port(const struct host_dev_config *config, struct host_port *out, struct nornic_error *why)
{
    static const struct timespec pause = {.tv_nsec = KEEPER_NAP_NS};
    uint64_t end_ns = host_deadline_ns(KEEPER_NS);
    int err = host_port_open(config->port, config->roce_v1, config->first_qpn, out, why);
    while ((err == -EBUSY || (err == -EADDRINUSE && config->first_qpn)) && !config->is_keeper &&
           net_ledger_has_dead() && host_now_ns() < end_ns) {
        nanosleep(&pause, NULL);
        err = host_port_open(config->port, config->roce_v1, config->first_qpn, out, why);
    }
    return err;
}

int host_roce_open(const struct host_transport *transport, const struct host_dev_config *config,
                   const struct host_port_name *name, struct host_dev **out, struct nornic_error *why)
{
    struct host_port opened;
    (void)name; /* host_port_open() reads `config->port` */
    int err = open_port(config, &opened, why);
    if (err)
        return err;
    const struct net_interface *interface = &opened.interface;
    if (!nornic_mtu_for_port(interface->mtu_bytes)) {
        net_port_close(opened.port);
        return net_error_set(
            why, EMSGSIZE,
            "MTU %u of %s is too small for RDMA: at least 352; set it with `ip link set %s mtu 1500`",
            interface->mtu_bytes, interface->name, interface->name);
    }
    err = check_first_qpn(opened.port, config->first_qpn, why);
    if (err) {
        net_port_close(opened.port);
        return err;
    }
    struct host_dev_config own = *config;
    if (own.cc.on && own.cc.line_rate_bps == 0)
        own.cc.line_rate_bps = net_interface_rate_bps(interface->name);
    if (own.window_pkts == 0)
        own.window_pkts = window_for(opened.port);
    if (own.first_qpn == 0)
        take_lease(opened.port, &own);
    err = host_roce_create_on(transport, opened.port, &own, out, why);
    if (err)
        return err;
    (*out)->ifindex = interface->index;
    bool is_shared = !opened.port->limits.is_udp_socket; /* an address of a UDP socket is its own */
    (*out)->claims_fd = is_shared ? net_claim_asker() : -1;
    err = net_multicast_open(interface->index, &(*out)->multicast);
    if (err)
        net_error_set(why, -err, "cannot create a device: %s", strerror(-err));
    else
        err = open_gids(*out, &opened, config->roce_v1, why);
    if (err)
        host_dev_close(*out, NULL);
    return err;
}
