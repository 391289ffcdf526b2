/* SPDX-License-Identifier: BSD-2-Clause */
/* Many connections between two processes while one link after the other is cut and mended: every byte comes,
 * once and in its place, at both ends. SOAK_S: for how many seconds (default 4); SOAK_CONNS: how many
 * connections (default 16, at most 64). */
#define _GNU_SOURCE
#include <criterion/criterion.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "host/host.h"
#include "test/sock/lab.h"
#include "test/sock/same.h"

#define PORT        5000
#define MAX_CONNS   64
#define MAX_MESSAGE 50000
#define END_S       30 /* for what is on its way when the time is over */
#define SCRATCH     (MAX_MESSAGE + 8)

struct soak {
    struct lab lab;
    unsigned conns, cuts;
    volatile int stop;
    volatile uint64_t messages, bytes;
    volatile uint64_t links_failed, failovers, conns_smc, conns_reset;
    volatile int active_links[2];
    volatile int wrong[2]; /* line of the first thing that was wrong at each end */
    volatile int wrong_errno[2];
    char reason[2][128];
};

struct worker {
    struct soak *soak;
    int side, fd;
    unsigned index;
    pthread_t thread;
};

static void wrong(struct worker *w, int line)
{
    if (w->soak->wrong[w->side] == 0) {
        struct nornic_socket_info info = {.reason = ""};
        w->soak->wrong_errno[w->side] = errno;
        w->soak->wrong[w->side] = line;
        nornic_socket_info(w->fd, &info);
        snprintf(w->soak->reason[w->side], sizeof w->soak->reason[0], "%s", info.reason);
    }
}

static bool send_all(int fd, const uint8_t *bytes, size_t n)
{
    for (size_t at = 0; at < n;) {
        ssize_t sent = nornic_send(fd, bytes + at, n - at, MSG_NOSIGNAL);
        if (sent <= 0)
            return false;
        at += (size_t)sent;
    }
    return true;
}

/* Bytes until `n` or the end: how many. */
static ssize_t recv_all(int fd, uint8_t *bytes, size_t n)
{
    size_t at = 0;
    while (at < n) {
        ssize_t got = nornic_recv(fd, bytes + at, n - at, 0);
        if (got < 0)
            return got;
        if (got == 0)
            break;
        at += (size_t)got;
    }
    return (ssize_t)at;
}

/* First the place where the connection's bytes begin in the pattern, so that none is taken for another's.
 * Then messages: a length, and so many bytes of the pattern. */
static void *ask(void *ctx)
{
    struct worker *w = ctx;
    uint8_t *out = malloc(SCRATCH), *in = malloc(SCRATCH);
    unsigned seed = w->index + 1;
    uint64_t at = w->index * 1000;
    if (!send_all(w->fd, (uint8_t *)&at, sizeof at))
        wrong(w, __LINE__);
    while (!w->soak->stop) {
        uint32_t len = 1 + (uint32_t)rand_r(&seed) % (rand_r(&seed) % 4 ? 300 : MAX_MESSAGE);
        memcpy(out, &len, sizeof len);
        same_fill(out + sizeof len, len, at);
        if (!send_all(w->fd, out, sizeof len + len)) {
            wrong(w, __LINE__);
            break;
        }
        if (recv_all(w->fd, in, sizeof len + len) != (ssize_t)(sizeof len + len) ||
            memcmp(in, out, sizeof len + len) != 0) {
            wrong(w, __LINE__);
            break;
        }
        at += len;
        __atomic_add_fetch(&w->soak->messages, 1, __ATOMIC_RELAXED);
        __atomic_add_fetch(&w->soak->bytes, len, __ATOMIC_RELAXED);
    }
    if (nornic_shutdown(w->fd, SHUT_WR) != 0 || nornic_recv(w->fd, in, 1, 0) != 0)
        wrong(w, __LINE__);
    nornic_close(w->fd);
    free(in);
    free(out);
    return NULL;
}

static void *answer(void *ctx)
{
    struct worker *w = ctx;
    uint8_t *in = malloc(SCRATCH), *expected = malloc(SCRATCH);
    uint64_t at;
    uint32_t len;
    ssize_t got;
    if (recv_all(w->fd, (uint8_t *)&at, sizeof at) != sizeof at)
        wrong(w, __LINE__);
    while ((got = recv_all(w->fd, in, sizeof len)) == sizeof len) {
        memcpy(&len, in, sizeof len);
        if (len > MAX_MESSAGE || recv_all(w->fd, in + sizeof len, len) != (ssize_t)len) {
            wrong(w, __LINE__);
            break;
        }
        same_fill(expected, len, at);
        if (memcmp(in + sizeof len, expected, len) != 0) {
            wrong(w, __LINE__);
            break;
        }
        at += len;
        if (!send_all(w->fd, in, sizeof len + len)) {
            wrong(w, __LINE__);
            break;
        }
    }
    if (got != 0)
        wrong(w, __LINE__);
    nornic_close(w->fd);
    free(expected);
    free(in);
    return NULL;
}

static void count_active(void *ctx, const struct smcr_group_stat *group, const struct smcr_link_stat *link)
{
    (void)group;
    *(int *)ctx += strcmp(link->state, "ACTIVE") == 0;
}

/* Tells the test how many links there are, as long as it wants to know. */
static void watch(struct worker *w)
{
    while (!w->soak->stop) {
        int n = 0;
        struct smcr_stat_visitor visitor = {.link = count_active, .ctx = &n};
        smcr_sock_stat_visit(&visitor);
        w->soak->active_links[w->side] = n;
        usleep(10000);
    }
}

