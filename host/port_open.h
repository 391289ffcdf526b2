/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports by name. */
#ifndef NORNIC_HOST_PORT_OPEN_H
#define NORNIC_HOST_PORT_OPEN_H

#include <stdbool.h>

#include "net/error.h"
#include "net/kernel.h"
#include "net/port.h"

/* A port that was opened by its name, and where it is. */
struct host_port {
    struct net_port *port;
    struct net_interface interface;
    struct nornic_addr addr; /* the one address of the port ("udp:ADDRESS"); zero: those of the interface */
};

/* Opens "xdp:IFACE", "xdp:IFACE:native", "xdp:IFACE:generic", "packet:IFACE", "udp:IFACE", "udp:ADDRESS" or
 * "udp:ADDRESS%IFACE", which says of a link-local address whose it is.
 * The interface, or the one that has the address, must exist and be up. `roce_v1`: the port takes EtherType
 * 0x8915 as well; a udp port cannot. `first_qpn`: as host_dev_config has it, for a port that shares its
 * addresses with other processes. 0 or -errno with a sentence in `why`. */
int host_port_open(const char *name, bool roce_v1, uint32_t first_qpn, struct host_port *out,
                   struct nornic_error *why);

#endif
