/* SPDX-License-Identifier: BSD-2-Clause */
/* What UDP sockets had no room for. A socket counts what it has dropped, for want of room or by its filter
 * alike; the namespace counts what any socket had no room for (RcvbufErrors and MemErrors, proc(5) and the
 * kernel's snmp_counter.rst). What both counts allow was for want of room; the rest was the filter's.
 * Internal to net/. */
#ifndef NORNIC_NET_UDP_LOST_H
#define NORNIC_NET_UDP_LOST_H

#include <stdbool.h>
#include <stdint.h>

struct net_udp_lost {
    int fds[2];      /* the counts of IPv4 and IPv6, of the namespace in which they were opened; -1: none */
    uint64_t before; /* that the namespace had counted when it was looked at last */
};

/* Begins to count. */
void net_udp_lost_open(struct net_udp_lost *lost);
void net_udp_lost_close(struct net_udp_lost *lost);

/* Of `dropped` that sockets of the caller's have dropped since the last call: how many there was no room for,
 * at the most. All of them, where the namespace's counts cannot be read. */
uint64_t net_udp_lost_share(struct net_udp_lost *lost, uint64_t dropped);

/* How many datagrams a socket has dropped since it was opened; it is a count of 32 bits. */
uint32_t net_udp_lost_of(int fd);

#endif
