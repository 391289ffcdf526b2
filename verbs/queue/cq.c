/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues and channels. */
#include "verbs/queue/cq.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>

#include "verbs/faults/faults.h"
#include "verbs/object.h"
#include "verbs/ops.h"
#include "verbs/queue/wc.h"

#define POLL_BATCH 16

/* --- channels --- */

struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *context)
{
    struct verbs_channel *channel = verbs_object_new(VERBS_CHANNEL, sizeof *channel);
    int err = channel ? verbs_fault_alloc(verbs_own(context)->faults, VERBS_FAULT_OF_CHANNEL) : ENOMEM;
    if (!err)
        err = -nornic_channel_create(verbs_own(context)->dev, &channel->nornic);
    if (err) {
        verbs_object_free(VERBS_CHANNEL, channel);
        return verbs_fail_null(err, "no completion channel");
    }
    int fd = nornic_channel_fd(channel->nornic);
    channel->base = (struct ibv_comp_channel){.context = context, .fd = fd};
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) & ~O_NONBLOCK); /* the program says by it whether it waits */
    return &channel->base;
}

int ibv_destroy_comp_channel(struct ibv_comp_channel *channel)
{
    int err = verbs_object_claim(VERBS_CHANNEL, channel);
    if (err || verbs_is_inherited(channel->context))
        return err;
    err = -nornic_channel_destroy(verbs_channel_of(channel)->nornic);
    if (err) {
        verbs_object_keep(VERBS_CHANNEL, channel);
        return verbs_fail(err, "the channel has %d completion queues", channel->refcnt);
    }
    verbs_object_free(VERBS_CHANNEL, channel);
    return 0;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **cq_context)
{
    struct nornic_cq *fired;
    for (;;) {
        int state = verbs_hold();
        int err = nornic_channel_get_event(verbs_channel_of(channel)->nornic, &fired, 0);
        verbs_let(state);
        if (!err)
            break;
        err = verbs_wait(channel->fd);
        if (err) {
            errno = err;
            return -1;
        }
    }
    *cq = nornic_cq_ctx(fired);
    *cq_context = (*cq)->cq_context;
    atomic_fetch_add(&verbs_cq_of(*cq)->unacked, 1);
    return 0;
}

/* Some programs acknowledge each completion instead of each event (fio does): more than there are is all. */
void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int nevents)
{
    struct verbs_cq *own = verbs_cq_of(cq);
    unsigned unacked = atomic_load(&own->unacked), n;
    do
        n = nevents < unacked ? nevents : unacked;
    while (!atomic_compare_exchange_weak(&own->unacked, &unacked, unacked - n));
    if (n)
        nornic_cq_ack_events(own->nornic, n);
}

/* --- queues --- */

struct verbs_cq *verbs_new_cq(struct ibv_context *context, const struct verbs_cq_wanted *wanted)
{
    struct verbs_context_own *own = verbs_own(context);
    struct nornic_dev_attr limits;
    if (wanted->channel && verbs_object_need(VERBS_CHANNEL, wanted->channel))
        return NULL;
    nornic_dev_query(own->dev, &limits, sizeof limits);
    if (wanted->cqe < 1 || wanted->cqe > limits.max_cqe || wanted->comp_vector < 0 ||
        wanted->comp_vector >= VERBS_COMP_VECTORS)
        return verbs_fail_null(EINVAL, "a completion queue of %lld entries (1 to %u), vector %d (of %d)",
                               (long long)wanted->cqe, limits.max_cqe, wanted->comp_vector,
                               VERBS_COMP_VECTORS);
    struct verbs_cq *cq = verbs_object_new(VERBS_CQ, sizeof *cq);
    if (!cq)
        return verbs_fail_null(ENOMEM, "no memory for a completion queue");
    struct nornic_cq_config config = {
        NORNIC_INIT(config), .capacity = (uint32_t)wanted->cqe,
        .channel = wanted->channel ? verbs_channel_of(wanted->channel)->nornic : NULL, .ctx = cq};
    uint64_t delay_ns = verbs_fault_delay_ns(own->faults);
    int err = verbs_fault_alloc(own->faults, VERBS_FAULT_OF_CQ);
    if (!err && delay_ns && !(cq->hold = verbs_hold_new(delay_ns)))
        err = ENOMEM;
    if (!err)
        err = -nornic_cq_create(own->dev, &config, &cq->nornic);
    if (err) {
        verbs_hold_free(cq->hold);
        verbs_object_free(VERBS_CQ, cq);
        return verbs_fail_null(err, "a completion queue of %lld entries was refused", (long long)wanted->cqe);
    }
    cq->base = (struct ibv_cq_ex){.context = context,
                                  .channel = wanted->channel,
                                  .cq_context = wanted->cq_context,
                                  .handle = verbs_object_number(VERBS_CQ, cq, context),
                                  .cqe = (int)nornic_cq_capacity(cq->nornic)};
    cq->number = cq->base.handle;
    pthread_mutex_init(&cq->base.mutex, NULL);
    pthread_cond_init(&cq->base.cond, NULL);
    pthread_mutex_init(&cq->poll_lock, NULL);
    if (wanted->channel)
        __atomic_fetch_add(&wanted->channel->refcnt, 1, __ATOMIC_SEQ_CST);
    return cq;
}

