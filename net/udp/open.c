/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/udp/open.h"

#include <errno.h>
#include <linux/errqueue.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"

#define BUFFER_BYTES (32 << 20) /* asked for; the kernel gives what it allows */

#ifndef IPV6_AUTOFLOWLABEL
#define IPV6_AUTOFLOWLABEL 70
#endif
#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29 /* Linux 4.20 */
#endif
#ifndef SO_BINDTOIFINDEX
#define SO_BINDTOIFINDEX 62 /* Linux 5.1 */
#endif

struct option {
    int level, name, value;
    bool is_vital; /* the ICRC, or what ends up where, would be wrong without it */
};

static const struct option common[] = {
    {IPPROTO_UDP, UDP_GRO, 1, false},
    {SOL_SOCKET, SO_BUSY_POLL, 50, false}, /* usec; a look polls the NIC's queue, for who may have that */
};
static const struct option of_ipv4[] = {
    {IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO, true}, /* DF, and identification 0 */
    {IPPROTO_IP, IP_RECVTOS, 1, true},
    {IPPROTO_IP, IP_RECVTTL, 1, true},
    {IPPROTO_IP, IP_RECVERR, 1, false},
};
static const struct option of_ipv6[] = {
    {IPPROTO_IPV6, IPV6_V6ONLY, 1, true},     {IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO, true},
    {IPPROTO_IPV6, IPV6_RECVTCLASS, 1, true}, {IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1, true},
    {IPPROTO_IPV6, IPV6_RECVERR, 1, false},   {IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0, false},
    {IPPROTO_UDP, UDP_NO_CHECK6_RX, 1, true}, /* RoCE peers send no checksum: ROCE-FRM-43 */
};
/* Of what comes to a group, all sockets of the machine get what any of them joined, on whatever interface,
 * unless they say that they want their own only. */
static const struct option of_ipv4_group[] = {{IPPROTO_IP, IP_MULTICAST_ALL, 0, true}};
static const struct option of_ipv6_group[] = {{IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0, false}};

static int set_options(int fd, const struct option *options, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int)) < 0 &&
            options[i].is_vital)
            return -errno;
    return 0;
}

/* As much as the kernel lets this user have: a burst of trains must fit. */
static void set_buffers(int fd)
{
    int bytes = BUFFER_BYTES;
    if (setsockopt(fd, SOL_SOCKET, SO_RCVBUFFORCE, &bytes, sizeof bytes) < 0)
        setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    if (setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &bytes, sizeof bytes) < 0)
        setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &bytes, sizeof bytes);
}

/* Datagrams to groups leave by the interface. */
static int set_multicast_out(int fd, bool is_v4, unsigned ifindex)
{
    struct ip_mreqn by = {.imr_ifindex = (int)ifindex};
    int err = is_v4 ? setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by)
                    : setsockopt(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, &ifindex, sizeof ifindex);
    return err < 0 ? -errno : 0;
}

/* IPv6 does not look at the interface of a membership; this needs no privilege since Linux 5.7. Where it is
 * refused, datagrams of other interfaces come as well. */
static void bind_to_interface(int fd, unsigned ifindex)
{
    int index = (int)ifindex;
    (void)setsockopt(fd, SOL_SOCKET, SO_BINDTOIFINDEX, &index, sizeof index);
}

/* A group's socket is shared: each that joined gets a copy of what comes by its interface. */
static int join(int fd, const struct nornic_addr *group, unsigned ifindex)
{
    bool is_v4 = nornic_addr_is_v4(group);
    struct ip_mreqn v4 = {.imr_ifindex = (int)ifindex};
    struct ipv6_mreq v6 = {.ipv6mr_interface = ifindex};
    int on = 1;
    memcpy(&v4.imr_multiaddr, group->b + 12, 4);
    memcpy(&v6.ipv6mr_multiaddr, group->b, 16);
    bind_to_interface(fd, ifindex);
    int err = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (!err)
        err = is_v4 ? setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &v4, sizeof v4)
                    : setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &v6, sizeof v6);
    if (err < 0)
        return -errno;
    return is_v4 ? set_options(fd, of_ipv4_group, array_len(of_ipv4_group))
                 : set_options(fd, of_ipv6_group, array_len(of_ipv6_group));
}

/* A packet port holds the port number of its interface (net/port/guard.h) with the address
 * zero, which the kernel takes for a conflict with every address of the machine. The guards allow others
 * beside them, who must allow it as well, while they bind; but only then, so that of two udp ports with the
 * same address the second is refused. */
static int bind_beside_guards(int fd, const union net_sockaddr *me, socklen_t me_bytes)
{
    int on = 1, off = 0;
    if (bind(fd, &me->any, me_bytes) == 0)
        return 0;
    if (errno != EADDRINUSE)
        return -errno;
    if (setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 || bind(fd, &me->any, me_bytes) < 0 ||
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &off, sizeof off) < 0)
        return -errno;
    return 0;
}

/* A group begins with a socket that was bound alone: it shows that nobody else has the address, whether or
 * not they would share it. */
static int bind_shared(int fd, const union net_sockaddr *me, socklen_t me_bytes, enum net_udp_sharing sharing)
{
    int on = 1;
    if (sharing == NET_UDP_BESIDE_OTHERS && setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0)
        return -errno;
    int err = bind_beside_guards(fd, me, me_bytes);
    if (!err && sharing == NET_UDP_FIRST_OF_MANY &&
        setsockopt(fd, SOL_SOCKET, SO_REUSEPORT, &on, sizeof on) < 0)
        return -errno;
    return err;
}

