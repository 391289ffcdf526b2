/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues and channels of programs: nornic/cq.h. */
#include <errno.h>
#include <time.h>

#include "base/base.h"
#include "host/api/api.h"
#include "host/api/config.h"
#include "host/dev/clock.h"

#define LOOK_AGAIN_NS (1 * NS_PER_MS)

/* --- life --- */

/* host_cq_config.notify: an armed notification fired, or the queue overflowed. */
static void on_notify(void *ctx)
{
    struct nornic_cq *cq = ctx;
    pthread_mutex_lock(&cq->fired_lock);
    cq->fired_count++;
    pthread_cond_broadcast(&cq->fired);
    pthread_mutex_unlock(&cq->fired_lock);
}

static void init_locks(struct nornic_cq *cq)
{
    pthread_condattr_t monotonic;
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&cq->fired, &monotonic);
    pthread_condattr_destroy(&monotonic);
    pthread_mutex_init(&cq->fired_lock, NULL);
    pthread_mutex_init(&cq->lock, NULL);
}

static void free_cq(struct nornic_cq *cq)
{
    pthread_cond_destroy(&cq->fired);
    pthread_mutex_destroy(&cq->fired_lock);
    pthread_mutex_destroy(&cq->lock);
    host_api_free(cq->dev, HOST_API_CQ, cq);
}

int nornic_cq_create(struct nornic_dev *dev, const struct nornic_cq_config *config, struct nornic_cq **out)
{
    struct nornic_cq_config own;
    int err = host_config_take(&own, sizeof own, config);
    if (err)
        return err;
    struct nornic_cq *cq = host_api_new(dev, HOST_API_CQ, sizeof *cq);
    if (!cq)
        return -ENOMEM;
    cq->dev = dev;
    cq->ctx = own.ctx;
    cq->has_channel = own.channel != NULL;
    init_locks(cq);
    struct host_cq_config host = {.capacity = own.capacity,
                                  .channel = own.channel ? own.channel->host : NULL,
                                  .notify = own.channel ? NULL : on_notify,
                                  .ctx = cq};
    err = host_cq_create(dev->host, &host, &cq->host);
    if (err) {
        free_cq(cq);
        return err;
    }
    cq->engine = host_cq_queue(cq->host);
    *out = cq;
    return 0;
}

int nornic_cq_destroy(struct nornic_cq *cq)
{
    int err = host_cq_destroy(cq->host);
    if (!err)
        free_cq(cq);
    return err;
}

const struct rdma_cq *host_cq_of(const struct nornic_cq *cq)
{
    return cq->engine;
}

void *nornic_cq_ctx(const struct nornic_cq *cq)
{
    return cq->ctx;
}

/* --- polling and arming --- */

int nornic_cq_poll(struct nornic_cq *cq, struct nornic_wc *wcs, unsigned n)
{
    pthread_mutex_lock(&cq->lock);
    int got = rdma_cq_poll(cq->engine, wcs, n);
    pthread_mutex_unlock(&cq->lock);
    return got;
}

void nornic_cq_req_notify(struct nornic_cq *cq, bool solicited_only)
{
    pthread_mutex_lock(&cq->lock);
    rdma_cq_req_notify(cq->engine, solicited_only);
    pthread_mutex_unlock(&cq->lock);
    host_dev_take_back(cq->dev->host);
}

static uint64_t count_fired(struct nornic_cq *cq)
{
    pthread_mutex_lock(&cq->fired_lock);
    uint64_t count = cq->fired_count;
    pthread_mutex_unlock(&cq->fired_lock);
    return count;
}

/* Until a notification has fired that was not counted in `seen`, or until `end_ns`. */
static void sleep_until_fired(struct nornic_cq *cq, uint64_t seen, uint64_t end_ns)
{
    const struct timespec end = {.tv_sec = (time_t)(min_u64(end_ns, INT64_MAX) / NS_PER_S),
                                 .tv_nsec = (long)(end_ns % NS_PER_S)};
    int err = 0;
    pthread_mutex_lock(&cq->fired_lock);
    while (cq->fired_count == seen && !err)
        err = pthread_cond_timedwait(&cq->fired, &cq->fired_lock, &end);
    pthread_mutex_unlock(&cq->fired_lock);
}

