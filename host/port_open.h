/* SPDX-License-Identifier: BSD-2-Clause */
/* Ports by name. */
#ifndef NORNIC_HOST_PORT_OPEN_H
#define NORNIC_HOST_PORT_OPEN_H

#include <stdbool.h>

#include "net/error.h"
#include "net/kernel.h"
#include "net/port.h"

/* Opens "xdp:IFACE", "xdp:IFACE:native", "xdp:IFACE:generic" or "packet:IFACE" and says in `interface` what
 * the kernel knows of IFACE, which must exist and be up. `roce_v1`: the port takes EtherType 0x8915 as well.
 * 0 or -errno with a sentence in `why`. */
int host_port_open(const char *name, bool roce_v1, struct net_port **out, struct net_interface *interface,
                   struct nornic_error *why);

#endif
