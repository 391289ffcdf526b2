/* SPDX-License-Identifier: BSD-2-Clause */
/* A socket that is closed takes with it what has come to it, and in a group that is not all its own: packets
 * of others come while a filter is not yet made anew for somebody who came or left just before. Sent again
 * they would be found; but who has an ACK timeout of 0 waits for ever. So a socket is made deaf before it is
 * closed, and what is in it is handed over. */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "net/share/inner.h"

#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62 /* Linux 5.1; without a privilege 5.7 */
#endif

#define PAYLOAD_BYTES 65536
/* With errors. Nothing comes any more: only where it cannot be made deaf there may be more. */
#define MESSAGES_MAX 65536

/* Bound to an interface that is not there a socket leaves its group at once, and hears nothing. */
static void make_deaf(int fd)
{
    int nowhere = INT_MAX;
    (void)setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &nowhere, sizeof nowhere);
}

/* False: there is no more. An error that ICMP has told of comes once, before the packets behind it. */
static bool hand_over_one(struct net_share *share, const struct net_share_site *site,
                          const struct nornic_addr *addr, uint8_t *payload)
{
    union net_sockaddr from;
    struct net_udp_control control;
    struct iovec room = {.iov_base = payload, .iov_len = PAYLOAD_BYTES};
    struct msghdr message = {.msg_name = &from,
                             .msg_namelen = sizeof from,
                             .msg_iov = &room,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    struct net_udp_arrival arrival = {.dst = *addr};
    uint64_t passed = 0;
    ssize_t got = recvmsg(site->fd, &message, MSG_DONTWAIT);
    if (got < 0)
        return errno != EAGAIN;
    arrival.src = net_sockaddr_get(&from, &arrival.src_port);
    arrival.payload_bytes = (uint32_t)got;
    net_udp_arrival_read(&arrival, &message);
    (void)net_share_sift(share, &arrival, payload, &passed); /* what is our own ends here */
    return true;
}

void net_share_empty(struct net_share *share, uint32_t site)
{
    uint8_t *payload = share->view.count == 1 ? NULL : malloc(PAYLOAD_BYTES);
    if (!payload)
        return;
    make_deaf(share->sites[site].fd);
    for (unsigned i = 0; i < MESSAGES_MAX; i++)
        if (!hand_over_one(share, &share->sites[site], &share->own.places[site].addr, payload))
            break;
    free(payload);
}
