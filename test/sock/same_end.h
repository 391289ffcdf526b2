/* SPDX-License-Identifier: BSD-2-Clause */
/* How connections end. */
#include "test/sock/same_common.h"

static void half_close_client(struct same *s)
{
    char text[16] = "";
    int fd = reach_server(s);
    send_all(fd, "question", 8);
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_WR)));
    same_say(s, "again %s", same_result(CALL(shutdown)(fd, SHUT_WR)));
    same_say(s, "send %s", same_result(CALL(send)(fd, "x", 1, MSG_NOSIGNAL)));
    same_step(s);
    same_say(s, "recv %zu", recv_all(fd, text, 6));
    same_say(s, "%s", text);
    same_say(s, "end %s", same_result(CALL(recv)(fd, text, 1, 0)));
    same_say(s, "end %s", same_result(CALL(recv)(fd, text, 1, 0)));
    same_say(s, "seen %s", same_events(await(fd, GONE)));
    same_say(s, "close %s", same_result(CALL(close)(fd)));
}

static void half_close_server(struct same *s)
{
    char text[16] = "";
    int fd = accept_one(s);
    same_say(s, "recv %zu", recv_all(fd, text, 9));
    same_say(s, "%s", text);
    same_say(s, "seen %s", same_events(await(fd, ENDED)));
    same_step(s);
    send_all(fd, "answer", 6);
    same_say(s, "close %s", same_result(CALL(close)(fd)));
}

/* Options that push bytes, set after the end of the writing: what was sent before arrives, and what
 * is read afterwards counts as read. */
static void push_after_end_client(struct same *s)
{
    char text[16] = "";
    int fd = reach_server(s);
    send_all(fd, "question", 9);
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_WR)));
    same_step(s);
    same_step(s);
    same_say(s, "recv %zu", recv_all(fd, text, 7));
    same_say(s, "%s", text);
    same_say(s, "end %s", same_result(CALL(recv)(fd, text, 1, 0)));
    same_say(s, "close %s", same_result(CALL(close)(fd)));
}

static void push_after_end_server(struct same *s)
{
    char text[16] = "";
    int fd = accept_one(s), on = 1, off = 0;
    same_say(s, "cork %s", same_result(CALL(setsockopt)(fd, IPPROTO_TCP, TCP_CORK, &on, sizeof on)));
    send_all(fd, "answer", 7);
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_WR)));
    same_say(s, "cork %s", same_result(CALL(setsockopt)(fd, IPPROTO_TCP, TCP_CORK, &off, sizeof off)));
    same_say(s, "nodelay %s", same_result(CALL(setsockopt)(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on)));
    same_say(s, "urgent %s", same_result(CALL(send)(fd, "x", 1, MSG_OOB | MSG_NOSIGNAL)));
    same_step(s);
    same_say(s, "recv %zu", recv_all(fd, text, 9));
    same_say(s, "%s", text);
    same_say(s, "end %s", same_result(CALL(recv)(fd, text, 1, 0)));
    same_say(s, "close %s", same_result(CALL(close)(fd)));
    same_step(s);
}

/* Closing over bytes that nobody read resets. */
static void unread_client(struct same *s)
{
    char c;
    int fd = reach_server(s);
    send_all(fd, "never read", 10);
    same_step(s);
    same_step(s);
    same_say(s, "%s", await(fd, POLLIN) & POLLIN ? "readable" : "not readable");
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    same_say(s, "send %s", same_result(CALL(send)(fd, "x", 1, MSG_NOSIGNAL)));
    CALL(close)(fd);
}

static void unread_server(struct same *s)
{
    int fd = accept_one(s);
    same_step(s);
    same_say(s, "%s", await(fd, POLLIN) & POLLIN ? "readable" : "not readable");
    CALL(close)(fd);
    same_step(s);
}

