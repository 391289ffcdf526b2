/* SPDX-License-Identifier: BSD-2-Clause */
/* Random calls of rsockets, streams and datagrams, which do not block. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <rdma/rsocket.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "test/verbs/random/random.h"

#define SOCKETS      10
#define PORT         7200
#define PORTS        4
#define WAIT_MS      20
#define MEMORY_BYTES 65536

struct own {
    int fds[SOCKETS]; /* -1: none */
    uint8_t memory[MEMORY_BYTES];
};

static struct sockaddr_in any_address(struct random_player *p)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(PORT + random_below(p, PORTS)), .sin_addr = p->addr};
}

static uint32_t any_bytes(struct random_player *p)
{
    return random_below(p, random_one_in(p, 8) ? MEMORY_BYTES : 500);
}

static void make(struct random_player *p, struct own *own, unsigned i)
{
    int type = random_one_in(p, 3) ? SOCK_DGRAM : SOCK_STREAM;
    own->fds[i] = rsocket(random_one_in(p, 20) ? (int)random_below(p, 20) : AF_INET, type, 0);
    random_count_call(p, own->fds[i] < 0);
    if (own->fds[i] >= 0)
        (void)rfcntl(own->fds[i], F_SETFL, O_NONBLOCK);
}

static void bind_to(struct random_player *p, struct own *own, int fd)
{
    struct sockaddr_in at = any_address(p);
    (void)own;
    random_count_call(p, rbind(fd, (struct sockaddr *)&at, sizeof at));
    random_count_call(p, rlisten(fd, random_count(p, 8)));
}

static void connect_to(struct random_player *p, struct own *own, int fd)
{
    struct sockaddr_in to = any_address(p);
    (void)own;
    random_count_call(p, rconnect(fd, (struct sockaddr *)&to, random_one_in(p, 20) ? 3 : sizeof to));
}

static void accept_one(struct random_player *p, struct own *own, int fd)
{
    unsigned i = random_below(p, SOCKETS);
    struct sockaddr_storage from;
    socklen_t len = random_below(p, sizeof from);
    int fresh = raccept(fd, (struct sockaddr *)&from, &len);
    random_count_call(p, fresh < 0);
    if (fresh < 0)
        return;
    (void)rfcntl(fresh, F_SETFL, O_NONBLOCK);
    if (own->fds[i] >= 0)
        random_count_call(p, rclose(own->fds[i]));
    own->fds[i] = fresh;
}

static void send_some(struct random_player *p, struct own *own, int fd)
{
    struct sockaddr_in to = any_address(p);
    uint32_t bytes = any_bytes(p);
    struct iovec parts[2] = {{own->memory, bytes / 2}, {own->memory + bytes / 2, bytes - bytes / 2}};
    struct msghdr msg = {.msg_iov = parts, .msg_iovlen = 2};
    int flags = MSG_DONTWAIT | (random_one_in(p, 10) ? (int)random_any(p) & ~MSG_WAITALL : 0);
    switch (random_below(p, 4)) {
    case 0:
        random_count_call(p, rsend(fd, own->memory, bytes, flags) < 0);
        break;
    case 1:
        random_count_call(p, rsendto(fd, own->memory, bytes, flags, (struct sockaddr *)&to, sizeof to) < 0);
        break;
    case 2:
        random_count_call(p, rwritev(fd, parts, 2) < 0);
        break;
    default:
        random_count_call(p, rsendmsg(fd, &msg, flags) < 0);
        break;
    }
}

static void receive_some(struct random_player *p, struct own *own, int fd)
{
    struct sockaddr_storage from;
    socklen_t len = sizeof from;
    uint32_t bytes = any_bytes(p);
    struct iovec parts[2] = {{own->memory, bytes / 2}, {own->memory + bytes / 2, bytes - bytes / 2}};
    int flags = MSG_DONTWAIT | (random_one_in(p, 6) ? MSG_PEEK : 0);
    switch (random_below(p, 3)) {
    case 0:
        random_count_call(p, rrecv(fd, own->memory, bytes, flags) < 0);
        break;
    case 1:
        random_count_call(p, rrecvfrom(fd, own->memory, bytes, flags, (struct sockaddr *)&from, &len) < 0);
        break;
    default:
        random_count_call(p, rreadv(fd, parts, 2) < 0);
        break;
    }
}

