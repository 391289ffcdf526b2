/* SPDX-License-Identifier: BSD-2-Clause */
/* What the process has once: the SMC-R instance, its ports, the thread that makes progress, all sockets.
 * Internal to sock/.
 *
 * One lock holds all of it, the devices included: each device's own lock is taken inside it, and no other
 * (host/dev/lock.h has the order of all of the library). Whoever ends a call has made progress before the
 * lock is given back: what was posted is on its way, events are delivered, the timer is set
 * (sock/progress.c). The thread only wakes for what comes from outside. A thread that has the lock is not
 * cancelled. */
#ifndef NORNIC_SOCK_RUNTIME_H
#define NORNIC_SOCK_RUNTIME_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "host/dev/lock.h"
#include "net/kernel/news.h"
#include "sock/rendezvous/rendezvous.h"
#include "sock/sock.h"

#define SMCR_RT_INO_BUCKETS 4096
#define SMCR_RT_REASONS     32
#define SMCR_RT_LEASE_NS    200000u

struct smcr_sock;

/* What a descriptor of the thread's epoll belongs to. */
enum smcr_rt_kind {
    SMCR_RT_TIMER,
    SMCR_RT_DEV,
    SMCR_RT_NEWS,
    SMCR_RT_TCP,
    SMCR_RT_INNER,
    SMCR_RT_OTHER /* of who drives the runtime itself */
};
struct smcr_rt_source {
    enum smcr_rt_kind kind;
    void *of; /* struct smcr_rt_port, or struct smcr_sock; or what is not ours */
};

#define SMCR_RT_GIDS 16 /* of a device that are ports at a time */

enum smcr_rt_family { SMCR_RT_V4, SMCR_RT_V6, SMCR_RT_V6_LINK_LOCAL }; /* of a GID */

/* A port of the instance: a device by one GID, on one VLAN (SMCR-ARC-05). */
struct smcr_rt_gid {
    struct smcr_port *port; /* NULL: none, the entry is free */
    enum smcr_rt_family family;
    uint16_t vlan_id;
    struct nornic_addr gid;
    unsigned sgid_index;
};

/* An interface of ours that ports are on. */
struct smcr_rt_port {
    struct host_dev *dev;  /* NULL: the interface is gone, for now */
    unsigned seen_changes; /* of its interface, that the ports have followed */
    char name[160], ifname[16], pnetid[17];
    const char *capture_path; /* the caller's; NULL: none, or none any more */
    int end_err;              /* of a device that has ended, with its sentence; 0: ended well */
    struct nornic_error end_why;
    struct nornic_impair impair;
    enum nornic_mtu path_mtu; /* 0: of no use */
    struct smcr_rt_gid gids[SMCR_RT_GIDS];
    int fds[HOST_DEV_FDS];
    unsigned num_fds;
    struct smcr_rt_source source;
};

struct smcr_rt_reason {
    const char *text;
    uint64_t count;
};

enum smcr_rt_state { SMCR_RT_OFF, SMCR_RT_ON, SMCR_RT_STOPPING };

struct smcr_rt {
    atomic_int state; /* enum smcr_rt_state */
    struct host_lock lock;
    int cancel_state; /* of the thread that has it, to be set again */

    struct smcr *core;
    struct smcr_rt_port ports[SMCR_SOCK_MAX_PORTS];
    unsigned num_ports;
    struct smcr_rendezvous_ctl *rendezvous; /* NULL: not allowed, all is plain TCP */

