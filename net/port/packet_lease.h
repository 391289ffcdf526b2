/* SPDX-License-Identifier: BSD-2-Clause */
/* The slot of a packet port in the table of sharing processes (net/share/share.h). The slot gives the
 * port QPNs and ids that no other port has, and holds its counters. The port hands over no socket: each
 * packet port sees all packets of the interface, and its filter passes those for its queue pairs.
 * Internal to net/. */
#ifndef NORNIC_NET_PACKET_LEASE_H
#define NORNIC_NET_PACKET_LEASE_H

#include "net/port.h"

struct net_packet_lease {
    struct net_share *share; /* NULL: there is none */
    int epoll_fd;            /* to sleep on instead of the packet socket; -1: the packet socket */
    uint64_t look_at_ns;     /* when to look there */
};

/* Leases numbers, if there is a table with room. `fd` is the packet socket. */
void net_packet_lease_open(struct net_packet_lease *lease, int fd);
/* Releases the numbers. `lease` was opened, or is zeros with an epoll_fd of -1. */
void net_packet_lease_close(struct net_packet_lease *lease);

/* Reads the news of other processes and writes the counters, when that is due. */
void net_packet_lease_round(struct net_packet_lease *lease, const struct net_port_counters *counters,
                            uint64_t now_ns);

/* Returns the next time for net_packet_lease_round() without an event; NET_TIME_NONE: never. */
uint64_t net_packet_lease_deadline_ns(const struct net_packet_lease *lease);

#endif
