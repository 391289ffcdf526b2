/* SPDX-License-Identifier: BSD-2-Clause */
/* What the kernel knows of interfaces, routes and neighbours, asked through rtnetlink (libmnl). */
#ifndef NORNIC_NET_KERNEL_H
#define NORNIC_NET_KERNEL_H

#include <stdbool.h>
#include <stdint.h>

#include "net/addr.h"
#include "net/error.h"

struct net_interface {
    char name[16];
    unsigned index;
    uint32_t mtu_bytes;
    struct net_mac mac;
    bool up;
};

/* 0, or -ENODEV with a sentence. */
int net_interface_get(const char *name, struct net_interface *out, struct net_error *err);

/* The addresses of an interface: IPv6 link-local first, then IPv4, then other IPv6, each in the kernel's
 * order; tentative and failed ones are left out. Returns how many were written (at most `max`), or -errno. */
int net_interface_addrs(unsigned ifindex, struct net_addr *addrs, unsigned max, struct net_error *err);

/* The next hop to `dst` out of interface `ifindex`: `dst` itself or a gateway. 0, or -EHOSTUNREACH when the
 * kernel has no route through that interface. */
int net_route_next_hop(unsigned ifindex, const struct net_addr *dst, struct net_addr *next_hop,
                       struct net_error *err);

/* The MAC of a neighbour on `ifindex`, from the kernel's table; where it has none (or a stale failure) makes
 * the kernel resolve it (a UDP datagram to the discard port provokes ARP or NDP) and waits, asleep, at most
 * `timeout_ns`. 0, -EHOSTUNREACH or -errno. */
int net_neighbour_resolve(unsigned ifindex, const struct net_addr *next_hop, uint64_t timeout_ns,
                          struct net_mac *mac, struct net_error *err);

#endif
