/* SPDX-License-Identifier: BSD-2-Clause */
/* Neighbours: the kernel keeps the table and speaks ARP and NDP; here it is asked, provoked, listened to. */
#define _GNU_SOURCE /* ppoll */
#include <errno.h>
#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "net/kernel/kernel.h"
#include "net/kernel/netlink.h"

#define DISCARD_PORT 9
/* A state in which the kernel itself would send to the MAC. */
#define STATE_USABLE (NUD_PERMANENT | NUD_NOARP | NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE)

struct net_neighbour_query {
    unsigned ifindex;
    char ifname[IF_NAMESIZE];
    struct nornic_addr addr;
    bool is_known;  /* `mac` is good */
    bool is_failed; /* the kernel has given up asking */
    struct nornic_mac mac;
    struct mnl_socket *listener; /* notifications */
    struct mnl_socket *asker;    /* look-ups */
};

/* Takes note of a message if it is about our neighbour. */
static void note_neighbour(const struct nlmsghdr *message, void *ctx)
{
    struct net_neighbour_query *neighbour = ctx;
    const struct ndmsg *head = net_netlink_head(message, RTM_NEWNEIGH, sizeof *head);
    const struct nlattr *a;
    struct nornic_addr addr;
    const void *mac = NULL;
    bool is_ours = false;
    if (!head || (unsigned)head->ndm_ifindex != neighbour->ifindex)
        return;
    mnl_attr_for_each(a, message, sizeof *head)
    {
        if (mnl_attr_get_type(a) == NDA_DST)
            is_ours = net_netlink_get_addr(a, &addr) && nornic_addr_equal(&addr, &neighbour->addr);
        else if (mnl_attr_get_type(a) == NDA_LLADDR && mnl_attr_get_payload_len(a) == NORNIC_MAC_BYTES)
            mac = mnl_attr_get_payload(a);
    }
    if (!is_ours)
        return;
    neighbour->is_failed = head->ndm_state == NUD_FAILED;
    neighbour->is_known = mac && (head->ndm_state & STATE_USABLE) != 0;
    if (neighbour->is_known)
        memcpy(neighbour->mac.b, mac, NORNIC_MAC_BYTES);
}

/* Looks the neighbour up in the kernel's table. 0 also when it is not there. */
static int look_up(struct net_neighbour_query *neighbour)
{
    struct net_netlink_request request;
    struct ndmsg *head = net_netlink_begin(&request, RTM_GETNEIGH, 0, sizeof *head);
    head->ndm_family = net_netlink_family(&neighbour->addr);
    head->ndm_ifindex = (int)neighbour->ifindex;
    net_netlink_put_addr(&request, NDA_DST, &neighbour->addr);
    int err = net_netlink_ask_on(neighbour->asker, &request, note_neighbour, neighbour);
    return err == -ENOENT ? 0 : err;
}

/* One datagram to the neighbour's discard port makes the kernel send ARP or a neighbour solicitation. */
static int provoke(const struct net_neighbour_query *neighbour)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(DISCARD_PORT)};
    struct sockaddr_in6 v6 = {
        .sin6_family = AF_INET6, .sin6_port = htons(DISCARD_PORT), .sin6_scope_id = neighbour->ifindex};
    bool is_v4 = nornic_addr_is_v4(&neighbour->addr);
    memcpy(&v4.sin_addr, neighbour->addr.b + 12, 4);
    memcpy(&v6.sin6_addr, neighbour->addr.b, 16);

    int fd = socket(is_v4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int err = 0;
    if (setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, neighbour->ifname,
                   (socklen_t)strlen(neighbour->ifname) + 1) < 0 ||
        sendto(fd, "", 1, 0, is_v4 ? (struct sockaddr *)&v4 : (struct sockaddr *)&v6,
               is_v4 ? sizeof v4 : sizeof v6) < 0)
        err = -errno;
    close(fd);
    return err;
}

