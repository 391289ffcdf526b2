/* SPDX-License-Identifier: BSD-2-Clause */
/* One line of events with a descriptor to poll: the device's own events, those of completion channels and
 * those of a CM are three users of it. Internal to host/ and sock/.
 *
 * An event is about a subject (a QP, a CQ, an id), is taken once, and is acknowledged: until then its subject
 * stays. Who wants to destroy a subject holds it first: what waits about it steps out of the line, what comes
 * meanwhile does not step in, and when the last event that was taken is acknowledged the subject is the
 * destroyer's alone. Then the events that nobody took are pulled out, or, if it cannot be destroyed after
 * all, released into the line again.
 *
 * The memory of events and subjects is the users': an event is a member of a record, or of the object itself
 * where that has only one to give, so that raising it cannot fail. An event without a subject is taken like
 * any other, and acknowledging it means nothing here.
 *
 * The queue's lock is a leaf (docs/architecture.md, "Locks"): it is taken under a device's lock and under
 * that of the sockets, and nothing is called with it held. */
#ifndef NORNIC_HOST_ACK_QUEUE_H
#define NORNIC_HOST_ACK_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

struct host_ack_subject;

struct host_ack_event {
    TAILQ_ENTRY(host_ack_event) in_line;    /* of the queue, unless its subject is held */
    TAILQ_ENTRY(host_ack_event) of_subject; /* where it has one */
    struct host_ack_subject *subject;       /* what it is about, or NULL; set before it is pushed */
    struct host_ack_subject *brings; /* a second one that taking it makes known: counted as taken too, and
                                        no longer held. Or NULL */
    bool is_waiting;
};

TAILQ_HEAD(host_ack_events, host_ack_event);

struct host_ack_subject {
    struct host_ack_events waiting; /* about it, oldest first */
    unsigned taken;                 /* and not acknowledged yet */
    bool is_held;                   /* none may be taken now */
};

struct host_ack_queue {
    pthread_mutex_t lock;
    pthread_cond_t acknowledged;
    int fd; /* eventfd: readable while the line is not empty */
    bool is_signalled;
    struct host_ack_events line; /* oldest first */
};

/* 0 or -errno. What waits at the end is the users' to free. */
int host_ack_queue_init(struct host_ack_queue *queue);
void host_ack_queue_deinit(struct host_ack_queue *queue);

void host_ack_subject_init(struct host_ack_subject *subject, bool is_held);

/* Takes the oldest event out of the line, waiting at most `timeout_ns` for one, and counts it as taken of its
 * subject. NULL: none came. Without any lock. */
struct host_ack_event *host_ack_take(struct host_ack_queue *queue, uint64_t timeout_ns);

/* --- under the lock, which makes the descriptor follow when it is given back --- */

void host_ack_lock(struct host_ack_queue *queue);
void host_ack_unlock(struct host_ack_queue *queue);

/* Puts an event at the end of the line. One that waits already stays where it is. */
void host_ack_push(struct host_ack_queue *queue, struct host_ack_event *event);
/* Takes one out that waits, as if it had not been raised. */
void host_ack_withdraw(struct host_ack_queue *queue, struct host_ack_event *event);
/* Withdraws the oldest about `subject`; NULL: there is none. */
struct host_ack_event *host_ack_pull(struct host_ack_queue *queue, struct host_ack_subject *subject);

/* Acknowledges `n` events about `subject`. */
void host_ack_acknowledge(struct host_ack_queue *queue, struct host_ack_subject *subject, unsigned n);

/* Lets none about `subject` be taken any more; and again. */
void host_ack_hold(struct host_ack_queue *queue, struct host_ack_subject *subject);
void host_ack_release(struct host_ack_queue *queue, struct host_ack_subject *subject);
/* Gives the lock back until an acknowledgement comes. */
void host_ack_wait(struct host_ack_queue *queue);

/* --- without it --- */

/* Holds `subject` and waits until nothing about it is taken and unacknowledged. */
void host_ack_close(struct host_ack_queue *queue, struct host_ack_subject *subject);

#endif