static int join_all(struct soak *s, struct worker *workers)
{
    struct smcr_counters c;
    watch(workers);
    for (unsigned i = 0; i < s->conns; i++)
        pthread_join(workers[i].thread, NULL);
    smcr_sock_counters(&c);
    s->links_failed += c.links_failed;
    s->failovers += c.failovers;
    s->conns_smc += c.conns_smc;
    s->conns_reset += c.conns_reset;
    return 0;
}

static const struct smcr_times quick = {.redundancy_ns = 200000000, .redundancy_max_ns = 200000000};

static int serve(void *ctx)
{
    static struct worker workers[MAX_CONNS];
    struct soak *s = ctx;
    struct sockaddr_in addr = lab_address(1, PORT);
    int on = 1;
    lab_start(&s->lab, 1, &quick);
    int l = nornic_socket(AF_INET, SOCK_STREAM, 0);
    nornic_setsockopt(l, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (nornic_bind(l, (struct sockaddr *)&addr, sizeof addr) != 0 || nornic_listen(l, MAX_CONNS) != 0)
        return 5;
    for (unsigned i = 0; i < s->conns; i++) {
        workers[i] = (struct worker){.soak = s, .side = 1, .index = i, .fd = nornic_accept(l, NULL, NULL)};
        if (workers[i].fd < 0 || pthread_create(&workers[i].thread, NULL, answer, &workers[i]) != 0)
            return 6;
    }
    nornic_close(l);
    return join_all(s, workers);
}

static int reach(void)
{
    struct sockaddr_in addr = lab_address(1, PORT);
    for (int i = 0; i < 500; i++) {
        int fd = nornic_socket(AF_INET, SOCK_STREAM, 0);
        if (nornic_connect(fd, (struct sockaddr *)&addr, sizeof addr) == 0)
            return fd;
        nornic_close(fd);
        usleep(10000);
    }
    return -1;
}

static int call(void *ctx)
{
    static struct worker workers[MAX_CONNS];
    struct soak *s = ctx;
    lab_start(&s->lab, 0, &quick);
    for (unsigned i = 0; i < s->conns; i++) {
        workers[i] = (struct worker){.soak = s, .side = 0, .index = i, .fd = reach()};
        if (workers[i].fd < 0 || pthread_create(&workers[i].thread, NULL, ask, &workers[i]) != 0)
            return 7;
    }
    return join_all(s, workers);
}

static unsigned number_of(const char *name, unsigned otherwise)
{
    const char *text = getenv(name);
    return text && atoi(text) > 0 ? (unsigned)atoi(text) : otherwise;
}

static bool wait_links(const struct soak *s, int n)
{
    for (int i = 0; i < 1500; i++) {
        if (s->active_links[0] == n && s->active_links[1] == n)
            return true;
        usleep(10000);
    }
    return false;
}

/* One pair after the other, each time when both links are there. */
static void cut_and_mend(struct soak *s, unsigned seconds)
{
    uint64_t end_ns = host_now_ns() + seconds * 1000000000ull;
    for (int cut = 0; host_now_ns() < end_ns; cut ^= 2) {
        cr_assert(wait_links(s, 2), "the second link does not come: %d and %d links", s->active_links[0],
                  s->active_links[1]);
        cr_assert_eq(netns_run(&s->lab.veth, 0, "ip link set nn%d down", cut), 0);
        cr_assert(wait_links(s, 1), "the link does not go: %d and %d links", s->active_links[0],
                  s->active_links[1]);
        cr_assert_eq(netns_run(&s->lab.veth, 0, "ip link set nn%d up", cut), 0);
        s->cuts++;
    }
    s->stop = 1;
}

/* covers: SMCR-FOV-01, SMCR-FOV-14 */
Test(soak, many_connections_while_links_come_and_go, .timeout = 7200)
{
    struct soak *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    unsigned seconds = number_of("SOAK_S", 4);
    s->conns = number_of("SOAK_CONNS", 16);
    s->conns = s->conns < MAX_CONNS ? s->conns : MAX_CONNS;
    lab_open(&s->lab, 2);
    pid_t server = lab_fork(&s->lab, 1, serve, s), client = lab_fork(&s->lab, 0, call, s);
    for (int i = 0; i < 2000 && s->messages < s->conns; i++)
        usleep(5000);
    cut_and_mend(s, seconds);
    int client_status = lab_wait(client, END_S), server_status = lab_wait(server, END_S);
    lab_close(&s->lab);
    fprintf(stderr, "soak: %u cuts, %llu messages, %llu bytes, %llu links failed, %llu moves\n", s->cuts,
            (unsigned long long)s->messages, (unsigned long long)s->bytes,
            (unsigned long long)s->links_failed, (unsigned long long)s->failovers);
    for (int side = 0; side < 2; side++)
        cr_expect_eq(s->wrong[side], 0, "side %d: line %d, %s: %s", side, s->wrong[side],
                     strerror(s->wrong_errno[side]), s->reason[side]);
    cr_expect_eq(client_status, 0, "the client ended with %d", client_status);
    cr_expect_eq(server_status, 0, "the server ended with %d", server_status);
    cr_expect_eq(s->conns_smc, 2 * s->conns);
    cr_expect_eq(s->conns_reset, 0);
    cr_expect_geq(s->links_failed, 2 * s->cuts);
}
