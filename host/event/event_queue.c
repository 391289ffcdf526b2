/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/event/event_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/base.h"

/* What waits about one object, or is taken. */
struct host_event_entry {
    const void *object;
    struct host_event_entry *next; /* of its bucket */
    struct host_ack_subject subject;
};

struct record {
    struct host_ack_event base;
    struct host_event event;
};

static struct record *record_of(struct host_ack_event *event)
{
    return container_of(event, struct record, base);
}

/* NULL: the event is about the device. */
static const void *object_of(const struct host_event *event)
{
    return event->qp ? (const void *)event->qp : event->cq ? (void *)event->cq : (void *)event->srq;
}

/* --- the table of objects; all under the lock --- */

static struct host_event_entry **find(struct host_event_queue *queue, const void *object)
{
    uint64_t hash = (uint64_t)(uintptr_t)object * 0x9e3779b97f4a7c15u;
    struct host_event_entry **at = &queue->buckets[hash >> 54];
    _Static_assert(HOST_EVENT_BUCKETS == 1 << (64 - 54), "the hash has as many bits");
    while (*at && (*at)->object != object)
        at = &(*at)->next;
    return at;
}

static bool is_closing(const struct host_event_queue *queue, const void *object)
{
    for (const struct host_event_closing *c = queue->closing; c; c = c->next)
        if (c->object == object)
            return true;
    return false;
}

/* The subject of events about `object` (NULL: the device); NULL: no memory for it. */
static struct host_ack_subject *subject_for(struct host_event_queue *queue, const void *object)
{
    if (!object)
        return &queue->device;
    struct host_event_entry **at = find(queue, object);
    if (*at)
        return &(*at)->subject;
    struct host_event_entry *entry = calloc(1, sizeof *entry);
    if (!entry)
        return NULL;
    entry->object = object;
    host_ack_subject_init(&entry->subject, is_closing(queue, object));
    *at = entry;
    return &entry->subject;
}

/* Frees the entry that `*at` points to if there is nothing left about its object. */
static void tidy(struct host_event_entry **at)
{
    struct host_event_entry *entry = *at;
    if (entry->subject.taken > 0 || !TAILQ_EMPTY(&entry->subject.waiting))
        return;
    *at = entry->next;
    free(entry);
}

static void drop_waiting(struct host_event_queue *queue, struct host_ack_subject *subject)
{
    struct host_ack_event *event;
    while ((event = host_ack_pull(&queue->acks, subject))) {
        queue->count--;
        free(record_of(event));
    }
}

/* --- the queue --- */

int host_event_queue_init(struct host_event_queue *queue)
{
    *queue = (struct host_event_queue){.count = 0};
    host_ack_subject_init(&queue->device, false);
    return host_ack_queue_init(&queue->acks);
}

void host_event_queue_deinit(struct host_event_queue *queue)
{
    drop_waiting(queue, &queue->device);
    for (unsigned i = 0; i < HOST_EVENT_BUCKETS; i++)
        while (queue->buckets[i]) {
            queue->buckets[i]->subject.taken = 0; /* nobody is left to acknowledge */
            drop_waiting(queue, &queue->buckets[i]->subject);
            tidy(&queue->buckets[i]);
        }
    host_ack_queue_deinit(&queue->acks);
}

/* A record for one more event about `subject`: that of one like it, which waits already, or a new one. */
static struct record *record_for(struct host_event_queue *queue, struct host_ack_subject *subject,
                                 enum nornic_event_type type)
{
    struct host_ack_event *waiting;
    for (waiting = TAILQ_FIRST(&subject->waiting); waiting; waiting = TAILQ_NEXT(waiting, of_subject)) {
        if (record_of(waiting)->event.type != type)
            continue;
        host_ack_withdraw(&queue->acks, waiting);
        return record_of(waiting);
    }
    struct record *record = queue->count < HOST_EVENTS_MAX ? calloc(1, sizeof *record) : NULL;
    queue->count += record != NULL;
    return record;
}

void host_event_queue_push(struct host_event_queue *queue, const struct host_event *event)
{
    host_ack_lock(&queue->acks);
    struct host_ack_subject *subject = subject_for(queue, object_of(event));
    struct record *record = subject ? record_for(queue, subject, event->type) : NULL;
    if (record) {
        record->event = *event;
        record->base.subject = subject;
        host_ack_push(&queue->acks, &record->base);
    } else {
        host_ack_push(&queue->acks, &queue->lost);
        if (subject && object_of(event))
            tidy(find(queue, object_of(event)));
    }
    host_ack_unlock(&queue->acks);
}

int host_event_queue_take(struct host_event_queue *queue, struct host_event *event, uint64_t timeout_ns)
{
    struct host_ack_event *taken = host_ack_take(&queue->acks, timeout_ns);
    if (!taken)
        return -EAGAIN;
    if (taken == &queue->lost)
        return -ENOBUFS;
    *event = record_of(taken)->event;
    free(record_of(taken));
    host_ack_lock(&queue->acks);
    queue->count--;
    host_ack_unlock(&queue->acks);
    return 0;
}

void host_event_queue_acknowledge(struct host_event_queue *queue, const struct host_event *event)
{
    const void *object = object_of(event);
    host_ack_lock(&queue->acks);
    if (object) {
        struct host_event_entry **at = find(queue, object);
        assert(*at && "each event is acknowledged once");
        host_ack_acknowledge(&queue->acks, &(*at)->subject, 1);
        tidy(at);
    } else {
        host_ack_acknowledge(&queue->acks, &queue->device, 1);
    }
    host_ack_unlock(&queue->acks);
}

/* --- an object goes --- */

void host_event_queue_close(struct host_event_queue *queue, struct host_event_closing *closing,
                            const void *object)
{
    host_ack_lock(&queue->acks);
    *closing = (struct host_event_closing){object, queue->closing};
    queue->closing = closing;
    struct host_event_entry *entry = *find(queue, object);
    if (entry)
        host_ack_hold(&queue->acks, &entry->subject);
    host_ack_unlock(&queue->acks);
    host_ack_lock(&queue->acks);
    /* Its entry may go with the last acknowledgement, and come again with the next event. */
    while ((entry = *find(queue, object)) && entry->subject.taken > 0)
        host_ack_wait(&queue->acks);
    host_ack_unlock(&queue->acks);
}

void host_event_queue_closed(struct host_event_queue *queue, struct host_event_closing *closing,
                             bool destroyed)
{
    host_ack_lock(&queue->acks);
    struct host_event_closing **at = &queue->closing;
    while (*at != closing)
        at = &(*at)->next;
    *at = closing->next;
    struct host_event_entry *entry = *find(queue, closing->object);
    if (entry && !destroyed)
        host_ack_release(&queue->acks, &entry->subject);
    host_ack_unlock(&queue->acks);
    if (destroyed)
        host_event_queue_forget(queue, closing->object);
}

void host_event_queue_forget(struct host_event_queue *queue, const void *object)
{
    host_ack_lock(&queue->acks);
    struct host_event_entry **at = find(queue, object);
    if (*at) {
        drop_waiting(queue, &(*at)->subject);
        tidy(at);
    }
    host_ack_unlock(&queue->acks);
}