static int set_all_options(int fd, bool is_v4)
{
    int err = set_options(fd, common, array_len(common));
    if (err)
        return err;
    return is_v4 ? set_options(fd, of_ipv4, array_len(of_ipv4))
                 : set_options(fd, of_ipv6, array_len(of_ipv6));
}

static int set_up(int fd, const struct nornic_addr *addr, unsigned ifindex, enum net_udp_sharing sharing)
{
    union net_sockaddr me;
    bool is_v4 = nornic_addr_is_v4(addr);
    socklen_t me_bytes = net_sockaddr_set(&me, addr, NET_ROCE_UDP_PORT, ifindex);
    int err = set_all_options(fd, is_v4);
    if (!err)
        err =
            nornic_addr_is_multicast(addr) ? join(fd, addr, ifindex) : set_multicast_out(fd, is_v4, ifindex);
    if (err)
        return err;
    set_buffers(fd);
    if (nornic_addr_is_multicast(addr)) /* shared */
        return bind(fd, &me.any, me_bytes) < 0 ? -errno : 0;
    return bind_shared(fd, &me, me_bytes, sharing);
}

static int explain(const struct nornic_addr *addr, int err, struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE];
    nornic_addr_str(addr, text);
    if (err == -EADDRINUSE)
        return net_error_set(
            why, EADDRINUSE,
            "UDP port %u of %s is taken by another program: end that, or use another address",
            NET_ROCE_UDP_PORT, text);
    if (err == -EADDRNOTAVAIL)
        return net_error_set(why, EADDRNOTAVAIL, "%s is no address of this machine", text);
    return net_error_set(why, -err, "cannot open UDP port %u of %s: %s", NET_ROCE_UDP_PORT, text,
                         strerror(-err));
}

int net_udp_socket_open(const struct nornic_addr *addr, unsigned ifindex, enum net_udp_sharing sharing,
                        struct nornic_error *why)
{
    int family = nornic_addr_is_v4(addr) ? AF_INET : AF_INET6;
    int fd = socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int err = fd < 0 ? -errno : set_up(fd, addr, ifindex, sharing);
    if (!err)
        return fd;
    if (fd >= 0)
        close(fd);
    return explain(addr, err, why);
}

static bool is_bound_to(int fd, const struct nornic_addr *addr)
{
    union net_sockaddr name = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t name_bytes = sizeof name, len = sizeof(int);
    int protocol = 0;
    uint16_t port = 0;
    if (getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &len) < 0 || protocol != IPPROTO_UDP ||
        getsockname(fd, &name.any, &name_bytes) < 0)
        return false;
    struct nornic_addr bound = net_sockaddr_get(&name, &port);
    return port == NET_ROCE_UDP_PORT && nornic_addr_equal(&bound, addr) &&
           (name.any.sa_family == AF_INET) == nornic_addr_is_v4(addr);
}

int net_udp_socket_adopt(int fd, const struct nornic_addr *addr)
{
    return is_bound_to(fd, addr) ? set_all_options(fd, nornic_addr_is_v4(addr)) : -EINVAL;
}

int net_udp_socket_options(int fd, bool is_v4, unsigned ifindex)
{
    int err = set_all_options(fd, is_v4);
    return err ? err : set_multicast_out(fd, is_v4, ifindex);
}

uint32_t net_udp_socket_room(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), bytes = 0;
    socklen_t len = sizeof bytes;
    if (fd < 0)
        return 0;
    set_buffers(fd);
    int err = getsockopt(fd, SOL_SOCKET, SO_RCVBUF, &bytes, &len);
    close(fd);
    return err < 0 || bytes < 0 ? 0 : (uint32_t)bytes;
}

bool net_udp_socket_has_trains(void)
{
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0), seg_bytes;
    socklen_t len = sizeof seg_bytes;
    if (fd < 0)
        return false;
    int err = getsockopt(fd, IPPROTO_UDP, UDP_SEGMENT, &seg_bytes, &len);
    close(fd);
    return err == 0;
}

bool net_udp_socket_refusal(int fd, struct net_udp_refusal *out)
{
    union net_sockaddr peer = {.v6 = {.sin6_family = AF_INET6}};
    struct net_udp_control control;
    uint8_t byte;
    uint16_t port;
    struct iovec payload = {.iov_base = &byte, .iov_len = 1};
    struct msghdr message = {.msg_name = &peer,
                             .msg_namelen = sizeof peer,
                             .msg_iov = &payload,
                             .msg_iovlen = 1,
                             .msg_control = &control,
                             .msg_controllen = sizeof control};
    if (recvmsg(fd, &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0)
        return false;
    *out = (struct net_udp_refusal){.peer = net_sockaddr_get(&peer, &port)};
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&message); c; c = CMSG_NXTHDR(&message, c)) {
        struct sock_extended_err error;
        bool is_error = (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_RECVERR) ||
                        (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_RECVERR);
        if (!is_error || c->cmsg_len < CMSG_LEN(sizeof error))
            continue;
        memcpy(&error, CMSG_DATA(c), sizeof error);
        out->error = (int)error.ee_errno;
        out->mtu_bytes = error.ee_errno == EMSGSIZE ? error.ee_info : 0;
    }
    return true;
}
