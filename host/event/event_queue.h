/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue behind host/event/events.h. Internal to host/.
 *
 * What an event is about is an object of the engine, which knows nothing of this queue. So its subject is an
 * entry of a table by address, which is there as long as events about the object wait or are taken. An event
 * that waits already is not queued a second time but moves to the end: what waits is at most each type of
 * event once about each object, and objects take theirs with them. */
#ifndef NORNIC_HOST_EVENT_QUEUE_H
#define NORNIC_HOST_EVENT_QUEUE_H

#include "host/event/ack_queue.h"
#include "host/event/events.h"

#define HOST_EVENT_BUCKETS 1024
#define HOST_EVENTS_MAX    65536 /* that wait; beyond it they are lost, and the reader is told */

struct host_event_entry;

/* An object that someone waits to destroy; lives on the waiter's stack. */
struct host_event_closing {
    const void *object;
    struct host_event_closing *next;
};

struct host_event_queue {
    struct host_ack_queue acks;
    /* under its lock */
    struct host_event_entry *buckets[HOST_EVENT_BUCKETS];
    struct host_event_closing *closing;
    struct host_ack_subject device; /* of events that name no object */
    struct host_ack_event lost;     /* there was no memory, or no room, for some */
    unsigned count;                 /* records that wait */
};

/* 0 or -errno. */
int host_event_queue_init(struct host_event_queue *queue);
void host_event_queue_deinit(struct host_event_queue *queue);

/* Queues an event. */
void host_event_queue_push(struct host_event_queue *queue, const struct host_event *event);

/* 0; -EAGAIN: none came in `timeout_ns`; -ENOBUFS: some were lost. */
int host_event_queue_take(struct host_event_queue *queue, struct host_event *event, uint64_t timeout_ns);
void host_event_queue_acknowledge(struct host_event_queue *queue, const struct host_event *event);

/* Waits until no event about `object` is taken and unacknowledged, and lets none be taken from now on.
 * Then the caller destroys it and says whether that succeeded: if so its events are dropped, else they may
 * be taken again. No lock may be held for the first; the device's is held, if any, for the second. */
void host_event_queue_close(struct host_event_queue *queue, struct host_event_closing *closing,
                            const void *object);
void host_event_queue_closed(struct host_event_queue *queue, struct host_event_closing *closing,
                             bool destroyed);

/* `object` is no more, whoever destroyed it: drops what waits about it. */
void host_event_queue_forget(struct host_event_queue *queue, const void *object);

#endif