/* Listening begins before the look-up, so that no answer falls between the two. */
static int begin(struct net_neighbour_query *neighbour, struct nornic_error *why)
{
    neighbour->listener = mnl_socket_open2(NETLINK_ROUTE, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (!neighbour->listener || mnl_socket_bind(neighbour->listener, RTMGRP_NEIGH, MNL_SOCKET_AUTOPID) < 0)
        return net_error_set(why, errno, "cannot ask the kernel about the network (netlink): %s",
                             strerror(errno));
    neighbour->asker = net_netlink_open(why);
    if (!neighbour->asker)
        return -errno;
    int err = look_up(neighbour);
    neighbour->is_failed = false; /* an earlier failure; now it is asked again */
    if (!err && !neighbour->is_known)
        err = provoke(neighbour);
    if (err < 0) {
        char text[NORNIC_ADDR_STR_SIZE];
        net_error_set(why, -err, "cannot resolve %s on %s: %s", nornic_addr_str(&neighbour->addr, text),
                      neighbour->ifname, strerror(-err));
    }
    return err;
}

int net_neighbour_ask(unsigned ifindex, const struct nornic_addr *next_hop, struct net_neighbour_query **out,
                      struct nornic_error *why)
{
    struct net_neighbour_query *query = calloc(1, sizeof *query);
    if (!query)
        return net_error_set(why, ENOMEM, "no memory to resolve an address");
    query->ifindex = ifindex;
    query->addr = *next_hop;
    int err = if_indextoname(ifindex, query->ifname) ? 0 : -ENODEV;
    if (err < 0)
        net_error_set(why, ENODEV, "interface %u is gone", ifindex);
    else
        err = begin(query, why);
    if (err < 0) {
        net_neighbour_close(query);
        return err;
    }
    *out = query;
    return 0;
}

int net_neighbour_fd(const struct net_neighbour_query *query)
{
    return mnl_socket_get_fd(query->listener);
}

/* Reads what the listening socket has; a lost notification (ENOBUFS) is made good by a look-up. */
static int read_notifications(struct net_neighbour_query *neighbour)
{
    uint8_t buf[8192] __attribute__((aligned(8)));
    for (;;) {
        ssize_t len = mnl_socket_recvfrom(neighbour->listener, buf, sizeof buf);
        if (len < 0 && (errno == EAGAIN || errno == EINTR))
            return 0;
        if (len < 0 && errno != ENOBUFS && errno != ENOSPC)
            return -errno;
        int err = len < 0 ? look_up(neighbour) : 0;
        if (err < 0)
            return err;
        const struct nlmsghdr *message = (const struct nlmsghdr *)buf;
        int left = len < 0 ? 0 : (int)len;
        for (; net_netlink_has(message, left); message = mnl_nlmsg_next(message, &left))
            note_neighbour(message, neighbour);
    }
}

int net_neighbour_answer(struct net_neighbour_query *query, struct nornic_mac *mac, struct nornic_error *why)
{
    char text[NORNIC_ADDR_STR_SIZE];
    nornic_addr_str(&query->addr, text);
    int err = query->is_known ? 0 : read_notifications(query);
    if (err < 0)
        return net_error_set(why, -err, "cannot resolve %s on %s: %s", text, query->ifname, strerror(-err));
    if (query->is_known) {
        *mac = query->mac;
        return 0;
    }
    net_error_set(why, EHOSTUNREACH, "%s does not answer on %s (%s): is it up and in the same network?", text,
                  query->ifname, nornic_addr_is_v4(&query->addr) ? "ARP" : "NDP");
    return query->is_failed ? -EHOSTUNREACH : -EAGAIN;
}

void net_neighbour_close(struct net_neighbour_query *query)
{
    if (query->listener)
        mnl_socket_close(query->listener);
    if (query->asker)
        mnl_socket_close(query->asker);
    free(query);
}

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* Sleeps until there may be an answer, or the deadline has passed. 0, -ETIMEDOUT or -errno. */
static int await(const struct net_neighbour_query *query, uint64_t deadline_ns)
{
    struct pollfd wait = {.fd = net_neighbour_fd(query), .events = POLLIN};
    uint64_t now = now_ns();
    if (now >= deadline_ns)
        return -ETIMEDOUT;
    uint64_t left_ns = deadline_ns - now;
    struct timespec left = {.tv_sec = (time_t)(left_ns / 1000000000u),
                            .tv_nsec = (long)(left_ns % 1000000000u)};
    return ppoll(&wait, 1, &left, NULL) >= 0 || errno == EINTR ? 0 : -errno;
}

int net_neighbour_resolve(unsigned ifindex, const struct nornic_addr *next_hop, uint64_t timeout_ns,
                          struct nornic_mac *mac, struct nornic_error *why)
{
    struct net_neighbour_query *query;
    uint64_t start_ns = now_ns();
    uint64_t deadline_ns = timeout_ns > UINT64_MAX - start_ns ? UINT64_MAX : start_ns + timeout_ns;
    int err = net_neighbour_ask(ifindex, next_hop, &query, why);
    if (err < 0)
        return err;
    int waited = 0;
    while ((err = net_neighbour_answer(query, mac, why)) == -EAGAIN && waited == 0)
        waited = await(query, deadline_ns);
    net_neighbour_close(query);
    return err == -EAGAIN ? -EHOSTUNREACH : err;
}
