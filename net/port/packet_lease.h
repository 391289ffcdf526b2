/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet port among the processes that share (net/share/share.h): it sees what all packet ports of its interface
 * see, and its filter lets in what is for its queue pairs, so it has no socket to hand on, but numbers that
 * none of the others has, and it says what it has counted. Internal to net/. */
#ifndef NORNIC_NET_PACKET_LEASE_H
#define NORNIC_NET_PACKET_LEASE_H

#include "net/port.h"

struct net_packet_lease {
    struct net_share *share; /* NULL: there is none */
    int epoll_fd;            /* to sleep on instead of the packet socket; -1: that one */
    uint64_t look_at_ns;     /* when to look there */
};

/* Leases numbers, if there is a place to meet and room in it. `fd` is the packet socket. */
void net_packet_lease_open(struct net_packet_lease *lease, int fd);
/* Also where there is none; `lease` was opened, or is zeros with an epoll_fd of -1. */
void net_packet_lease_close(struct net_packet_lease *lease);

/* Looks at what others do and ask, now and then. */
void net_packet_lease_round(struct net_packet_lease *lease, const struct net_port_counters *counters,
                            uint64_t now_ns);

/* When it is due though nothing comes; NET_TIME_NONE: never. */
uint64_t net_packet_lease_deadline_ns(const struct net_packet_lease *lease);

#endif