struct ibv_cq *ibv_create_cq(struct ibv_context *context, int cqe, void *cq_context,
                             struct ibv_comp_channel *channel, int comp_vector)
{
    const struct verbs_cq_wanted wanted = {
        .cqe = cqe, .cq_context = cq_context, .channel = channel, .comp_vector = comp_vector};
    struct verbs_cq *cq = verbs_new_cq(context, &wanted);
    return cq ? ibv_cq_ex_to_cq(&cq->base) : NULL;
}

int ibv_destroy_cq(struct ibv_cq *base)
{
    struct verbs_cq *cq = verbs_cq_of(base);
    int err = verbs_object_claim(VERBS_CQ, cq);
    if (err || verbs_is_inherited(base->context))
        return err;
    struct ibv_comp_channel *channel = base->channel;
    err = -nornic_cq_destroy(cq->nornic);
    if (err) {
        verbs_object_keep(VERBS_CQ, cq);
        return verbs_fail(err, "a queue pair or SRQ uses the completion queue");
    }
    if (channel)
        __atomic_fetch_sub(&channel->refcnt, 1, __ATOMIC_SEQ_CST);
    pthread_mutex_destroy(&cq->base.mutex);
    pthread_cond_destroy(&cq->base.cond);
    pthread_mutex_destroy(&cq->poll_lock);
    verbs_hold_free(cq->hold);
    verbs_object_free(VERBS_CQ, cq);
    return 0;
}

/* Below what waits in it no queue can go, and what has been posted counts as if it had been done at once. */
int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
    int err = verbs_object_need(VERBS_CQ, cq);
    if (err)
        return err;
    if (verbs_is_inherited(cq->context))
        return verbs_fail(EIO, "the completion queue is the parent's");
    verbs_settle(verbs_own(cq->context));
    err = cqe < 1 ? EINVAL : -nornic_cq_resize(verbs_cq_of(cq)->nornic, (uint32_t)cqe);
    if (err)
        return verbs_fail(err, "the completion queue cannot have %d entries", cqe);
    cq->cqe = (int)nornic_cq_capacity(verbs_cq_of(cq)->nornic);
    return 0;
}

int verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
    (void)cq;
    return verbs_fail(attr->attr_mask & ~(uint32_t)IBV_CQ_ATTR_MODERATE ? EINVAL : EOPNOTSUPP,
                      "modify_cq: events are not moderated");
}

/* Nothing is there: who polls again and again has a processor to spare, and makes the rounds that fill the
 * queue. */
static int poll_again(struct verbs_cq *cq, struct nornic_wc *wcs, unsigned n)
{
    struct nornic_dev *dev = verbs_own(cq->base.context)->dev;
    int state = verbs_hold();
    bool did = nornic_dev_progress(dev);
    verbs_let(state);
    if (verbs_idle_count(&cq->idle, did))
        sched_yield();
    return nornic_cq_poll(cq->nornic, wcs, n);
}

/* What a parent had not polled at a fork is the parent's, and so is the lock around it. */
static int take_now(struct verbs_cq *cq, struct nornic_wc *wcs, unsigned n)
{
    if (verbs_is_inherited(cq->base.context))
        return -EIO;
    int got = nornic_cq_poll(cq->nornic, wcs, n);
    if (got > 0)
        verbs_idle_count(&cq->idle, true);
    return got ? got : poll_again(cq, wcs, n);
}

