/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets that only send, from an address and the ports from NET_UDP_SRC_PORT_FIRST on. Routers that spread
 * traffic over equal paths look at the source port. Peers answer to port 4791. Internal to net/udp/. */
#ifndef NORNIC_NET_UDP_SENDERS_H
#define NORNIC_NET_UDP_SENDERS_H

#include "net/udp/inner.h"

struct net_udp_sender {
    int fd;
    bool was_used; /* ICMP may tell something of it; the sending half sets it */
    struct net_udp_usual usual;
};

/* Opens the senders of a listener of the port. Processes of the same user may have the same ports. 0,
 * also for a group and for a port that has none; -EBUSY with a sentence: another program has one of the
 * ports; or another -errno with a sentence. */
int net_udp_senders_open(const struct net_udp_port *port, struct net_udp_listener *at,
                         struct nornic_error *why);
/* Closes them. NULL is none. Nothing waits to be sent from them: net_udp_forget(). */
void net_udp_senders_close(struct net_udp_senders *senders);
/* The socket of sender `k` below NET_UDP_SRC_PORT_COUNT; -1: none, or nothing was sent from it yet. */
int net_udp_senders_used_fd(const struct net_udp_senders *senders, unsigned k);
/* The sender of `src_port`; NULL: there is none. */
struct net_udp_sender *net_udp_sender_at(struct net_udp_senders *senders, uint16_t src_port);
/* Returns the descriptor that other processes know: of a sender, the socket of its address; else `fd`. */
int net_udp_senders_shared_fd(const struct net_udp_port *port, int fd);

#endif
