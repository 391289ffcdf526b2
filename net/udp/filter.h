/* SPDX-License-Identifier: BSD-2-Clause */
/* The filter of an ordinary UDP socket (SO_ATTACH_FILTER, which every user may): a classic BPF program that
 * sees a datagram, or a train, before it takes room in the socket, and drops what is a stranger's. Classic
 * programs have no tables, so what is wanted stands in it in short, and may be more than is wanted: the
 * engine judges every packet all the same. Of a train it sees the first packet. Internal to net/. */
#ifndef NORNIC_NET_UDP_FILTER_H
#define NORNIC_NET_UDP_FILTER_H

#include <linux/filter.h>
#include <stdbool.h>
#include <stdint.h>

#include "net/share/table.h"
#include "nornic/addr.h"

#define NET_UDP_RANGES_MAX  32
#define NET_UDP_PEERS_MAX   64
#define NET_UDP_LIMITED_MAX 4
#define NET_UDP_FILTER_MAX  2048 /* instructions */

/* Numbers (BTH destination QP), both ends included. */
struct net_udp_range {
    uint32_t first, last;
};

struct net_udp_ranges {
    struct net_udp_range at[NET_UDP_RANGES_MAX];
    unsigned count;
};

/* What a socket is to take. */
struct net_udp_wanted {
    struct net_udp_ranges open;   /* from everybody */
    struct net_udp_ranges paired; /* from a peer of any of them */
    struct nornic_addr peers[NET_UDP_PEERS_MAX];
    unsigned peer_count;
    bool has_all_peers;                    /* they are too many: everybody may be one */
    uint32_t limited[NET_UDP_LIMITED_MAX]; /* from everybody, but */
    unsigned limited_count;
    unsigned thin_shift;            /* one in 2^thin_shift of these, by chance */
    uint8_t slots[NET_SHARE_SLOTS]; /* of other processes (net/share/share.h): theirs may go astray */
    unsigned slot_count;
};

/* Writes the program of a socket that is bound to `own`. Returns how many instructions it has. */
unsigned net_udp_filter(const struct net_udp_wanted *wanted, const struct nornic_addr *own,
                        struct sock_filter out[NET_UDP_FILTER_MAX]);

/* Gives it to socket `fd` in place of the one that it has. 0 or -errno: then it has none, and takes all. */
int net_udp_filter_attach(int fd, const struct sock_filter *code, unsigned count);
/* It takes all. */
void net_udp_filter_detach(int fd);

#endif
