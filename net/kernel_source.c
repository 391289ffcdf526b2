/* SPDX-License-Identifier: BSD-2-Clause */
/* Which source address the kernel chooses, and how long packets may be on its way to somebody: a socket that
 * is connected and sends nothing knows both. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/kernel.h"
#include "net/udp_frame.h"

/* A descriptor, the caller's to close, or -errno. */
static int connected(const struct nornic_addr *dst, unsigned ifindex)
{
    union net_sockaddr to;
    socklen_t to_bytes = net_sockaddr_set(&to, dst, NET_ROCE_UDP_PORT, ifindex);
    int fd = socket(nornic_addr_is_v4(dst) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
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
    int fd = connected(dst, ifindex);
    if (fd < 0)
        return fd;
    int err = getsockname(fd, &me.any, &me_bytes) < 0 ? -errno : 0;
    if (!err)
        *out = net_sockaddr_get(&me, &udp_port);
    close(fd);
    return err;
}

uint32_t net_route_mtu(unsigned ifindex, const struct nornic_addr *dst)
{
    bool is_v4 = nornic_addr_is_v4(dst);
    int bytes = 0, fd = connected(dst, ifindex);
    socklen_t len = sizeof bytes;
    if (fd < 0)
        return 0;
    int err = getsockopt(fd, is_v4 ? IPPROTO_IP : IPPROTO_IPV6, is_v4 ? IP_MTU : IPV6_MTU, &bytes, &len);
    close(fd);
    return err < 0 || bytes < 0 ? 0 : (uint32_t)bytes;
}
