/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes, in every way that they can be read and written. */
#include "test/sock/same_common.h"

static void hello_client(struct same *s)
{
    char text[16] = "";
    int fd = reach_server(s);
    same_say(s, "send %s", same_result(CALL(send)(fd, "hello", 5, 0)));
    same_say(s, "recv %zu %s", recv_all(fd, text, 6), text);
    same_say(s, "end %s", same_result(CALL(recv)(fd, text, sizeof text, 0)));
    CALL(close)(fd);
}

static void hello_server(struct same *s)
{
    char text[16] = "";
    int fd = accept_one(s);
    same_say(s, "recv %zu %s", recv_all(fd, text, 5), text);
    same_say(s, "write %s", same_result(CALL(write)(fd, "world!", 6)));
    CALL(close)(fd);
}

#define BULK_BYTES (8u << 20)
#define BULK_PIECE 100000

static void send_stream(struct same *s, int fd, unsigned seed)
{
    uint8_t *bytes = malloc(BULK_PIECE);
    for (size_t at = 0; at < BULK_BYTES;) {
        size_t n = 1 + (seed = seed * 1103515245 + 12345) / 16 % BULK_PIECE;
        n = n < BULK_BYTES - at ? n : BULK_BYTES - at;
        same_fill(bytes, n, at);
        if (!send_all(fd, bytes, n)) {
            same_say(s, "cannot send at %zu: %s", at, strerrorname_np(errno));
            break;
        }
        at += n;
    }
    free(bytes);
}

static void recv_stream(struct same *s, int fd, unsigned seed)
{
    uint8_t *bytes = malloc(BULK_PIECE), *expected = malloc(BULK_PIECE);
    uint64_t sum = 0;
    size_t at = 0;
    bool is_right = true;
    for (;;) {
        size_t n = 1 + (seed = seed * 1103515245 + 12345) / 16 % BULK_PIECE;
        ssize_t got = CALL(recv)(fd, bytes, n, 0);
        if (got <= 0) {
            same_say(s, "ends with %s", same_result(got));
            break;
        }
        same_fill(expected, (size_t)got, at);
        is_right &= memcmp(bytes, expected, (size_t)got) == 0;
        sum = same_sum(sum, bytes, (size_t)got);
        at += (size_t)got;
    }
    same_say(s, "%zu bytes, sum %016llx, %s", at, (unsigned long long)sum, is_right ? "right" : "wrong");
    free(bytes);
    free(expected);
}

static void bulk_client(struct same *s)
{
    int fd = reach_server(s);
    send_stream(s, fd, 1);
    CALL(shutdown)(fd, SHUT_WR);
    recv_stream(s, fd, 2);
    CALL(close)(fd);
}

static void bulk_server(struct same *s)
{
    int fd = accept_one(s);
    recv_stream(s, fd, 3);
    send_stream(s, fd, 4);
    CALL(close)(fd);
}

static void vectors_client(struct same *s)
{
    int fd = reach_server(s);
    char a[3] = "abc", b[4] = "defg", c[5] = "hijkl";
    struct iovec iov[4] = {{a, 3}, {NULL, 0}, {b, 4}, {c, 5}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 4};
    same_say(s, "writev %s", same_result(CALL(writev)(fd, iov, 4)));
    same_say(s, "sendmsg %s", same_result(CALL(sendmsg)(fd, &msg, MSG_MORE)));
    same_say(s, "sendmsg %s", same_result(CALL(sendmsg)(fd, &msg, 0)));
    same_step(s);
    CALL(close)(fd);
}

static void vectors_server(struct same *s)
{
    int fd = accept_one(s);
    char text[40] = "";
    size_t n = 0;
    while (n < 36) {
        struct sockaddr_storage from;
        struct iovec iov[3] = {{text + n, 1}, {text + n + 1, 2}, {text + n + 3, 36 - n > 3 ? 36 - n - 3 : 0}};
        struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 3, .msg_name = &from, .msg_namelen = sizeof from};
        ssize_t got = CALL(recvmsg)(fd, &msg, 0);
        if (got <= 0)
            break;
        n += (size_t)got;
        if (n == 36)
            same_say(s, "name %u, flags %x", msg.msg_namelen, (unsigned)msg.msg_flags);
    }
    same_say(s, "%zu %s", n, text);
    same_step(s);
    CALL(close)(fd);
}

static void peeking_client(struct same *s)
{
    int fd = reach_server(s);
    send_all(fd, "0123456789", 10);
    same_step(s);
    same_step(s);
    CALL(close)(fd);
}

