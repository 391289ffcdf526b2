/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/event_queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/dev.h"
#include "host/events.h"
#include "host/poll.h"
#include "rdma/srq.h"

struct host_event_record {
    struct roce_event event;
    struct host_event_record *next;
};

/* --- lists --- */

static void append(struct host_event_list *list, struct host_event_record *record)
{
    record->next = NULL;
    *list->end = record;
    list->end = &record->next;
}

/* Takes out the record that `*at` points to. */
static struct host_event_record *take(struct host_event_list *list, struct host_event_record **at)
{
    struct host_event_record *record = *at;
    *at = record->next;
    if (!*at)
        list->end = at;
    return record;
}

static void drop_all(struct host_event_list *list)
{
    while (list->first)
        free(take(list, &list->first));
}

static const void *object_of(const struct roce_event *event)
{
    return event->qp ? (void *)event->qp : event->cq ? (void *)event->cq : (void *)event->srq;
}

/* Moves what is about `object` from one list to another, or drops it. */
static void move_object(struct host_event_list *from, struct host_event_list *to, const void *object)
{
    struct host_event_record **at = &from->first;
    while (*at) {
        if (object_of(&(*at)->event) != object)
            at = &(*at)->next;
        else if (to)
            append(to, take(from, at));
        else
            free(take(from, at));
    }
}

static bool is_same(const struct roce_event *a, const struct roce_event *b)
{
    return a->type == b->type && object_of(a) == object_of(b);
}

static struct host_event_record *take_same(struct host_event_list *list, const struct roce_event *event)
{
    struct host_event_record **at = &list->first;
    while (*at && !is_same(&(*at)->event, event))
        at = &(*at)->next;
    return *at ? take(list, at) : NULL;
}

/* --- the queue --- */

static void init_list(struct host_event_list *list)
{
    *list = (struct host_event_list){NULL, &list->first};
}

int host_event_queue_init(struct host_event_queue *queue)
{
    queue->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->fd < 0)
        return -errno;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->acknowledged, NULL);
    init_list(&queue->waiting);
    init_list(&queue->taken);
    init_list(&queue->held);
    return 0;
}

void host_event_queue_deinit(struct host_event_queue *queue)
{
    drop_all(&queue->waiting);
    drop_all(&queue->taken);
    drop_all(&queue->held);
    pthread_cond_destroy(&queue->acknowledged);
    pthread_mutex_destroy(&queue->lock);
    close(queue->fd);
}

/* Under the lock, after each change of `waiting` or `lost`. */
static void signal_waiting(struct host_event_queue *queue)
{
    bool wanted = queue->waiting.first || queue->lost;
    eventfd_t count;
    if (wanted && !queue->is_signalled)
        eventfd_write(queue->fd, 1);
    else if (!wanted && queue->is_signalled)
        eventfd_read(queue->fd, &count);
    queue->is_signalled = wanted;
}

static bool is_closing(const struct host_event_queue *queue, const void *object)
{
    for (const struct host_event_closing *c = queue->closing; c; c = c->next)
        if (c->object == object)
            return true;
    return false;
}

void host_event_queue_push(struct host_event_queue *queue, const struct roce_event *event)
{
    const void *object = object_of(event);
    pthread_mutex_lock(&queue->lock);
    struct host_event_record *record = object ? NULL : take_same(&queue->waiting, event);
    if (!record)
        record = calloc(1, sizeof *record);
    if (record) {
        record->event = *event;
        append(object && is_closing(queue, object) ? &queue->held : &queue->waiting, record);
    }
    queue->lost |= !record;
    signal_waiting(queue);
    pthread_mutex_unlock(&queue->lock);
}

static bool is_taken(const struct host_event_queue *queue, const void *object)
{
    for (const struct host_event_record *r = queue->taken.first; r; r = r->next)
        if (object_of(&r->event) == object)
            return true;
    return false;
}

void host_event_queue_close(struct host_event_queue *queue, struct host_event_closing *closing,
                            const void *object)
{
    pthread_mutex_lock(&queue->lock);
    *closing = (struct host_event_closing){object, queue->closing};
    queue->closing = closing;
    move_object(&queue->waiting, &queue->held, object);
    signal_waiting(queue);
    while (is_taken(queue, object))
        pthread_cond_wait(&queue->acknowledged, &queue->lock);
    pthread_mutex_unlock(&queue->lock);
}

void host_event_queue_closed(struct host_event_queue *queue, struct host_event_closing *closing,
                             bool destroyed)
{
    pthread_mutex_lock(&queue->lock);
    struct host_event_closing **at = &queue->closing;
    while (*at != closing)
        at = &(*at)->next;
    *at = closing->next;
    move_object(&queue->held, destroyed ? NULL : &queue->waiting, closing->object);
    signal_waiting(queue);
    pthread_mutex_unlock(&queue->lock);
}

/* --- what callers see --- */

int host_dev_event_fd(const struct host_dev *dev)
{
    return dev->events.fd;
}

/* -EAGAIN: there is none now. */
static int try_get(struct host_event_queue *queue, struct roce_event *event)
{
    int err = -EAGAIN;
    pthread_mutex_lock(&queue->lock);
    if (queue->waiting.first) {
        struct host_event_record *record = take(&queue->waiting, &queue->waiting.first);
        *event = record->event;
        append(&queue->taken, record);
        err = 0;
    } else if (queue->lost) {
        queue->lost = false;
        err = -ENOBUFS;
    }
    signal_waiting(queue);
    pthread_mutex_unlock(&queue->lock);
    return err;
}

int host_dev_get_event(struct host_dev *dev, struct roce_event *event, uint64_t timeout_ns)
{
    uint64_t end_ns = host_deadline_ns(timeout_ns);
    int err;
    while ((err = try_get(&dev->events, event)) == -EAGAIN)
        if (!host_poll_readable(dev->events.fd, end_ns))
            break;
    return err;
}

void host_dev_ack_event(struct host_dev *dev, const struct roce_event *event)
{
    struct host_event_queue *queue = &dev->events;
    pthread_mutex_lock(&queue->lock);
    struct host_event_record *record = take_same(&queue->taken, event);
    assert(record && "each event is acknowledged once");
    free(record);
    pthread_cond_broadcast(&queue->acknowledged);
    pthread_mutex_unlock(&queue->lock);
}

int host_qp_destroy(struct host_dev *dev, struct roce_qp *qp)
{
    struct host_event_closing closing;
    uint32_t qpn = roce_qp_num(qp);
    host_event_queue_close(&dev->events, &closing, qp);
    host_dev_lock(dev);
    int err = roce_qp_destroy(qp);
    if (!err && dev->cm)
        host_cm_qp_gone(dev->cm, qpn);
    host_event_queue_closed(&dev->events, &closing, !err);
    host_dev_unlock(dev);
    return err;
}

int host_srq_destroy(struct host_dev *dev, struct rdma_srq *srq)
{
    struct host_event_closing closing;
    host_event_queue_close(&dev->events, &closing, srq);
    host_dev_lock(dev);
    int err = rdma_srq_destroy(srq);
    host_event_queue_closed(&dev->events, &closing, !err);
    host_dev_unlock(dev);
    return err;
}
