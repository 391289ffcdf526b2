/* SPDX-License-Identifier: BSD-2-Clause */
/* What the path, or this machine, says against what a udp port sends, as a sentence. Internal to net/. */
#ifndef NORNIC_NET_UDP_TROUBLE_H
#define NORNIC_NET_UDP_TROUBLE_H

#include "net/udp/open.h"

struct net_udp_trouble {
    char text[192];          /* "": none */
    struct nornic_addr peer; /* whom it is about */
    uint32_t max_bytes;      /* IP packets up to this are taken; 0: none */
};

/* This machine did not send a packet of `packet_bytes` (IP) to `peer`, by `error` (errno). */
void net_udp_trouble_local(struct net_udp_trouble *trouble, const struct nornic_addr *peer, int error,
                           uint32_t packet_bytes);

/* ICMP, from the peer or somebody on the way. */
void net_udp_trouble_refused(struct net_udp_trouble *trouble, const struct net_udp_refusal *refusal);

/* Something came from `peer`, or the kernel took an IP packet of `packet_bytes` for it: forgets what that
 * disproves. Who was heard is there; but that short packets pass says nothing of long ones. */
void net_udp_trouble_heard(struct net_udp_trouble *trouble, const struct nornic_addr *peer);
void net_udp_trouble_sent(struct net_udp_trouble *trouble, const struct nornic_addr *peer,
                          uint32_t packet_bytes);

#endif
