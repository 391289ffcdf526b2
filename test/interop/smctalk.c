/* SPDX-License-Identifier: BSD-2-Clause */
/* Many connections at once, at either end of an SMC-R case: in the guest by the kernel's sockets, here,
 * compiled with NORNIC_SOCKETS, by nornic's.
 *
 *   smctalk serve|connect ADDR PORT CONNS MODE SIZE
 *
 * Byte i of a stream is i * 7 + (i >> 8). The modes:
 *   echo    the client sends SIZE bytes, the server sends them back
 *   both    each sends SIZE bytes at once
 *   abort   as echo, and the client resets each connection when half of it has come and more waits to be
 *           read (Linux resets for that alone, and not for SO_LINGER); sabort: the server
 *   urgent  the client sends SIZE bytes, an urgent one and SIZE more; the server looks for the urgent one
 *           first, and answers with one byte
 *   idle    as echo, but nothing moves for a while in the middle
 * Exits with 0 when all went well; prints how the bytes have travelled, as far as it knows. When a quarter
 * has come on the first connection it runs what $AT_QUARTER says; $AT_IDLE when the idle middle begins, and
 * $AT_END when all is over.
 *
 * In the environment: FAMILY, of the guest: smc (AF_SMC), ipproto (IPPROTO_SMC), tcp. DEVICES and EID of
 * nornic: ports with blanks between them, none of them for plain TCP, "" for no EID; LOSS_PPM: of the frames
 * that these send, and of those that they get. IDLE_MS: how long the middle is. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#ifdef NORNIC_SOCKETS
#include <nornic/nornic.h>
#define CALL(name) nornic_##name
#else
#define CALL(name) name
#endif
#ifndef AF_SMC
#define AF_SMC 43
#endif
#ifndef IPPROTO_SMC
#define IPPROTO_SMC 256
#endif

#define MAX_CONNS   64
#define CHUNK_BYTES 16384
#define STUCK_MS    40000
#define URGENT      '!'

enum mode { ECHO, BOTH, ABORT, SABORT, URGENT_DATA, IDLE, MODES };
static const char *const mode_names[MODES] = {"echo", "both", "abort", "sabort", "urgent", "idle"};

struct conn {
    int fd; /* -1: over */
    size_t sent, taken;
    bool said_end, heard_end, had_urgent;
};

static struct {
    enum mode mode;
    bool is_server, had_quarter, has_idled;
    size_t size;
    unsigned count;
    struct conn conns[MAX_CONNS];
} t;

static void die(const char *what)
{
    fprintf(stderr, "smctalk: %s: %s\n", what, strerror(errno));
    exit(1);
}

static void wrong(const char *what, unsigned conn)
{
    fprintf(stderr, "smctalk: connection %u: %s\n", conn, what);
    exit(1);
}

static uint8_t byte_at(size_t i)
{
    return (uint8_t)(i * 7 + (i >> 8));
}

/* --- what a mode means --- */

static bool is_answering(void)
{
    return t.is_server && t.mode != BOTH;
}

/* Bytes of the stream that come to this end. */
static size_t expected(void)
{
    if (t.mode == URGENT_DATA)
        return t.is_server ? 2 * t.size : 1;
    return t.size;
}

/* Bytes that this end may have sent by now. */
static size_t allowed(const struct conn *c)
{
    if (t.mode == URGENT_DATA)
        return t.is_server ? c->taken == 2 * t.size && c->had_urgent : 2 * t.size;
    if (is_answering())
        return c->taken;
    if (t.mode == ABORT)
        return t.size / 4 * 3; /* the server waits for more when it is reset */
    return t.mode == IDLE && !t.has_idled ? t.size / 2 : t.size;
}

static bool may_end(const struct conn *c)
{
    size_t all = t.mode == URGENT_DATA ? t.is_server ? 1 : 2 * t.size : t.size;
    return c->sent == all;
}

static bool is_aborter(void)
{
    return t.mode == (t.is_server ? SABORT : ABORT);
}

static bool is_aborted(void)
{
    return t.mode == (t.is_server ? ABORT : SABORT);
}

/* --- one connection --- */

static void finish(struct conn *c)
{
    if (CALL(close)(c->fd) != 0)
        die("close");
    c->fd = -1;
}

static void reset(struct conn *c)
{
    struct linger none = {.l_onoff = 1};
    if (CALL(setsockopt)(c->fd, SOL_SOCKET, SO_LINGER, &none, sizeof none) != 0)
        die("SO_LINGER");
    finish(c);
}

/* The other end has reset it: what this mode is about, or an error. */
static void was_reset(struct conn *c, const char *what)
{
    bool is_reset = errno == ECONNRESET || errno == EPIPE || errno == ECONNABORTED || errno == ENOTCONN;
    if (!is_aborted() || !is_reset)
        die(what);
    finish(c);
}

