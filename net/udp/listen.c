/* SPDX-License-Identifier: BSD-2-Clause */
/* The addresses and groups of a udp port: a socket for each. */
#define _GNU_SOURCE /* struct mmsghdr */
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <unistd.h>

#include "net/udp/inner.h"
#include "net/udp/open.h"
#include "net/udp/senders.h"

#define SPARE_FDS 64 /* of the process, that addresses after the first do not take */

static_assert(NET_UDP_LISTENERS_MAX <= NET_ADDR_PLACES_MAX, "each listener has a place in the index");

/* --- filters --- */

/* Sets the filter of a socket by the last sum of the gate. Returns 0, or -errno: the socket takes all. */
static int filter(const struct net_udp_port *port, unsigned index)
{
    struct sock_filter code[NET_UDP_FILTER_MAX];
    const struct net_udp_listener *at = &port->listeners[index];
    unsigned count = net_udp_filter(&port->gate.wanted, &at->addr, code);
    return net_udp_filter_attach(at->fd, code, count);
}

void net_udp_filter_all(struct net_udp_port *port)
{
    port->is_steered = net_udp_gate_sum(&port->gate, port->now_ns);
    if (port->is_steered)
        for (unsigned i = 0; i < port->listener_count; i++)
            port->is_steered &= filter(port, i) == 0;
    else
        for (unsigned i = 0; i < port->listener_count; i++)
            net_udp_filter_detach(port->listeners[i].fd);
    net_port_set_mode(&port->base, net_udp_mode(port));
}

/* --- opening and closing --- */

static int watch(struct net_udp_port *port, unsigned index, int how)
{
    struct epoll_event event = {.events = EPOLLIN, .data.u64 = index};
    return epoll_ctl(port->epoll_fd, how, port->listeners[index].fd, &event) < 0 ? -errno : 0;
}

static bool is_shared(const struct net_udp_port *port, const struct nornic_addr *addr)
{
    return port->share && !nornic_addr_is_multicast(addr);
}

static int open_listener(struct net_udp_port *port, const struct nornic_addr *addr, struct nornic_error *why)
{
    return is_shared(port, addr) ? net_share_join(port->share, addr, port->ifindex, why)
                                 : net_udp_socket_open(addr, port->ifindex, NET_UDP_ALONE, why);
}

static void close_senders(struct net_udp_port *port, struct net_udp_senders *senders)
{
    for (unsigned k = 0; senders && k < NET_UDP_SRC_PORT_COUNT; k++) {
        int fd = net_udp_senders_used_fd(senders, k);
        if (fd < 0)
            continue;
        net_udp_forget(port, fd);
        (void)epoll_ctl(port->epoll_fd, EPOLL_CTL_DEL, fd, NULL); /* as in net_udp_unlisten() */
    }
    net_udp_senders_close(senders);
}

static void close_listener(struct net_udp_port *port, const struct net_udp_listener *gone)
{
    close_senders(port, gone->senders);
    if (is_shared(port, &gone->addr))
        net_share_leave(port->share, gone->fd);
    else
        close(gone->fd);
}

/* Returns whether the process keeps descriptors for other things after the sockets of one more address. The
 * first address has no such condition: without it there is no port. */
