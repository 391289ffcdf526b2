/* SPDX-License-Identifier: BSD-2-Clause */
/* Which ports this machine has, and which of them this user can use now. */
#ifndef NORNIC_HOST_PORT_TRY_H
#define NORNIC_HOST_PORT_TRY_H

#include "host/port/open.h"

/* A port as host_port_open() knows it by its name. */
struct host_port_found {
    char name[80];
    char ifname[16];
    uint32_t mtu_bytes;      /* of the interface */
    bool is_usable;          /* it could be opened now */
    struct nornic_error why; /* it could not; else "" */
    unsigned sharers;        /* processes that have the address of a udp port, and share it; packet ports of
                                the interface, which see what one more would see */
    char shared_with[96];    /* in words, of processes the first two, or "" */
    unsigned queues;         /* receive queues of the interface that an xdp port takes; else 0 */
};

typedef void host_port_visit(void *ctx, const struct host_port_found *port);

/* Calls `visit` with the ports of each interface that is up: udp and iwarp of its addresses, packet and
 * xdp of the interface, in the kernel's order of interfaces. Nothing is attached to an interface, and no
 * port is taken for longer than the look. 0, or -errno with a sentence. */
int host_ports_find(host_port_visit *visit, void *ctx, struct nornic_error *why);

/* Whether this user can have an xdp port on the interface now, as far as can be seen without taking it. 0, or
 * -errno with a sentence. */
int host_port_try_xdp(const struct net_interface *interface, struct nornic_error *why);

#endif
