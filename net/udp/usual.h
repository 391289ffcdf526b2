/* SPDX-License-Identifier: BSD-2-Clause */
/* The TOS and TTL that a socket gives to what it sends when nobody says otherwise. A control message for each
 * costs the kernel 30 to 80 ns a call; most sockets send with the same ones for ever, which are made the
 * socket's own then. Internal to net/. */
#ifndef NORNIC_NET_UDP_USUAL_H
#define NORNIC_NET_UDP_USUAL_H

#include "net/udp/frame.h"

/* How often a message has to want the same, none in between what the socket has, until it gets it. */
#define NET_UDP_USUAL_AFTER 16

struct net_udp_usual {
    bool is_off;                            /* for good */
    uint8_t tos, ttl;                       /* TTL 0: what the socket has is not known */
    uint8_t next_tos, next_ttl, next_times; /* what messages have wanted, one behind the other */
};

/* How many bytes of a message's control messages it needs on socket `fd`, for which `usual` stands.
 * `may_set`: no message waits that relies on the socket's own TOS and TTL, so that they may be changed. */
size_t net_udp_usual_control(struct net_udp_usual *usual, int fd, const struct net_udp_message *m,
                             bool may_set);

#endif
