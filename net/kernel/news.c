/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/kernel/news.h"

#include <errno.h>
#include <linux/rtnetlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/kernel/netlink.h"

/* Enough for a burst of changes; more than that is a loss, and all is looked at again. */
#define RECEIVE_BYTES (256 * 1024)

struct net_news {
    struct mnl_socket *socket;
};

static int subscribe(struct mnl_socket *socket)
{
    int bytes = RECEIVE_BYTES;
    if (mnl_socket_bind(socket, RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR, MNL_SOCKET_AUTOPID) <
        0)
        return -errno;
    /* Without it a burst is only more often a loss. */
    (void)setsockopt(mnl_socket_get_fd(socket), SOL_SOCKET, SO_RCVBUF, &bytes, sizeof bytes);
    return 0;
}

static struct mnl_socket *open_socket(int (*place)(int fd))
{
    int fd = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE);
    if (fd >= 0 && place)
        fd = place(fd);
    struct mnl_socket *socket = fd >= 0 ? mnl_socket_fdopen(fd) : NULL;
    if (!socket && fd >= 0)
        close(fd);
    return socket;
}

int net_news_open(int (*place)(int fd), struct net_news **out, struct nornic_error *why)
{
    struct net_news *news = calloc(1, sizeof *news);
    if (!news)
        return net_error_set(why, ENOMEM, "no memory to follow the interfaces");
    news->socket = open_socket(place);
    int err = news->socket ? subscribe(news->socket) : -errno;
    if (err) {
        net_news_close(news);
        return net_error_set(why, -err, "cannot follow the interfaces (netlink): %s", strerror(-err));
    }
    *out = news;
    return 0;
}

void net_news_close(struct net_news *news)
{
    if (news->socket)
        mnl_socket_close(news->socket);
    free(news);
}

int net_news_fd(const struct net_news *news)
{
    return mnl_socket_get_fd(news->socket);
}

int net_news_read(struct net_news *news, bool (*is_relevant)(void *ctx, const struct nlmsghdr *message),
                  void *ctx)
{
    uint8_t buf[16 * 1024] __attribute__((aligned(8)));
    bool has_changed = false;
    for (;;) {
        ssize_t len = mnl_socket_recvfrom(news->socket, buf, sizeof buf);
        if (len < 0 && errno == EAGAIN)
            return has_changed;
        if (len < 0 && errno != EINTR && errno != ENOBUFS && errno != ENOSPC)
            return -errno;
        /* ENOBUFS: some were lost; ENOSPC: this one was cut. */
        has_changed |= len < 0 ? errno != EINTR : !is_relevant;
        const struct nlmsghdr *message = (const struct nlmsghdr *)buf;
        int left = len < 0 ? 0 : (int)len;
        for (; !has_changed && net_netlink_has(message, left); message = mnl_nlmsg_next(message, &left))
            has_changed = is_relevant(ctx, message);
    }
}
