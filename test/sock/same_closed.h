/* SPDX-License-Identifier: BSD-2-Clause */
/* What is left of a connection when the peer, or one direction, has ended. */
#include "test/sock/same_common.h"

static volatile sig_atomic_t num_closed_pipes;
static void on_closed_pipe(int number)
{
    (void)number;
    num_closed_pipes++;
}

/* A client that asks, ends, and does not wait for the answer: its server still has to find out. */
static void answering_client(struct same *s)
{
    int fd = reach_server(s);
    send_all(fd, "request", 7);
    CALL(close)(fd);
    same_step(s);
    same_step(s);
}

static void answering_server(struct same *s)
{
    struct sigaction action = {.sa_handler = on_closed_pipe}, before;
    char text[16] = "";
    bool r = false, w = true, e = false;
    int fd = accept_one(s), ep = epoll_on(fd, EPOLLOUT);
    same_say(s, "recv %zu", recv_all(fd, text, 8));
    same_step(s);
    same_say(s, "poll %s", same_events(await(fd, POLLOUT)));
    same_say(s, "select %d: %d", select_one(fd, &r, &w, &e, 1000), w);
    same_say(s, "epoll %s", same_events(next_event(ep, 1000)));
    same_say(s, "seen %s", same_events(await(fd, ENDED)));
    sigaction(SIGPIPE, &action, &before);
    num_closed_pipes = 0;
    same_say(s, "first %s", same_result(CALL(send)(fd, "answer", 6, 0)));
    same_say(s, "SIGPIPE %d", (int)num_closed_pipes);
    same_say(s, "seen %s", same_events(await(fd, RESET)));
    same_say(s, "second %s", same_result(CALL(send)(fd, "answer", 6, 0)));
    same_say(s, "SIGPIPE %d", (int)num_closed_pipes);
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, 1, 0)));
    same_say(s, "third %s", same_result(CALL(send)(fd, "answer", 6, MSG_NOSIGNAL)));
    sigaction(SIGPIPE, &before, NULL);
    same_step(s);
    close(ep);
    CALL(close)(fd);
}

/* The end shows beside what is not read yet. */
static void unread_end_client(struct same *s)
{
    int fd = reach_server(s);
    send_all(fd, "abc", 3);
    CALL(shutdown)(fd, SHUT_WR);
    same_step(s);
    same_step(s);
    CALL(close)(fd);
}

static void unread_end_server(struct same *s)
{
    char text[8];
    int fd = accept_one(s), ep = epoll_on(fd, EPOLLIN | EPOLLRDHUP | EPOLLET);
    same_step(s);
    same_say(s, "poll %s", same_events(await(fd, POLLRDHUP)));
    same_say(s, "seen %s", same_events(await(fd, ENDED)));
    same_say(s, "epoll %s", same_events(next_event(ep, 1000)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, 2, 0)));
    same_say(s, "seen %s", same_events(await(fd, ENDED)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, 8, 0)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, 8, 0)));
    same_say(s, "send %s", same_result(CALL(send)(fd, "xyz", 3, 0)));
    same_step(s);
    close(ep);
    CALL(close)(fd);
}

/* Less than SO_RCVLOWAT, and no more will come: SO_RCVLOWAT does not hold back the end. */
static void lowat_end_client(struct same *s)
{
    int fd = reach_server(s);
    send_all(fd, "12345", 5);
    CALL(shutdown)(fd, SHUT_WR);
    same_step(s);
    CALL(close)(fd);
}

static void lowat_end_server(struct same *s)
{
    char text[16];
    int fd = accept_one(s), least = 10;
    CALL(setsockopt)(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    same_say(s, "poll %s", same_events(await(fd, POLLIN | POLLRDHUP)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, sizeof text, 0)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, sizeof text, 0)));
    same_step(s);
    CALL(close)(fd);
}

/* Looking ahead waits for SO_RCVLOWAT or MSG_WAITALL, but not behind the end, nor longer than it may. */
static void peek_end_client(struct same *s)
{
    int fd = reach_server(s);
    send_all(fd, "123", 3);
    same_step(s);
    same_step(s);
    usleep(50000);
    send_all(fd, "45", 2);
    CALL(shutdown)(fd, SHUT_WR);
    same_step(s);
    CALL(close)(fd);
}

static void peek_end_server(struct same *s)
{
    struct timeval tv = {.tv_usec = 50000}, none = {0};
    char text[16];
    int fd = accept_one(s), least = 5;
    same_step(s);
    same_say(s, "poll %s", same_events(await(fd, POLLIN)));
    same_say(s, "peek %s", same_result(CALL(recv)(fd, text, 10, MSG_PEEK)));
    CALL(setsockopt)(fd, SOL_SOCKET, SO_RCVLOWAT, &least, sizeof least);
    same_say(s, "not waiting %s", same_result(CALL(recv)(fd, text, 10, MSG_PEEK | MSG_DONTWAIT)));
    set_nonblocking(fd, true);
    same_say(s, "not waiting %s", same_result(CALL(recv)(fd, text, 10, MSG_PEEK | MSG_WAITALL)));
    set_nonblocking(fd, false);
    CALL(setsockopt)(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof tv);
    same_say(s, "in time %s", same_result(CALL(recv)(fd, text, 10, MSG_PEEK | MSG_WAITALL)));
    CALL(setsockopt)(fd, SOL_SOCKET, SO_RCVTIMEO, &none, sizeof none);
    same_step(s);
    same_say(s, "SO_RCVLOWAT %s", same_result(CALL(recv)(fd, text, 10, MSG_PEEK)));
    same_say(s, "to the end %s", same_result(CALL(recv)(fd, text, 10, MSG_PEEK | MSG_WAITALL)));
    same_say(s, "taken %s", same_result(CALL(recv)(fd, text, 10, MSG_WAITALL)));
    same_say(s, "end %s", same_result(CALL(recv)(fd, text, 10, MSG_PEEK | MSG_WAITALL)));
    same_step(s);
    CALL(close)(fd);
}

