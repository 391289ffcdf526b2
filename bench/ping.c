/* SPDX-License-Identifier: BSD-2-Clause */
/* Kernel TCP's ping-pong, with nothing but sockets: what bench/latency compares nornic's with.
 *
 *     ping listen busy|asleep PORT BYTES
 *     ping HOST busy|asleep PORT BYTES COUNT
 *
 * Busy looks for the answer again and again, asleep waits in recv(). The client prints the quantiles of its
 * round trips as one line of JSON, in nanoseconds. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/histogram.h"

#define MAX_BYTES 65536u

static uint8_t message[MAX_BYTES];

static uint64_t now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec;
}

static void check(bool ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "ping: %s: %s\n", what, strerror(errno));
    exit(1);
}

static int open_listener(const struct sockaddr_in *at)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    check(fd >= 0 && bind(fd, (const struct sockaddr *)at, sizeof *at) == 0 && listen(fd, 1) == 0, "listen");
    int peer = accept(fd, NULL, NULL);
    check(peer >= 0, "accept");
    close(fd);
    return peer;
}

static int open_client(const struct sockaddr_in *to)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    check(fd >= 0 && connect(fd, (const struct sockaddr *)to, sizeof *to) == 0, "connect");
    return fd;
}

/* A whole message. False: the peer has closed. */
static bool take(int fd, size_t bytes, int flags)
{
    for (size_t got = 0; got < bytes;) {
        ssize_t n = recv(fd, message + got, bytes - got, flags);
        if (n == 0)
            return false;
        check(n > 0 || errno == EAGAIN, "recv");
        got += n > 0 ? (size_t)n : 0;
    }
    return true;
}

static void give(int fd, size_t bytes)
{
    check(send(fd, message, bytes, MSG_NOSIGNAL) == (ssize_t)bytes, "send");
}

static void ask(int fd, size_t bytes, int flags, unsigned long count)
{
    static struct histogram round_trips;
    for (unsigned long i = 0; i < count; i++) {
        uint64_t start_ns = now_ns();
        give(fd, bytes);
        check(take(fd, bytes, flags), "the peer left");
        histogram_add(&round_trips, now_ns() - start_ns);
    }
    printf("{\"min\":%llu,\"median\":%llu,\"p99\":%llu,\"p99_9\":%llu,\"max\":%llu}\n",
           (unsigned long long)round_trips.min, (unsigned long long)histogram_quantile(&round_trips, 0.5),
           (unsigned long long)histogram_quantile(&round_trips, 0.99),
           (unsigned long long)histogram_quantile(&round_trips, 0.999), (unsigned long long)round_trips.max);
}

int main(int argc, char **argv)
{
    bool is_server = argc == 5 && strcmp(argv[1], "listen") == 0;
    if (!is_server && argc != 6) {
        fprintf(stderr, "usage: ping listen|HOST busy|asleep PORT BYTES [COUNT]\n");
        return 2;
    }
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons((uint16_t)strtoul(argv[3], NULL, 10))};
    int flags = strcmp(argv[2], "busy") == 0 ? MSG_DONTWAIT : 0, on = 1;
    size_t bytes = min_u64(strtoul(argv[4], NULL, 10), MAX_BYTES);
    check(is_server || inet_pton(AF_INET, argv[1], &at.sin_addr) == 1, argv[1]);
    int fd = is_server ? open_listener(&at) : open_client(&at);
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    if (is_server)
        while (take(fd, bytes, flags))
            give(fd, bytes);
    else
        ask(fd, bytes, flags, strtoul(argv[5], NULL, 10));
    close(fd);
    return 0;
}
