/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/port/packet_lease.h"

#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/base.h"
#include "net/share/share.h"

#define LOOK_EVERY_NS NS_PER_MS

static bool watch(const struct net_packet_lease *lease, int fd)
{
    struct epoll_event event = {.events = EPOLLIN};
    return epoll_ctl(lease->epoll_fd, EPOLL_CTL_ADD, fd, &event) == 0;
}

static bool watch_all(struct net_packet_lease *lease, int fd)
{
    int fds[NET_SHARE_FDS];
    unsigned count = net_share_fds(lease->share, fds);
    lease->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    bool is_watched = lease->epoll_fd >= 0 && watch(lease, fd);
    for (unsigned i = 0; i < count && is_watched; i++)
        is_watched = watch(lease, fds[i]);
    return is_watched;
}

void net_packet_lease_open(struct net_packet_lease *lease, int fd)
{
    *lease = (struct net_packet_lease){.epoll_fd = -1};
    if (net_share_open(0, &lease->share, NULL) != 0)
        lease->share = NULL;
    else if (!watch_all(lease, fd))
        net_packet_lease_close(lease);
}

void net_packet_lease_close(struct net_packet_lease *lease)
{
    if (lease->share)
        net_share_close(lease->share);
    if (lease->epoll_fd >= 0)
        close(lease->epoll_fd);
    *lease = (struct net_packet_lease){.epoll_fd = -1};
}

void net_packet_lease_round(struct net_packet_lease *lease, const struct net_port_counters *counters,
                            uint64_t now_ns)
{
    struct net_share_taken none;
    uint8_t payload[1]; /* what is handed over is none of ours: no address is */
    if (!lease->share || now_ns < lease->look_at_ns)
        return;
    lease->look_at_ns = now_ns + LOOK_EVERY_NS;
    net_share_round(lease->share, now_ns);
    for (unsigned i = 0;
         i < NET_BURST && net_share_take(lease->share, counters, &none, payload, sizeof payload);)
        i++;
}

uint64_t net_packet_lease_deadline_ns(const struct net_packet_lease *lease)
{
    return lease->share ? net_share_deadline_ns(lease->share) : NET_TIME_NONE;
}
