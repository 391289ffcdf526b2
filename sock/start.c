/* SPDX-License-Identifier: BSD-2-Clause */
/* The beginning and the end of the runtime. */
#define _GNU_SOURCE
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/high_fd.h"
#include "host/dev/random.h"
#include "net/kernel/claim.h"
#include "sock/socket/state.h"
#include "sock/socket/known.h"
#include "sock/ports.h"
#include "sock/thread.h"

/* Most descriptors that we make room for: three a connection. */
#define MAX_FDS 65536
/* The numbers of peers on a host, and the draws before they are tried in turn. */
#define PEER_IDS   65536u
#define PEER_DRAWS 16u
/* How long the end waits for connections that still talk to their peers. */
#define DRAIN_NS 2000000000ull
/* How long it waits after that for the peers of connections that did not end. */
#define TELL_NS 500000000ull

static void make_room_for_fds(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return;
    rlim_t wanted = limit.rlim_max < MAX_FDS ? limit.rlim_max : MAX_FDS;
    if (limit.rlim_cur >= wanted)
        return;
    limit.rlim_cur = wanted;
    setrlimit(RLIMIT_NOFILE, &limit);
}

static int open_fds(struct nornic_error *why)
{
    int err;
    smcr_rt.epfd = high_fd(epoll_create1(EPOLL_CLOEXEC));
    smcr_rt.timer_fd = high_fd(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
    if (smcr_rt.epfd < 0 || smcr_rt.timer_fd < 0)
        goto fail;
    err = net_news_open(high_fd, &smcr_rt.news, why);
    if (err) {
        smcr_rt_close_fds();
        return err;
    }
    smcr_rt.planned_ns = smcr_rt.crowded_ns = NET_TIME_NONE;
    smcr_rt.timer_source = (struct smcr_rt_source){.kind = SMCR_RT_TIMER};
    smcr_rt.news_source = (struct smcr_rt_source){.kind = SMCR_RT_NEWS};
    if (smcr_rt_watch(smcr_rt.timer_fd, EPOLLIN, &smcr_rt.timer_source) == 0 &&
        smcr_rt_watch(net_news_fd(smcr_rt.news), EPOLLIN, &smcr_rt.news_source) == 0)
        return 0;
fail:
    err = net_error_set(why, errno, "cannot make the descriptors of SMC-R: %s", strerror(errno));
    smcr_rt_close_fds();
    return err;
}

/* Draws the 16 bits of this process's Peer ID, others at every start and in every process (SMCR-ARC-21,
 * ARC-22). The process holds a name of the kernel's for them, so that no other of its network namespace has
 * them. Without names, and if all are held, the last draw stays. */
static uint16_t draw_instance_id(void)
{
    uint16_t id = 0;
    for (unsigned i = 0; i < PEER_DRAWS + PEER_IDS; i++) {
        char name[32];
        id = i < PEER_DRAWS ? (uint16_t)host_random.next(host_random.ctx) : (uint16_t)(id + 1);
        snprintf(name, sizeof name, "nornic/peer/%x", id);
        smcr_rt.peer_fd = high_fd(net_claim_bind(name));
        if (smcr_rt.peer_fd != -EADDRINUSE)
            break;
    }
    return id;
}

static int create_core(const struct smcr_sock_config *config)
{
    struct smcr_config core = {
        .random = host_random,
        .instance_id = draw_instance_id(),
        .times = config->times,
        .interop = config->interop,
        .max_links = config->max_links,
        .elems_per_rmb = config->elems_per_rmb,
        .num_eids = config->num_eids,
        .buffers = config->buffers,
        .trace = config->trace,
        .trace_ctx = config->trace_ctx,
    };
    struct utsname name;
    memcpy(core.eids, config->eids, sizeof core.eids);
    if (uname(&name) == 0)
        snprintf(core.host_name, sizeof core.host_name, "%.32s", name.nodename);
    return smcr_create(&core, &smcr_rt.core);
}

/* Starts all parts that do not need the kernel's leave. */
static int start_all(const struct smcr_sock_config *config, struct nornic_error *why)
{
    int err = create_core(config);
    if (err)
        smcr_rt_close_fds();
    if (err)
        return net_error_set(why, -err, "cannot make an SMC-R instance: %s", strerror(-err));
    err = open_fds(why);
    if (err)
        goto destroy_core;
    err = smcr_rt_open_ports(config, why);
    if (err)
        goto close_descriptors;
    smcr_rt.has_thread = !config->no_thread;
    err = config->no_thread ? 0 : smcr_rt_start_thread();
    if (!err)
        return 0;
    net_error_set(why, -err, "cannot start the thread of SMC-R: %s", strerror(-err));
close_descriptors:
    smcr_rt_close_fds();
destroy_core:
    smcr_destroy(smcr_rt.core, host_now_ns()); /* before the devices that it uses */
    smcr_rt.core = NULL;
    smcr_rt_close_ports(NULL);
    return err;
}

static void stop_at_exit(void)
{
    smcr_sock_stop(NULL);
}

int smcr_sock_start(const struct smcr_sock_config *config, struct nornic_error *why)
{
    static bool has_exit_handler;
    if (smcr_rt_is_on())
        return net_error_set(why, EALREADY, "SMC-R is already started in this process");
    make_room_for_fds();
    smcr_known_learn();
    atomic_store(&smcr_rt.is_ending, false);
    int err = start_all(config, why);
    if (err)
        return err;
    /* Of an attempt that a later one made good: a queue that was free only then. */
    if (why)
        why->text[0] = '\0';
    /* Without BPF all is plain TCP: the sentence stays in `why` (SMCR-REN-06). */
    if (smcr_rendezvous_open(&smcr_rt.rendezvous, config->all_offer, why) != 0 &&
        smcr_rendezvous_use_enabled(&smcr_rt.rendezvous) && why)
        why->text[0] = '\0';
    smcr_rt_guard_forks();
    atomic_store(&smcr_rt.state, SMCR_RT_ON);
    if (!config->no_stat)
        smcr_stat_socket_open();
    if (!config->no_thread)
        smcr_stat_socket_answer();
    if (!has_exit_handler)
        has_exit_handler = atexit(stop_at_exit) == 0;
    return 0;
}

/* Closes all sockets, as the end of a process does. */
static void close_all(void)
{
    smcr_rt_lock();
    for (struct smcr_sock *s = smcr_rt.all, *next; s; s = next) {
        next = s->all_next;
        if (!smcr_sock_is_closing(s) && !s->parent)
            smcr_sock_final_close(s);
    }
    smcr_rt_unlock();
}

static bool has_said_all(const struct smcr_sock *s)
{
    struct smcr_conn_status status;
    smcr_conn_status(s->conn, &status);
    return status.has_said_all;
}

static bool is_drained(void)
{
    bool drained = true;
    smcr_rt_lock();
    for (const struct smcr_sock *s = smcr_rt.all; s && drained; s = s->all_next)
        drained = s->life >= SMCR_SOCK_FINISHED || (s->conn && has_said_all(s));
    smcr_rt_unlock();
    return drained;
}

static bool core_lingers(void)
{
    smcr_rt_lock();
    bool lingers = smcr_lingers(smcr_rt.core, host_now_ns());
    smcr_rt_unlock();
    return lingers;
}

static void wait_for_core(uint64_t end_ns)
{
    while (core_lingers() && host_now_ns() < end_ns)
        nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
}

/* Ends connections, then their link groups: peers hear DELETE LINK (SMCR-ABT-09). */
static void drain(void)
{
    uint64_t end_ns = host_now_ns() + DRAIN_NS;
    close_all();
    while (!is_drained() && host_now_ns() < end_ns)
        nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
    smcr_rt_lock();
    smcr_retire(smcr_rt.core, host_now_ns());
    smcr_rt_unlock();
    wait_for_core(end_ns);
    smcr_rt_lock();
    bool tells = smcr_retire_unheard(smcr_rt.core, host_now_ns());
    smcr_rt_unlock();
    if (tells)
        wait_for_core(host_now_ns() + TELL_NS);
}

/* Those that the peers have not ended: with FIN if all is said, else with RST. */
static void drop_rest(void)
{
    for (struct smcr_sock *s = smcr_rt.all, *next; s; s = next) {
        next = s->all_next;
        if (s->conn && has_said_all(s))
            smcr_sock_close_tcp(s);
        else if (s->tcp_fd >= 0)
            smcr_sock_reset_tcp(s);
        smcr_sock_finish(s);
    }
}

int smcr_sock_stop(struct nornic_error *why)
{
    int on = SMCR_RT_ON;
    if (!atomic_compare_exchange_strong(&smcr_rt.state, &on, SMCR_RT_STOPPING))
        return 0;
    smcr_stat_socket_close();
    drain();
    if (smcr_rt.has_thread)
        smcr_rt_stop_thread();
    smcr_rt_lock();
    smcr_rt_progress();
    drop_rest();
    smcr_destroy(smcr_rt.core, host_now_ns());
    smcr_rt.core = NULL;
    smcr_sock_reap();
    int err = smcr_rt_close_ports(why);
    smcr_rt_close_fds();
    if (smcr_rt.rendezvous)
        smcr_rendezvous_close(smcr_rt.rendezvous);
    smcr_rt.rendezvous = NULL;
    free(smcr_rt.by_fd);
    smcr_rt.by_fd = NULL;
    smcr_rt.by_fd_size = 0;
    atomic_store(&smcr_rt.state, SMCR_RT_OFF);
    smcr_rt_release();
    return err;
}
