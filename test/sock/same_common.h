/* SPDX-License-Identifier: BSD-2-Clause */
/* What the programs share; all static, since it is compiled twice. */
#ifndef NORNIC_TEST_SOCK_SAME_COMMON_H
#define NORNIC_TEST_SOCK_SAME_COMMON_H

#include "test/sock/calls.h"

static int connect_to(struct same *s)
{
    int fd = CALL(socket)(AF_INET, SOCK_STREAM, 0);
    if (CALL(connect)(fd, (struct sockaddr *)&s->server, sizeof s->server) != 0)
        same_say(s, "connect: %s", strerrorname_np(errno));
    return fd;
}

static int listen_on(struct same *s, int backlog)
{
    int fd = CALL(socket)(AF_INET, SOCK_STREAM, 0), on = 1;
    CALL(setsockopt)(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (CALL(bind)(fd, (struct sockaddr *)&s->server, sizeof s->server) != 0)
        same_say(s, "bind: %s", strerrorname_np(errno));
    if (CALL(listen)(fd, backlog) != 0)
        same_say(s, "listen: %s", strerrorname_np(errno));
    return fd;
}

/* One connection: the server's side. */
static int accept_one(struct same *s)
{
    int l = listen_on(s, 8);
    same_step(s);
    int fd = CALL(accept)(l, NULL, NULL);
    if (fd < 0)
        same_say(s, "accept: %s", strerrorname_np(errno));
    CALL(close)(l);
    return fd;
}

static int reach_server(struct same *s)
{
    same_step(s);
    return connect_to(s);
}

static bool send_all(int fd, const void *bytes, size_t n)
{
    const char *at = bytes;
    while (n > 0) {
        ssize_t sent = CALL(send)(fd, at, n, 0);
        if (sent <= 0)
            return false;
        at += sent;
        n -= (size_t)sent;
    }
    return true;
}

/* Until `n` or the end. Returns how many came. */
static size_t recv_all(int fd, void *bytes, size_t n)
{
    char *at = bytes;
    size_t left = n;
    while (left > 0) {
        ssize_t got = CALL(recv)(fd, at, left, 0);
        if (got <= 0)
            break;
        at += got;
        left -= (size_t)got;
    }
    return n - left;
}

/* What poll() shows when the peer has ended its half, when both halves have ended, and after a reset. */
#define ENDED (POLLIN | POLLOUT | POLLRDHUP)
#define GONE  (ENDED | POLLHUP)
#define RESET (GONE | POLLERR)

/* Waits at most five seconds until all of `events` are seen, and returns what is seen of them, POLLHUP and
 * POLLERR then. Until all of them: neither the kernel's TCP nor a mirror changes its whole state at once,
 * and a look may fall into the midst of a reset (POLLERR, but not yet POLLOUT). */
static short await(int fd, short events)
{
    struct pollfd p = {.fd = fd, .events = events};
    for (int ms = 0; ms < 5000 && (p.revents & events) != events; ms++)
        if (poll(&p, 1, 5000) == 1 && (p.revents & events) != events)
            usleep(1000);
    return p.revents;
}

/* All that can be seen now. */
static short seen(int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP};
    return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

static void set_nonblocking(int fd, bool on)
{
    int flags = CALL(fcntl)(fd, F_GETFL, 0);
    CALL(fcntl)(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK);
}

static uint64_t now_ms(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static int so_error(int fd)
{
    int error = -1;
    socklen_t len = sizeof error;
    CALL(getsockopt)(fd, SOL_SOCKET, SO_ERROR, &error, &len);
    return error;
}

static const char *error_name(int error)
{
    return error ? strerrorname_np(error) : "none";
}

static int select_one(int fd, bool *r, bool *w, bool *e, int ms)
{
    fd_set rs, ws, es;
    struct timeval tv = {.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
    FD_ZERO(&rs);
    FD_ZERO(&ws);
    FD_ZERO(&es);
    if (*r)
        FD_SET(fd, &rs);
    if (*w)
        FD_SET(fd, &ws);
    if (*e)
        FD_SET(fd, &es);
    int n = select(fd + 1, &rs, &ws, &es, &tv);
    *r = FD_ISSET(fd, &rs);
    *w = FD_ISSET(fd, &ws);
    *e = FD_ISSET(fd, &es);
    return n;
}

static int epoll_on(int fd, uint32_t events)
{
    int ep = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event event = {.events = events};
    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
    return ep;
}

static short next_event(int ep, int ms)
{
    struct epoll_event event;
    return epoll_wait(ep, &event, 1, ms) == 1 ? (short)event.events : 0;
}

#endif
