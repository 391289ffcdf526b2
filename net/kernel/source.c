/* SPDX-License-Identifier: BSD-2-Clause */
/* Which source address the kernel chooses, and how long packets may be on its way to somebody: a socket that
 * is connected and sends nothing knows both. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/kernel/kernel.h"
#include "net/kernel/sockaddr.h"
#include "net/wire/udp.h"

/* From `src`, or (NULL) as the kernel chooses. A descriptor, the caller's to close, or -errno. */
static int connected(const struct nornic_addr *src, const struct nornic_addr *dst, unsigned ifindex)
{
    union net_sockaddr from, to;
    socklen_t from_bytes = src ? net_sockaddr_set(&from, src, 0, ifindex) : 0;
    socklen_t to_bytes = net_sockaddr_set(&to, dst, NET_ROCE_UDP_PORT, ifindex);
    int fd = socket(nornic_addr_is_v4(dst) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && src && bind(fd, &from.any, from_bytes) != 0) {
        close(fd);
        return -EADDRNOTAVAIL;
    }
    if (fd < 0 || connect(fd, &to.any, to_bytes) == 0)
        return fd < 0 ? -errno : fd;
    int err = -errno;
    close(fd);
    return err;
}

int net_route_source(unsigned ifindex, const struct nornic_addr *dst, struct nornic_addr *out)
{
    union net_sockaddr me = {.v6 = {.sin6_family = AF_INET6}};
    socklen_t me_bytes = sizeof me;
    uint16_t udp_port;
    int fd = connected(NULL, dst, ifindex);
    if (fd < 0)
        return fd;
    int err = getsockname(fd, &me.any, &me_bytes) < 0 ? -errno : 0;
    if (!err)
        *out = net_sockaddr_get(&me, &udp_port);
    close(fd);
    return err;
}

int net_route_check(unsigned ifindex, const struct nornic_addr *src, const struct nornic_addr *dst,
                    struct nornic_error *why)
{
    char from[NORNIC_ADDR_STR_SIZE], to[NORNIC_ADDR_STR_SIZE];
    int fd = connected(src, dst, ifindex);
    if (fd >= 0)
        close(fd);
    /* EINVAL is what the kernel says of a route that does not take `src`. */
    if (fd >= 0 || (fd != -ENETUNREACH && fd != -EHOSTUNREACH && fd != -EINVAL))
        return 0;
    nornic_addr_str(src, from);
    return net_error_set(why, EHOSTUNREACH,
                         "no route to %s from %s: `ip route get %s` says whether there is one",
                         nornic_addr_str(dst, to), from, to);
}

uint32_t net_route_mtu(unsigned ifindex, const struct nornic_addr *dst)
{
    bool is_v4 = nornic_addr_is_v4(dst);
    int bytes = 0, fd = connected(NULL, dst, ifindex);
    socklen_t len = sizeof bytes;
    if (fd < 0)
        return 0;
    int err = getsockopt(fd, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_MTU : IPV6_MTU, &bytes, &len);
    close(fd);
    return err < 0 || bytes < 0 ? 0 : (uint32_t)bytes;
}
