/* SPDX-License-Identifier: BSD-2-Clause */
/* What the files of host/ share: the device and its inner calls. */
#ifndef NORNIC_HOST_DEV_H
#define NORNIC_HOST_DEV_H

#include <pthread.h>
#include <stdatomic.h>

#include "host/cm_inner.h"
#include "host/event_queue.h"
#include "host/gids.h"
#include "host/host.h"
#include "host/sources.h"

struct host_dev {
    struct net_port *port;    /* the outermost of the wrapped ports */
    struct net_port *capture; /* the one among them that writes the capture, or NULL */
    struct roce_dev *engine;
    unsigned ifindex;                /* 0: the port has no interface (memory) */
    struct host_gids *gids;          /* NULL: the caller keeps the GID table */
    struct net_multicast *multicast; /* NULL as `ifindex` is 0 */
    roce_trace_hook *trace;
    void *trace_ctx;

    pthread_mutex_t lock;    /* the engine, the port and the fields below up to the doorbell */
    atomic_int lock_waiters; /* callers of host_dev_lock() that the thread lets go first */
    uint64_t planned_ns;     /* the next deadline as every sleeper knows it; 0: at once */
    bool tx_blocked;         /* the last round had frames to send and the port lent no buffers */
    struct host_sources sources;

    int doorbell_fd;     /* eventfd */
    atomic_int sleepers; /* threads that sleep or are about to */
    atomic_bool rung;    /* doorbell_fd is readable or soon will be */

    struct host_event_queue events;
    struct host_cm *cm; /* or NULL */

    bool has_thread;
    pthread_t thread;
    atomic_bool stopping;
};

/* Wraps `*port` as `config` asks: the capture, then the impairment. `*capture` is the capturing port, or
 * NULL. 0, or -errno with a sentence; then the port is closed. */
int host_port_wrap(struct net_port **port, struct net_port **capture, const struct host_dev_config *config,
                   struct nornic_error *why);

/* Keys, QP numbers and PSNs: from the kernel. */
extern const struct rdma_random host_random;

/* One round; the caller holds the lock. Returns whether anything was done. */
bool host_dev_round(struct host_dev *dev);

/* To be called before the lock is given back: wakes the sleepers if something is now due earlier than they
 * know. */
void host_dev_replan(struct host_dev *dev);

/* Wakes whoever sleeps on the device. Any thread, with or without the lock. */
void host_dev_ring(struct host_dev *dev);

/* Called by the round that acts on the doorbell, and by nobody who merely woke up: a drained doorbell
 * without a round behind it would be a lost one. */
void host_dev_consume_doorbell(struct host_dev *dev);

/* Sleeps until frames, the doorbell or a deadline, at most `timeout_ns`; returns at once if something is due
 * already. The caller does not hold the lock. */
void host_dev_sleep(struct host_dev *dev, uint64_t timeout_ns);

/* The engine's doorbell (roce_dev_config.doorbell); `ctx` is the device. */
void host_dev_doorbell(void *ctx);

/* 0 or -errno. The stop waits for the thread's end. */
int host_dev_thread_start(struct host_dev *dev);
void host_dev_thread_stop(struct host_dev *dev);

#endif
