/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion channels: sleeping until a completion queue has something (ROCE-CQ-5). A CQ that was armed with
 * rdma_cq_req_notify() puts one event into its channel when it fires, at the end of the round or call that it
 * fires in (host/dev/later.h). All calls here are made without the device's lock, from any thread. */
#ifndef NORNIC_HOST_CHANNEL_H
#define NORNIC_HOST_CHANNEL_H

#include <stdint.h>

#include "host/host.h"
#include "rdma/cq.h"

struct host_channel;

/* 0 or -errno. */
int host_channel_create(struct host_channel **out);

/* 0, or -EBUSY while a CQ uses it. */
int host_channel_destroy(struct host_channel *channel);

/* A descriptor that polls readable (POLLIN) while events wait; the channel's. */
int host_channel_fd(const struct host_channel *channel);

/* A completion queue of a device, on a channel or on none. */
struct host_cq;

struct host_cq_config {
    uint32_t capacity;            /* as rdma_cq_config has it */
    struct host_channel *channel; /* kept until the CQ is destroyed; or NULL */
    /* Instead of a channel: called under the device's lock when an armed notification fires or the CQ
     * overflows; must not call back. Or NULL. */
    void (*notify)(void *ctx);
    void *ctx; /* the caller's, handed out with each event */
};

/* 0, -EINVAL or -ENOMEM. */
int host_cq_create(struct host_dev *dev, const struct host_cq_config *config, struct host_cq **out);

/* For QPs that complete into it, for polling and arming; the CQ's. */
struct rdma_cq *host_cq_queue(const struct host_cq *cq);
/* The caller's `ctx`, of the queue that an event names; NULL: no host_cq is around it. */
void *host_cq_ctx(const struct rdma_cq *queue);

/* Destroys the CQ when all events taken about it are acknowledged, those of the channel and the CQ_ERR of the
 * device; waits for that. Events not taken yet are dropped. 0, or -EBUSY, at once, while a QP or SRQ uses it
 * (ROCE-CQ-6). */
int host_cq_destroy(struct host_cq *cq);

/* Takes the oldest event, waiting at most `timeout_ns` for one: the CQ that fired and its `ctx` (may be
 * NULL). 0, or -EAGAIN: none came. A CQ waits in its channel once, however often it fired; each event
 * taken is to be acknowledged. */
int host_get_cq_event(struct host_channel *channel, struct host_cq **cq, void **ctx, uint64_t timeout_ns);

/* Acknowledges `n` events of a CQ. */
void host_ack_cq_events(struct host_cq *cq, unsigned n);

#endif
