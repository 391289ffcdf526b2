/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/port/default.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "host/port/try.h"
#include "net/kernel/kernel.h"
#include "net/kernel/sockaddr.h"

#define DISCARD_PORT 9

/* The own address from which packets to `to` leave: what a socket says that is connected, which sends
 * nothing. 0 or -errno. */
static int source_towards(const struct nornic_addr *to, struct nornic_addr *out)
{
    union net_sockaddr peer, me;
    uint16_t port;
    socklen_t me_bytes = sizeof me;
    int fd = socket(nornic_addr_is_v4(to) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    socklen_t peer_bytes = net_sockaddr_set(&peer, to, DISCARD_PORT, 0);
    int err = connect(fd, &peer.any, peer_bytes) < 0 || getsockname(fd, &me.any, &me_bytes) < 0 ? -errno : 0;
    close(fd);
    if (!err)
        *out = net_sockaddr_get(&me, &port);
    return err;
}

/* Where the default route goes: to addresses that are for documents (RFC 5737, RFC 3849). Without one there
 * is this machine. */
static struct nornic_addr source_to_world(void)
{
    static const char *const worlds[] = {"192.0.2.1", "2001:db8::1", "127.0.0.1"};
    struct nornic_addr to, source = {{0}};
    int err = -ENETUNREACH;
    for (unsigned i = 0; i < sizeof worlds / sizeof worlds[0] && err; i++) {
        nornic_addr_parse(worlds[i], &to);
        err = source_towards(&to, &source);
    }
    return err ? to : source;
}

static bool is_own(const struct nornic_addr *addr)
{
    struct net_interface interface;
    struct nornic_error why;
    return net_interface_of_addr(addr, &interface, &why) == 0;
}

static int find_source(const struct nornic_addr *from, const struct nornic_addr *to, struct nornic_addr *out,
                       struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE];
    *out = from ? *from : source_to_world();
    int err = !from && to ? source_towards(to, out) : 0;
    return err ? net_error_set(why, -err, "there is no way to %s: %s", nornic_addr_str(to, text),
                               strerror(-err))
               : 0;
}

/* Not to oneself: what leaves by an XDP socket does not come back. */
static int try_xdp(const struct net_interface *interface, const struct nornic_addr *to,
                   struct nornic_error *why)
{
    static const struct nornic_mac none;
    if ((to && is_own(to)) || nornic_mac_equal(&interface->mac, &none))
        return net_error_set(why, EINVAL, "the peer is on this machine");
    return host_port_try_xdp(interface, why);
}

int host_port_default(const struct nornic_addr *from, const struct nornic_addr *to,
                      struct host_port_default *out, struct nornic_error *why)
{
    struct nornic_addr source;
    struct net_interface interface;
    char text[NORNIC_ADDR_STR_SIZE];
    int err = find_source(from, to, &source, why);
    if (!err)
        err = net_interface_of_addr(&source, &interface, why);
    if (err)
        return err;
    *out = (struct host_port_default){.xdp = ""};
    if (try_xdp(&interface, to, &out->not_xdp) == 0)
        snprintf(out->xdp, sizeof out->xdp, "xdp:%s", interface.name);
    snprintf(out->udp, sizeof out->udp, "udp:%s",
             from || to ? nornic_addr_str(&source, text) : interface.name);
    return 0;
}
