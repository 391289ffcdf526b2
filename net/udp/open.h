/* SPDX-License-Identifier: BSD-2-Clause */
/* Ordinary UDP sockets on port 4791, as the udp port uses them. Internal to net/. */
#ifndef NORNIC_NET_UDP_SOCKET_H
#define NORNIC_NET_UDP_SOCKET_H

#include "net/udp/frame.h"

/* Who else may have the address of a socket. */
enum net_udp_sharing {
    NET_UDP_ALONE,
    NET_UDP_FIRST_OF_MANY, /* nobody has it yet; others of this user may come and form a reuseport group */
    NET_UDP_BESIDE_OTHERS, /* some have it */
};

/* Opens a socket that sends from and receives at `addr`, or, of a multicast group on interface `ifindex`,
 * that receives only. Nonblocking; it forbids fragments, tells TOS, TTL and trains of what it receives, and
 * collects ICMP errors. A descriptor; -EADDRINUSE with a sentence that says that another program has it
 * (net_udp_owner_explain(): which); or another -errno with a sentence. Needs no privilege. */
int net_udp_socket_open(const struct nornic_addr *addr, unsigned ifindex, enum net_udp_sharing sharing,
                        struct nornic_error *why);

/* Makes a socket that another process has opened like one of net_udp_socket_open() at `addr`, which is no
 * group. 0; -EINVAL: it is another kind of file, or at another address; or another -errno. */
int net_udp_socket_adopt(int fd, const struct nornic_addr *addr);

/* Sets the options of net_udp_socket_open(), but for memory and sharing. Datagrams to groups leave by
 * interface `ifindex`. 0 or -errno. */
int net_udp_socket_options(int fd, bool is_v4, unsigned ifindex);

/* How many bytes that have come a socket of this user may hold, as the kernel counts them: with its own,
 * which are as many again for short packets. 0: no socket can be had. */
uint32_t net_udp_socket_room(void);

/* Whether this kernel cuts trains that are sent (UDP_SEGMENT: Linux 4.18). */
bool net_udp_socket_has_trains(void);

/* What ICMP said against what a socket sent. */
struct net_udp_refusal {
    struct nornic_addr peer; /* where it was sent to */
    int error;               /* ECONNREFUSED, EHOSTUNREACH, EMSGSIZE, ... */
    uint32_t mtu_bytes;      /* with EMSGSIZE: what would pass; else 0 */
};

/* Takes the oldest refusal off the socket. False: there is none. */
bool net_udp_socket_refusal(int fd, struct net_udp_refusal *out);

#endif
