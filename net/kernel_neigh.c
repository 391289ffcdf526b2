/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbours: the kernel keeps the table and speaks ARP and NDP; here it is asked, provoked, listened to. */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/kernel.h"
#include "net/netlink.h"

#define DISCARD_PORT 9
/* A state in which the kernel itself would send to the MAC. */
#define STATE_USABLE (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)

struct neighbour {
    unsigned ifindex;
    struct net_addr addr;
    bool is_known;  /* `mac` is good */
    bool is_failed; /* the kernel has given up asking */
    struct net_mac mac;
};

/* Takes note of a message if it is about our neighbour. */
static int note_neighbour(const struct nlmsghdr *message, void *ctx)
{
    struct neighbour *neighbour = ctx;
    const struct ndmsg *head = mnl_nlmsg_get_payload(message);
    const struct nlattr *a;
    struct net_addr addr;
    const void *mac = NULL;
    bool is_ours = false;
    if (message->nlmsg_type != RTM_NEWNEIGH || (unsigned)head->ndm_ifindex != neighbour->ifindex)
        return MNL_CB_OK;
    mnl_attr_for_each(a, message, sizeof *head)
    {
        if (mnl_attr_get_type(a) == NDA_DST)
            is_ours = net_netlink_get_addr(a, &addr) && net_addr_equal(&addr, &neighbour->addr);
        else if (mnl_attr_get_type(a) == NDA_LLADDR && mnl_attr_get_payload_len(a) == NET_MAC_BYTES)
            mac = mnl_attr_get_payload(a);
    }
    if (!is_ours)
        return MNL_CB_OK;
    neighbour->is_failed = head->ndm_state == NUD_FAILED;
    neighbour->is_known = mac && (head->ndm_state & STATE_USABLE) != 0;
    if (neighbour->is_known)
        memcpy(neighbour->mac.b, mac, NET_MAC_BYTES);
    return MNL_CB_OK;
}

/* Looks the neighbour up in the kernel's table. 0 also when it is not there. */
static int look_up(struct neighbour *neighbour, struct net_error *err)
{
    struct net_netlink_request request;
    struct ndmsg *head = net_netlink_begin(&request, RTM_GETNEIGH, 0, sizeof *head);
    head->ndm_family = net_netlink_family(&neighbour->addr);
    head->ndm_ifindex = (int)neighbour->ifindex;
    net_netlink_put_addr(&request, NDA_DST, &neighbour->addr);
    int result = net_netlink_ask(&request, note_neighbour, neighbour, err);
    return result == -ENOENT ? 0 : result;
}

/* One datagram to the neighbour's discard port makes the kernel send ARP or a neighbour solicitation. */
static int provoke(const struct neighbour *neighbour, const char *ifname)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(DISCARD_PORT), .sin6_scope_id = neighbour->ifindex};
    bool is_v4 = net_addr_is_v4(&neighbour->addr);
    memcpy(&v4.sin_addr, neighbour->addr.b + 12, 4);
    memcpy(&v6.sin6_addr, neighbour->addr.b, 16);

    int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int result = 0;
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, ifname, (socklen_t)strlen(ifname) + 1) < 0 ||
        sendto(fd, "", 1, 0, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
               is_v4 ? sizeof v4 : sizeof v6) < 0)
        result = -errno;
    close(fd);
    return result;
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Reads what the listening socket has; a lost notification (ENOBUFS) is made good by a look-up. */
static int read_notifications(struct mnl_socket *listener, struct neighbour *neighbour, struct net_error *err)
{
    uint8_t message[8192];
    ssize_t len = mnl_socket_recvfrom(listener, message, sizeof message);
    if (len < 0)
        return errno == ENOBUFS ? look_up(neighbour, err) : -errno;
    return mnl_cb_run(message, (size_t)len, 0, 0, note_neighbour, neighbour) < 0 ? -errno : 0;
}

/* Sleeps until the neighbour is known, has failed, or the deadline has passed. 0 or -errno. */
static int await(struct mnl_socket *listener, struct neighbour *neighbour, uint64_t deadline_ns,
                 struct net_error *err)
{
    struct pollfd wait = {.fd = mnl_socket_get_fd(listener), .events = POLLIN};
    neighbour->is_failed = false;
    for (;;) {
        uint64_t now = now_ns();
        if (neighbour->is_known || neighbour->is_failed || now >= deadline_ns)
            return 0;
        uint64_t left_ns = deadline_ns - now;
        struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000u),
                                .tv_nsec = (long)(left_ns % 1000000000u)};
        int ready = ppoll(&wait, 1, &left, NULL);
        if (ready < 0 && errno != EINTR)
            return -errno;
        int result = ready > 0 ? read_notifications(listener, neighbour, err) : 0;
        if (result < 0)
            return result;
    }
}

int net_neighbour_resolve(unsigned ifindex, const struct net_addr *next_hop, uint64_t timeout_ns,
                          struct net_mac *mac, struct net_error *err)
{
    char text[NET_ADDR_STR_SIZE], ifname[IF_NAMESIZE];
    struct neighbour neighbour = {.ifindex = ifindex, .addr = *next_hop};
    uint64_t start_ns = now_ns();
    uint64_t deadline_ns = timeout_ns > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + timeout_ns;

    net_addr_str(next_hop, text);
    if (!if_indextoname(ifindex, ifname))
        return net_error_set(err, ENODEV, "interface %u is gone", ifindex);
    /* Listening begins before the look-up, so that no answer falls between the two. */
    struct mnl_socket *listener = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!listener)
        return net_error_set(err, errno, "cannot ask the kernel about the network (netlink): %s",
                             strerror(errno));
    int result = mnl_socket_bind(listener, RTMGRP_NEIGH, MNL_SOCKET_AUTOPID) < 0 ? -errno : 0;
    if (result == 0)
        result = look_up(&neighbour, err);
    if (result == 0 && !neighbour.is_known)
        result = provoke(&neighbour, ifname);
    if (result == 0 && !neighbour.is_known)
        result = await(listener, &neighbour, deadline_ns, err);
    mnl_socket_close(listener);

    if (result < 0)
        return net_error_set(err, -result, "cannot resolve %s on %s: %s", text, ifname, strerror(-result));
    if (!neighbour.is_known)
        return net_error_set(err, EHOSTUNREACH,
                             "%s does not answer on %s (%s): is it up and in the same network?", text, ifname,
                             net_addr_is_v4(next_hop) ? "ARP" : "NDP");
    *mac = neighbour.mac;
    return 0;
}
