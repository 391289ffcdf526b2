/* SPDX-License-Identifier: BSD-2-Clause */
/* A program that borrows connections of a service, for test/e2e/service.sh: both ends of what is tried
 * there. All waits are bounded: it ends by SIGALRM after LIMIT_S.
 *
 *     peer SOCKET server PORT COUNT ACTION...      accepts COUNT connections, one by one or all at once
 *     peer SOCKET client HOST PORT COUNT ACTION...
 *
 * Actions: `bulk SEND TAKE` moves so many bytes each way at the same time and checks them, then ends its
 * stream and expects the end of the other; `forked SEND TAKE` the same, sending in one process and taking in
 * another, which it forks; `exec SEND TAKE` the same after an exec, in a process that has nothing but the
 * descriptor; `echo ROUNDS BYTES` asks, `answer` sends back what comes until the end; `leave` closes it at
 * once; `die SEND` sends so many bytes and is killed; `scribble head|consumed|watch` writes nonsense into
 * the memory; `many ROUNDS BYTES` and `answer-many` do as echo and answer with all COUNT connections at
 * once, in one thread, by a waiter. A line on standard output tells what became of each connection. With
 * PEER_ENTER in the environment it enters the service's cgroup first. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/now.h"
#include "service/borrow/inner.h"

#define LIMIT_S 120
#define PIECE   (64u << 10)

static const char *socket_path;

static void fail(const char *what, int err)
{
    printf("failed: %s: %s\n", what, strerror(err));
    exit(1);
}

/* The byte at a position of the stream: no two stretches are alike. */
static unsigned char byte_at(uint64_t position)
{
    return (unsigned char)((position * 0x9e3779b97f4a7c15u) >> 56);
}

/* --- connections, borrowed or by TCP --- */

struct peer {
    struct borrow *b; /* NULL: plain TCP */
    int fd;           /* the outer end, or the TCP socket */
    const char *reason;
};

static void fall_back(struct peer *p)
{
    int tcp_fd = borrow_tcp_fd(p->b);
    if (tcp_fd < 0)
        fail("borrow_tcp_fd", -tcp_fd);
    borrow_release(p->b);
    close(p->fd);
    p->b = NULL;
    p->fd = tcp_fd;
    p->reason = "fell back";
}

/* With `waits` until it is known how the bytes go. */
static void lend(struct peer *p, int tcp_fd, enum borrow_role role, bool waits)
{
    struct borrow_options options = {.linger_s = -1};
    int rc = borrow_begin(tcp_fd, role, &options, &p->b, &p->fd, &p->reason);
    if (rc < 0 || rc == BORROW_PEER_WAITS)
        fail("borrow_begin", rc < 0 ? -rc : ENOBUFS);
    if (rc == 1) {
        p->b = NULL;
        p->fd = tcp_fd;
        return;
    }
    close(tcp_fd);
    p->reason = "";
    if (!waits)
        return;
    int err = borrow_wait(p->b, POLLOUT, 0, base_now_ns() + 30000000000u);
    if (err)
        fail("negotiating", -err);
    if (borrow_state(p->b) == BORROW_TCP)
        fall_back(p);
}

/* Without waiting: bytes, 0: the end, -errno. */
static ssize_t take(struct peer *p, void *bytes, size_t n)
{
    struct iovec iov = {bytes, n};
    if (p->b)
        return borrow_recv(p->b, &iov, 1, 0);
    ssize_t got = recv(p->fd, bytes, n, MSG_DONTWAIT);
    return got < 0 ? -errno : got;
}

static ssize_t give(struct peer *p, const void *bytes, size_t n)
{
    struct iovec iov = {(void *)bytes, n};
    if (p->b)
        return borrow_send(p->b, &iov, 1, 0);
    ssize_t put = send(p->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL);
    return put < 0 ? -errno : put;
}

