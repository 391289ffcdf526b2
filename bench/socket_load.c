/* SPDX-License-Identifier: BSD-2-Clause */
/* One end of a measurement over stream sockets, the same over kernel TCP and over SMC-R.
 *
 *   socket_load tcp|lent|PORT[,PORT] serve|drive WHAT ADDR TCP_PORT BYTES AMOUNT
 *
 * The server prints READY, then a JSON object; the client a JSON object. Both get the same arguments.
 * `lent` makes the calls of `tcp`, and fails where the connection was not lent by a service after all: for
 * `nornic run --smc`. PORT: xdp:IFACE or packet:IFACE. WHAT:
 *   stream   one connection, writes of BYTES for AMOUNT seconds; the server measures
 *   echo     one connection, AMOUNT requests of BYTES, each answered with as many
 *   connect  AMOUNT connections, one after the other, each with a byte both ways
 *   many     AMOUNT connections at once, each with MANY_ROUNDS requests of BYTES under way in turn
 *   idle     AMOUNT connections at once, each with one request of BYTES; then the client prints READY and
 *            both wait for the end of their standard input
 *
 * All but `stream` set TCP_NODELAY. Both ends use blocking calls, but for the server of `many`, which waits
 * with epoll. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "sock/sock.h"

#define BUFFER_BYTES (1u << 20)
#define MANY_ROUNDS  10
#define WAIT_S       20 /* for a peer that says nothing */

/* The calls that differ. */
struct calls {
    int (*socket)(int, int, int);
    int (*bind)(int, const struct sockaddr *, socklen_t);
    int (*listen)(int, int);
    int (*accept)(int, struct sockaddr *, socklen_t *);
    int (*connect)(int, const struct sockaddr *, socklen_t);
    ssize_t (*read)(int, void *, size_t);
    ssize_t (*write)(int, const void *, size_t);
    int (*close)(int);
    int (*setsockopt)(int, int, int, const void *, socklen_t);
    int (*shutdown)(int, int);
};
static const struct calls over_tcp = {socket, bind,  listen, accept,     connect,
                                      read,   write, close,  setsockopt, shutdown};
static const struct calls over_smc = {nornic_socket,     nornic_bind,    nornic_listen, nornic_accept,
                                      nornic_connect,    nornic_read,    nornic_write,  nornic_close,
                                      nornic_setsockopt, nornic_shutdown};

struct load {
    const struct calls *calls;
    bool is_smc, is_lent;
    const char *what;
    struct sockaddr_in addr;
    size_t bytes;
    double amount;
};

static uint8_t buffer[BUFFER_BYTES];

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void fail(const char *what)
{
    fprintf(stderr, "socket_load: %s: %s\n", what, strerror(errno));
    exit(1);
}

/* The kernel, past the library that is preloaded, sees a UNIX socket where a lent connection is. */
static void check_lent(int fd)
{
    struct sockaddr_storage name;
    socklen_t len_bytes = sizeof name;
    if (syscall(SYS_getsockname, fd, &name, &len_bytes) != 0)
        fail("getsockname");
    if (name.ss_family == AF_UNIX)
        return;
    fprintf(stderr, "socket_load: not over SMC-R: the connection is not lent (NORNIC_TRACE=1 says why)\n");
    exit(1);
}

/* What is measured must be what is asked for. After a byte has come, which is when it is settled. */
static void check_path(const struct load *load, int fd)
{
    struct nornic_socket_info info;
    if (load->is_lent)
        check_lent(fd);
    if (!load->is_smc)
        return;
    if (nornic_socket_info(fd, &info) != 0)
        fail("nornic_socket_info");
    if (info.smcr)
        return;
    fprintf(stderr, "socket_load: not over SMC-R: %s\n", info.reason);
    exit(1);
}

static void set_options(const struct load *load, int fd)
{
    int no_delay = strcmp(load->what, "stream") != 0;
    struct timeval wait = {.tv_sec = WAIT_S};
    if (load->calls->setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &no_delay, sizeof no_delay) < 0 ||
        load->calls->setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait) < 0)
        fail("setsockopt");
}

static int dial(const struct load *load)
{
    int fd = load->calls->socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || load->calls->connect(fd, (const struct sockaddr *)&load->addr, sizeof load->addr) < 0)
        fail("connect");
    set_options(load, fd);
    return fd;
}

static int take(const struct load *load, int listener)
{
    int fd = load->calls->accept(listener, NULL, NULL);
    if (fd < 0)
        fail("accept");
    set_options(load, fd);
    return fd;
}

static void write_all(const struct load *load, int fd, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = load->calls->write(fd, buffer + done, bytes - done);
        if (n < 0)
            fail("write");
        done += (size_t)n;
    }
}

/* False: the end of the stream. */
static bool read_all(const struct load *load, int fd, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t n = load->calls->read(fd, buffer + done, bytes - done);
        if (n < 0)
            fail("read");
        if (n == 0)
            return false;
        done += (size_t)n;
    }
    return true;
}