static void wait_some(struct random_player *p, struct own *own, int fd)
{
    struct pollfd fds[3] = {{fd, (short)random_below(p, 64), 0}};
    for (unsigned k = 1; k < 3; k++)
        fds[k] = (struct pollfd){own->fds[random_below(p, SOCKETS)], POLLIN, 0};
    int ready = rpoll(fds, 1 + random_below(p, 3), (int)random_below(p, WAIT_MS));
    random_count_call(p, ready < 0);
    atomic_fetch_add(&p->shared->events, ready > 0);
}

static void set_option(struct random_player *p, struct own *own, int fd)
{
    static const int levels[] = {SOL_SOCKET, IPPROTO_TCP, SOL_RDMA, IPPROTO_IPV6};
    int level = levels[random_below(p, 4)], name = (int)random_below(p, 40);
    socklen_t len = random_below(p, 9);
    uint64_t value = random_below(p, random_one_in(p, 8) ? UINT32_MAX : 100000);
    (void)own;
    if (random_one_in(p, 2))
        random_count_call(p, rsetsockopt(fd, level, name, &value, len));
    else
        random_count_call(p, rgetsockopt(fd, level, name, &value, &len));
}

static void use_names(struct random_player *p, struct own *own, int fd)
{
    struct sockaddr_storage name;
    socklen_t len = random_below(p, sizeof name);
    (void)own;
    random_count_call(p, rgetsockname(fd, (struct sockaddr *)&name, &len));
    len = random_below(p, sizeof name);
    random_count_call(p, rgetpeername(fd, (struct sockaddr *)&name, &len));
}

static void map(struct random_player *p, struct own *own, int fd)
{
    off_t at = riomap(fd, own->memory, any_bytes(p) + 1, PROT_WRITE, 0, random_one_in(p, 2) ? -1 : 0);
    random_count_call(p, at < 0);
    random_count_call(
        p, (long)riowrite(fd, own->memory, any_bytes(p), (off_t)random_below(p, 4096), MSG_DONTWAIT) < 0);
    if (at >= 0)
        random_count_call(p, riounmap(fd, own->memory, 1));
}

static void shut(struct random_player *p, struct own *own, int fd)
{
    (void)own;
    random_count_call(p, rshutdown(fd, (int)random_below(p, 4)));
}

static void begin(struct random_player *p)
{
    struct own *own = calloc(1, sizeof *own);
    for (unsigned i = 0; own && i < SOCKETS; i++)
        own->fds[i] = -1;
    p->own = own;
}

static void step(struct random_player *p)
{
    static void (*const calls[])(struct random_player *, struct own *, int) = {
        bind_to,   bind_to,   connect_to,   connect_to,   accept_one,  accept_one, accept_one,
        send_some, send_some, send_some,    send_some,    wait_some,   set_option, use_names,
        map,       shut,      receive_some, receive_some, receive_some};
    struct own *own = p->own;
    unsigned i = random_below(p, SOCKETS);
    if (!own)
        return;
    if (own->fds[i] < 0) {
        make(p, own, i);
    } else if (random_one_in(p, 30)) {
        random_count_call(p, rclose(own->fds[i]));
        own->fds[i] = -1;
    } else {
        calls[random_below(p, sizeof calls / sizeof *calls)](p, own, own->fds[i]);
    }
}

static void end(struct random_player *p)
{
    struct own *own = p->own;
    if (!own || !random_one_in(p, 2))
        return;
    for (unsigned i = 0; i < SOCKETS; i++)
        if (own->fds[i] >= 0)
            (void)rclose(own->fds[i]);
    free(own);
    p->own = NULL;
}

const struct random_kind random_rsockets = {"rsockets", begin, step, end};
