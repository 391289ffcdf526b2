/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* struct mmsghdr */
#include "net/udp/senders.h"

#include <errno.h>
#include <linux/filter.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/udp/open.h"

#define BUFFER_BYTES (32 << 20) /* asked for; the kernel gives what it allows */

#ifndef IPV6_AUTOFLOWLABEL
#define IPV6_AUTOFLOWLABEL 70
#endif

struct net_udp_senders {
    struct net_udp_sender at[NET_UDP_SRC_PORT_COUNT];
};

/* Makes a socket like those of net_udp_socket_open(), but for the filter, which takes nothing, and the flow
 * labels of IPv6, which the kernel draws for each flow. 0 or -errno. */
static int set_up(int fd, const struct nornic_addr *addr, uint16_t port, unsigned ifindex)
{
    static struct sock_filter nothing[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
    const struct sock_fprog takes_nothing = {.len = 1, .filter = nothing};
    union net_sockaddr me;
    bool is_v4 = nornic_addr_is_v4(addr);
    socklen_t me_bytes = net_sockaddr_set(&me, addr, port, ifindex);
    int on = 1, bytes = BUFFER_BYTES, err = net_udp_socket_options(fd, is_v4, ifindex);
    if (err)
        return err;
    if (!is_v4)
        (void)setsockopt(fd, IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, &on, sizeof on);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) < 0)
        (void)setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &takes_nothing, sizeof takes_nothing) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0 || bind(fd, &me.any, me_bytes) < 0)
        return -errno;
    return 0;
}

/* A descriptor, or -errno with a sentence. */
static int open_sender(const struct nornic_addr *addr, uint16_t port, unsigned ifindex,
                       struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE];
    int family = nornic_addr_is_v4(addr) ? AF_INET : AF_INET6;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int err = fd < 0 ? -errno : set_up(fd, addr, port, ifindex);
    if (!err)
        return fd;
    if (fd >= 0)
        close(fd);
    nornic_addr_str(addr, text);
    if (err == -EADDRINUSE) /* which would be port 4791 */
        return net_error_set(why, EBUSY,
                             "UDP port %u of %s is taken by another program: end that, or do without the "
                             "option entropy",
                             port, text);
    return net_error_set(why, -err, "cannot open UDP port %u of %s for the option entropy: %s", port, text,
                         strerror(-err));
}

int net_udp_senders_open(const struct net_udp_port *port, struct net_udp_listener *at,
                         struct nornic_error *why)
{
    if (!port->base.limits.src_port_count || nornic_addr_is_multicast(&at->addr))
        return 0;
    struct net_udp_senders *senders = at->senders = calloc(1, sizeof *senders);
    if (!senders)
        return net_error_set(why, ENOMEM, "no memory for the sockets of source ports");
    for (unsigned i = 0; i < NET_UDP_SRC_PORT_COUNT; i++)
        senders->at[i].fd = -1;
    for (unsigned i = 0; i < NET_UDP_SRC_PORT_COUNT; i++) {
        int fd = open_sender(&at->addr, (uint16_t)(NET_UDP_SRC_PORT_FIRST + i), port->ifindex, why);
        if (fd < 0)
            return fd;
        senders->at[i].fd = fd;
    }
    return 0;
}

void net_udp_senders_close(struct net_udp_senders *senders)
{
    for (unsigned i = 0; senders && i < NET_UDP_SRC_PORT_COUNT; i++)
        if (senders->at[i].fd >= 0)
            close(senders->at[i].fd);
    free(senders);
}

int net_udp_senders_used_fd(const struct net_udp_senders *senders, unsigned k)
{
    return senders && senders->at[k].was_used ? senders->at[k].fd : -1;
}

struct net_udp_sender *net_udp_sender_at(struct net_udp_senders *senders, uint16_t src_port)
{
    unsigned index = (unsigned)src_port - NET_UDP_SRC_PORT_FIRST;
    if (!senders || index >= NET_UDP_SRC_PORT_COUNT)
        return NULL;
    return &senders->at[index];
}

int net_udp_senders_shared_fd(const struct net_udp_port *port, int fd)
{
    for (unsigned i = 0; i < port->listener_count; i++) {
        const struct net_udp_senders *senders = port->listeners[i].senders;
        for (unsigned k = 0; senders && k < NET_UDP_SRC_PORT_COUNT; k++)
            if (senders->at[k].fd == fd)
                return port->listeners[i].fd;
    }
    return fd;
}
