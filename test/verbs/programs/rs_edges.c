/* SPDX-License-Identifier: BSD-2-Clause */
/* Rsockets that have something under way while the program looks elsewhere, and those without a connection.
 *
 *   rs_edges self N      N connections to itself in one thread, which waits for the listener alone
 *   rs_edges window N    N rounds: a reader takes all bytes and is not looked at again before the next round
 *   rs_edges refused     each call on an rsocket that was refused
 *   rs_edges thread      the thread of the library comes with the first rsocket and goes with the last
 *   rs_edges fork        a child neither has nor disturbs the thread of its parent
 *   rs_edges elsewhere   datagrams to and from a loopback address that no device has
 *   rs_edges flood SECS  datagrams of forged sources from all of 127.0.0.0/8 while a program waits
 *
 * Prints a line of results. Exit status 0: all as expected. */
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <rdma/rsocket.h>

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int fails(const char *what)
{
    printf("%s: %s\n", what, strerror(errno));
    return 1;
}

static struct sockaddr_in loopback(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

/* An rsocket that listens, and its address. -1: none. */
static int listener(struct sockaddr_in *at)
{
    socklen_t len = sizeof *at;
    int fd = rsocket(AF_INET, SOCK_STREAM, 0);
    *at = loopback(0);
    if (fd < 0 || rbind(fd, (struct sockaddr *)at, len) || rlisten(fd, 8) ||
        rgetsockname(fd, (struct sockaddr *)at, &len))
        return -1;
    return fd;
}

/* An rsocket that begins to connect, and does not wait. */
static int begin(const struct sockaddr_in *at)
{
    int fd = rsocket(AF_INET, SOCK_STREAM, 0);
    rfcntl(fd, F_SETFL, (long)O_NONBLOCK);
    if (rconnect(fd, (const struct sockaddr *)at, sizeof *at) == 0 || errno == EINPROGRESS)
        return fd;
    rclose(fd);
    return -1;
}

static bool comes(int fd, short events, int timeout_ms)
{
    struct pollfd wanted = {.fd = fd, .events = events};
    return rpoll(&wanted, 1, timeout_ms) == 1 && wanted.revents & events;
}

/* --- self --- */

static int self(unsigned rounds)
{
    unsigned good = 0;
    for (unsigned i = 0; i < rounds; i++) {
        struct sockaddr_in at;
        int there = listener(&at), here = there < 0 ? -1 : begin(&at);
        int accepted = here >= 0 && comes(there, POLLIN, 5000) ? raccept(there, NULL, NULL) : -1;
        good += accepted >= 0;
        if (accepted >= 0)
            rclose(accepted);
        if (here >= 0)
            rclose(here);
        if (there >= 0)
            rclose(there);
        if (accepted < 0)
            break; /* each costs its timeout */
    }
    printf("%u of %u connections\n", good, rounds);
    return good != rounds;
}

/* --- window --- */

/* Both ends of a connection with the smallest buffers and queues there are. */
static bool connect_small(int *there, int *here)
{
    const int least = 1;
    struct sockaddr_in at;
    int from = rsocket(AF_INET, SOCK_STREAM, 0);
    socklen_t len = sizeof at;
    at = loopback(0);
    rsetsockopt(from, SOL_SOCKET, SO_RCVBUF, &least, sizeof least);
    rsetsockopt(from, SOL_RDMA, RDMA_RQSIZE, &least, sizeof least);
    if (rbind(from, (struct sockaddr *)&at, len) || rlisten(from, 1) ||
        rgetsockname(from, (struct sockaddr *)&at, &len))
        return false;
    *here = begin(&at);
    *there = *here >= 0 && comes(from, POLLIN, 5000) ? raccept(from, NULL, NULL) : -1;
    rclose(from);
    return *there >= 0 && comes(*here, POLLOUT, 5000);
}

static int window(unsigned rounds)
{
    static char bytes[300];
    int there, here;
    unsigned good = 0;
    if (!connect_small(&there, &here))
        return fails("connection");
    for (; good < rounds && comes(here, POLLOUT, 8000); good++) {
        ssize_t sent = 0, got = 0, now;
        while ((now = rsend(here, bytes, sizeof bytes, 0)) > 0)
            sent += now;
        while (got < sent && (now = rrecv(there, bytes, 37, 0)) > 0)
            got += now;
        if (got < sent)
            break;
    }
    printf("%u of %u windows\n", good, rounds);
    return good != rounds;
}

/* --- refused --- */

static int is_error(const char *call, ssize_t result, int wanted)
{
    bool is_right = result == -1 && errno == wanted;
    if (!is_right)
        printf("%s: %zd, %s\n", call, result, strerror(errno));
    return !is_right;
}

/* Each call on an rsocket after its error was told. */
static int calls_without_connection(int fd, const struct sockaddr_in *nobody)
{
    struct sockaddr_in name;
    socklen_t len = sizeof name;
    struct pollfd both = {.fd = fd, .events = POLLIN | POLLOUT};
    char byte = 0;
    int bad = is_error("connect", rconnect(fd, (const struct sockaddr *)nobody, sizeof *nobody), ENOTCONN);
    bad += is_error("getpeername", rgetpeername(fd, (struct sockaddr *)&name, &len), ENOTCONN);
    bad += is_error("send", rsend(fd, &byte, 1, 0), ENOTCONN);
    bad += is_error("recv", rrecv(fd, &byte, 1, 0), ENOTCONN);
    bad += is_error("riowrite", (ssize_t)riowrite(fd, &byte, 1, 0, 0), ENOTCONN);
    bad += is_error("shutdown", rshutdown(fd, SHUT_RDWR), ENOTCONN);
    bad += is_error("listen", rlisten(fd, 1), EINVAL);
    bad += is_error("accept", raccept(fd, NULL, NULL), EINVAL);
    bad += rgetsockname(fd, (struct sockaddr *)&name, &len) != 0;
    bad += rpoll(&both, 1, 0) != 1 || both.revents != (POLLIN | POLLOUT | POLLERR);
    return bad;
}

static int refused(void)
{
    const struct sockaddr_in nobody = loopback(1);
    int bad = 0;
    for (unsigned how = 0; how < 2; how++) {
        int fd = rsocket(AF_INET, SOCK_STREAM, 0), err = 0;
        socklen_t len = sizeof err;
        if (how)
            rfcntl(fd, F_SETFL, (long)O_NONBLOCK);
        bad += is_error("first connect", rconnect(fd, (const struct sockaddr *)&nobody, sizeof nobody),
                        how ? EINPROGRESS : ECONNREFUSED);
        bad += !comes(fd, POLLOUT, 5000);
        if (how)
            bad += rgetsockopt(fd, SOL_SOCKET, SO_ERROR, &err, &len) || err != ECONNREFUSED;
        bad += calls_without_connection(fd, &nobody);
        bad += rclose(fd) != 0;
    }
    /* the error is told once, by the first call that asks */
    int fd = begin(&nobody);
    bad += fd < 0 || !comes(fd, POLLOUT, 5000);
    bad += is_error("second connect", rconnect(fd, (const struct sockaddr *)&nobody, sizeof nobody),
                    ECONNREFUSED);
    bad += is_error("third connect", rconnect(fd, (const struct sockaddr *)&nobody, sizeof nobody), ENOTCONN);
    rclose(fd);
    printf("%d wrong answers\n", bad);
    return bad;
}

/* --- thread, fork --- */

static int threads(void)
{
    int count = -2; /* . and .. */
    DIR *dir = opendir("/proc/self/task");
    while (dir && readdir(dir))
        count++;
    if (dir)
        closedir(dir);
    return count;
}

/* How many threads there are, once there are `wanted`, or after five seconds. */
static int threads_become(int wanted)
{
    const double end = now_s() + 5;
    while (threads() != wanted && now_s() < end)
        usleep(1000);
    return threads();
}

static int thread(void)
{
    int idle = rsocket(AF_INET, SOCK_DGRAM, 0), before = threads(), bad = 0;
    for (unsigned i = 0; i < 3; i++) {
        struct sockaddr_in at;
        int there = listener(&at);
        bad += there < 0 || threads_become(before + 1) != before + 1;
        rclose(there);
        bad += threads_become(before) != before;
    }
    printf("%d wrong numbers of threads; %d before, %d now\n", bad, before, threads());
    rclose(idle);
    return bad;
}

static int forked(void)
{
    struct sockaddr_in at;
    int there = listener(&at), status = 0;
    pid_t child = fork();
    if (child == 0) {
        struct sockaddr_in name;
        socklen_t len = sizeof name;
        int before = threads();
        rgetsockname(there, (struct sockaddr *)&name, &len);
        _exit(threads() != before);
    }
    waitpid(child, &status, 0);
    int here = begin(&at);
    bool is_served = comes(there, POLLIN, 5000);
    printf("child %d, the parent is %s\n", status, is_served ? "served" : "not served");
    rclose(here);
    rclose(there);
    return status || !is_served;
}

/* --- flood --- */

#define FLOOD_PORT 7000

/* Each source sends one message, which tells a queue pair. */
static void send_forged(double end)
{
    unsigned char message[20] = {0x55, 0x55, 0x55, 0x55, 4, 0, 16, 0,   0,
                                 0,    0x12, 0x34, 127,  0, 0, 1,  'h', 'i'};
    const struct sockaddr_in to = loopback(FLOOD_PORT);
    for (unsigned i = 0; now_s() < end; i++) {
        int fd = socket(AF_INET, SOCK_DGRAM, 0);
        struct sockaddr_in from = loopback((uint16_t)(1024 + i % 50000));
        from.sin_addr.s_addr = htonl(0x7f010000 + i / 50);
        message[5] = 7;
        if (bind(fd, (struct sockaddr *)&from, sizeof from) == 0)
            (void)sendto(fd, message, 18, 0, (const struct sockaddr *)&to, sizeof to);
        close(fd);
    }
    _exit(0);
}

static long resident_kib(void)
{
    long all = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%ld %ld", &all, &resident) != 2)
        resident = 0;
    if (file)
        fclose(file);
    return resident * 4;
}

static int flood(unsigned seconds)
{
    const double end = now_s() + seconds;
    const struct sockaddr_in at = loopback(FLOOD_PORT);
    double longest = 0;
    long before = 0;
    pid_t child = fork();
    if (child == 0)
        send_forged(end);
    int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
    if (fd < 0 || rbind(fd, (const struct sockaddr *)&at, sizeof at))
        return fails("rsocket");
    while (now_s() < end) {
        double begun = now_s();
        comes(fd, POLLIN, 500);
        longest = now_s() - begun > longest ? now_s() - begun : longest;
        before = before ? before : resident_kib();
    }
    waitpid(child, NULL, 0);
    long grown = resident_kib() - before;
    printf("longest wait of 500 ms: %.2f s; %ld KiB more\n", longest, grown);
    return longest > 1.5 || grown > 1024;
}

/* --- datagrams from an address without a device --- */

static unsigned elsewhere(void)
{
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(7499)};
    const char byte = 0;
    unsigned wrong = 0;
    inet_pton(AF_INET, "127.0.0.77", &to.sin_addr);
    int fd = rsocket(AF_INET, SOCK_DGRAM, 0);
    errno = 0;
    wrong += rsendto(fd, &byte, 1, 0, (struct sockaddr *)&to, sizeof to) != -1 || errno != ENODEV;
    errno = 0;
    wrong += rconnect(fd, (struct sockaddr *)&to, sizeof to) != -1 || errno != ENODEV;
    wrong += rclose(fd) != 0;
    printf("%u wrong answers elsewhere\n", wrong);
    return wrong;
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const unsigned number = argc > 2 ? (unsigned)atoi(argv[2]) : 1;
    signal(SIGPIPE, SIG_IGN);
    if (strcmp(what, "self") == 0)
        return self(number) != 0;
    if (strcmp(what, "window") == 0)
        return window(number) != 0;
    if (strcmp(what, "refused") == 0)
        return refused() != 0;
    if (strcmp(what, "thread") == 0)
        return thread() != 0;
    if (strcmp(what, "fork") == 0)
        return forked() != 0;
    if (strcmp(what, "elsewhere") == 0)
        return elsewhere() != 0;
    if (strcmp(what, "flood") == 0)
        return flood(number) != 0;
    return 2;
}
