/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "test/fuzz/smc/service_world.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/base.h"
#include "test/fuzz/input.h"

#define BEGIN_NS  (1000 * NS_PER_S)
#define END_TURNS 8
#define END_NS    (90 * NS_PER_S)

uint64_t service_world_now_ns = BEGIN_NS, service_world_step_ns;

#define must(condition) FUZZ_REQUIRE(condition)

/* --- the runtime and the service --- */

/* Sixteen GiB of addresses, once a process. The writes of an input go with service_world_end(). */
static struct service_arena *the_arena(void)
{
    static struct service_arena arena;
    if (!arena.memory)
        must(service_arena_open(&arena, NULL) == 0);
    return &arena;
}

static void begin_runtime(struct service_world *w)
{
    static struct test_random random = {.state = 1};
    struct smcr_config core = {
        .random = test_random_source(&random), .instance_id = 7, .buffers = &w->service->arena.mem};
    must(smcr_create(&core, &smcr_rt.core) == 0);
    smcr_rt.epfd = epoll_create1(EPOLL_CLOEXEC);
    smcr_rt.timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
    smcr_rt.planned_ns = smcr_rt.crowded_ns = NET_TIME_NONE;
    must(smcr_rt.epfd >= 0 && smcr_rt.timer_fd >= 0);
    atomic_store(&smcr_rt.state, SMCR_RT_ON);
}

static int listen_to_programs(void)
{
    struct sockaddr_un any = {.sun_family = AF_UNIX};
    const int on = 1;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0);
    must(bind(fd, (struct sockaddr *)&any, sizeof any.sun_family) == 0 && listen(fd, 8) == 0);
    return fd;
}

static void fill_service(struct service *s)
{
    s->head = s->arena.memory;
    s->head->version = SERVICE_VERSION;
    s->head->magic = SERVICE_MAGIC;
    s->config.peers[0] = (struct service_peers){nornic_addr_from_v4((const uint8_t[]){127, 0, 0, 1}), 8};
    s->config.num_peers = 1;
    s->config.idle_ns = s->look_ns = NET_TIME_NONE;
    s->lock_fd = s->spare_fd = -1;
    for (unsigned i = 0; i < SERVICE_CONNS; i++)
        s->free_slots[i] = (uint16_t)i;
    s->num_free = SERVICE_CONNS;
    for (unsigned i = 0; i < SERVICE_WAITERS; i++)
        s->ears[i].fd = -1;
    pthread_mutexattr_t attr;
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_setpshared(&attr, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attr, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&s->fresh_lock, &attr);
    s->doorbell_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    s->listen_fd = listen_to_programs();
    must(service_watch_fd(&s->doorbell_source, SERVICE_DOORBELL, s->doorbell_fd, EPOLLIN | EPOLLET, NULL) ==
         0);
    must(service_client_listen(s) == 0);
}

/* --- connections --- */

static void listen_to_tcp(struct service_world *w)
{
    socklen_t len = sizeof w->tcp_at;
    w->tcp_at = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    w->listen_tcp = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    must(w->listen_tcp >= 0 && bind(w->listen_tcp, (struct sockaddr *)&w->tcp_at, len) == 0 &&
         getsockname(w->listen_tcp, (struct sockaddr *)&w->tcp_at, &len) == 0 &&
         listen(w->listen_tcp, 8) == 0);
}

void service_world_keep(struct service_world *w, int fd)
{
    int *place = &w->kept[w->kept_count % SERVICE_WORLD_KEPT];
    if (fd < 0)
        return;
    if (*place >= 0)
        close(*place);
    *place = fd;
    w->kept_count++;
}

