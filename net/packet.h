/* SPDX-License-Identifier: BSD-2-Clause */
/* The AF_PACKET port: no XDP needed. */
#ifndef NORNIC_NET_PACKET_H
#define NORNIC_NET_PACKET_H

#include <stdbool.h>

#include "net/error.h"
#include "net/port.h"
#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

struct net_packet_config {
    const char *ifname;
    uint32_t ring_frames; /* 0: 4096, or what 64 MiB hold where the MTU is large */
    bool roce_v1;         /* receive EtherType 0x8915 (RoCEv1) as well */
    bool is_leased;       /* its user takes the numbers that net_port_lease() says, where there are some */
};

/* Receives UDP/4791 over IPv4 and IPv6 (tagged or not) of an interface through mmap rings (TPACKET_V2) with a
 * socket filter, which steers (net_port_steer()) where this process may load a BPF program, and keeps UDP
 * port 4791 bound (unread) so that this host's kernel does not answer with ICMP port unreachable. Needs
 * CAP_NET_RAW. 0 or -errno with a sentence in `why`. */
int net_packet_open(const struct net_packet_config *config, struct net_port **out, struct nornic_error *why);

NORNIC_END_DECLS

#endif