static void send_some(struct conn *c)
{
    uint8_t bytes[CHUNK_BYTES] = {0};
    bool is_urgent = t.mode == URGENT_DATA && !t.is_server && c->sent == t.size && !c->had_urgent;
    size_t most = allowed(c), n = most - c->sent;
    if (t.mode == URGENT_DATA && c->sent < t.size && n > t.size - c->sent)
        n = t.size - c->sent;
    n = is_urgent ? 1 : n < sizeof bytes ? n : sizeof bytes;
    for (size_t i = 0; i < n; i++)
        bytes[i] = is_urgent ? URGENT : byte_at(c->sent + i);
    ssize_t put = CALL(send)(c->fd, bytes, n, MSG_DONTWAIT | MSG_NOSIGNAL | (is_urgent ? MSG_OOB : 0));
    if (put < 0 && errno == EAGAIN)
        return;
    if (put < 0) {
        was_reset(c, "send");
        return;
    }
    if (is_urgent)
        c->had_urgent = true;
    else
        c->sent += (size_t)put;
}

static void take_urgent(struct conn *c)
{
    uint8_t byte = 0;
    ssize_t n = CALL(recv)(c->fd, &byte, 1, MSG_OOB | MSG_DONTWAIT);
    if (n < 0 && errno != EAGAIN)
        die("recv of the urgent byte");
    if (n == 1 && byte != URGENT)
        wrong("the urgent byte is another one", (unsigned)(c - t.conns));
    c->had_urgent |= n == 1;
}

static void take_some(struct conn *c)
{
    uint8_t bytes[CHUNK_BYTES];
    ssize_t n = CALL(recv)(c->fd, bytes, sizeof bytes, MSG_DONTWAIT);
    if (n < 0 && errno == EAGAIN)
        return;
    if (n < 0) {
        was_reset(c, "recv");
        return;
    }
    for (ssize_t i = 0; i < n; i++)
        if (bytes[i] != byte_at(c->taken + (size_t)i))
            wrong("a byte is wrong", (unsigned)(c - t.conns));
    c->taken += (size_t)n;
    c->heard_end |= n == 0;
}

static void step(struct conn *c, short revents)
{
    if (is_aborter() && c->taken >= t.size / 2 && revents & POLLIN) {
        reset(c);
        return;
    }
    bool waits_for_urgent = t.mode == URGENT_DATA && t.is_server && !c->had_urgent;
    if (revents & POLLPRI && waits_for_urgent)
        take_urgent(c);
    else if (revents & (POLLIN | POLLHUP | POLLERR) && !waits_for_urgent && !c->heard_end)
        take_some(c);
    if (c->fd >= 0 && revents & (POLLOUT | POLLHUP | POLLERR) && c->sent < allowed(c))
        send_some(c); /* or hear why not */
    if (c->fd < 0)
        return;
    if (!c->said_end && may_end(c) && CALL(shutdown)(c->fd, SHUT_WR) != 0) {
        was_reset(c, "shutdown");
        return;
    }
    c->said_end |= may_end(c);
    bool is_cut = is_aborted() && c->heard_end; /* Linux does not always tell a reset from an end */
    if (!is_cut && (!c->heard_end || !c->said_end))
        return;
    if (!is_cut && c->taken != expected())
        wrong("the stream ends too early", (unsigned)(c - t.conns));
    finish(c);
}

/* --- all of them --- */

static unsigned left(void)
{
    unsigned n = 0;
    for (unsigned i = 0; i < t.count; i++)
        n += t.conns[i].fd >= 0;
    return n;
}

static void run(const char *name)
{
    const char *words = getenv(name);
    if (words && *words && system(words) != 0)
        wrong(words, t.count);
}

/* In the middle: nothing moves on any connection. */
static void idle(void)
{
    const char *ms = getenv("IDLE_MS");
    struct timespec half = {.tv_nsec = 500000000};
    int64_t rest_ms = ms ? atoi(ms) : 1000;
    for (unsigned i = 0; i < t.count; i++)
        if (t.conns[i].taken < t.size / 2)
            return;
    t.has_idled = true;
    printf("idle\n");
    fflush(stdout);
    run("AT_IDLE");
    for (; !t.is_server && rest_ms > 0; rest_ms -= 500)
        nanosleep(&half, NULL);
}

