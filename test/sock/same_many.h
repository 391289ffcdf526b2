/* SPDX-License-Identifier: BSD-2-Clause */
/* Many connections at once, and many one after the other. */
#include "test/sock/same_common.h"

#define MANY       100
#define MANY_BYTES 20000

/* One client among the many: sends, shuts down, and wants its bytes back. */
struct one {
    int fd;
    size_t sent, got;
    bool is_connected, is_wrong, is_done;
};

static void drive_one(struct one *o, int number)
{
    uint8_t bytes[4096], expected[4096];
    ssize_t n = 1;
    if (!o->is_connected) {
        o->is_wrong |= so_error(o->fd) != 0;
        o->is_connected = true;
    }
    while (o->sent < MANY_BYTES && n > 0) {
        size_t len = MANY_BYTES - o->sent < sizeof bytes ? MANY_BYTES - o->sent : sizeof bytes;
        same_fill(bytes, len, o->sent + (size_t)number * 1000);
        n = CALL(send)(o->fd, bytes, len, 0);
        o->sent += n > 0 ? (size_t)n : 0;
        if (o->sent == MANY_BYTES)
            CALL(shutdown)(o->fd, SHUT_WR);
    }
    while ((n = CALL(recv)(o->fd, bytes, sizeof bytes, 0)) > 0) {
        same_fill(expected, (size_t)n, o->got + (size_t)number * 1000);
        o->is_wrong |= memcmp(bytes, expected, (size_t)n) != 0;
        o->got += (size_t)n;
    }
    o->is_done = n == 0 || errno != EAGAIN;
    o->is_wrong |= o->is_done && (n != 0 || o->got != MANY_BYTES);
}

static void many_client(struct same *s)
{
    struct one *all = calloc(MANY, sizeof *all);
    int ep = epoll_create1(EPOLL_CLOEXEC), left = MANY, wrong = 0;
    same_step(s);
    for (int i = 0; i < MANY; i++) {
        all[i].fd = CALL(socket)(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        CALL(connect)(all[i].fd, (struct sockaddr *)&s->server, sizeof s->server);
        struct epoll_event event = {.events = EPOLLIN | EPOLLOUT | EPOLLET, .data.u32 = (uint32_t)i};
        epoll_ctl(ep, EPOLL_CTL_ADD, all[i].fd, &event);
    }
    while (left > 0) {
        struct epoll_event events[32];
        int n = epoll_wait(ep, events, 32, 10000);
        if (n <= 0)
            break;
        for (int i = 0; i < n; i++) {
            struct one *o = &all[events[i].data.u32];
            if (o->is_done || (!o->is_connected && !(events[i].events & (EPOLLOUT | EPOLLERR))) ||
                (events[i].events & EPOLLHUP && !o->is_connected && so_error(o->fd) == 0))
                continue;
            drive_one(o, (int)events[i].data.u32);
            left -= o->is_done;
        }
    }
    for (int i = 0; i < MANY; i++) {
        wrong += all[i].is_wrong;
        CALL(close)(all[i].fd);
    }
    same_say(s, "left %d, wrong %d", left, wrong);
    close(ep);
    free(all);
}

/* An echo server on level-triggered epoll: nothing is written that cannot be. */
struct echo {
    char bytes[8192];
    size_t begin, end;
    bool has_ended;
};

static bool serve_one(int fd, struct echo *e)
{
    ssize_t n = 1;
    if (e->begin == e->end && !e->has_ended) {
        n = CALL(recv)(fd, e->bytes, sizeof e->bytes, 0);
        if (n < 0)
            return errno == EAGAIN;
        e->has_ended = n == 0;
        e->begin = 0;
        e->end = (size_t)n;
    }
    while (e->begin < e->end && n > 0) {
        n = CALL(send)(fd, e->bytes + e->begin, e->end - e->begin, 0);
        e->begin += n > 0 ? (size_t)n : 0;
    }
    if (n < 0 && errno != EAGAIN)
        return false;
    return !(e->has_ended && e->begin == e->end);
}

static void many_server(struct same *s)
{
    struct echo *echos = calloc(4 * MANY + 64, sizeof *echos);
    int l = listen_on(s, MANY), ep = epoll_create1(EPOLL_CLOEXEC), accepted = 0, closed = 0;
    struct epoll_event event = {.events = EPOLLIN, .data.fd = l};
    set_nonblocking(l, true);
    epoll_ctl(ep, EPOLL_CTL_ADD, l, &event);
    same_step(s);
    while (closed < MANY) {
        struct epoll_event events[32];
        int n = epoll_wait(ep, events, 32, 10000);
        if (n <= 0)
            break;
        for (int i = 0; i < n; i++) {
            int fd = events[i].data.fd;
            if (fd == l) {
                while ((fd = CALL(accept4)(l, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
                    memset(&echos[fd], 0, sizeof *echos);
                    event = (struct epoll_event){.events = EPOLLIN, .data.fd = fd};
                    epoll_ctl(ep, EPOLL_CTL_ADD, fd, &event);
                    accepted++;
                }
                continue;
            }
            bool goes_on = serve_one(fd, &echos[fd]);
            event = (struct epoll_event){.events = echos[fd].begin < echos[fd].end ? EPOLLOUT : EPOLLIN,
                                         .data.fd = fd};
            epoll_ctl(ep, EPOLL_CTL_MOD, fd, &event);
            if (!goes_on) {
                CALL(close)(fd);
                closed++;
            }
        }
    }
    same_say(s, "accepted %d, closed %d", accepted, closed);
    CALL(close)(l);
    close(ep);
    free(echos);
}

#define TURNS 50

static void in_turn_client(struct same *s)
{
    int good = 0;
    same_step(s);
    for (int i = 0; i < TURNS; i++) {
        char c = (char)('a' + i % 26), back = 0;
        int fd = connect_to(s);
        good += send_all(fd, &c, 1) && recv_all(fd, &back, 1) == 1 && back == c;
        CALL(close)(fd);
    }
    same_say(s, "%d good", good);
}

static void in_turn_server(struct same *s)
{
    int l = listen_on(s, 4), good = 0;
    same_step(s);
    for (int i = 0; i < TURNS; i++) {
        char c;
        int fd = CALL(accept)(l, NULL, NULL);
        good += recv_all(fd, &c, 1) == 1 && send_all(fd, &c, 1);
        good += CALL(recv)(fd, &c, 1, 0) == 0;
        CALL(close)(fd);
    }
    same_say(s, "%d good", good);
    CALL(close)(l);
}