static void wait_for(struct peer *p, unsigned events)
{
    struct pollfd one = {.fd = p->fd, .events = (short)events};
    if (!p->b) {
        poll(&one, 1, -1);
        return;
    }
    int err = borrow_wait(p->b, events, 1, UINT64_MAX);
    if (err && err != -EINTR)
        fail("borrow_wait", -err);
}

static void shut(struct peer *p)
{
    int err = p->b ? borrow_shutdown(p->b, SHUT_WR) : shutdown(p->fd, SHUT_WR) == 0 ? 0 : -errno;
    if (err)
        fail("shutdown", -err);
}

/* --- actions --- */

struct stream {
    uint64_t at, end;
};

/* Some more of what is to be sent; false: there is no room now. */
static bool send_bytes_of(struct peer *p, struct stream *s)
{
    static unsigned char bytes[PIECE];
    size_t n = s->end - s->at < PIECE ? (size_t)(s->end - s->at) : PIECE;
    for (size_t i = 0; i < n; i++)
        bytes[i] = byte_at(s->at + i);
    ssize_t put = give(p, bytes, n);
    if (put == -EAGAIN)
        return false;
    if (put < 0)
        fail("send", (int)-put);
    s->at += (uint64_t)put;
    return true;
}

/* And the end behind it. */
static bool send_some(struct peer *p, struct stream *s)
{
    bool did = send_bytes_of(p, s);
    if (did && s->at == s->end)
        shut(p);
    return did;
}

/* False: nothing is there. `end` at the end of the stream. */
static bool take_some(struct peer *p, struct stream *s, bool *has_ended)
{
    static unsigned char bytes[PIECE];
    ssize_t got = take(p, bytes, sizeof bytes);
    if (got == -EAGAIN)
        return false;
    if (got < 0)
        fail("recv", (int)-got);
    *has_ended = got == 0;
    for (ssize_t i = 0; i < got; i++)
        if (bytes[i] != byte_at(s->at + (uint64_t)i)) {
            printf("failed: byte %" PRIu64 " is wrong\n", s->at + (uint64_t)i);
            exit(1);
        }
    s->at += (uint64_t)got;
    return true;
}

static void bulk(struct peer *p, uint64_t send_bytes, uint64_t take_bytes)
{
    struct stream out = {0, send_bytes}, in = {0, take_bytes};
    bool has_ended = false;
    if (send_bytes == 0)
        shut(p);
    while (out.at < out.end || !has_ended) {
        bool did = out.at < out.end && send_some(p, &out);
        if (!has_ended)
            did |= take_some(p, &in, &has_ended);
        if (!did)
            wait_for(p, (out.at < out.end ? POLLOUT : 0u) | (has_ended ? 0u : POLLIN));
    }
    if (in.at != in.end) {
        printf("failed: %llu bytes came, of %llu\n", (unsigned long long)in.at, (unsigned long long)in.end);
        exit(1);
    }
}

static void give_all(struct peer *p, const unsigned char *bytes, size_t n)
{
    while (n > 0) {
        ssize_t put = give(p, bytes, n);
        if (put == -EAGAIN)
            wait_for(p, POLLOUT);
        else if (put < 0)
            fail("send", (int)-put);
        else
            bytes += put, n -= (size_t)put;
    }
}

static void echo(struct peer *p, unsigned rounds, size_t n)
{
    unsigned char *bytes = malloc(n), *back = malloc(n);
    uint64_t begin_ns = base_now_ns();
    if (!bytes || !back)
        fail("so many bytes", ENOMEM);
    for (unsigned round = 0; round < rounds; round++) {
        size_t at = 0;
        for (size_t i = 0; i < n; i++)
            bytes[i] = byte_at((uint64_t)round * n + i);
        give_all(p, bytes, n);
        while (at < n) {
            ssize_t got = take(p, back + at, n - at);
            if (got == -EAGAIN)
                wait_for(p, POLLIN);
            else if (got <= 0)
                fail("recv", got ? (int)-got : EPIPE);
            else
                at += (size_t)got;
        }
        if (memcmp(bytes, back, n) != 0)
            fail("what came back is not what was sent", EBADMSG);
    }
    printf("echo %.1f us\n", (double)(base_now_ns() - begin_ns) / 1000 / (rounds ? rounds : 1));
    shut(p);
    free(bytes);
    free(back);
}

