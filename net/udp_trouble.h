/* SPDX-License-Identifier: BSD-2-Clause */
/* What the path, or this machine, says against what a udp port sends, as a sentence. Internal to net/. */
#ifndef NORNIC_NET_UDP_TROUBLE_H
#define NORNIC_NET_UDP_TROUBLE_H

#include "net/udp_socket.h"

struct net_udp_trouble {
    char text[192];          /* "": none */
    struct nornic_addr peer; /* whom it is about */
};

/* This machine sent nothing to `peer`, by `error` (errno). */
void net_udp_trouble_local(struct net_udp_trouble *trouble, const struct nornic_addr *peer, int error);

/* ICMP, from the peer or somebody on the way. */
void net_udp_trouble_refused(struct net_udp_trouble *trouble, const struct net_udp_refusal *refusal);

#endif