static void peeking_server(struct same *s)
{
    char text[16] = "";
    int fd = accept_one(s), waiting = -1;
    struct iovec iov[2] = {{text, 3}, {text + 8, 2}};
    struct msghdr msg = {.msg_iov = iov, .msg_iovlen = 2};
    same_step(s);
    recv_all(fd, text, 2);
    same_say(s, "peek %s", same_result(CALL(recv)(fd, text, 4, MSG_PEEK | MSG_WAITALL)));
    same_say(s, "%.4s", text);
    same_say(s, "peekv %s %.3s %.2s", same_result(CALL(recvmsg)(fd, &msg, MSG_PEEK)), text, text + 8);
    while (waiting < 8)
        CALL(ioctl)(fd, FIONREAD, &waiting);
    same_say(s, "FIONREAD %d", waiting);
    same_say(s, "trunc %s", same_result(CALL(recv)(fd, NULL, 3, MSG_TRUNC)));
    same_say(s, "recv %s", same_result(CALL(recv)(fd, text, 16, 0)));
    same_say(s, "%.5s", text);
    same_say(s, "nothing: %s", same_result(CALL(recv)(fd, text, 16, MSG_DONTWAIT)));
    same_say(s, "nothing to peek: %s", same_result(CALL(recv)(fd, text, 16, MSG_DONTWAIT | MSG_PEEK)));
    same_say(s, "nothing to count: %s",
             same_result(CALL(recv)(fd, text, 16, MSG_DONTWAIT | MSG_PEEK | MSG_TRUNC)));
    same_step(s);
    CALL(close)(fd);
}

static void waitall_client(struct same *s)
{
    uint8_t bytes[1000];
    int fd = reach_server(s);
    for (int i = 0; i < 10; i++) {
        same_fill(bytes, sizeof bytes, (uint64_t)i * 1000);
        send_all(fd, bytes, sizeof bytes);
        usleep(2000);
    }
    CALL(shutdown)(fd, SHUT_WR);
    same_step(s);
    CALL(close)(fd);
}

static void waitall_server(struct same *s)
{
    uint8_t bytes[12000];
    int fd = accept_one(s);
    same_say(s, "recv %s", same_result(CALL(recv)(fd, bytes, 7000, MSG_WAITALL)));
    same_say(s, "sum %llx", (unsigned long long)same_sum(0, bytes, 7000));
    same_say(s, "to the end: %s", same_result(CALL(recv)(fd, bytes, 12000, MSG_WAITALL)));
    same_say(s, "behind it: %s", same_result(CALL(recv)(fd, bytes, 12000, MSG_WAITALL)));
    same_step(s);
    CALL(close)(fd);
}

static void urgent_client(struct same *s)
{
    int fd = reach_server(s);
    same_say(s, "send %s", same_result(CALL(send)(fd, "normal", 6, 0)));
    same_step(s);
    same_say(s, "oob %s", same_result(CALL(send)(fd, "xyU", 3, MSG_OOB)));
    same_say(s, "more %s", same_result(CALL(send)(fd, "after", 5, 0)));
    same_step(s);
    same_step(s);
    CALL(close)(fd);
}

static void urgent_server(struct same *s)
{
    char text[16] = "", byte = 0;
    int fd = accept_one(s), mark = -1;
    same_say(s, "none yet: %s", same_result(CALL(recv)(fd, &byte, 1, MSG_OOB)));
    same_step(s);
    same_say(s, "%s", await(fd, POLLPRI) & POLLPRI ? "POLLPRI" : "no POLLPRI");
    same_step(s);
    /* the urgent byte may come after its announcement */
    ssize_t n = -1;
    for (int i = 0; i < 1000 && (n = CALL(recv)(fd, &byte, 1, MSG_OOB)) < 0 && errno == EAGAIN; i++)
        usleep(1000);
    same_say(s, "oob %zd %c", n, byte);
    same_say(s, "again: %s", same_result(CALL(recv)(fd, &byte, 1, MSG_OOB)));
    CALL(ioctl)(fd, SIOCATMARK, &mark);
    same_say(s, "at mark %d", mark);
    memset(text, 0, sizeof text);
    same_say(s, "up to the mark: %zu %s", recv_all(fd, text, 8), text);
    CALL(ioctl)(fd, SIOCATMARK, &mark);
    same_say(s, "at mark %d", mark);
    memset(text, 0, sizeof text);
    same_say(s, "behind it: %zu %s", recv_all(fd, text, 5), text);
    CALL(ioctl)(fd, SIOCATMARK, &mark);
    same_say(s, "at mark %d", mark);
    same_say(s, "seen %s", same_events(seen(fd)));
    same_step(s);
    CALL(close)(fd);
}