/* --- stream --- */

static void serve_stream(const struct load *load, int listener)
{
    int fd = take(load, listener);
    uint64_t total = 0, start_ns = 0;
    ssize_t n;
    while ((n = load->calls->read(fd, buffer, sizeof buffer)) > 0) {
        if (start_ns == 0)
            start_ns = now_ns();
        total += (uint64_t)n;
    }
    if (n < 0)
        fail("read");
    double seconds = (double)(now_ns() - start_ns) / NS_PER_S;
    printf("{\"bytes\": %llu, \"seconds\": %.6f, \"mbit_per_s\": %.3f}\n", (unsigned long long)total, seconds,
           (double)total * 8 / seconds / 1e6);
    load->calls->close(fd);
}

static void drive_stream(const struct load *load)
{
    int fd = dial(load);
    uint64_t end_ns = now_ns() + (uint64_t)(load->amount * NS_PER_S), writes = 0;
    while (now_ns() < end_ns) {
        write_all(load, fd, load->bytes);
        writes++;
    }
    if (load->calls->shutdown(fd, SHUT_WR) < 0)
        fail("shutdown");
    read_all(load, fd, 1);
    check_path(load, fd);
    load->calls->close(fd);
    printf("{\"writes\": %llu}\n", (unsigned long long)writes);
}

/* --- echo --- */

static void serve_echo(const struct load *load, int listener)
{
    int fd = take(load, listener);
    ssize_t n;
    while ((n = load->calls->read(fd, buffer, sizeof buffer)) > 0)
        write_all(load, fd, (size_t)n);
    if (n < 0)
        fail("read");
    load->calls->close(fd);
    printf("{}\n");
}

static int by_value(const void *a, const void *b)
{
    const uint32_t *x = a, *y = b;
    return *x < *y ? -1 : *x > *y;
}

static void drive_echo(const struct load *load)
{
    uint32_t count = (uint32_t)load->amount, *took_ns = calloc(count, sizeof *took_ns);
    if (!took_ns)
        fail("memory");
    int fd = dial(load);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t start_ns = now_ns();
        write_all(load, fd, load->bytes);
        if (!read_all(load, fd, load->bytes)) {
            errno = ECONNRESET;
            fail("read");
        }
        took_ns[i] = (uint32_t)(now_ns() - start_ns);
    }
    check_path(load, fd);
    load->calls->close(fd);
    qsort(took_ns, count, sizeof *took_ns, by_value);
    uint32_t median_ns = took_ns[count / 2], p99_ns = took_ns[(uint64_t)count * 99 / 100];
    printf("{\"median_us\": %.2f, \"p99_us\": %.2f, \"least_us\": %.2f}\n", median_ns / 1e3, p99_ns / 1e3,
           took_ns[0] / 1e3);
    free(took_ns);
}

/* --- connect --- */

static void serve_connect(const struct load *load, int listener)
{
    for (uint32_t i = 0; i < (uint32_t)load->amount; i++) {
        int fd = take(load, listener);
        if (read_all(load, fd, 1))
            write_all(load, fd, 1);
        read_all(load, fd, 1);
        load->calls->close(fd);
    }
    printf("{}\n");
}

static void drive_connect(const struct load *load)
{
    uint64_t start_ns = now_ns();
    for (uint32_t i = 0; i < (uint32_t)load->amount; i++) {
        int fd = dial(load);
        write_all(load, fd, 1);
        read_all(load, fd, 1);
        if (i == 0)
            check_path(load, fd);
        load->calls->close(fd);
    }
    printf("{\"per_s\": %.1f}\n", load->amount / ((double)(now_ns() - start_ns) / NS_PER_S));
}

/* --- many --- */

static void serve_many(const struct load *load, int listener)
{
    uint32_t left = (uint32_t)load->amount;
    int epoll_fd = epoll_create1(0);
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener};
    if (epoll_fd < 0 || epoll_ctl(epoll_fd, EPOLL_CTL_ADD, listener, &event) < 0)
        fail("epoll");
    while (left > 0) {
        struct epoll_event ready[64];
        int n = epoll_wait(epoll_fd, ready, 64, WAIT_S * 1000);
        if (n <= 0)
            fail("epoll_wait");
        for (int i = 0; i < n; i++) {
            int fd = ready[i].data.fd;
            if (fd == listener) {
                fd = take(load, listener);
                event.data.fd = fd;
                if (epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0)
                    fail("epoll");
                continue;
            }
            ssize_t got = load->calls->read(fd, buffer, sizeof buffer);
            if (got < 0)
                fail("read");
            write_all(load, fd, (size_t)got);
            if (got == 0) {
                load->calls->close(fd);
                left--;
            }
        }
    }
    printf("{}\n");
}

