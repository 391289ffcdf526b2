/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/port/guard.h"

#include <errno.h>
#include <linux/filter.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "net/kernel/sockaddr.h"
#include "net/wire/udp.h"

/* Drops all before it is queued. */
static struct sock_filter nothing_filter[] = {BPF_STMT(BPF_RET | BPF_K, 0)};

static int set_options(int fd, const char *ifname)
{
    struct sock_fprog filter = {.len = array_len(nothing_filter), .filter = nothing_filter};
    int on = 1;
    /* Allows udp ports of other interfaces beside it: see bind_beside_guards() in net/udp/open.c. */
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &filter, sizeof filter) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, ifname, (socklen_t)strlen(ifname) + 1) < 0)
        return -errno;
    return 0;
}

/* 0 or -errno. */
static int hold(struct net_guard *guard, const struct net_interface *interface, const union net_sockaddr *me,
                socklen_t me_bytes)
{
    int on = 1, fd = socket(me->any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    if (me->any.sa_family == AF_INET6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
    int err = set_options(fd, interface->name);
    if (!err && bind(fd, &me->any, me_bytes) < 0)
        err = -errno;
    if (err)
        close(fd);
    else
        guard->fds[guard->count++] = fd;
    return err;
}

static int hold_all(struct net_guard *guard, const struct net_interface *interface, bool is_v4)
{
    const struct nornic_addr any =
        is_v4 ? nornic_addr_from_v4((const uint8_t[4]){0}) : (struct nornic_addr){{0}};
    union net_sockaddr me;
    socklen_t me_bytes = net_sockaddr_set(&me, &any, NET_ROCE_UDP_PORT, 0);
    return hold(guard, interface, &me, me_bytes);
}

static void hold_each(struct net_guard *guard, const struct net_interface *interface, bool is_v4)
{
    struct nornic_addr addrs[NET_GUARD_ADDRS];
    struct nornic_error why;
    int count = net_interface_addrs(interface->index, addrs, NET_GUARD_ADDRS, &why);
    for (int i = 0; i < count && guard->count < NET_GUARD_ADDRS; i++) {
        union net_sockaddr me;
        socklen_t me_bytes = net_sockaddr_set(&me, &addrs[i], NET_ROCE_UDP_PORT, interface->index);
        if (nornic_addr_is_v4(&addrs[i]) == is_v4)
            (void)hold(guard, interface, &me, me_bytes);
    }
}

void net_guard_open(struct net_guard *guard, const struct net_interface *interface)
{
    for (int is_v4 = 0; is_v4 < 2; is_v4++)
        if (hold_all(guard, interface, is_v4) == -EADDRINUSE)
            hold_each(guard, interface, is_v4);
}

void net_guard_close(struct net_guard *guard)
{
    while (guard->count > 0)
        close(guard->fds[--guard->count]);
}