    int epfd, timer_fd;
    int peer_fd;           /* holds the number of this peer among those of the host; negative: none */
    struct net_news *news; /* of the interfaces, those without a device among them; NULL: it is off */
    struct smcr_rt_source timer_source, news_source;
    uint64_t planned_ns;  /* what timer_fd is set to */
    uint64_t crowded_ns;  /* when the first of the full listeners is relieved; NET_TIME_NONE: none is full */
    uint64_t progress_ns; /* when the last was made */
    uint64_t now_ns;      /* as the clock was read last: smcr_rt_now_ns() */
    uint64_t sent_ns;     /* when the last send was made */
    uint64_t sending_since_ns; /* when the first was made of those that followed one another closely */
    pthread_t thread;
    bool has_thread; /* else the caller of smcr_sock_start() drives it all */
    atomic_bool is_ending;
    atomic_int caller_cpu; /* where the last call came from: the thread does not look again on that CPU */
    /* A thread of the application that waits looks for itself for a while, since it would only be woken by
     * the thread that was woken by the port; and one that sends without a pause makes rounds all the time.
     * Meanwhile the thread does not listen to the ports; it does again when the last of those that wait
     * sleeps, or when none has looked, or sent, for SMCR_RT_LEASE_NS. */
    atomic_uint lookers; /* 0 or 1 */
    unsigned sleepers;   /* threads of the application that do not look, and wait for the thread's news */
    bool is_port_armed;
    uint64_t lease_end_ns;
    bool has_woken_waiter; /* in this progress: whoever was woken makes the next */

    struct smcr_sock *all;                         /* sock->all_next */
    struct smcr_sock *by_ino[SMCR_RT_INO_BUCKETS]; /* sock->ino_next */
    struct smcr_sock *dead;                        /* to be freed by the thread: sock->dead_next */
    struct smcr_sock *offers;                      /* whose TCP bytes the core did not take: offer_next */
    struct smcr_sock *orphans; /* whose last descriptor was found gone: to be closed, orphan_next */
    struct smcr_sock *lent_news, **news_end; /* of those that are lent: news_next */
    struct smcr_sock **by_fd;                /* of the application's descriptors; NULL: not seen */
    unsigned by_fd_size;

    struct smcr_rt_reason reasons[SMCR_RT_REASONS]; /* of plain TCP */
};
extern struct smcr_rt smcr_rt;

static inline bool smcr_rt_is_on(void)
{
    return atomic_load_explicit(&smcr_rt.state, memory_order_acquire) != SMCR_RT_OFF;
}

/* --- runtime.c --- */

void smcr_rt_lock(void);
/* Gives it back as it is, without progress. */
void smcr_rt_release(void);
/* What needs the lock asserts it. */
static inline void smcr_rt_assert_locked(void)
{
    assert(host_lock_is_held(&smcr_rt.lock));
}

/* Reads the clock. Under the lock. */
uint64_t smcr_rt_now_ns(void);

/* Adds to the thread's epoll. 0 or -errno. */
int smcr_rt_watch(int fd, uint32_t events, struct smcr_rt_source *source);
/* Takes it out again, before it is closed: a process that fork() has just made may hold it open for a while,
 * and epoll would go on telling about it. */
void smcr_rt_unwatch(int fd);

/* The epoll and what it always watches. */
void smcr_rt_close_fds(void);

/* Counts why a connection is plain TCP. `text` is static. */
void smcr_rt_count_reason(const char *text);

/* --- sources.c --- */

/* What epoll says of one of its descriptors. Under the lock. */
void smcr_rt_on_source(struct smcr_rt_source *source, uint32_t events);

/* --- progress.c --- */

/* One round of progress, to be called until there was nothing: whether there was anything. What was posted
 * leaves first; what has to be sent for what came waits for the next round, so that it leaves with what the
 * caller posts in between. Under the lock. */
bool smcr_rt_round(void);
/* Gives the lock back without progress, after who drives the runtime has made it: the timer is set. */
void smcr_rt_unlock_planned(void);

/* Makes progress and gives the lock back. */
void smcr_rt_unlock(void);
/* The same after a send, which has read the clock: with progress only where something is to leave, or none
 * was made for a while. */
void smcr_rt_unlock_sent(void);
/* Frames, completions, timers, events, until nothing is left to do. Under the lock. */
bool smcr_rt_progress(void);

/* --- fork.c --- */

/* Handlers that keep a forked child off everything (SMCR-ARC-28). Once. */
void smcr_rt_guard_forks(void);

/* --- sock/stat/socket.c --- */

/* Listens on SMCR_STAT_DIR. 0 or -errno. */
int smcr_stat_socket_open(void);
/* Begins to answer there, in a thread. */
void smcr_stat_socket_answer(void);
void smcr_stat_socket_close(void);
/* In a forked child: it is the parent's. */
void smcr_stat_socket_forget(void);

#endif
