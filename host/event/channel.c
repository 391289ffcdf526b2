/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/event/channel.h"

#include <errno.h>
#include <stdlib.h>

#include "base/base.h"
#include "host/event/ack_queue.h"
#include "host/dev/dev.h"
#include "host/dev/lock.h"

struct host_channel {
    struct host_ack_queue acks;
    unsigned users; /* CQs; under its lock */
};

/* A CQ has one event to give, however often it fired. */
struct host_cq {
    struct host_dev *dev;
    struct rdma_cq *queue;
    struct host_channel *channel; /* or NULL */
    void (*notify)(void *ctx);    /* or NULL */
    void *ctx;
    struct host_ack_subject subject; /* the CQ itself */
    struct host_ack_event fired;
    struct host_later later;
};

int host_channel_create(struct host_channel **out)
{
    struct host_channel *channel = calloc(1, sizeof *channel);
    if (!channel)
        return -ENOMEM;
    int err = host_ack_queue_init(&channel->acks);
    if (err) {
        free(channel);
        return err;
    }
    *out = channel;
    return 0;
}

int host_channel_destroy(struct host_channel *channel)
{
    host_ack_lock(&channel->acks);
    bool is_used = channel->users > 0;
    host_ack_unlock(&channel->acks);
    if (is_used)
        return -EBUSY;
    host_ack_queue_deinit(&channel->acks);
    free(channel);
    return 0;
}

int host_channel_fd(const struct host_channel *channel)
{
    return channel->acks.fd;
}

/* rdma_cq_config.notify: inside progress or a control call. An overflow wakes the reader as well: its next
 * poll says so. */
static void on_notify(void *ctx, struct rdma_cq *queue, bool overflow)
{
    struct host_cq *cq = ctx;
    (void)queue;
    (void)overflow;
    host_dev_assert_held(cq->dev);
    host_later_add(&cq->dev->later, &cq->later);
}

static void tell_channel(struct host_later *later)
{
    struct host_cq *cq = container_of(later, struct host_cq, later);
    host_ack_lock(&cq->channel->acks);
    host_ack_push(&cq->channel->acks, &cq->fired);
    host_ack_unlock(&cq->channel->acks);
}

static void tell_owner(struct host_later *later)
{
    struct host_cq *cq = container_of(later, struct host_cq, later);
    if (cq->notify)
        cq->notify(cq->ctx);
}

/* --- CQs --- */

int host_cq_create(struct host_dev *dev, const struct host_cq_config *config, struct host_cq **out)
{
    struct host_cq *cq = calloc(1, sizeof *cq);
    if (!cq)
        return -ENOMEM;
    *cq = (struct host_cq){.dev = dev,
                           .channel = config->channel,
                           .notify = config->notify,
                           .ctx = config->ctx,
                           .later.tell = config->channel ? tell_channel : tell_owner};
    struct rdma_cq_config queue = {.capacity = config->capacity, .notify = on_notify, .ctx = cq};
    int err = rdma_cq_create(&rdma_mem_libc, &queue, &cq->queue);
    if (err) {
        free(cq);
        return err;
    }
    host_ack_subject_init(&cq->subject, false);
    cq->fired.subject = &cq->subject;
    if (cq->channel) {
        host_ack_lock(&cq->channel->acks);
        cq->channel->users++;
        host_ack_unlock(&cq->channel->acks);
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

static void leave_channel(struct host_cq *cq)
{
    host_ack_lock(&cq->channel->acks);
    host_ack_pull(&cq->channel->acks, &cq->subject);
    cq->channel->users--;
    host_ack_unlock(&cq->channel->acks);
}

static void stay_in_channel(struct host_cq *cq)
{
    host_ack_lock(&cq->channel->acks);
    host_ack_release(&cq->channel->acks, &cq->subject);
    host_ack_unlock(&cq->channel->acks);
}

static bool is_used(struct host_cq *cq)
{
    host_dev_lock(cq->dev);
    bool used = rdma_cq_is_used(cq->queue);
    host_dev_unlock(cq->dev);
    return used;
}

int host_cq_destroy(struct host_cq *cq)
{
    struct host_event_closing closing;
    /* Without waiting for anybody, as kernels refuse it: fio never acknowledges some events. */
    if (is_used(cq))
        return -EBUSY;
    host_event_queue_close(&cq->dev->events, &closing, cq->queue);
    if (cq->channel)
        host_ack_close(&cq->channel->acks, &cq->subject);
    host_dev_lock(cq->dev);
    int err = rdma_cq_destroy(cq->queue);
    host_event_queue_closed(&cq->dev->events, &closing, !err);
    host_dev_unlock(cq->dev);
    if (cq->channel && err)
        stay_in_channel(cq);
    else if (cq->channel)
        leave_channel(cq);
    if (!err)
        free(cq);
    return err;
}

/* --- events --- */

int host_get_cq_event(struct host_channel *channel, struct host_cq **cq, void **ctx, uint64_t timeout_ns)
{
    struct host_ack_event *event = host_ack_take(&channel->acks, timeout_ns);
    if (!event)
        return -EAGAIN;
    *cq = container_of(event, struct host_cq, fired);
    if (ctx)
        *ctx = (*cq)->ctx;
    return 0;
}

void host_ack_cq_events(struct host_cq *cq, unsigned n)
{
    host_ack_lock(&cq->channel->acks);
    host_ack_acknowledge(&cq->channel->acks, &cq->subject, n);
    host_ack_unlock(&cq->channel->acks);
}
