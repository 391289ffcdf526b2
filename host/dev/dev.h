/* SPDX-License-Identifier: BSD-2-Clause */
/* The device and its inner calls, shared by the files of host/. */
#ifndef NORNIC_HOST_DEV_H
#define NORNIC_HOST_DEV_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

#include "host/event/event_queue.h"
#include "host/host.h"
#include "host/dev/later.h"
#include "host/dev/lock.h"
#include "host/dev/sources.h"

struct host_dev;
struct host_gids;
struct host_iw;
struct host_transport;

/* The part of a device's rounds that the transport has: an engine over a port or sockets. All calls are
 * made under the device's lock. */
struct host_drive {
    /* Takes in all that has come, and fires the timers. Returns whether anything was done. */
    bool (*take_in)(struct host_dev *dev, uint64_t now_ns);
    /* Sends. Returns whether anything was. */
    bool (*send)(struct host_dev *dev, uint64_t now_ns);
    /* Something waits to be sent. */
    bool (*has_to_send)(const struct host_dev *dev);
    /* When a round is due; 0: at once; NET_TIME_NONE: not before something comes. */
    uint64_t (*deadline_ns)(const struct host_dev *dev);
    /* Polls readable when something comes; -1: nothing says so. */
    int (*fd)(const struct host_dev *dev);
    /* In place of a sleep on fd(), or NULL: sleeps until something comes, `timeout_ns` have passed, or the
     * doorbell, the timer or a source is readable, and notes the cause, so that the next round need not
     * look. The caller does not hold the lock. */
    void (*sleep)(struct host_dev *dev, uint64_t timeout_ns);
    /* The objects that the engine has. */
    void (*use)(const struct host_dev *dev, struct roce_dev_use *use);
    /* Destroys the engine, which is unused, and closes its port or sockets. */
    void (*close)(struct host_dev *dev);
};

/* The user of the device from inside its rounds: its CM. All calls are made under the device's lock. */
struct host_dev_client {
    const struct host_dev_client_ops *ops;
};

struct host_dev_client_ops {
    /* Returns whether anything was done. */
    bool (*round)(struct host_dev_client *client, uint64_t now_ns);
    /* When the next round is due; NET_TIME_NONE: never. */
    uint64_t (*deadline_ns)(const struct host_dev_client *client);
    /* A QP has got its first packet before it was in RTS. Called inside the engine. */
    void (*comm_est)(struct host_dev_client *client, const struct roce_qp *qp);
    /* A QP is being destroyed. Called inside the engine. */
    void (*qp_gone)(struct host_dev_client *client, const struct roce_qp *qp);
    /* A GID is about to go, or has another MAC. */
    void (*gid_changed)(struct host_dev_client *client, unsigned sgid_index);
    /* The host of `peer` says that nobody there takes packets. */
    void (*refused)(struct host_dev_client *client, const struct nornic_addr *peer, uint64_t now_ns);
    /* The interface is no more. */
    void (*removed)(struct host_dev_client *client);
    /* Returns whether messages of the client have not left yet; NULL: not over RoCE. */
    bool (*is_sending)(const struct host_dev_client *client);
    /* The process ends, and all messages of the client have left; NULL: not over RoCE. */
    void (*said)(struct host_dev_client *client);
    /* Calls `visit` for each counter of the client; NULL: it has none. */
    void (*visit_counters)(const struct host_dev_client *client,
                           void (*visit)(void *ctx, const char *name, uint64_t value), void *ctx);
};

/* The state that a round leaves to the next one. */
struct host_carried {
    bool is_tx_blocked;   /* it had frames to send and the port lent no buffers */
    bool has_only_sent;   /* for a waiting caller: the next one receives */
    bool has_left;        /* it left acknowledgements to the next */
    uint64_t tx_retry_ns; /* blocked: the time to ask the port again, since no event reports room */
    unsigned tx_wanted;   /* buffers that the next burst asks the port for */
};

/* A program that polls in the place of the device's thread. */
struct host_poller {
    _Atomic uint64_t polled_ns; /* of its last poll, or of the end of its round */
    atomic_int polled_cpu;      /* its processor */
    atomic_bool is_polling;     /* it makes a round now */
    atomic_uint polls;          /* its polls in a row, up to polls_wanted */
    atomic_uint polls_wanted;
    atomic_bool is_polled; /* it has made as many */
    atomic_bool is_aside;  /* the thread stands aside for it, and is none of the sleepers */
};

