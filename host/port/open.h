/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports by name. */
#ifndef NORNIC_HOST_PORT_OPEN_H
#define NORNIC_HOST_PORT_OPEN_H

#include <stdbool.h>

#include "net/error.h"
#include "net/kernel/kernel.h"
#include "net/port.h"
#include "xdp/xdp.h"

enum host_port_kind {
    HOST_PORT_XDP,
    HOST_PORT_PACKET,
    HOST_PORT_UDP,
    HOST_PORT_IWARP, /* no port of frames: host_iw_open() opens the device */
    HOST_PORT_KINDS
};

/* What a port's name says. */
struct host_port_name {
    enum host_port_kind kind;
    enum xdp_mode mode;
    char ifname[16];         /* IFNAMSIZ; "": the one that has the address */
    struct nornic_addr addr; /* of a udp or iwarp port; zero: all of the interface */
};

/* 0, or -EINVAL with a sentence. */
int host_port_parse(const char *name, struct host_port_name *out, struct nornic_error *why);
/* The interface of that name, or the one that has the address: it exists and is up. 0 or -errno with a
 * sentence. */
int host_port_interface(const struct host_port_name *name, struct net_interface *out,
                        struct nornic_error *why);

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