static void answer(struct peer *p)
{
    static unsigned char bytes[PIECE];
    for (;;) {
        ssize_t got = take(p, bytes, sizeof bytes);
        if (got == -EAGAIN)
            wait_for(p, POLLIN);
        else if (got < 0)
            fail("recv", (int)-got);
        else if (got == 0)
            return;
        else
            give_all(p, bytes, (size_t)got);
    }
}

/* Two processes that share the connection. */
static void forked(struct peer *p, uint64_t send_bytes, uint64_t take_bytes)
{
    struct stream out = {0, send_bytes}, in = {0, take_bytes};
    bool has_ended = false;
    pid_t child = fork();
    if (child == 0) {
        borrow_forked();
        int err = borrow_open(socket_path);
        if (err)
            fail("borrow_open in the child", -err);
        while (!has_ended)
            if (!take_some(p, &in, &has_ended))
                wait_for(p, POLLIN);
        exit(in.at == in.end ? 0 : 1);
    }
    while (out.at < out.end)
        if (!send_some(p, &out))
            wait_for(p, POLLOUT);
    int status;
    if (waitpid(child, &status, 0) != child || status != 0)
        fail("what the child took is not what was sent", EBADMSG);
}

/* The same program anew, with the outer end. */
static void exec_anew(struct peer *p, char **words)
{
    char fd[16];
    snprintf(fd, sizeof fd, "%d", p->fd);
    fcntl(p->fd, F_SETFD, 0);
    execl("/proc/self/exe", "peer", socket_path, "attached", fd, "bulk", words[1], words[2], NULL);
    fail("execl", errno);
}

static void die(struct peer *p, uint64_t send_bytes)
{
    struct stream out = {0, send_bytes};
    while (out.at < out.end)
        if (!send_bytes_of(p, &out))
            wait_for(p, POLLOUT);
    kill(getpid(), SIGKILL);
}

/* What no program should write into the memory; then its connection is reset, by the service. */
static void scribble(struct peer *p, const char *what)
{
    if (!p->b)
        fail("plain TCP has no memory", EINVAL);
    struct service_block *block = p->b->block;
    if (strcmp(what, "head") == 0)
        atomic_store(&block->head, UINT64_C(1) << 40);
    else if (strcmp(what, "consumed") == 0)
        atomic_store(&block->consumed, UINT64_C(1) << 40);
    else
        memset(block->watch, 0xff, sizeof block->watch);
    borrow_ring(p->b);
    if (strcmp(what, "watch") == 0) { /* that names nobody: it is passed over */
        echo(p, 3, 100);
        return;
    }
    int err = borrow_wait(p->b, POLLIN, 1, base_now_ns() + 10000000000u);
    if (err || borrow_state(p->b) != BORROW_RESET)
        fail("it was not reset", err ? -err : EBUSY);
}

