/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/event/ack_queue.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/dev/clock.h"

int host_ack_queue_init(struct host_ack_queue *queue)
{
    queue->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (queue->fd < 0)
        return -errno;
    pthread_mutex_init(&queue->lock, NULL);
    pthread_cond_init(&queue->acknowledged, NULL);
    queue->is_signalled = false;
    TAILQ_INIT(&queue->line);
    return 0;
}

void host_ack_queue_deinit(struct host_ack_queue *queue)
{
    pthread_cond_destroy(&queue->acknowledged);
    pthread_mutex_destroy(&queue->lock);
    close(queue->fd);
}

void host_ack_subject_init(struct host_ack_subject *subject, bool is_held)
{
    *subject = (struct host_ack_subject){.is_held = is_held};
    TAILQ_INIT(&subject->waiting);
}

/* --- under the lock --- */

void host_ack_lock(struct host_ack_queue *queue)
{
    pthread_mutex_lock(&queue->lock);
}

void host_ack_unlock(struct host_ack_queue *queue)
{
    bool is_wanted = !TAILQ_EMPTY(&queue->line);
    eventfd_t count;
    if (is_wanted && !queue->is_signalled)
        eventfd_write(queue->fd, 1);
    else if (!is_wanted && queue->is_signalled)
        eventfd_read(queue->fd, &count);
    queue->is_signalled = is_wanted;
    pthread_mutex_unlock(&queue->lock);
}

static bool is_in_line(const struct host_ack_event *event)
{
    return !event->subject || !event->subject->is_held;
}

void host_ack_push(struct host_ack_queue *queue, struct host_ack_event *event)
{
    if (event->is_waiting)
        return;
    event->is_waiting = true;
    if (event->subject)
        TAILQ_INSERT_TAIL(&event->subject->waiting, event, of_subject);
    if (is_in_line(event))
        TAILQ_INSERT_TAIL(&queue->line, event, in_line);
}

void host_ack_withdraw(struct host_ack_queue *queue, struct host_ack_event *event)
{
    assert(event->is_waiting);
    event->is_waiting = false;
    if (is_in_line(event))
        TAILQ_REMOVE(&queue->line, event, in_line);
    if (event->subject)
        TAILQ_REMOVE(&event->subject->waiting, event, of_subject);
}

struct host_ack_event *host_ack_pull(struct host_ack_queue *queue, struct host_ack_subject *subject)
{
    struct host_ack_event *event = TAILQ_FIRST(&subject->waiting);
    if (event)
        host_ack_withdraw(queue, event);
    return event;
}

void host_ack_acknowledge(struct host_ack_queue *queue, struct host_ack_subject *subject, unsigned n)
{
    assert(n <= subject->taken && "each event is acknowledged once");
    subject->taken -= n;
    pthread_cond_broadcast(&queue->acknowledged);
}

void host_ack_hold(struct host_ack_queue *queue, struct host_ack_subject *subject)
{
    struct host_ack_event *event;
    if (subject->is_held)
        return;
    subject->is_held = true;
    for (event = TAILQ_FIRST(&subject->waiting); event; event = TAILQ_NEXT(event, of_subject))
        TAILQ_REMOVE(&queue->line, event, in_line);
}

void host_ack_release(struct host_ack_queue *queue, struct host_ack_subject *subject)
{
    struct host_ack_event *event;
    if (!subject->is_held)
        return;
    subject->is_held = false;
    for (event = TAILQ_FIRST(&subject->waiting); event; event = TAILQ_NEXT(event, of_subject))
        TAILQ_INSERT_TAIL(&queue->line, event, in_line);
}

void host_ack_wait(struct host_ack_queue *queue)
{
    pthread_cond_wait(&queue->acknowledged, &queue->lock);
}

/* --- without it --- */

void host_ack_close(struct host_ack_queue *queue, struct host_ack_subject *subject)
{
    host_ack_lock(queue);
    host_ack_hold(queue, subject);
    /* The descriptor follows now: nobody is to wake for what is held. */
    host_ack_unlock(queue);
    host_ack_lock(queue);
    while (subject->taken > 0)
        host_ack_wait(queue);
    host_ack_unlock(queue);
}

static struct host_ack_event *try_take(struct host_ack_queue *queue)
{
    host_ack_lock(queue);
    struct host_ack_event *event = TAILQ_FIRST(&queue->line);
    if (event) {
        host_ack_withdraw(queue, event);
        if (event->subject)
            event->subject->taken++;
        if (event->brings) {
            event->brings->taken++;
            host_ack_release(queue, event->brings);
        }
    }
    host_ack_unlock(queue);
    return event;
}

struct host_ack_event *host_ack_take(struct host_ack_queue *queue, uint64_t timeout_ns)
{
    uint64_t end_ns = host_deadline_ns(timeout_ns);
    struct host_ack_event *event;
    while (!(event = try_take(queue)))
        if (!host_poll_readable(queue->fd, end_ns))
            break;
    return event;
}
