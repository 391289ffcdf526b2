/* SPDX-License-Identifier: BSD-2-Clause */
/* Readiness, as poll(), select() and epoll see it. */
#include "test/sock/same_common.h"

/* Writes until there is no room. Returns whether all went as it should; how much it takes is the system's. */
static bool fill_up(int fd, size_t *sent)
{
    static const char bytes[65536];
    ssize_t n;
    while ((n = CALL(send)(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0)
        *sent += (size_t)n;
    return n == -1 && errno == EAGAIN && *sent >= 65536;
}

/* Until the writer has no room and nothing moves: what is on its way may still make room. */
static bool fill_for_good(int fd, size_t *sent)
{
    bool ok = fill_up(fd, sent);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    while (ok && poll(&p, 1, 200) == 1)
        ok = fill_up(fd, sent);
    return ok;
}

static void polling_client(struct same *s)
{
    size_t sent = 0;
    char c;
    int fd = reach_server(s);
    same_say(s, "fresh: %s", same_events(seen(fd)));
    same_say(s, "filled %d", fill_for_good(fd, &sent));
    same_say(s, "full: %s", same_events(seen(fd)));
    fprintf(s->out, "#sent %zu\n", sent); /* not compared */
    same_step(s);
    same_say(s, "room: %s", same_events(await(fd, POLLOUT)));
    same_step(s);
    same_say(s, "data: %s", same_events(await(fd, POLLIN) & POLLIN));
    same_say(s, "recv %zu", recv_all(fd, &c, 1));
    same_say(s, "drained: %d", (seen(fd) & POLLIN) != 0);
    CALL(shutdown)(fd, SHUT_WR);
    same_say(s, "end: %s", same_events(await(fd, POLLIN) & POLLIN));
    same_say(s, "both ends: %s", same_events(await(fd, GONE)));
    CALL(close)(fd);
}

static void polling_server(struct same *s)
{
    char *bytes = malloc(1 << 20);
    size_t left = 0, got = 0;
    int fd = accept_one(s);
    same_step(s);
    while (await(fd, POLLIN) & POLLIN && left++ < 100000) {
        ssize_t n = CALL(recv)(fd, bytes, 1 << 20, MSG_DONTWAIT);
        got += n > 0 ? (size_t)n : 0;
        struct pollfd p = {.fd = fd, .events = POLLIN};
        if (poll(&p, 1, 300) == 0)
            break;
    }
    same_say(s, "drained: %s", same_events(seen(fd)));
    fprintf(s->out, "#got %zu\n", got);
    same_step(s);
    send_all(fd, "x", 1);
    while (CALL(recv)(fd, bytes, 1 << 20, 0) > 0)
        ;
    same_say(s, "end: %s", same_events(await(fd, ENDED)));
    CALL(close)(fd);
    free(bytes);
}

static void selecting_client(struct same *s)
{
    int fd = reach_server(s);
    bool r = true, w = true, e = true;
    int n = select_one(fd, &r, &w, &e, 0);
    same_say(s, "fresh %d: %d %d %d", n, r, w, e);
    send_all(fd, "a", 1);
    same_step(s);
    CALL(send)(fd, "!", 1, MSG_OOB);
    same_step(s);
    CALL(close)(fd);
}

static void selecting_server(struct same *s)
{
    char c;
    int fd = accept_one(s);
    bool r = true, w = false, e = true;
    int n = select_one(fd, &r, &w, &e, 5000);
    same_say(s, "data %d: %d %d %d", n, r, w, e);
    recv_all(fd, &c, 1);
    r = e = true;
    n = select_one(fd, &r, &w, &e, 0);
    same_say(s, "drained %d: %d %d %d", n, r, w, e);
    same_step(s);
    e = true;
    r = false;
    n = select_one(fd, &r, &w, &e, 5000);
    same_say(s, "urgent %d: %d", n, e);
    same_step(s);
    r = true;
    e = false;
    n = select_one(fd, &r, &w, &e, 5000);
    same_say(s, "end %d: %d", n, r);
    CALL(close)(fd);
}

static void epoll_level_client(struct same *s)
{
    int fd = reach_server(s), ep = epoll_on(fd, EPOLLOUT | EPOLLIN | EPOLLRDHUP);
    same_say(s, "%s", same_events(next_event(ep, 1000)));
    same_say(s, "%s", same_events(next_event(ep, 0)));
    send_all(fd, "abc", 3);
    same_step(s);
    same_step(s);
    CALL(shutdown)(fd, SHUT_WR);
    same_step(s);
    close(ep);
    CALL(close)(fd);
}

static void epoll_level_server(struct same *s)
{
    char c;
    int fd = accept_one(s), ep = epoll_on(fd, EPOLLIN | EPOLLRDHUP);
    same_step(s);
    same_say(s, "data %s", same_events(next_event(ep, 5000) & POLLIN));
    for (int i = 0; i < 3; i++) {
        recv_all(fd, &c, 1);
        same_say(s, "%d: %s", i, same_events(next_event(ep, i < 2 ? 5000 : 0) & (i < 2 ? POLLIN : ~0)));
    }
    same_step(s);
    same_step(s);
    await(fd, POLLRDHUP);
    same_say(s, "end %s", same_events(next_event(ep, 5000)));
    same_say(s, "end %s", same_events(next_event(ep, 5000)));
    close(ep);
    CALL(close)(fd);
}

/* Each event of an edge-triggered watch is told once; new bytes are news although older ones wait. */
static void epoll_edge_client(struct same *s)
{
    size_t sent = 0;
    int fd = reach_server(s), ep = epoll_on(fd, EPOLLIN | EPOLLOUT | EPOLLET);
    same_say(s, "%s", same_events(next_event(ep, 1000)));
    same_say(s, "%s", same_events(next_event(ep, 0)));
    for (int i = 0; i < 3; i++) {
        send_all(fd, "ab", 2);
        same_step(s);
        same_step(s);
    }
    same_step(s);
    while (next_event(ep, 0))
        ;
    same_say(s, "filled %d", fill_for_good(fd, &sent));
    while (next_event(ep, 0))
        ;
    same_step(s);
    same_say(s, "room %s", same_events(next_event(ep, 5000) & POLLOUT));
    close(ep);
    CALL(close)(fd);
}

static void epoll_edge_server(struct same *s)
{
    char *bytes = malloc(1 << 20);
    int fd = accept_one(s), ep = epoll_on(fd, EPOLLIN | EPOLLET);
    while (!(seen(fd) & POLLIN) && next_event(ep, 0))
        ;
    for (int i = 0; i < 3; i++) {
        same_step(s);
        same_say(s, "%d: %s", i, same_events(next_event(ep, 5000)));
        recv_all(fd, bytes, 1);
        same_step(s);
    }
    same_say(s, "again: %s", same_events(next_event(ep, 50)));
    same_say(s, "left %s", same_result(CALL(recv)(fd, bytes, 3, MSG_WAITALL)));
    same_step(s);
    same_step(s);
    while (CALL(recv)(fd, bytes, 1 << 20, 0) > 0)
        ;
    close(ep);
    CALL(close)(fd);
    free(bytes);
}

static void connecting_client(struct same *s)
{
    same_step(s);
    int fd = CALL(socket)(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    int rc = CALL(connect)(fd, (struct sockaddr *)&s->server, sizeof s->server);
    same_say(s, "connect %s", same_result(rc));
    same_say(s, "%s", same_events(await(fd, POLLOUT)));
    same_say(s, "error %s", error_name(so_error(fd)));
    same_say(s, "again %s", same_result(CALL(connect)(fd, (struct sockaddr *)&s->server, sizeof s->server)));
    same_say(s, "again %s", same_result(CALL(connect)(fd, (struct sockaddr *)&s->server, sizeof s->server)));
    same_say(s, "listen %s", same_result(CALL(listen)(fd, 1)));
    same_say(s, "accept %s", same_result(CALL(accept)(fd, NULL, NULL)));
    same_say(s, "send %s", same_result(CALL(send)(fd, "x", 1, 0)));
    same_step(s);
    CALL(close)(fd);
}

static void connecting_server(struct same *s)
{
    char c;
    int fd = accept_one(s);
    same_say(s, "recv %zu", recv_all(fd, &c, 1));
    same_step(s);
    CALL(close)(fd);
}

static void accepting_client(struct same *s)
{
    same_step(s);
    int a = connect_to(s);
    send_all(a, "1", 1);
    same_step(s);
    same_step(s);
    CALL(close)(a);
}

static void accepting_server(struct same *s)
{
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    char c = 0;
    int l = listen_on(s, 1), on = -1;
    socklen_t on_len = sizeof on;
    set_nonblocking(l, true);
    same_say(s, "nobody: %s, %s", same_result(CALL(accept)(l, NULL, NULL)), same_events(seen(l)));
    same_say(s, "recv %s", same_result(CALL(recv)(l, &c, 1, 0)));
    same_say(s, "connect %s", same_result(CALL(connect)(l, (struct sockaddr *)&s->server, sizeof s->server)));
    CALL(getsockopt)(l, SOL_SOCKET, SO_ACCEPTCONN, &on, &on_len);
    same_say(s, "listens %d", on);
    same_step(s);
    same_say(s, "somebody: %s", same_events(await(l, POLLIN)));
    int fd = CALL(accept4)(l, (struct sockaddr *)&addr, &len, SOCK_NONBLOCK | SOCK_CLOEXEC);
    same_say(s, "accepted %d, family %d, %u bytes", fd >= 0, addr.ss_family, len);
    same_say(s, "flags %d %d", (CALL(fcntl)(fd, F_GETFL, 0) & O_NONBLOCK) != 0, CALL(fcntl)(fd, F_GETFD, 0));
    same_say(s, "nobody: %s, %s", same_result(CALL(accept)(l, NULL, NULL)), same_events(seen(l)));
    same_step(s);
    same_say(s, "%s", same_events(await(fd, POLLIN) & POLLIN));
    same_say(s, "recv %zu %c", recv_all(fd, &c, 1), '1');
    CALL(close)(l);
    same_step(s);
    CALL(close)(fd);
}
