/* SPDX-License-Identifier: BSD-2-Clause */
/* The udp port: RoCEv2 through ordinary UDP sockets on port 4791. It needs no privilege and takes the
 * kernel's routes, tunnels and bonds as they are; trains leave by UDP_SEGMENT and come by UDP_GRO. What goes
 * to a group goes by the interface; of the machine's own addresses each has one owner. */
#ifndef NORNIC_NET_UDP_PORT_H
#define NORNIC_NET_UDP_PORT_H

#include "net/error.h"
#include "net/kernel/kernel.h"
#include "net/port.h"

struct net_udp_config {
    const struct net_interface *interface; /* copied: name, index, MTU, MAC */
    struct nornic_addr addr; /* the one address of the port, taken at once; zero: those that it is told to
                                listen to (net_port_listen()) */
    bool is_shared;          /* its addresses, with other processes where that can be: net/share/share.h */
    bool has_entropy;        /* frames leave by NET_UDP_SRC_PORT_COUNT source ports: net/udp/senders.c */
    uint32_t first_qpn;      /* the lowest queue pair number of its user then; 0: as net_port_share() says */
};

/* 0; -EADDRINUSE with a sentence that says who has the address; -EBUSY with a sentence: another nornic has a
 * packet or xdp port on the interface; or another -errno with a sentence. */
int net_udp_open(const struct net_udp_config *config, struct net_port **out, struct nornic_error *why);

#endif
