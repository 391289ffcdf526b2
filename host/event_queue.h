/* SPDX-License-Identifier: BSD-2-Clause */
/* The queue behind host/events.h. Internal to host/. */
#ifndef NORNIC_HOST_EVENT_QUEUE_H
#define NORNIC_HOST_EVENT_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "roce/roce.h"

struct host_event_record;

struct host_event_list {
    struct host_event_record *first, **end;
};

/* An object that someone waits to destroy; lives on the waiter's stack. */
struct host_event_closing {
    const void *object;
    struct host_event_closing *next;
};

/* Its lock is the last to be taken: under the device's, and nothing is called with it held. */
struct host_event_queue {
    pthread_mutex_t lock;
    pthread_cond_t acknowledged;
    int fd;                         /* eventfd: readable while `waiting` has something, or `lost` is set */
    struct host_event_list waiting; /* to be taken, oldest first */
    struct host_event_list taken;   /* to be acknowledged */
    struct host_event_list held;    /* about objects that are being destroyed: not to be taken */
    struct host_event_closing *closing;
    bool is_signalled, lost;
};

/* 0 or -errno. */
int host_event_queue_init(struct host_event_queue *queue);
void host_event_queue_deinit(struct host_event_queue *queue);

/* Queues an event. One that names no object and waits already is not queued twice: it moves to the end. */
void host_event_queue_push(struct host_event_queue *queue, const struct roce_event *event);

/* Waits until no event about `object` is taken and unacknowledged, and lets none be taken from now on.
 * Then the caller destroys it and says whether that succeeded: if so its events are dropped, else they may
 * be taken again. No lock may be held for the first; the device's is held, if any, for the second. */
void host_event_queue_close(struct host_event_queue *queue, struct host_event_closing *closing,
                            const void *object);
void host_event_queue_closed(struct host_event_queue *queue, struct host_event_closing *closing,
                             bool destroyed);

#endif
