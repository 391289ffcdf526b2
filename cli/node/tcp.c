/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/node/tcp.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/stop.h"
#include "host/host.h"

/* Waits for `events` on `fd` until `end_ns`. 0, -EINTR or -ETIMEDOUT, without a sentence. */
static int wait_for(int fd, short events, uint64_t end_ns)
{
    for (;;) {
        uint64_t now_ns = host_now_ns();
        if (cli_stopped())
            return -EINTR;
        if (now_ns >= end_ns)
            return -ETIMEDOUT;
        uint64_t left_ms = (end_ns - now_ns) / 1000000 + 1;
        struct pollfd fds[2] = {{.fd = fd, .events = events}, {.fd = cli_stop_fd(), .events = POLLIN}};
        if (poll(fds, 2, left_ms > 60000 ? 60000 : (int)left_ms) > 0 && fds[0].revents)
            return 0;
    }
}

/* A peer whose machine or interface is gone says nothing for ever. With these, a side that only listens (the
 * server of one-sided operations) learns of it after eight seconds; a reliable connection has given up by
 * then, so that nothing is lost that could have gone on. */
static void keep_alive(int fd)
{
    int on = 1, idle_s = 3, interval_s = 1, probes = 5;
    setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
    setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

const char *cli_tcp_remedy(int errnum)
{
    switch (errnum) {
    case ECONNREFUSED:
        return "; start the server there first";
    case ETIMEDOUT:
        return "; is that machine up, and does every firewall on the way let this TCP port through?";
    case ENETUNREACH:
    case EHOSTUNREACH:
        return "; `ip route get ADDRESS` says how it would be reached";
    case EADDRINUSE:
        return "; `ss -ltnp` shows by whom";
    }
    return "";
}

const char *cli_name_remedy(int gai)
{
    return gai == EAI_AGAIN ? "; does /etc/resolv.conf name a server that answers? An address needs none"
                            : "; check how it is written, or give the address";
}

static uint64_t end_of(uint64_t timeout_ns)
{
    uint64_t now_ns = host_now_ns();
    return timeout_ns > UINT64_MAX - now_ns ? UINT64_MAX : now_ns + timeout_ns;
}

/* Connects to one address. 0 or -errno. */
static int connect_one(const struct addrinfo *to, uint64_t end_ns, int *out_fd)
{
    int fd = socket(to->ai_family, to->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, to->ai_protocol);
    if (fd < 0)
        return -errno;
    int err = connect(fd, to->ai_addr, to->ai_addrlen) == 0 ? 0 : -errno;
    if (err == -EINPROGRESS) {
        err = wait_for(fd, POLLOUT, end_ns);
        int so_error = 0;
        socklen_t len = sizeof so_error;
        if (!err && getsockopt(fd, SOL_SOCKET, SO_ERROR, &so_error, &len) == 0)
            err = -so_error;
    }
    if (err) {
        close(fd);
        return err;
    }
    keep_alive(fd);
    *out_fd = fd;
    return 0;
}

int cli_tcp_connect(const char *host, uint16_t port, uint64_t timeout_ns, int *out_fd,
                    struct nornic_error *why)
{
    char service[8];
    snprintf(service, sizeof service, "%u", port);
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list;
    int gai = getaddrinfo(host, service, &hints, &list);
    if (gai != 0)
        return net_error_set(why, EHOSTUNREACH, "cannot find the host '%s': %s%s", host, gai_strerror(gai),
                             cli_name_remedy(gai));
    uint64_t end_ns = end_of(timeout_ns);
    int err = -EHOSTUNREACH;
    for (const struct addrinfo *to = list; to && err && err != -EINTR; to = to->ai_next)
        err = connect_one(to, end_ns, out_fd);
    freeaddrinfo(list);
    if (err)
        return net_error_set(why, -err, "cannot connect to %s, TCP port %u: %s%s", host, port, strerror(-err),
                             cli_tcp_remedy(-err));
    return 0;
}

/* A listening socket on the wildcard of one family, or -errno. */
static int listen_on(int family, uint16_t port)
{
    int fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return -errno;
    int on = 1, off = 0;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    bool is_v6 = family == AF_INET6;
    if (is_v6)
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    const struct sockaddr *addr = is_v6 ? (const struct sockaddr *)&v6 : (const struct sockaddr *)&v4;
    if (bind(fd, addr, is_v6 ? sizeof v6 : sizeof v4) == 0 && listen(fd, 1) == 0)
        return fd;
    int err = -errno;
    close(fd);
    return err;
}

int cli_tcp_listen(uint16_t port, int *out_fd, struct nornic_error *why)
{
    int fd = listen_on(AF_INET6, port);
    if (fd == -EAFNOSUPPORT || fd == -EADDRNOTAVAIL)
        fd = listen_on(AF_INET, port); /* a machine without IPv6 */
    if (fd < 0)
        return net_error_set(why, -fd, "cannot listen on TCP port %u: %s; choose another with -p", port,
                             strerror(-fd));
    *out_fd = fd;
    return 0;
}

int cli_tcp_accept(int listen_fd, int *out_fd, struct nornic_error *why)
{
    for (;;) {
        int err = wait_for(listen_fd, POLLIN, UINT64_MAX);
        if (err)
            return net_error_set(why, -err, "stopped while it waited for a client");
        int fd = accept(listen_fd, NULL, NULL);
        if (fd >= 0) {
            fcntl(fd, F_SETFD, FD_CLOEXEC);
            fcntl(fd, F_SETFL, O_NONBLOCK);
            keep_alive(fd);
            *out_fd = fd;
            return 0;
        }
        if (errno != EAGAIN && errno != ECONNABORTED && errno != EINTR)
            return net_error_set(why, errno, "cannot accept a connection: %s", strerror(errno));
    }
}

static int say_io_error(int err, struct nornic_error *why)
{
    if (err == -EINTR)
        return net_error_set(why, EINTR, "stopped");
    if (err == -ECONNRESET)
        return net_error_set(why, ECONNRESET, "the peer closed the TCP connection");
    if (err == -ETIMEDOUT)
        return net_error_set(why, ETIMEDOUT, "the peer said nothing on the TCP connection in time");
    return net_error_set(why, -err, "the TCP connection failed: %s", strerror(-err));
}

int cli_tcp_read(int fd, void *buf, size_t len_bytes, uint64_t timeout_ns, struct nornic_error *why)
{
    uint64_t end_ns = end_of(timeout_ns);
    for (size_t done = 0; done < len_bytes;) {
        ssize_t got = recv(fd, (char *)buf + done, len_bytes - done, MSG_DONTWAIT);
        int err = got > 0 ? 0 : got == 0 ? -ECONNRESET : -errno;
        if (err == -EAGAIN || err == -EINTR)
            err = wait_for(fd, POLLIN, end_ns);
        if (err)
            return say_io_error(err, why);
        done += got > 0 ? (size_t)got : 0;
    }
    return 0;
}

int cli_tcp_write(int fd, const void *buf, size_t len_bytes, uint64_t timeout_ns, struct nornic_error *why)
{
    uint64_t end_ns = end_of(timeout_ns);
    for (size_t done = 0; done < len_bytes;) {
        ssize_t sent = send(fd, (const char *)buf + done, len_bytes - done, MSG_DONTWAIT | MSG_NOSIGNAL);
        int err = sent >= 0 ? 0 : errno == EPIPE ? -ECONNRESET : -errno;
        if (err == -EAGAIN || err == -EINTR)
            err = wait_for(fd, POLLOUT, end_ns);
        if (err)
            return say_io_error(err, why);
        done += sent > 0 ? (size_t)sent : 0;
    }
    return 0;
}

/* Of a connection: getsockname() or getpeername(). */
static bool addr_of(int fd, int (*ask)(int fd, struct sockaddr *addr, socklen_t *len),
                    struct nornic_addr *out)
{
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } addr = {.any = {.sa_family = AF_UNSPEC}};
    socklen_t len = sizeof addr;
    if (ask(fd, &addr.any, &len) != 0)
        return false;
    if (addr.any.sa_family == AF_INET)
        *out = nornic_addr_from_v4((const uint8_t *)&addr.v4.sin_addr);
    else if (addr.any.sa_family == AF_INET6)
        memcpy(out->b, &addr.v6.sin6_addr,
               sizeof out->b); /* ::ffff:a.b.c.d for IPv4: as struct nornic_addr has it */
    else
        return false;
    return true;
}

bool cli_tcp_local_addr(int fd, struct nornic_addr *out)
{
    return addr_of(fd, getsockname, out);
}

bool cli_tcp_peer_addr(int fd, struct nornic_addr *out)
{
    return addr_of(fd, getpeername, out);
}