static void drive_many(const struct load *load)
{
    uint32_t count = (uint32_t)load->amount;
    int *fds = calloc(count, sizeof *fds);
    if (!fds)
        fail("memory");
    uint64_t start_ns = now_ns();
    for (uint32_t i = 0; i < count; i++)
        fds[i] = dial(load);
    uint64_t open_ns = now_ns();
    for (unsigned round = 0; round < MANY_ROUNDS; round++) {
        for (uint32_t i = 0; i < count; i++)
            write_all(load, fds[i], load->bytes);
        for (uint32_t i = 0; i < count; i++)
            read_all(load, fds[i], load->bytes);
    }
    uint64_t end_ns = now_ns();
    check_path(load, fds[count - 1]);
    for (uint32_t i = 0; i < count; i++)
        load->calls->close(fds[i]);
    free(fds);
    printf("{\"opened_per_s\": %.1f, \"requests_per_s\": %.1f}\n",
           count / ((double)(open_ns - start_ns) / NS_PER_S),
           (double)count * MANY_ROUNDS / ((double)(end_ns - open_ns) / NS_PER_S));
}

/* --- idle --- */

static void wait_for_stdin(void)
{
    char byte;
    while (read(STDIN_FILENO, &byte, 1) > 0)
        ;
}

/* Each connection has a request behind it, and all stay. */
static void serve_idle(const struct load *load, int listener)
{
    for (uint32_t i = 0; i < (uint32_t)load->amount; i++) {
        int fd = take(load, listener);
        if (read_all(load, fd, load->bytes))
            write_all(load, fd, load->bytes);
    }
    wait_for_stdin();
    printf("{}\n");
}

static void drive_idle(const struct load *load)
{
    int fd = -1;
    for (uint32_t i = 0; i < (uint32_t)load->amount; i++) {
        fd = dial(load);
        write_all(load, fd, load->bytes);
        read_all(load, fd, load->bytes);
    }
    check_path(load, fd);
    puts("READY");
    fflush(stdout);
    wait_for_stdin();
    printf("{}\n");
}

/* --- what there is --- */

static const struct {
    const char *name;
    void (*serve)(const struct load *load, int listener);
    void (*drive)(const struct load *load);
} kinds[] = {{"stream", serve_stream, drive_stream},
             {"echo", serve_echo, drive_echo},
             {"connect", serve_connect, drive_connect},
             {"many", serve_many, drive_many},
             {"idle", serve_idle, drive_idle}};

static int listen_on(const struct load *load)
{
    int on = 1, fd = load->calls->socket(AF_INET, SOCK_STREAM, 0);
    if (fd < 0 || load->calls->setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        load->calls->bind(fd, (const struct sockaddr *)&load->addr, sizeof load->addr) < 0 ||
        load->calls->listen(fd, 1024) < 0)
        fail("listen");
    puts("READY");
    fflush(stdout);
    return fd;
}

static void start_smc(char *ports)
{
    struct smcr_sock_config config = {0};
    struct nornic_error why = {""};
    for (char *port = strtok(ports, ","); port && config.num_ports < SMCR_SOCK_MAX_PORTS;
         port = strtok(NULL, ","))
        config.ports[config.num_ports++].port = port;
    if (smcr_sock_start(&config, &why) < 0 || why.text[0]) {
        fprintf(stderr, "socket_load: %s\n", why.text);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    bool serves = argc > 2 && strcmp(argv[2], "serve") == 0;
    if (argc != 8) {
        fprintf(stderr,
                "usage: socket_load tcp|lent|PORT[,PORT] serve|drive WHAT ADDR TCP_PORT BYTES AMOUNT\n");
        return 2;
    }
    bool is_lent = strcmp(argv[1], "lent") == 0;
    struct load load = {.is_smc = strcmp(argv[1], "tcp") != 0 && !is_lent,
                        .is_lent = is_lent,
                        .what = argv[3],
                        .addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[5]))},
                        .bytes = strtoul(argv[6], NULL, 10),
                        .amount = strtod(argv[7], NULL)};
    load.calls = load.is_smc ? &over_smc : &over_tcp;
    if (inet_pton(AF_INET, argv[4], &load.addr.sin_addr) != 1 || load.bytes > sizeof buffer) {
        fprintf(stderr, "socket_load: an IPv4 address, and at most %zu bytes\n", sizeof buffer);
        return 2;
    }
    struct rlimit files = {.rlim_cur = 8192, .rlim_max = 8192};
    setrlimit(RLIMIT_NOFILE, &files);
    if (load.is_smc)
        start_smc(argv[1]);
    for (size_t i = 0; i < array_len(kinds); i++) {
        if (strcmp(kinds[i].name, load.what) == 0) {
            if (serves)
                kinds[i].serve(&load, listen_on(&load));
            else
                kinds[i].drive(&load);
        }
    }
    if (load.is_smc)
        smcr_sock_stop(NULL);
    return 0;
}