struct host_dev {
    const struct host_transport *transport;
    const struct host_drive *drive; /* the transport's */
    struct host_iw *iw; /* iWARP over TCP; then there is no port, no engine of RoCE, and nothing of theirs */
    struct net_port *port;    /* the outermost of the wrapped ports */
    struct net_port *capture; /* the one among them that writes the capture, or NULL */
    struct roce_dev *engine;
    unsigned ifindex;       /* 0: the port has no interface (memory) */
    int claims_fd;          /* to ask for the claims of others (net/kernel/claim.h); -1: nobody shares it */
    struct host_gids *gids; /* NULL: the caller keeps the GID table */
    struct net_multicast *multicast; /* NULL as `ifindex` is 0 */
    unsigned groups;                 /* that its QPs are attached to */
    bool is_cut;                     /* nornic_dev_set_port(): frames both ways are lost */
    roce_trace_hook *trace;
    void *trace_ctx;

    struct host_lock lock; /* the engine, the port and the fields below up to the doorbell */
    uint64_t planned_ns;   /* the time of `timer_fd`; 0: at once, NET_TIME_NONE: nothing */
    struct host_carried round;
    struct host_sources sources;
    struct host_dev_client *client; /* or NULL */
    struct host_later_list later;   /* told when the lock is given back */

    int timer_fd;        /* the next deadline, as every sleeper hears of it */
    int doorbell_fd;     /* eventfd */
    atomic_int sleepers; /* threads that sleep or are about to */
    atomic_bool is_rung; /* doorbell_fd is readable or soon will be */

    struct nornic_error notice; /* under the lock: a change of the interface, or "" */
    struct host_event_queue events;

    bool has_thread;
    struct host_poller poller;
    pthread_t thread;
    atomic_bool is_stopping;
};

/* Asserts that the device's lock is held: costs a comparison. */
static inline void host_dev_assert_held(const struct host_dev *dev)
{
    assert(host_lock_is_held(&dev->lock) && "a control call is made under the device's lock");
    (void)dev;
}

/* RoCE over a port of frames: frames.c. */
extern const struct host_drive host_drive_frames;

/* Makes a device of `transport` that drives nothing yet: lock, doorbell, events, sources. NULL: `*err` is
 * -errno. */
struct host_dev *host_dev_new(const struct host_transport *transport, int *err);
/* Nothing drives it any more. */
void host_dev_free(struct host_dev *dev);

/* Wraps `*port` as `config` asks: the capture, then the impairment. `*capture` is the capturing port, or
 * NULL. 0, or -errno with a sentence; then the port is closed. */
int host_port_wrap(struct net_port **port, struct net_port **capture, const struct host_dev_config *config,
                   struct nornic_error *why);

/* Makes a round by `policy` (NULL: a plain one); the caller holds the lock. Returns whether anything was
 * done. HOST_ROUND_POLL and HOST_ROUND_SLEEP are plain ones here. After a late round, acknowledgements
 * wait for the next round, or for the next caller of host_dev_lock(). */
bool host_round_locked(struct host_dev *dev, const struct host_round_policy *policy);
/* Makes a round of HOST_ROUND_POLL on a device with a thread; the caller does not hold the lock. */
bool host_dev_poll(struct host_dev *dev);

/* Sends all waiting frames, as far as the port takes them now; the caller holds the lock. For last words:
 * their sender may end in a moment, and the device with it. */
void host_dev_send(struct host_dev *dev);

/* To be called before the lock is given back: sets the sleepers' timer if something is now due earlier. */
void host_dev_replan(struct host_dev *dev);

/* Wakes all sleepers on the device. Any thread, with or without the lock. */
void host_dev_ring(struct host_dev *dev);

/* For a caller that found the doorbell readable: the ringer may have been preempted by the thread that it
 * woke before it could say so, and without this no round would take the doorbell up, and every sleep end
 * at once. */
void host_dev_set_rung(struct host_dev *dev);

/* Called by the round that acts on the doorbell, and by no caller that merely woke up: a drained doorbell
 * without a round behind it would be a lost one. */
void host_dev_consume_doorbell(struct host_dev *dev);

/* The engine's doorbell (roce_dev_config.doorbell); `ctx` is the device. */
void host_dev_doorbell(void *ctx);

/* 0 or -errno. The stop waits for the thread's end. */
int host_dev_thread_start(struct host_dev *dev);
void host_dev_thread_stop(struct host_dev *dev);

#endif