static void urgent_inline_client(struct same *s)
{
    int fd = reach_server(s);
    send_all(fd, "ab", 2);
    CALL(send)(fd, "U", 1, MSG_OOB);
    send_all(fd, "cd", 2);
    same_step(s);
    CALL(close)(fd);
}

static void urgent_inline_server(struct same *s)
{
    char text[16] = "", byte;
    int on = 1, fd = accept_one(s), mark = -1;
    CALL(setsockopt)(fd, SOL_SOCKET, SO_OOBINLINE, &on, sizeof on);
    size_t n = recv_all(fd, text, 2);
    for (int i = 0; i < 1000 && mark != 1; i++) {
        CALL(ioctl)(fd, SIOCATMARK, &mark);
        usleep(1000);
    }
    same_say(s, "%zu %s, at mark %d", n, text, mark);
    same_say(s, "oob: %s", same_result(CALL(recv)(fd, &byte, 1, MSG_OOB)));
    same_say(s, "seen %s", same_events(seen(fd)));
    memset(text, 0, sizeof text);
    n = recv_all(fd, text, 3);
    same_say(s, "%zu %s, seen %s", n, text, same_events(seen(fd)));
    same_step(s);
    CALL(close)(fd);
}

static void say_option(struct same *s, int fd, const char *name, int level, int option, int value)
{
    socklen_t len = sizeof value;
    int rc = CALL(setsockopt)(fd, level, option, &value, sizeof value);
    value = -1;
    CALL(getsockopt)(fd, level, option, &value, &len);
    same_say(s, "%s: set %s, now %d (%u bytes)", name, same_result(rc), value, len);
}

static void options_client(struct same *s)
{
    struct sockaddr_in addr = {0};
    socklen_t len = sizeof addr;
    int fd = reach_server(s), left = -1, nodelay = -1;
    socklen_t nodelay_len = sizeof nodelay;
    CALL(getsockopt)(fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &nodelay_len);
    same_say(s, "NODELAY %d at first", nodelay);
    say_option(s, fd, "NODELAY", IPPROTO_TCP, TCP_NODELAY, 1);
    say_option(s, fd, "CORK", IPPROTO_TCP, TCP_CORK, 1);
    say_option(s, fd, "CORK", IPPROTO_TCP, TCP_CORK, 0);
    say_option(s, fd, "KEEPALIVE", SOL_SOCKET, SO_KEEPALIVE, 1);
    say_option(s, fd, "KEEPIDLE", IPPROTO_TCP, TCP_KEEPIDLE, 30);
    say_option(s, fd, "KEEPIDLE", IPPROTO_TCP, TCP_KEEPIDLE, 0);
    say_option(s, fd, "SNDBUF", SOL_SOCKET, SO_SNDBUF, 30000);
    say_option(s, fd, "RCVBUF", SOL_SOCKET, SO_RCVBUF, 30000);
    say_option(s, fd, "OOBINLINE", SOL_SOCKET, SO_OOBINLINE, 1);
    say_option(s, fd, "nonsense", SOL_SOCKET, 9999, 1);
    say_option(s, fd, "TYPE", SOL_SOCKET, SO_TYPE, 1);
    say_option(s, fd, "DOMAIN", SOL_SOCKET, SO_DOMAIN, 1);
    same_say(s, "error %s", error_name(so_error(fd)));
    same_say(s, "peer %s", same_result(CALL(getpeername)(fd, (struct sockaddr *)&addr, &len)));
    same_say(s, "%d port %s", addr.sin_family, addr.sin_port == s->server.sin_port ? "right" : "wrong");
    send_all(fd, "x", 1);
    for (int i = 0; i < 2000 && left != 0; i++) {
        CALL(ioctl)(fd, SIOCOUTQ, &left);
        usleep(1000);
    }
    same_say(s, "SIOCOUTQ %d", left);
    same_step(s);
    CALL(close)(fd);
}

static void options_server(struct same *s)
{
    struct sockaddr_in addr = {0};
    socklen_t len = sizeof addr;
    char c;
    int l = listen_on(s, 8);
    same_step(s);
    int fd = CALL(accept)(l, (struct sockaddr *)&addr, &len);
    CALL(close)(l);
    same_say(s, "from %08x, %u bytes", ntohl(addr.sin_addr.s_addr), (unsigned)len);
    same_say(s, "recv %s", same_result(CALL(recv)(fd, &c, 1, 0)));
    same_say(s, "name %s", same_result(CALL(getsockname)(fd, (struct sockaddr *)&addr, &len)));
    same_say(s, "address %s", addr.sin_addr.s_addr == s->server.sin_addr.s_addr ? "right" : "wrong");
    same_step(s);
    CALL(close)(fd);
}