static void talk(void)
{
    struct pollfd p[MAX_CONNS];
    while (left() > 0) {
        for (unsigned i = 0; i < t.count; i++) {
            const struct conn *c = &t.conns[i];
            bool waits_for_urgent = t.mode == URGENT_DATA && t.is_server && !c->had_urgent;
            p[i] = (struct pollfd){.fd = c->fd};
            p[i].events |= waits_for_urgent ? POLLPRI : c->heard_end ? 0 : POLLIN;
            p[i].events |= c->sent < allowed(c) ? POLLOUT : 0;
        }
        int ready = poll(p, t.count, STUCK_MS);
        if (ready < 0)
            die("poll");
        if (ready == 0)
            wrong("nothing moves", t.count);
        for (unsigned i = 0; i < t.count; i++)
            if (t.conns[i].fd >= 0)
                step(&t.conns[i], p[i].revents);
        if (!t.had_quarter && t.conns[0].taken >= t.size / 4) {
            t.had_quarter = true;
            run("AT_QUARTER");
        }
        if (t.mode == IDLE && !t.has_idled)
            idle();
    }
}

static int new_socket(void)
{
#ifdef NORNIC_SOCKETS
    int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
#else
    const char *family = getenv("FAMILY") ? getenv("FAMILY") : "smc";
    int fd = strcmp(family, "smc") == 0       ? socket(AF_SMC, SOCK_STREAM, 0)
             : strcmp(family, "ipproto") == 0 ? socket(AF_INET, SOCK_STREAM, IPPROTO_SMC)
                                              : socket(AF_INET, SOCK_STREAM, 0);
#endif
    if (fd < 0)
        die("socket");
    return fd;
}

static void serve(const struct sockaddr_in *at)
{
    int one = 1, fd = new_socket();
    if (CALL(setsockopt)(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) != 0 ||
        CALL(bind)(fd, (const struct sockaddr *)at, sizeof *at) != 0 || CALL(listen)(fd, MAX_CONNS) != 0)
        die("listen");
    for (unsigned i = 0; i < t.count; i++)
        if ((t.conns[i].fd = CALL(accept)(fd, NULL, NULL)) < 0)
            die("accept");
    if (CALL(close)(fd) != 0)
        die("close");
}

static void connect_all(const struct sockaddr_in *to)
{
    for (unsigned i = 0; i < t.count; i++) {
        t.conns[i].fd = new_socket();
        if (CALL(connect)(t.conns[i].fd, (const struct sockaddr *)to, sizeof *to) != 0)
            die("connect");
    }
}

#ifdef NORNIC_SOCKETS
static void start(void)
{
    static char devices[200];
    struct nornic_error why = {.text = ""};
    struct nornic_sockets_config config = {NORNIC_INIT(config)};
    const char *eid = getenv("EID"), *loss = getenv("LOSS_PPM");
    snprintf(devices, sizeof devices, "%s", getenv("DEVICES") ? getenv("DEVICES") : "");
    for (char *d = strtok(devices, " "); d && config.num_ports < NORNIC_SOCKETS_MAX_PORTS;
         d = strtok(NULL, " "))
        config.ports[config.num_ports++] = (struct nornic_socket_port){
            .port = d, .impair = {.seed = 1, .loss_ppm = loss ? (uint32_t)atoi(loss) : 0}};
    config.eids[0] = eid && *eid ? eid : NULL;
    if (nornic_sockets_start(&config, &why) || why.text[0]) {
        fprintf(stderr, "smctalk: %s\n", why.text);
        exit(1);
    }
}

static void tell_ways(void)
{
    unsigned smcr = 0;
    struct nornic_socket_info info = {.reason = ""};
    for (unsigned i = 0; i < t.count; i++)
        smcr += nornic_socket_info(t.conns[i].fd, &info) == 0 && info.smcr;
    printf("%u of %u by SMC-R: %s\n", smcr, t.count, info.reason);
    fflush(stdout);
}

static void stop(void)
{
    struct nornic_error why;
    if (nornic_sockets_stop(&why))
        wrong(why.text, t.count);
}
#else
static void start(void)
{
}

static void tell_ways(void)
{
}

static void stop(void)
{
}
#endif

int main(int argc, char **argv)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    if (argc != 7 || inet_pton(AF_INET, argv[2], &addr.sin_addr) != 1 || atoi(argv[4]) > MAX_CONNS) {
        fprintf(stderr,
                "usage: smctalk serve|connect ADDR PORT CONNS echo|both|abort|sabort|urgent|idle SIZE\n");
        return 2;
    }
    addr.sin_port = htons((uint16_t)atoi(argv[3]));
    t.is_server = strcmp(argv[1], "serve") == 0;
    t.count = (unsigned)atoi(argv[4]);
    while (t.mode < MODES && strcmp(argv[5], mode_names[t.mode]) != 0)
        t.mode++;
    t.size = strtoul(argv[6], NULL, 10);
    signal(SIGPIPE, SIG_IGN);
    start();
    if (t.is_server)
        serve(&addr);
    else
        connect_all(&addr);
    tell_ways();
    talk();
    run("AT_END");
    stop();
    return 0;
}