static void act(struct peer *p, char **words)
{
    uint64_t begin_ns = base_now_ns();
    if (!words[0])
        fail("no action", EINVAL);
    bool has_two = words[1] && words[2];
    uint64_t first = words[1] ? strtoull(words[1], NULL, 10) : 0,
             second = has_two ? strtoull(words[2], NULL, 10) : 0;
    if (strcmp(words[0], "bulk") == 0 && has_two)
        bulk(p, first, second);
    else if (strcmp(words[0], "forked") == 0 && has_two)
        forked(p, first, second);
    else if (strcmp(words[0], "exec") == 0 && has_two)
        exec_anew(p, words);
    else if (strcmp(words[0], "echo") == 0 && has_two)
        echo(p, (unsigned)first, second);
    else if (strcmp(words[0], "die") == 0 && words[1])
        die(p, first);
    else if (strcmp(words[0], "scribble") == 0 && words[1])
        scribble(p, words[1]);
    else if (strcmp(words[0], "answer") == 0)
        answer(p);
    else if (strcmp(words[0], "leave") == 0)
        ; /* it is closed below, maybe while it negotiates */
    else
        fail("no such action", EINVAL);
    printf("%s in %.3f s %s\n", p->b ? "smcr" : "tcp", (double)(base_now_ns() - begin_ns) / 1e9, p->reason);
    if (p->b)
        borrow_release(p->b);
    close(p->fd);
}

/* --- all connections at once --- */

#define MAX_MANY   2000
#define MANY_BYTES 4096

struct many {
    struct peer p;
    unsigned rounds;    /* that are left; of an answerer: not used */
    size_t put, got, n; /* of this round */
    unsigned char bytes[MANY_BYTES];
    bool is_client, has_ended;
};

static struct many many[MAX_MANY];

/* Sends what is left up to `end`; false: there is no room now. */
static bool put_on(struct many *m, size_t end)
{
    ssize_t put = give(&m->p, m->bytes + m->put, end - m->put);
    if (put < 0 && put != -EAGAIN)
        fail("send", (int)-put);
    m->put += put > 0 ? (size_t)put : 0;
    return put != -EAGAIN;
}

/* As far as it goes; false: it is over. */
static bool ask_on(struct many *m)
{
    for (;;) {
        if (m->put < m->n) {
            if (!put_on(m, m->n))
                return true;
            continue;
        }
        unsigned char back[MANY_BYTES];
        ssize_t got = take(&m->p, back, m->n - m->got);
        if (got == -EAGAIN)
            return true;
        if (got <= 0)
            fail("recv", got ? (int)-got : EPIPE);
        if (memcmp(back, m->bytes + m->got, (size_t)got) != 0)
            fail("what came back is not what was sent", EBADMSG);
        m->got += (size_t)got;
        if (m->got < m->n)
            continue;
        if (--m->rounds == 0)
            return false;
        m->put = m->got = 0;
        m->bytes[0]++;
    }
}

static bool answer_on(struct many *m)
{
    for (;;) {
        if (m->put < m->got) {
            if (!put_on(m, m->got))
                return true;
            continue;
        }
        ssize_t got = take(&m->p, m->bytes, sizeof m->bytes);
        if (got == -EAGAIN)
            return true;
        if (got < 0)
            fail("recv", (int)-got);
        if (got == 0)
            return false;
        m->put = 0;
        m->got = (size_t)got;
    }
}

static void go_on(struct many *m, unsigned *left)
{
    if (m->has_ended || (m->is_client ? ask_on(m) : answer_on(m)))
        return;
    m->has_ended = true;
    borrow_release(m->p.b);
    close(m->p.fd);
    --*left;
}

static void all_at_once(unsigned count)
{
    struct borrow_waiter *w = borrow_waiter_new();
    struct borrow *news[64];
    struct pollfd one = {.events = POLLIN};
    unsigned left = count, wakes = 0;
    if (!w)
        fail("borrow_waiter_new", ENOMEM);
    one.fd = borrow_waiter_fd(w);
    for (unsigned i = 0; i < count; i++) {
        int err = many[i].p.b ? borrow_watch(w, many[i].p.b) : -ENOTCONN;
        if (err)
            fail("borrow_watch", -err);
    }
    while (left > 0) {
        unsigned n = borrow_take_news(w, news, 64);
        for (unsigned k = 0; k < n; k++)
            for (unsigned i = 0; i < count; i++)
                if (many[i].p.b == news[k] && !many[i].has_ended)
                    go_on(&many[i], &left);
        if (n > 0 || !borrow_about_to_sleep(w))
            continue;
        if (poll(&one, 1, 30000) == 0)
            fail("no news for half a minute", ETIMEDOUT);
        borrow_awake(w);
        wakes++;
    }
    borrow_waiter_free(w);
    printf("smcr many %u, woken %u times\n", count, wakes);
}

