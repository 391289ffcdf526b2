/* SPDX-License-Identifier: BSD-2-Clause */
/* Random calls of TCP sockets, which do not block for long. They listen at all addresses, and connect to
 * ADDRESS: another run is there. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "test/verbs/random/random.h"

#define SOCKETS      12
#define PORT         7300
#define PORTS        4
#define WAIT_MS      20
#define MEMORY_BYTES 65536

struct own {
    int fds[SOCKETS]; /* -1: none */
    int epoll;
    uint8_t memory[MEMORY_BYTES];
};

static uint32_t any_bytes(struct random_player *p)
{
    return random_below(p, random_one_in(p, 8) ? MEMORY_BYTES : 500);
}

static void make(struct random_player *p, struct own *own, unsigned i)
{
    own->fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | (random_one_in(p, 2) ? SOCK_CLOEXEC : 0), 0);
    random_count_call(p, own->fds[i] < 0);
}

static void listen_to(struct random_player *p, struct own *own, int fd)
{
    const int on = 1;
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(PORT + random_below(p, PORTS))};
    (void)own;
    (void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    random_count_call(p, bind(fd, (struct sockaddr *)&at, sizeof at));
    random_count_call(p, listen(fd, random_count(p, 8)));
}

static void connect_to(struct random_player *p, struct own *own, int fd)
{
    struct sockaddr_in to = {
        .sin_family = AF_INET, .sin_port = htons(PORT + random_below(p, PORTS)), .sin_addr = p->addr};
    (void)own;
    random_count_call(p, connect(fd, (struct sockaddr *)&to, random_one_in(p, 20) ? 3 : sizeof to));
}

static void accept_one(struct random_player *p, struct own *own, int fd)
{
    unsigned i = random_below(p, SOCKETS);
    int fresh = accept4(fd, NULL, NULL, SOCK_NONBLOCK);
    random_count_call(p, fresh < 0);
    if (fresh < 0)
        return;
    if (own->fds[i] >= 0)
        random_count_call(p, close(own->fds[i]));
    own->fds[i] = fresh;
}

static void send_some(struct random_player *p, struct own *own, int fd)
{
    uint32_t bytes = any_bytes(p);
    struct iovec parts[2] = {{own->memory, bytes / 2}, {own->memory + bytes / 2, bytes - bytes / 2}};
    struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
    int flags = MSG_DONTWAIT | MSG_NOSIGNAL | (random_one_in(p, 20) ? MSG_OOB : 0) |
                (random_one_in(p, 5) ? MSG_MORE : 0);
    switch (random_below(p, 4)) {
    case 0:
        random_count_call(p, send(fd, own->memory, bytes, flags) < 0);
        break;
    case 1:
        random_count_call(p, write(fd, own->memory, bytes) < 0);
        break;
    case 2:
        random_count_call(p, writev(fd, parts, 2) < 0);
        break;
    default:
        random_count_call(p, sendmsg(fd, &msg, flags) < 0);
        break;
    }
}

static void receive_some(struct random_player *p, struct own *own, int fd)
{
    uint32_t bytes = any_bytes(p);
    struct iovec parts[2] = {{own->memory, bytes / 2}, {own->memory + bytes / 2, bytes - bytes / 2}};
    struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
    int flags = MSG_DONTWAIT | (random_one_in(p, 6) ? MSG_PEEK : 0) | (random_one_in(p, 20) ? MSG_OOB : 0);
    switch (random_below(p, 4)) {
    case 0:
        random_count_call(p, recv(fd, own->memory, bytes, flags) < 0);
        break;
    case 1:
        random_count_call(p, read(fd, own->memory, bytes) < 0);
        break;
    case 2:
        random_count_call(p, readv(fd, parts, 2) < 0);
        break;
    default:
        random_count_call(p, recvmsg(fd, &msg, flags) < 0);
        break;
    }
}

