/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/channel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "host/dev.h"
#include "host/poll.h"

/* Its lock is the last to be taken: a CQ fires under the device's. */
struct host_channel {
    pthread_mutex_t lock;
    pthread_cond_t acknowledged;
    int fd; /* eventfd: readable while a CQ waits */
    bool is_signalled;
    unsigned users;               /* CQs */
    struct host_cq *first, **end; /* those that fired, oldest first */
};

struct host_cq {
    struct host_dev *dev;
    struct rdma_cq *queue;
    struct host_channel *channel; /* or NULL */
    void (*notify)(void *ctx);    /* or NULL */
    void *ctx;
    /* under the channel's lock */
    struct host_cq *next;
    bool has_fired;  /* an event is to be taken */
    bool is_closing; /* but not any more: the CQ is being destroyed */
    unsigned unacknowledged;
};

int host_channel_create(struct host_channel **out)
{
    struct host_channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return -ENOMEM;
    channel->fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (channel->fd < 0) {
        int err = -errno;
        free(channel);
        return err;
    }
    pthread_mutex_init(&channel->lock, NULL);
    pthread_cond_init(&channel->acknowledged, NULL);
    channel->end = &channel->first;
    *out = channel;
    return 0;
}

int host_channel_destroy(struct host_channel *channel)
{
    pthread_mutex_lock(&channel->lock);
    bool is_used = channel->users > 0;
    pthread_mutex_unlock(&channel->lock);
    if (is_used)
        return -EBUSY;
    close(channel->fd);
    pthread_cond_destroy(&channel->acknowledged);
    pthread_mutex_destroy(&channel->lock);
    free(channel);
    return 0;
}

int host_channel_fd(const struct host_channel *channel)
{
    return channel->fd;
}

/* --- the line of CQs that fired; under the lock --- */

static void signal_waiting(struct host_channel *channel)
{
    eventfd_t count;
    bool wanted = channel->first != NULL;
    if (wanted && !channel->is_signalled)
        eventfd_write(channel->fd, 1);
    else if (!wanted && channel->is_signalled)
        eventfd_read(channel->fd, &count);
    channel->is_signalled = wanted;
}

static void line_up(struct host_cq *cq)
{
    struct host_channel *channel = cq->channel;
    cq->next = NULL;
    *channel->end = cq;
    channel->end = &cq->next;
    signal_waiting(channel);
}

static void step_out(struct host_cq *cq)
{
    struct host_channel *channel = cq->channel;
    struct host_cq **at = &channel->first;
    while (*at && *at != cq)
        at = &(*at)->next;
    if (!*at)
        return;
    *at = cq->next;
    if (!*at)
        channel->end = at;
    signal_waiting(channel);
}

/* rdma_cq_config.notify: inside progress or a control call. An overflow wakes the reader as well: its next
 * poll says so. */
static void on_notify(void *ctx, struct rdma_cq *queue, bool overflow)
{
    struct host_cq *cq = ctx;
    (void)queue;
    (void)overflow;
    pthread_mutex_lock(&cq->channel->lock);
    if (!cq->has_fired && !cq->is_closing)
        line_up(cq);
    cq->has_fired = true;
    pthread_mutex_unlock(&cq->channel->lock);
}

static void on_notify_without_channel(void *ctx, struct rdma_cq *queue, bool overflow)
{
    struct host_cq *cq = ctx;
    (void)queue;
    (void)overflow;
    if (cq->notify)
        cq->notify(cq->ctx);
}

/* --- CQs --- */

int host_cq_create(struct host_dev *dev, const struct host_cq_config *config, struct host_cq **out)
{
    struct host_cq *cq = calloc(1, sizeof *cq);
    if (!cq)
        return -ENOMEM;
    *cq = (struct host_cq){
        .dev = dev, .channel = config->channel, .notify = config->notify, .ctx = config->ctx};
    struct rdma_cq_config queue = {.capacity = config->capacity,
                                   .notify = config->channel ? on_notify : on_notify_without_channel,
                                   .ctx = cq};
    int err = rdma_cq_create(&rdma_mem_libc, &queue, &cq->queue);
    if (err) {
        free(cq);
        return err;
    }
    if (cq->channel) {
        pthread_mutex_lock(&cq->channel->lock);
        cq->channel->users++;
        pthread_mutex_unlock(&cq->channel->lock);
    }
    *out = cq;
    return 0;
}

struct rdma_cq *host_cq_queue(const struct host_cq *cq)
{
    return cq->queue;
}

void *host_cq_ctx(const struct rdma_cq *queue)
{
    const struct host_cq *cq = rdma_cq_ctx(queue);
    return cq ? cq->ctx : NULL;
}

/* Lets no event about the CQ be taken any more, and waits until all that were are acknowledged. */
static void leave_channel(struct host_cq *cq)
{
    struct host_channel *channel = cq->channel;
    pthread_mutex_lock(&channel->lock);
    cq->is_closing = true;
    step_out(cq);
    while (cq->unacknowledged > 0)
        pthread_cond_wait(&channel->acknowledged, &channel->lock);
    pthread_mutex_unlock(&channel->lock);
}

static void return_to_channel(struct host_cq *cq, bool destroyed)
{
    struct host_channel *channel = cq->channel;
    pthread_mutex_lock(&channel->lock);
    if (destroyed)
        channel->users--;
    else if (cq->has_fired)
        line_up(cq);
    cq->is_closing = false;
    pthread_mutex_unlock(&channel->lock);
}

int host_cq_destroy(struct host_cq *cq)
{
    struct host_event_closing closing;
    host_event_queue_close(&cq->dev->events, &closing, cq->queue);
    if (cq->channel)
        leave_channel(cq);
    host_dev_lock(cq->dev);
    int err = rdma_cq_destroy(cq->queue);
    host_event_queue_closed(&cq->dev->events, &closing, !err);
    host_dev_unlock(cq->dev);
    if (cq->channel)
        return_to_channel(cq, !err);
    if (!err)
        free(cq);
    return err;
}

/* --- events --- */

static int try_get(struct host_channel *channel, struct host_cq **out)
{
    pthread_mutex_lock(&channel->lock);
    struct host_cq *cq = channel->first;
    if (cq) {
        step_out(cq);
        cq->has_fired = false;
        cq->unacknowledged++;
        *out = cq;
    }
    pthread_mutex_unlock(&channel->lock);
    return cq ? 0 : -EAGAIN;
}

int host_get_cq_event(struct host_channel *channel, struct host_cq **cq, void **ctx, uint64_t timeout_ns)
{
    uint64_t end_ns = host_deadline_ns(timeout_ns);
    while (try_get(channel, cq) != 0)
        if (!host_poll_readable(channel->fd, end_ns))
            return -EAGAIN;
    if (ctx)
        *ctx = (*cq)->ctx;
    return 0;
}

void host_ack_cq_events(struct host_cq *cq, unsigned n)
{
    struct host_channel *channel = cq->channel;
    pthread_mutex_lock(&channel->lock);
    assert(n <= cq->unacknowledged && "each event is acknowledged once");
    cq->unacknowledged -= n;
    pthread_cond_broadcast(&channel->acknowledged);
    pthread_mutex_unlock(&channel->lock);
}
