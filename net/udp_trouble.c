/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/udp_trouble.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void net_udp_trouble_local(struct net_udp_trouble *trouble, const struct nornic_addr *peer, int error)
{
    char text[NORNIC_ADDR_STR_SIZE];
    nornic_addr_str(peer, text);
    trouble->peer = *peer;
    if (error == EMSGSIZE)
        snprintf(trouble->text, sizeof trouble->text,
                 "packets to %s are longer than the route takes: use a smaller path MTU", text);
    else
        snprintf(trouble->text, sizeof trouble->text, "this machine sends nothing to %s: %s", text,
                 strerror(error));
}

void net_udp_trouble_refused(struct net_udp_trouble *trouble, const struct net_udp_refusal *refusal)
{
    char peer[NORNIC_ADDR_STR_SIZE];
    nornic_addr_str(&refusal->peer, peer);
    trouble->peer = refusal->peer;
    if (refusal->error == EMSGSIZE)
        snprintf(trouble->text, sizeof trouble->text,
                 "the path to %s takes packets of %u bytes at the most: use a smaller path MTU", peer,
                 refusal->mtu_bytes);
    else if (refusal->error == ECONNREFUSED)
        snprintf(trouble->text, sizeof trouble->text,
                 "%s says that nothing there takes RoCE (UDP port %u): start the other side first", peer,
                 NET_ROCE_UDP_PORT);
    else
        snprintf(trouble->text, sizeof trouble->text, "the network says that %s cannot be reached: %s", peer,
                 strerror(refusal->error));
}