static void reset_client(struct same *s)
{
    int fd = reach_server(s);
    struct linger linger = {.l_onoff = 1};
    send_all(fd, "x", 1);
    same_step(s);
    CALL(setsockopt)(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    same_say(s, "close %s", same_result(CALL(close)(fd)));
    same_step(s);
}

static void reset_server(struct same *s)
{
    char c;
    int fd = accept_one(s);
    recv_all(fd, &c, 1);
    same_say(s, "seen %s", same_events(seen(fd)));
    same_step(s);
    same_step(s);
    same_say(s, "seen %s", same_events(await(fd, RESET)));
    same_say(s, "error %s", error_name(so_error(fd)));
    same_say(s, "error %s", error_name(so_error(fd)));
    same_say(s, "seen %s", same_events(seen(fd)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    same_say(s, "send %s", same_result(CALL(send)(fd, "x", 1, MSG_NOSIGNAL)));
    same_say(s, "shutdown %s", same_result(CALL(shutdown)(fd, SHUT_WR)));
    CALL(close)(fd);
}

/* close() returns when all is delivered. */
static void lingering_client(struct same *s)
{
    uint8_t *bytes = calloc(1, 300000);
    struct linger linger = {.l_onoff = 1, .l_linger = 5};
    int fd = reach_server(s);
    same_fill(bytes, 300000, 0);
    CALL(setsockopt)(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
    same_say(s, "sent %d", send_all(fd, bytes, 300000));
    same_say(s, "close %s", same_result(CALL(close)(fd)));
    same_step(s);
    free(bytes);
}

static void lingering_server(struct same *s)
{
    uint8_t *bytes = calloc(1, 300001);
    int fd = accept_one(s);
    usleep(50000);
    size_t n = recv_all(fd, bytes, 300001);
    same_say(s, "%zu bytes, sum %llx", n, (unsigned long long)same_sum(0, bytes, n));
    same_step(s);
    CALL(close)(fd);
    free(bytes);
}

static volatile sig_atomic_t num_sigpipe;
static void on_sigpipe(int number)
{
    (void)number;
    num_sigpipe++;
}

static void broken_pipe_client(struct same *s)
{
    struct sigaction action = {.sa_handler = on_sigpipe}, before;
    char c;
    int fd = reach_server(s);
    sigaction(SIGPIPE, &action, &before);
    num_sigpipe = 0;
    CALL(shutdown)(fd, SHUT_WR);
    same_say(s, "send %s", same_result(CALL(send)(fd, "x", 1, 0)));
    same_say(s, "SIGPIPE %d", (int)num_sigpipe);
    same_say(s, "send %s", same_result(CALL(send)(fd, "x", 1, MSG_NOSIGNAL)));
    same_say(s, "write %s", same_result(CALL(write)(fd, "x", 1)));
    same_say(s, "SIGPIPE %d", (int)num_sigpipe);
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    sigaction(SIGPIPE, &before, NULL);
    CALL(close)(fd);
}

static void broken_pipe_server(struct same *s)
{
    char c;
    int fd = accept_one(s);
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    CALL(close)(fd);
}

static void refused_client(struct same *s)
{
    same_step(s);
    int fd = CALL(socket)(AF_INET, SOCK_STREAM, 0);
    struct sockaddr_in nobody = s->server;
    char c;
    nobody.sin_port = htons(1);
    same_say(s, "send %s", same_result(CALL(send)(fd, "x", 1, MSG_NOSIGNAL)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    same_say(s, "connect %s", same_result(CALL(connect)(fd, (struct sockaddr *)&nobody, sizeof nobody)));
    same_say(s, "seen %s", same_events(await(fd, POLLOUT) & ~POLLHUP));
    same_say(s, "error %s", error_name(so_error(fd)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    same_say(s, "connect %s",
             same_result(CALL(connect)(fd, (struct sockaddr *)&s->server, sizeof s->server)));
    same_say(s, "recv %zu", recv_all(fd, &c, 1));
    CALL(close)(fd);
    fd = CALL(socket)(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    same_say(s, "connect %s", same_result(CALL(connect)(fd, (struct sockaddr *)&nobody, sizeof nobody)));
    same_say(s, "seen %s", same_events(await(fd, RESET)));
    same_say(s, "error %s", error_name(so_error(fd)));
    CALL(close)(fd);
}

static void refused_server(struct same *s)
{
    int fd = accept_one(s);
    send_all(fd, "x", 1);
    CALL(close)(fd);
}

static void duplicates_client(struct same *s)
{
    char c = 0;
    int fd = reach_server(s), other = dup(fd);
    int third = CALL(fcntl)(fd, F_DUPFD_CLOEXEC, 20);
    same_say(s, "flags %d %d", CALL(fcntl)(fd, F_GETFD, 0), CALL(fcntl)(third, F_GETFD, 0));
    CALL(close)(fd);
    same_say(s, "closed: %s", same_result(CALL(send)(fd, "x", 1, 0)));
    same_say(s, "send %s", same_result(CALL(send)(other, "a", 1, 0)));
    CALL(close)(other);
    same_say(s, "recv %s", same_result(CALL(recv)(third, &c, 1, 0)));
    same_say(s, "%c", c);
    set_nonblocking(third, true);
    same_say(s, "recv %s", same_result(CALL(recv)(third, &c, 1, 0)));
    CALL(close)(third);
    same_step(s);
}

static void duplicates_server(struct same *s)
{
    char c = 0;
    int fd = accept_one(s);
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    send_all(fd, "b", 1);
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    same_step(s);
    CALL(close)(fd);
}