static void wait_some(struct random_player *p, struct own *own, int fd)
{
    struct epoll_event event = {.events = EPOLLIN | (random_one_in(p, 2) ? EPOLLET : 0)};
    struct pollfd wait = {fd, (short)random_below(p, 64), 0};
    struct timeval left = {.tv_usec = (suseconds_t)random_below(p, 1000 * WAIT_MS)};
    fd_set readable;
    int ready;
    FD_ZERO(&readable);
    switch (random_below(p, 3)) {
    case 0:
        ready = poll(&wait, 1, (int)random_below(p, WAIT_MS));
        break;
    case 1:
        if (fd < FD_SETSIZE)
            FD_SET(fd, &readable);
        ready = select(fd < FD_SETSIZE ? fd + 1 : 0, &readable, NULL, NULL, &left);
        break;
    default:
        (void)epoll_ctl(own->epoll, random_one_in(p, 2) ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, fd, &event);
        ready = epoll_wait(own->epoll, &event, 1, (int)random_below(p, WAIT_MS));
        break;
    }
    random_count_call(p, ready < 0);
    atomic_fetch_add(&p->shared->events, ready > 0);
}

static void set_option(struct random_player *p, struct own *own, int fd)
{
    static const struct {
        int level, name;
    } options[] = {{IPPROTO_TCP, TCP_NODELAY}, {IPPROTO_TCP, TCP_CORK},     {SOL_SOCKET, SO_KEEPALIVE},
                   {SOL_SOCKET, SO_RCVBUF},    {SOL_SOCKET, SO_SNDBUF},     {SOL_SOCKET, SO_OOBINLINE},
                   {SOL_SOCKET, SO_RCVLOWAT},  {IPPROTO_TCP, TCP_KEEPIDLE}, {SOL_SOCKET, SO_ERROR}};
    unsigned which = random_below(p, sizeof options / sizeof *options);
    int value = random_count(p, 3);
    struct linger linger = {.l_onoff = 1};
    socklen_t len = sizeof value;
    (void)own;
    if (random_one_in(p, 10))
        random_count_call(p, setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    else if (random_one_in(p, 2))
        random_count_call(p, setsockopt(fd, options[which].level, options[which].name, &value, sizeof value));
    else
        random_count_call(p, getsockopt(fd, options[which].level, options[which].name, &value, &len));
}

static void look_at(struct random_player *p, struct own *own, int fd)
{
    struct sockaddr_storage name;
    socklen_t len = random_below(p, sizeof name);
    int bytes, copy;
    random_count_call(p, getsockname(fd, (struct sockaddr *)&name, &len));
    random_count_call(p, getpeername(fd, (struct sockaddr *)&name, &len));
    random_count_call(p, ioctl(fd, FIONREAD, &bytes));
    unsigned i = random_below(p, SOCKETS);
    if (own->fds[i] >= 0)
        return;
    copy = dup(fd);
    random_count_call(p, copy < 0);
    own->fds[i] = copy;
}

static void shut(struct random_player *p, struct own *own, int fd)
{
    (void)own;
    random_count_call(p, shutdown(fd, (int)random_below(p, 4)));
}

/* Uses inherited sockets, as a server's child does. */
static void in_child(struct random_player *p)
{
    for (unsigned i = 0; i < 20; i++) {
        struct own *own = p->own;
        int fd = own->fds[random_below(p, SOCKETS)];
        if (fd >= 0 && random_one_in(p, 2))
            send_some(p, own, fd);
        else if (fd >= 0)
            receive_some(p, own, fd);
    }
}

static void begin(struct random_player *p)
{
    struct own *own = calloc(1, sizeof *own);
    for (unsigned i = 0; own && i < SOCKETS; i++)
        own->fds[i] = -1;
    if (own)
        own->epoll = epoll_create1(EPOLL_CLOEXEC);
    p->own = own;
}

static void step(struct random_player *p)
{
    static void (*const calls[])(struct random_player *, struct own *, int) = {
        listen_to, connect_to, connect_to, accept_one,   accept_one, send_some,    send_some,   send_some,
        wait_some, set_option, look_at,    receive_some, shut,       receive_some, receive_some};
    struct own *own = p->own;
    unsigned i = random_below(p, SOCKETS);
    if (!own)
        return;
    if (own->fds[i] < 0) {
        make(p, own, i);
    } else if (random_one_in(p, 30)) {
        random_count_call(p, close(own->fds[i]));
        own->fds[i] = -1;
    } else if (random_one_in(p, 2000)) {
        random_fork(p, in_child);
    } else {
        calls[random_below(p, sizeof calls / sizeof *calls)](p, own, own->fds[i]);
    }
}

static void end(struct random_player *p)
{
    struct own *own = p->own;
    for (unsigned i = 0; own && i < SOCKETS; i++)
        if (own->fds[i] >= 0 && random_one_in(p, 2))
            (void)close(own->fds[i]);
}

const struct random_kind random_sockets = {"sockets", begin, step, end};