static void shut_twice_client(struct same *s)
{
    char c;
    int fd = reach_server(s);
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_WR)));
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_WR)));
    same_step(s);
    same_step(s);
    same_say(s, "seen %s", same_events(await(fd, GONE)));
    same_say(s, "poll %s", same_events(await(fd, POLLOUT)));
    same_step(s);
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_WR)));
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_RDWR)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    same_step(s);
    CALL(close)(fd);
}

static void shut_twice_server(struct same *s)
{
    char c;
    int fd = accept_one(s);
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    same_step(s);
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_RD)));
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_WR)));
    same_step(s);
    same_step(s);
    await(fd, GONE);
    usleep(50000); /* what says that the end has arrived */
    same_say(s, "seen %s", same_events(seen(fd)));
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_WR)));
    same_say(s, "send %s", same_result(CALL(send)(fd, "x", 1, MSG_NOSIGNAL)));
    same_step(s);
    CALL(close)(fd);
}

/* Who wants to read no more reads the end, but what comes all the same is there. */
static void shut_read_client(struct same *s)
{
    int fd = reach_server(s);
    same_step(s);
    send_all(fd, "late", 4);
    same_step(s);
    CALL(close)(fd);
}

static void shut_read_server(struct same *s)
{
    char text[8];
    int fd = accept_one(s), waiting = 0;
    same_say(s, "seen %s", same_events(seen(fd)));
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_RD)));
    same_say(s, "seen %s", same_events(seen(fd)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, 8, 0)));
    same_step(s);
    for (int i = 0; i < 1000 && waiting < 4; i++) {
        CALL(ioctl)(fd, FIONREAD, &waiting);
        usleep(1000);
    }
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, 8, 0)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, 8, 0)));
    same_say(s, "send %s", same_result(CALL(send)(fd, "x", 1, 0)));
    same_step(s);
    CALL(close)(fd);
}

/* A listener that goes takes with it whom nobody has accepted. */
static void unaccepted_client(struct same *s)
{
    char c;
    int fd = reach_server(s);
    same_step(s);
    same_say(s, "%s", await(fd, POLLIN) & POLLIN ? "readable" : "not readable");
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    CALL(close)(fd);
    same_step(s);
}

static void unaccepted_server(struct same *s)
{
    int l = listen_on(s, 8);
    same_step(s);
    same_say(s, "%s", same_events(await(l, POLLIN)));
    same_step(s);
    CALL(close)(l);
    same_step(s);
}

/* close() with SO_LINGER comes back when all is delivered, or when its time is over. */
static void linger_wait_client(struct same *s)
{
    char *bytes = calloc(1, 150000);
    int room = 200000;
    for (int seconds = 5; seconds > 0; seconds -= 4) {
        struct linger linger = {.l_onoff = 1, .l_linger = seconds};
        int fd = CALL(socket)(AF_INET, SOCK_STREAM, 0);
        CALL(setsockopt)(fd, SOL_SOCKET, SO_SNDBUF, &room, sizeof room);
        CALL(setsockopt)(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
        same_step(s);
        CALL(connect)(fd, (struct sockaddr *)&s->server, sizeof s->server);
        same_say(s, "sent %d", send_all(fd, bytes, 150000));
        same_step(s);
        uint64_t begin = now_ms();
        same_say(s, "close %s", same_result(CALL(close)(fd)));
        uint64_t took = now_ms() - begin;
        same_say(s, "%s", took < 200 ? "at once" : took < 900 ? "when all was taken" : "when time was over");
        same_step(s);
    }
    free(bytes);
}

static void linger_wait_server(struct same *s)
{
    char *bytes = calloc(1, 150000);
    int l = listen_on(s, 8), room = 8192;
    CALL(setsockopt)(l, SOL_SOCKET, SO_RCVBUF, &room, sizeof room);
    for (int round = 0; round < 2; round++) {
        same_step(s);
        int fd = CALL(accept)(l, NULL, NULL);
        same_step(s);
        if (round == 0) {
            usleep(300000);
            same_say(s, "recv %zu", recv_all(fd, bytes, 150000));
        }
        same_step(s);
        if (round == 1)
            same_say(s, "recv %zu", recv_all(fd, bytes, 150000));
        CALL(close)(fd);
    }
    CALL(close)(l);
    free(bytes);
}
