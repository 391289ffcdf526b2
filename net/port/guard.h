/* SPDX-License-Identifier: BSD-2-Clause */
/* UDP port 4791 of an interface whose packets a ring takes: bound and never read, so that the kernel, which
 * sees what the ring sees, does not answer with ICMP port unreachable. Internal to net/. */
#ifndef NORNIC_NET_GUARD_H
#define NORNIC_NET_GUARD_H

#include "net/kernel/kernel.h"

#define NET_GUARD_ADDRS 255 /* as many as a GID table has */

/* Descriptors; begins as zeros. */
struct net_guard {
    int fds[NET_GUARD_ADDRS];
    unsigned count;
};

/* Binds the port for all addresses that the interface has and will have. Where another program has it for an
 * address of another interface, as a udp port does, that is not to be had: then for those that it has now.
 * What is taken by others is left out: then the kernel answers nothing there. */
void net_guard_open(struct net_guard *guard, const struct net_interface *interface);
void net_guard_close(struct net_guard *guard);

#endif
