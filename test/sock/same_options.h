/* SPDX-License-Identifier: BSD-2-Clause */
/* Options by what they do, not by what getsockopt() says of them. */
#include "test/sock/same_common.h"

/* A connection begins with the options of its listener. */
static void inherited_client(struct same *s)
{
    char text[16] = "";
    int fd = reach_server(s);
    same_step(s);
    send_all(fd, "123", 3);
    same_step(s);
    send_all(fd, "45", 2);
    CALL(send)(fd, "U", 1, MSG_OOB);
    same_step(s);
    same_step(s);
    while (CALL(recv)(fd, text, sizeof text, 0) > 0)
        ;
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, 1, 0)));
    CALL(close)(fd);
    same_step(s);
}

static void say_value(struct same *s, int fd, const char *name, int level, int option)
{
    int value = -1;
    socklen_t len = sizeof value;
    CALL(getsockopt)(fd, level, option, &value, &len);
    same_say(s, "%s %d", name, value);
}

static const char *in_time(uint64_t begin_ms)
{
    uint64_t ms = now_ms() - begin_ms;
    return ms < 100 ? "too early" : ms < 1600 ? "in time" : "too late";
}

static void say_inherited(struct same *s, int fd)
{
    static char bytes[1 << 16];
    char text[16] = "";
    int waiting = 0;
    uint64_t begin = now_ms();
    say_value(s, fd, "NODELAY", IPPROTO_TCP, TCP_NODELAY);
    say_value(s, fd, "KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE);
    same_say(s, "recv %s %s", same_result(CALL(recv)(fd, text, 1, 0)), in_time(begin));
    same_step(s);
    while (waiting < 3)
        CALL(ioctl)(fd, FIONREAD, &waiting);
    same_say(s, "below SO_RCVLOWAT: %d", (seen(fd) & POLLIN) != 0);
    same_step(s);
    same_say(s, "above: %d", (await(fd, POLLIN) & POLLIN) != 0);
    same_say(s, "up to the mark: %zu", recv_all(fd, text, 5));
    same_say(s, "in line: %zu %c", recv_all(fd, text, 1), text[0]);
    same_step(s);
    do
        begin = now_ms();
    while (CALL(send)(fd, bytes, sizeof bytes, 0) == sizeof bytes);
    same_say(s, "send %s", in_time(begin));
}

static void inherited_server(struct same *s)
{
    struct timeval tv = {.tv_usec = 100000};
    struct linger linger = {.l_onoff = 1, .l_linger = 1};
    int l = listen_on(s, 8), on = 1, least = 5;
    CALL(setsockopt)(l, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    CALL(setsockopt)(l, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    CALL(setsockopt)(l, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
    CALL(setsockopt)(l, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    CALL(setsockopt)(l, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    CALL(setsockopt)(l, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof tv);
    CALL(setsockopt)(l, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    same_step(s);
    int fd = CALL(accept)(l, NULL, NULL);
    say_inherited(s, fd);
    uint64_t begin = now_ms();
    CALL(close)(fd);
    same_say(s, "close %s", in_time(begin)); /* the client takes nothing */
    same_step(s);
    CALL(close)(l);
    same_step(s);
}

/* SO_RCVLOWAT above all that there is room for: what fills the room is enough. */
static void lowat_large_client(struct same *s)
{
    char *bytes = calloc(1, 400000);
    int fd = reach_server(s);
    same_step(s);
    same_say(s, "sent %d", send_all(fd, bytes, 400000));
    same_step(s);
    CALL(close)(fd);
    free(bytes);
}

static void lowat_large_server(struct same *s)
{
    char *bytes = calloc(1, 400000);
    int l = listen_on(s, 8), room = 200000, least = 300000;
    CALL(setsockopt)(l, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    same_step(s);
    int fd = CALL(accept)(l, NULL, NULL);
    same_say(s, "set %s", same_result(CALL(setsockopt)(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least)));
    same_step(s);
    same_say(s, "poll %s", same_events(await(fd, POLLIN)));
    least = 1;
    CALL(setsockopt)(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    same_say(s, "recv %zu", recv_all(fd, bytes, 400000));
    same_step(s);
    CALL(close)(fd);
    CALL(close)(l);
    free(bytes);
}

/* A read waits for SO_RCVLOWAT bytes, if it wants so many. */
static void lowat_recv_client(struct same *s)
{
    int fd = reach_server(s);
    for (int i = 0; i < 2; i++) {
        send_all(fd, "123", 3);
        same_step(s);
        usleep(50000);
        send_all(fd, "456789", 6);
        same_step(s);
    }
    CALL(close)(fd);
}

static void lowat_recv_server(struct same *s)
{
    char text[16];
    int fd = accept_one(s), least = 6;
    CALL(setsockopt)(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    same_step(s);
    ssize_t n = CALL(recv)(fd, text, sizeof text, 0);
    same_say(s, "recv %d", n >= 6);
    while (n < 9)
        n += CALL(recv)(fd, text, 1, 0);
    same_step(s);
    same_step(s);
    n = CALL(recv)(fd, text, 3, 0); /* fewer are wanted */
    same_say(s, "recv %zd", n);
    same_step(s);
    CALL(close)(fd);
}

/* What can be sent to somebody who does not read: with small buffers little, with large ones much. */
static size_t fill(int fd)
{
    static const char bytes[4096];
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    size_t sent = 0;
    do
        for (ssize_t n; (n = CALL(send)(fd, bytes, sizeof bytes, MSG_DONTWAIT)) > 0;)
            sent += (size_t)n;
    while (poll(&p, 1, 600) == 1); /* who moves the bytes may have to wait for a processor */
    return sent;
}

static void sizes_client(struct same *s)
{
    static const int rooms[] = {4096, 200000, 4096, 200000};
    for (int i = 0; i < 4; i++) {
        int fd = CALL(socket)(AF_INET, SOCK_STREAM, 0);
        CALL(setsockopt)(fd, SOL_SOCKET, SO_SNDBUF, &rooms[i], sizeof rooms[i]);
        same_step(s);
        CALL(connect)(fd, (struct sockaddr *)&s->server, sizeof s->server);
        size_t sent = fill(fd);
        same_say(s, "%s", sent < 60000 ? "little" : sent < 200000 ? "some" : "much");
        fprintf(s->out, "#%zu bytes\n", sent);
        same_step(s);
        CALL(close)(fd);
    }
}

static void sizes_server(struct same *s)
{
    static const int rooms[] = {4096, 4096, 200000, 200000};
    for (int i = 0; i < 4; i++) {
        int l = listen_on(s, 8);
        CALL(setsockopt)(l, SOL_SOCKET, SO_RCVBUF, &rooms[i], sizeof rooms[i]);
        same_step(s);
        int fd = CALL(accept)(l, NULL, NULL);
        same_step(s);
        CALL(close)(fd);
        CALL(close)(l);
    }
}