/* Somebody has to do what completes the work: the device's thread, or else this one. Where it is this one,
 * there may be others like it, and a round of theirs may complete what this one waits for, after it has
 * looked and before it sleeps, with nothing left that would wake it. So it sleeps no longer than
 * LOOK_AGAIN_NS. */
static void wait_for_progress(struct nornic_cq *cq, uint64_t seen, uint64_t end_ns)
{
    uint64_t now_ns = host_now_ns();
    if (cq->dev->has_thread)
        sleep_until_fired(cq, seen, end_ns);
    else
        (void)host_round(cq->dev->host,
                         &(struct host_round_policy){
                             .kind = HOST_ROUND_SLEEP,
                             .cq = cq->engine,
                             .sleep_ns = now_ns < end_ns ? min_u64(end_ns - now_ns, LOOK_AGAIN_NS) : 0});
}

int nornic_cq_wait(struct nornic_cq *cq, struct nornic_wc *wcs, unsigned n, uint64_t timeout_ns)
{
    if (cq->has_channel)
        return -EINVAL;
    uint64_t end_ns = host_deadline_ns(timeout_ns);
    int got = nornic_cq_poll(cq, wcs, n);
    while (got == 0) {
        /* Counted before it is armed: whatever fires from here on is seen as new, though another waiter may
         * arm again before this one sleeps. */
        uint64_t seen = count_fired(cq);
        nornic_cq_req_notify(cq, false);
        got = nornic_cq_poll(cq, wcs, n);
        if (got != 0 || host_now_ns() >= end_ns)
            break;
        wait_for_progress(cq, seen, end_ns);
        got = nornic_cq_poll(cq, wcs, n);
    }
    return got;
}

int nornic_cq_resize(struct nornic_cq *cq, uint32_t capacity)
{
    pthread_mutex_lock(&cq->lock);
    host_dev_lock(cq->dev->host);
    int err = rdma_cq_resize(cq->engine, capacity);
    host_dev_unlock(cq->dev->host);
    pthread_mutex_unlock(&cq->lock);
    return err;
}

void nornic_cq_discard(struct nornic_cq *cq, uint32_t qp_num)
{
    pthread_mutex_lock(&cq->lock);
    host_dev_lock(cq->dev->host);
    rdma_cq_discard(cq->engine, qp_num);
    host_dev_unlock(cq->dev->host);
    pthread_mutex_unlock(&cq->lock);
}

uint32_t nornic_cq_capacity(struct nornic_cq *cq)
{
    pthread_mutex_lock(&cq->lock);
    uint32_t capacity = rdma_cq_capacity(cq->engine);
    pthread_mutex_unlock(&cq->lock);
    return capacity;
}

/* --- channels --- */

int nornic_channel_create(struct nornic_dev *dev, struct nornic_channel **out)
{
    struct nornic_channel *channel = host_api_new(dev, HOST_API_CHANNEL, sizeof *channel);
    if (!channel)
        return -ENOMEM;
    channel->dev = dev;
    int err = host_channel_create(&channel->host);
    if (err) {
        host_api_free(dev, HOST_API_CHANNEL, channel);
        return err;
    }
    *out = channel;
    return 0;
}

int nornic_channel_destroy(struct nornic_channel *channel)
{
    int err = host_channel_destroy(channel->host);
    if (!err)
        host_api_free(channel->dev, HOST_API_CHANNEL, channel);
    return err;
}

int nornic_channel_fd(const struct nornic_channel *channel)
{
    return host_channel_fd(channel->host);
}

int nornic_channel_get_event(struct nornic_channel *channel, struct nornic_cq **cq, uint64_t timeout_ns)
{
    struct host_cq *fired;
    void *ctx = NULL;
    int err = host_get_cq_event(channel->host, &fired, &ctx, timeout_ns);
    if (!err)
        *cq = ctx;
    return err;
}

void nornic_cq_ack_events(struct nornic_cq *cq, unsigned n)
{
    host_ack_cq_events(cq->host, n);
}