/* Moves what has completed to those that come late. 0 or -EIO: the queue has overflowed. */
static int hold_what_is_there(struct verbs_cq *cq)
{
    struct nornic_wc wcs[POLL_BATCH];
    int got;
    do {
        got = take_now(cq, wcs, POLL_BATCH);
        if (got > 0 && !verbs_hold_put(cq->hold, wcs, (unsigned)got))
            return -EIO;
    } while (got == POLL_BATCH);
    return got < 0 ? got : 0;
}

static int take_late(struct verbs_cq *cq, struct nornic_wc *wcs, unsigned n)
{
    int err = hold_what_is_there(cq);
    unsigned got = verbs_hold_take(cq->hold, wcs, n);
    return got || !err || !verbs_hold_is_empty(cq->hold) ? (int)got : err;
}

/* Of what is flushed of a queue pair one request after the other, the first is told: a failed one may have
 * hundreds, which say nothing more. */
static bool is_flushed_again(struct verbs_cq *cq, const struct nornic_wc *wc)
{
    bool is_flushed = wc->status == NORNIC_WC_WR_FLUSH_ERR;
    uint32_t before = atomic_load_explicit(&cq->flushed_qpn, memory_order_relaxed);
    if (is_flushed != (before == wc->qp_num))
        atomic_store_explicit(&cq->flushed_qpn, is_flushed ? wc->qp_num : 0, memory_order_relaxed);
    return is_flushed && before == wc->qp_num;
}

static void tell_failures(struct verbs_cq *cq, struct nornic_wc *wcs, int count)
{
    struct verbs_context_own *own = verbs_own(cq->base.context);
    for (int i = 0; i < count; i++) {
        bool is_again = is_flushed_again(cq, &wcs[i]);
        if (wcs[i].status == NORNIC_WC_SUCCESS)
            continue;
        if (own->faults)
            verbs_fault_wc(own, &wcs[i]);
        if (is_again)
            continue;
        verbs_tell("queue pair 0x%06x: request 0x%llx ended with %s%s: %s", wcs[i].qp_num,
                   (unsigned long long)wcs[i].wr_id, nornic_wc_status_name(wcs[i].status),
                   wcs[i].status == NORNIC_WC_WR_FLUSH_ERR ? ", as do those behind it" : "",
                   verbs_wc_why(wcs[i].status));
    }
}

/* A poll fails, as will all after it: one line is enough. */
static void tell_end(struct verbs_cq *cq)
{
    if (atomic_exchange(&cq->has_told_end, true))
        return;
    if (verbs_is_inherited(cq->base.context))
        verbs_tell("poll_cq: the completion queue is of the process that was forked (EIO)");
    else
        verbs_tell(
            "poll_cq: the completion queue had no room for more than its %d entries, and is in error (EIO)",
            cq->base.cqe);
}

int verbs_take(struct verbs_cq *cq, struct nornic_wc *wcs, unsigned n)
{
    int got = cq->hold ? take_late(cq, wcs, n) : take_now(cq, wcs, n);
    if (got < 0)
        tell_end(cq);
    tell_failures(cq, wcs, got);
    return got;
}

int verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only)
{
    if (cq->handle != verbs_cq_of(cq)->number)
        return verbs_fail(EINVAL, "%p is no completion queue: its number was changed", (void *)cq);
    if (verbs_is_inherited(cq->context))
        return verbs_fail(EIO, "the completion queue is the parent's to arm");
    int state = verbs_hold();
    nornic_cq_req_notify(verbs_cq_of(cq)->nornic, solicited_only != 0);
    if (verbs_cq_of(cq)->hold) {
        (void)hold_what_is_there(verbs_cq_of(cq));
        verbs_hold_wait(verbs_cq_of(cq)->hold);
    }
    verbs_let(state);
    return 0;
}

int verbs_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc)
{
    struct nornic_wc taken[POLL_BATCH];
    int done = 0;
    while (done < num_entries) {
        unsigned want = min_u32((uint32_t)(num_entries - done), POLL_BATCH);
        int got = verbs_take(verbs_cq_of(cq), taken, want);
        if (got < 0)
            return done ? done : got;
        for (int i = 0; i < got; i++)
            verbs_wc_of(&taken[i], &wc[done++]);
        if ((unsigned)got < want)
            break;
    }
    return done;
}
