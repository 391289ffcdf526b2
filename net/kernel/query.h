/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of what the kernel has, asked for through a socket that the caller keeps. Internal to net/. */
#ifndef NORNIC_NET_KERNEL_QUERY_H
#define NORNIC_NET_KERNEL_QUERY_H

#include "net/kernel/kernel.h"
#include "net/kernel/netlink.h"

/* A valid address of an interface. */
struct net_kernel_addr {
    unsigned ifindex;
    struct nornic_addr addr;
};

/* All addresses of the namespace, in the order of net_interface_addrs(). Returns how many are in `*list`,
 * which the caller frees, or -errno; then `*list` is NULL. */
int net_kernel_addrs(struct mnl_socket *socket, struct net_kernel_addr **list);

/* An interface, or a VLAN interface on top of it. */
struct net_kernel_link {
    struct net_interface interface;
    uint16_t vlan_id; /* 0: the interface itself */
};

/* Interface `ifindex`, if it is there, and the 802.1Q VLAN interfaces on it by ascending index. Returns how
 * many are in `*list`, which the caller frees, or -errno; then `*list` is NULL. */
int net_kernel_links(struct mnl_socket *socket, unsigned ifindex, struct net_kernel_link **list);

/* Reads a message about a link, RTM_NEWLINK or RTM_DELLINK with its whole header. `*parent_ifindex`: the
 * interface below, if it is a VLAN interface of this namespace with an id that frames can carry; else 0. */
void net_kernel_read_link(const struct nlmsghdr *message, struct net_kernel_link *link,
                          unsigned *parent_ifindex);

#endif
