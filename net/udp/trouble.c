/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/udp/trouble.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

void net_udp_trouble_local(struct net_udp_trouble *trouble, const struct nornic_addr *peer, int error,
                           uint32_t packet_bytes)
{
    char text[NORNIC_ADDR_STR_SIZE];
    nornic_addr_str(peer, text);
    trouble->peer = *peer;
    trouble->max_bytes = error == EMSGSIZE ? packet_bytes - 1 : 0;
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
    trouble->max_bytes = refusal->error == EMSGSIZE ? refusal->mtu_bytes : 0;
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

void net_udp_trouble_heard(struct net_udp_trouble *trouble, const struct nornic_addr *peer)
{
    if (trouble->text[0] && trouble->max_bytes == 0 && nornic_addr_equal(&trouble->peer, peer))
        trouble->text[0] = '\0';
}

void net_udp_trouble_sent(struct net_udp_trouble *trouble, const struct nornic_addr *peer,
                          uint32_t packet_bytes)
{
    if (trouble->max_bytes > 0 && packet_bytes > trouble->max_bytes &&
        nornic_addr_equal(&trouble->peer, peer)) {
        trouble->text[0] = '\0';
        trouble->max_bytes = 0;
    }
}
