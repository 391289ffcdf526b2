/* SPDX-License-Identifier: BSD-2-Clause */
/* The lent connections that an epoll instance of the program watches, which the kernel's epoll
 * cannot.
 *
 * Each epoll descriptor has a shadow beside the kernel's instance. The kernel's watches the
 * descriptors that are the kernel's; the shadow has the lent connections, each with its events, its
 * data and how far its edges were told, and a waiter of the service's for all of them together. The
 * waiter's descriptor stands in the kernel's instance, so a thread that sleeps there hears of both.
 * It stands there edge triggered, as does the bell with which one thread tells those that sleep
 * that the shadow has changed: an edge is one wake-up, and after fork() one that was meant for the
 * other process does no harm.
 *
 * Of sockets that are not lent yet it is noted, too, what is registered: when one is lent, its
 * registration moves from the kernel's instance into the shadow, and back when it falls back to
 * TCP. */
#ifndef NORNIC_PRELOAD_SHADOW_H
#define NORNIC_PRELOAD_SHADOW_H

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/queue.h>

#include "preload/conn.h"
#include "preload/fds.h"

struct shadow_reg {
    struct shadow *shadow;
    struct conn *conn;
    int fd;                     /* the number that was registered: with the connection it is the key */
    struct epoll_event event;   /* as registered; events 0: disabled after EPOLLONESHOT */
    uint32_t seen_in, seen_out; /* edges that were told */
    bool is_ours;               /* in the shadow; else in the kernel's instance */
    bool is_ready;              /* in the list of those to look at */
    bool must_tell;             /* an edge since it was registered or changed */
    bool is_watched;            /* the waiter hears of it; else it is looked at every millisecond */
    struct shadow_reg *next_of_conn;
    struct shadow_reg *next_in_bucket; /* ours, by connection */
    TAILQ_ENTRY(shadow_reg) in_list, in_ready;
};

TAILQ_HEAD(shadow_regs, shadow_reg);

struct shadow {
    struct fds_object object;
    int epfd; /* a number of the kernel's instance, if it still leads here */
    pthread_mutex_t lock;
    struct borrow_waiter *waiter;       /* NULL: nothing was lent yet */
    struct shadow_regs ours, in_kernel; /* each registration is in one */
    struct shadow_regs ready;           /* those of ours that are to be looked at */
    struct shadow_reg **buckets;
    unsigned num_buckets;
    _Atomic unsigned num_ours, num_in_kernel;
    unsigned num_unwatched;
    _Atomic unsigned sleepers;
    unsigned generation;     /* of fork() */
    bool was_lost;           /* the service has gone, and that is told */
    _Atomic bool has_others; /* the kernel's instance has descriptors that the shadow knows nothing of */
    _Atomic bool has_marks;  /* it has the waiter or the bell */
    bool is_our_turn;        /* the kernel's took all the room the last time */
    uint64_t next_look_ns;   /* at the kernel's instance, though there is enough to do without */
    TAILQ_ENTRY(shadow) in_shadows;
};

extern struct fds_kind shadow_kind;

/* For a new epoll descriptor; it is bound to it. Without memory, or a descriptor for the bell, it is the
 * kernel's alone, and lent connections cannot be registered there: false. */
bool shadow_make(int epfd);
/* epoll_ctl() for a socket that this library knows. 0 or -errno. */
int shadow_ctl(struct shadow *s, int op, int fd, struct conn *c, const struct epoll_event *event);
/* `c` was lent; its numbers are still those of the TCP socket: registrations leave the kernel. */
void shadow_adopt(struct conn *c);
/* `c` fell back; its numbers are those of its TCP socket again: registrations return to the kernel. */
void shadow_return(struct conn *c);
/* The program has done something to `c` that raises its levels (shutdown()). */
void shadow_changed(struct conn *c);

/* Ready connections, at most `max`, as epoll_wait() has them. `*fallen`: one that fell back to TCP, held by
 * the caller, who sees to it; NULL: none. */
int shadow_collect(struct shadow *s, struct epoll_event *out, int max, struct conn **fallen);
/* Whether shadow_collect() would find any. Takes nothing. */
bool shadow_is_ready(struct shadow *s);
/* Before sleeping in the kernel's instance: false: look again instead. True: shadow_woke() follows. */
bool shadow_may_sleep(struct shadow *s);
void shadow_woke(struct shadow *s);
/* After sleeping there without having asked, which counts in `sleepers`, too. */
void shadow_woke_plain(struct shadow *s);
/* Takes what only the shadow registered out of the kernel's events; how many are left. */
int shadow_without_marks(struct epoll_event *events, int n);
/* A socket whose connect() is under way and that this event of the kernel may be of, held by the caller, and
 * its number; NULL: none. */
struct conn *shadow_connecting(struct shadow *s, const struct epoll_event *event, int *fd);

/* Around fork(). */
void shadow_lock_all(void);
void shadow_unlock_all(void);
/* In the child, with the locks held: the parent's waiters are the parent's, and nothing is done with them
 * there. */
void shadow_forked(void);

#endif