static void keep(struct many *m, const struct peer *p, char **words)
{
    *m = (struct many){.p = *p, .is_client = strcmp(words[0], "many") == 0};
    if (!m->is_client)
        return;
    m->rounds = (unsigned)atoi(words[1]);
    m->n = strtoul(words[2], NULL, 10);
    if (m->n > MANY_BYTES || m->rounds == 0)
        fail("so many bytes", EINVAL);
    for (size_t i = 0; i < m->n; i++)
        m->bytes[i] = byte_at(i + (uint64_t)(m - many) * 977);
}

static bool are_many(char **words, unsigned count)
{
    bool is_client = words[0] && strcmp(words[0], "many") == 0 && words[1] && words[2];
    return (is_client || (words[0] && strcmp(words[0], "answer-many") == 0)) && count <= MAX_MANY;
}

/* --- the two ends --- */

static void serve(const char *port, unsigned count, char **words)
{
    int on = 1, fd = socket(AF_INET6, SOCK_STREAM, 0); /* for IPv4 too */
    struct sockaddr_in6 at = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)atoi(port))};
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    borrow_offer(fd);
    if (bind(fd, (struct sockaddr *)&at, sizeof at) != 0 || listen(fd, 512) != 0)
        fail("listen", errno);
    for (unsigned i = 0; i < count; i++) {
        struct peer p = {0};
        int tcp_fd = accept(fd, NULL, NULL);
        if (tcp_fd < 0)
            fail("accept", errno);
        lend(&p, tcp_fd, BORROW_SERVER, true);
        if (are_many(words, count))
            keep(&many[i], &p, words);
        else
            act(&p, words);
    }
    if (are_many(words, count))
        all_at_once(count);
}

static void call(const char *host, const char *port, unsigned count, char **words)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *to;
    if (getaddrinfo(host, port, &hints, &to) != 0)
        fail("getaddrinfo", EINVAL);
    for (unsigned i = 0; i < count; i++) {
        struct peer p = {0};
        int tcp_fd = socket(to->ai_family, SOCK_STREAM, 0);
        borrow_offer(tcp_fd);
        if (connect(tcp_fd, to->ai_addr, to->ai_addrlen) != 0)
            fail("connect", errno);
        lend(&p, tcp_fd, BORROW_CLIENT, !words[0] || strcmp(words[0], "leave") != 0);
        if (are_many(words, count))
            keep(&many[i], &p, words);
        else
            act(&p, words);
    }
    if (are_many(words, count))
        all_at_once(count);
    freeaddrinfo(to);
}

static void attached(int fd, char **words)
{
    struct peer p = {.fd = fd, .reason = "after an exec"};
    int err = borrow_is_outer(fd) ? borrow_attach(fd, &p.b) : -ENOTSOCK;
    if (err)
        fail("borrow_attach", -err);
    act(&p, words);
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    alarm(LIMIT_S);
    if (argc < 6)
        fail("usage: see the source", EINVAL);
    socket_path = argv[1];
    int err = borrow_open(argv[1]);
    if (err)
        fail("borrow_open", -err);
    if (getenv("PEER_ENTER") && (err = borrow_enter()) != 0)
        fail("borrow_enter", -err);
    if (strcmp(argv[2], "attached") == 0)
        attached(atoi(argv[3]), argv + 4);
    else if (strcmp(argv[2], "server") == 0)
        serve(argv[3], (unsigned)atoi(argv[4]), argv + 5);
    else
        call(argv[3], argv[4], (unsigned)atoi(argv[5]), argv + 6);
    return 0;
}