static bool has_descriptors(const struct net_udp_port *port)
{
    struct rlimit limit;
    int free_fd = fcntl(port->epoll_fd, F_DUPFD_CLOEXEC, 0); /* the lowest that is free */
    if (free_fd >= 0)
        close(free_fd);
    if (port->listener_count == 0 || getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return true;
    return free_fd >= 0 &&
           (rlim_t)free_fd + 1 + port->base.limits.src_port_count + SPARE_FDS <= limit.rlim_cur;
}

/* Returns 0; or -errno with a sentence: the port takes no such address, or there is no room for it. */
static int check(const struct net_udp_port *port, const struct nornic_addr *addr, struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE];
    bool is_other = !nornic_addr_is_zero(&port->only) && !nornic_addr_equal(addr, &port->only);
    if (is_other && !nornic_addr_is_multicast(addr))
        return net_error_set(why, EADDRNOTAVAIL, "%s is not the address of port %s",
                             nornic_addr_str(addr, text), port->name);
    if (port->listener_count == NET_UDP_LISTENERS_MAX)
        return net_error_set(why, ENOSPC, "port %s has %u addresses and groups, and room for no more",
                             port->name, NET_UDP_LISTENERS_MAX);
    if (has_descriptors(port))
        return 0;
    return net_error_set(
        why, EMFILE,
        "port %s has the sockets of %u addresses and groups, and the process has no descriptors "
        "for more: raise its limit of open files (`ulimit -n`), or name one address as the "
        "port, as in udp:ADDRESS",
        port->name, port->listener_count);
}

int net_udp_listen(struct net_port *base, const struct nornic_addr *addr, struct nornic_error *why)
{
    struct net_udp_port *port = net_udp_port_of(base);
    char text[NORNIC_ADDR_STR_SIZE];
    if (net_udp_find(port, addr))
        return 0;
    int err = check(port, addr, why);
    if (err)
        return err;
    int fd = open_listener(port, addr, why);
    if (fd < 0)
        return fd;
    unsigned index = port->listener_count;
    port->listeners[index] = (struct net_udp_listener){.addr = *addr, .fd = fd};
    if (port->is_steered)
        port->is_steered = filter(port, index) == 0;
    err = net_udp_senders_open(port, &port->listeners[index], why);
    if (err) {
        close_listener(port, &port->listeners[index]);
        return err;
    }
    err = watch(port, index, EPOLL_CTL_ADD);
    if (err) {
        close_listener(port, &port->listeners[index]);
        return net_error_set(why, -err, "cannot watch the socket of %s: %s", nornic_addr_str(addr, text),
                             strerror(-err));
    }
    net_addr_index_add(&port->by_addr, addr, index);
    port->listener_count++;
    return 0;
}

void net_udp_unlisten(struct net_port *base, const struct nornic_addr *addr)
{
    struct net_udp_port *port = net_udp_port_of(base);
    const struct net_udp_listener *gone = net_udp_find(port, addr);
    if (!gone)
        return;
    const unsigned index = (unsigned)(gone - port->listeners), last = --port->listener_count;
    net_udp_forget(port, gone->fd);
    watch(port, index, EPOLL_CTL_DEL); /* close() does not end it if a child has the socket, too */
    net_addr_index_remove(&port->by_addr, addr, index);
    close_listener(port, gone);
    port->busiest = 0;
    if (index == last)
        return;
    net_addr_index_remove(&port->by_addr, &port->listeners[last].addr, last);
    port->listeners[index] = port->listeners[last];
    net_addr_index_add(&port->by_addr, &port->listeners[index].addr, index);
    watch(port, index, EPOLL_CTL_MOD);
}

void net_udp_close_listeners(struct net_udp_port *port)
{
    for (unsigned i = 0; i < port->listener_count; i++) {
        net_udp_senders_close(port->listeners[i].senders);
        if (!is_shared(port, &port->listeners[i].addr))
            close(port->listeners[i].fd);
    }
    port->listener_count = 0;
}

void net_udp_renew_listeners(struct net_udp_port *port)
{
    for (unsigned i = 0; i < port->listener_count; i++) {
        struct net_udp_listener *at = &port->listeners[i];
        int fd = net_share_renew(port->share, at->fd), old = at->fd;
        if (fd < 0)
            continue;
        net_udp_forget(port, old);
        watch(port, i, EPOLL_CTL_DEL);
        *at = (struct net_udp_listener){.addr = at->addr, .fd = fd, .senders = at->senders};
        if (port->is_steered)
            port->is_steered = filter(port, i) == 0;
        (void)watch(port, i, EPOLL_CTL_ADD); /* it has just taken one as good out */
        close(old);
    }
}
