/* SPDX-License-Identifier: BSD-2-Clause */
/* The filter by which the kernel gives each packet, or train, to one of the sockets of an address
 * (SO_ATTACH_REUSEPORT_CBPF): a classic BPF program that sees the UDP payload and returns an index in the
 * group. It follows net/share/who.h. A packet that the filter cannot place comes to some socket of the
 * group, and the process with that socket hands the packet over. Internal to net/. */
#ifndef NORNIC_NET_SHARE_FILTER_H
#define NORNIC_NET_SHARE_FILTER_H

#include <linux/filter.h>

#include "net/share/who.h"

#define NET_SHARE_FILTER_MAX 2048    /* instructions */
#define NET_SHARE_NO_INDEX   0xffffu /* beyond each group: the kernel takes a socket by the flow's hash */

/* Writes the program for an address. Returns how many instructions it has. */
unsigned net_share_filter(const struct net_share_view *view, const struct nornic_addr *addr, uint32_t scope,
                          struct sock_filter out[NET_SHARE_FILTER_MAX]);

/* Gives it to the group that socket `fd` is in. 0; -EINVAL: it is in none, as it is alone; or another
 * -errno. */
int net_share_filter_attach(int fd, const struct sock_filter *code, unsigned count);

#endif
