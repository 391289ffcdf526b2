/* SPDX-License-Identifier: BSD-2-Clause */
/* Addresses in the form of the kernel's socket calls. */
#ifndef NORNIC_NET_KERNEL_SOCKADDR_H
#define NORNIC_NET_KERNEL_SOCKADDR_H

#include <netinet/in.h>
#include <stdint.h>
#include <sys/socket.h>

#include "nornic/addr.h"

/* An address of IPv4 or IPv6; `any.sa_family` says which. */
union net_sockaddr {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
};

/* Writes `addr` and `port` (host order) into `*out`. `ifindex` is the scope of a link-local address, and of a
 * multicast address of link or interface scope. Returns the length in bytes for bind() and its like. */
socklen_t net_sockaddr_set(union net_sockaddr *out, const struct nornic_addr *addr, uint16_t port,
                           unsigned ifindex);

/* Returns the address in `*from`, and stores its port (host order) in `*port`, which may not be NULL. */
struct nornic_addr net_sockaddr_get(const union net_sockaddr *from, uint16_t *port);

#endif
