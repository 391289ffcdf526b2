/* SPDX-License-Identifier: BSD-2-Clause */
/* Which source address the kernel chooses: that of a socket that is connected and sends nothing. */
#include <errno.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/kernel.h"
#include "net/udp_frame.h"

static int ask(int fd, const struct nornic_addr *dst, unsigned ifindex, struct nornic_addr *out)
{
    union net_sockaddr to, me = {.v6 = {.sin6_family = AF_INET6}};
    uint16_t udp_port;
    socklen_t to_bytes = net_sockaddr_set(&to, dst, NET_ROCE_UDP_PORT, ifindex), me_bytes = sizeof me;
    if (connect(fd, &to.any, to_bytes) < 0 || getsockname(fd, &me.any, &me_bytes) < 0)
        return -errno;
    *out = net_sockaddr_get(&me, &udp_port);
    return 0;
}

int net_route_source(unsigned ifindex, const struct nornic_addr *dst, struct nornic_addr *out)
{
    int fd = socket(nornic_addr_is_v4(dst) ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return -errno;
    int err = ask(fd, dst, ifindex, out);
    close(fd);
    return err;
}