int service_world_tcp(struct service_world *w)
{
    const struct linger at_once = {.l_onoff = 1}; /* no TIME_WAIT for each input */
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || connect(fd, (struct sockaddr *)&w->tcp_at, sizeof w->tcp_at) != 0) {
        if (fd >= 0)
            close(fd);
        return -1;
    }
    int peer = accept4(w->listen_tcp, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
    if (peer >= 0)
        (void)setsockopt(peer, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    service_world_keep(w, peer);
    return fd;
}

void service_world_connect(struct service_world *w, unsigned i)
{
    struct sockaddr_un at;
    socklen_t len = sizeof at;
    if (w->program[i] >= 0)
        return;
    must(getsockname(w->service->listen_fd, (struct sockaddr *)&at, &len) == 0);
    w->program[i] = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    must(w->program[i] >= 0);
    (void)connect(w->program[i], (struct sockaddr *)&at, len); /* a crowd of programs is refused */
}

/* Puts a connection of the pair in the place of the one that the loan has begun with. */
static void lend(struct service_world *w, struct service_world_lent *lent)
{
    const struct service_begin begin = {.is_server = true, .keepidle_s = 1, .linger_s = SERVICE_NO_LINGER};
    struct service_loan *loan;
    enum service_why_not why_not;
    int outer = -1, tcp_fd = service_world_tcp(w);
    lent->c = pair_connect(w->pair, 0);
    must(lent->c && tcp_fd >= 0);
    service_world_now_ns = smcr_rt.now_ns = w->pair->now_ns;
    smcr_rt_lock();
    must(service_loan_begin(w->service, tcp_fd, &begin, getpid(), &loan, &outer, &why_not) == 0);
    must(loan->sock->conn != NULL);
    smcr_conn_release(loan->sock->conn, false, smcr_rt.now_ns);
    loan->sock->conn = lent->c->end[0].conn;
    loan->sock->state = SMCR_SOCK_SMCR;
    lent->sock = loan->sock;
    smcr_sock_ref(loan->sock);
    smcr_sock_notify(loan->sock, 0);
    smcr_rt_release();
    service_world_keep(w, outer);
}

/* Passes the pair's events on to the loans. A connection that a loan has released is no more the pair's. */
static void pass_events(struct service_world *w)
{
    const uint64_t seen_ns = smcr_rt.now_ns; /* by the service: its loop has to look at the clock itself */
    smcr_rt_lock();
    smcr_rt_now_ns();
    for (unsigned i = 0; i < SERVICE_WORLD_LENT; i++) {
        struct pair_end *end = w->lent[i].c ? &w->lent[i].c->end[0] : NULL;
        struct smcr_sock *s = w->lent[i].sock;
        if (end && s->conn && end->events)
            smcr_sock_on_conn_event(s, end->events);
        if (end && !s->conn) {
            end->conn = NULL;
            end->given_back = true;
        }
        if (end)
            end->events = 0;
    }
    smcr_rt.now_ns = seen_ns;
    smcr_rt_release();
}

/* --- its life --- */

void service_world_turn(struct service_world *w, uint64_t ns)
{
    if (w->pair) {
        pair_run_for(w->pair, ns);
        service_world_now_ns = w->pair->now_ns;
        pass_events(w);
    } else {
        service_world_now_ns += ns;
    }
    w->service->is_stopping = false;
    service_run(w->service, w->stop_fd);
    if (w->pair)
        pass_events(w);
}

void service_world_begin(struct service_world *w)
{
    memset(w, 0, sizeof *w);
    memset(w->program, -1, sizeof w->program);
    memset(w->kept, -1, sizeof w->kept);
    w->service = calloc(1, sizeof *w->service);
    must(w->service != NULL);
    /* Its allocator points at the arena of the process. */
    w->service->arena = *the_arena();
    w->service->arena.mem.ctx = &w->service->arena;
    w->stop_fd = eventfd(1, EFD_CLOEXEC | EFD_NONBLOCK);
    must(w->stop_fd >= 0);
    w->pair = pair_new(&(struct pair_config){.seed = 1, .smcr[0] = {.buffers = &w->service->arena.mem}});
    service_world_now_ns = w->pair->now_ns;
    begin_runtime(w);
    listen_to_tcp(w);
    fill_service(w->service);
    for (unsigned i = 0; i < SERVICE_WORLD_LENT; i++)
        lend(w, &w->lent[i]);
    service_world_turn(w, PAIR_MS);
}

/* The peers of the loans end, and then the connections of the loans. */
static void end_pair(struct service_world *w)
{
    for (unsigned i = 0; i < SERVICE_WORLD_LENT; i++)
        pair_close(&w->lent[i].c->end[1]);
    for (unsigned i = 0; i < END_TURNS; i++)
        service_world_turn(w, END_NS);
    smcr_rt_lock();
    for (unsigned i = 0; i < SERVICE_WORLD_LENT; i++) {
        smcr_sock_finish(w->lent[i].sock);
        w->lent[i].c->end[0].conn = NULL;
        w->lent[i].c->end[0].given_back = true;
        smcr_sock_unref(w->lent[i].sock);
    }
    smcr_rt_release();
    pair_run_for(w->pair, END_NS);
    service_world_now_ns = w->pair->now_ns;
    const char *failure = pair_free(w->pair);
    if (failure)
        fprintf(stderr, "pair: %s\n", failure);
    FUZZ_REQUIRE(!failure);
    w->pair = NULL;
}

/* Those that were cut off, as service_close() tells them. */
static void tell_the_rest(void)
{
    struct smcr_sock *s;
    short news;
    smcr_rt_lock();
    while ((s = smcr_sock_next_news(&news)))
        service_loan_tell(s->loan, news);
    smcr_sock_reap();
    smcr_rt_release();
}

static void end_service(struct service *s)
{
    FUZZ_REQUIRE(!s->clients && s->num_loans == 0 && s->num_free == SERVICE_CONNS);
    FUZZ_REQUIRE(s->arena.used_bytes == 0);
    close(s->listen_fd);
    close(s->doorbell_fd);
    if (s->spare_fd >= 0)
        close(s->spare_fd);
    must(fallocate(s->arena.fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, (off_t)s->arena.end) == 0);
    free(s->arena.free_by);
    free(s);
}

void service_world_end(struct service_world *w)
{
    for (unsigned i = 0; i < SERVICE_WORLD_PROGRAMS; i++)
        if (w->program[i] >= 0)
            close(w->program[i]);
    for (unsigned i = 0; i < SERVICE_WORLD_KEPT; i++)
        if (w->kept[i] >= 0)
            close(w->kept[i]);
    service_world_turn(w, PAIR_MS);
    end_pair(w);
    for (unsigned i = 0; i < END_TURNS; i++)
        service_world_turn(w, END_NS);
    service_world_step_ns = 100 * NS_PER_MS;
    smcr_sock_stop(NULL);
    service_world_step_ns = 0;
    tell_the_rest();
    end_service(w->service);
    close(w->listen_tcp);
    close(w->stop_fd);
}
