/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queues, and the channels that a program sleeps on until they have something: ROCE section
 * 12.1. All calls may be made from any thread; two threads that poll one queue take turns. */
#ifndef NORNIC_CQ_H
#define NORNIC_CQ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nornic/decls.h"
#include "nornic/wc.h"

NORNIC_BEGIN_DECLS

struct nornic_channel;
struct nornic_cq;
struct nornic_dev;

#define NORNIC_CQ_MAX_CAPACITY (1u << 24)

/* How to create a completion queue. */
struct nornic_cq_config {
    size_t struct_bytes;            /* NORNIC_INIT() */
    uint32_t capacity;              /* completions that it holds at least, 1..NORNIC_CQ_MAX_CAPACITY */
    struct nornic_channel *channel; /* kept until the CQ is destroyed; NULL: none */
    void *ctx;                      /* the caller's: nornic_cq_ctx() */
};

/* 0, -EINVAL, -E2BIG or -ENOMEM. A queue takes the next request when one completes, polled or not: the
 * capacity is that of all completions that may wait to be polled, not that of the queues; one more is an
 * overflow (ROCE-CQ-2). */
int nornic_cq_create(struct nornic_dev *dev, const struct nornic_cq_config *config, struct nornic_cq **out);

/* Destroys it when the events taken about it are acknowledged, the channel's and the device's; those not
 * taken are dropped. 0, or -EBUSY while a queue pair or an SRQ uses it (ROCE-CQ-6). */
int nornic_cq_destroy(struct nornic_cq *cq);

/* Takes up to `n` completions, oldest first, and does not wait. Returns how many; or -EIO when all that were
 * valid are taken and the CQ has overflowed (ROCE-CQ-2): its queue pairs are in ERR. */
int nornic_cq_poll(struct nornic_cq *cq, struct nornic_wc *wcs, unsigned n);

/* The same, but sleeps until there is at least one, at most `timeout_ns` (UINT64_MAX: for ever). 0: time
 * is up. On a device without thread it makes the progress that it waits for. -EINVAL: the CQ has a
 * channel; sleep on that. */
int nornic_cq_wait(struct nornic_cq *cq, struct nornic_wc *wcs, unsigned n, uint64_t timeout_ns);

/* Arms the one-shot notification: the channel gets an event with the next completion, or the next
 * solicited one (ROCE-CQ-3, CQ-4). Completions already there do not fire it: poll once more after arming. */
void nornic_cq_req_notify(struct nornic_cq *cq, bool solicited_only);

/* Makes it hold `capacity` completions at least; those not polled stay. 0, -EINVAL (out of range, or
 * below the number of those) or -ENOMEM; nothing is changed then (ROCE-CQ-6). */
int nornic_cq_resize(struct nornic_cq *cq, uint32_t capacity);

/* Takes out the completions of one queue pair that wait to be polled, as adapters do when it goes to RESET:
 * requests after that have the same number. Their events stay. */
void nornic_cq_discard(struct nornic_cq *cq, uint32_t qp_num);

/* How many completions it holds at the most; and the caller's `ctx`. */
uint32_t nornic_cq_capacity(struct nornic_cq *cq);
void *nornic_cq_ctx(const struct nornic_cq *cq);

/* --- channels --- */

/* 0 or -errno. */
int nornic_channel_create(struct nornic_dev *dev, struct nornic_channel **out);

/* 0, or -EBUSY while a CQ uses it. */
int nornic_channel_destroy(struct nornic_channel *channel);

/* A descriptor that polls readable (POLLIN) while events wait; the channel's. */
int nornic_channel_fd(const struct nornic_channel *channel);

/* Takes the oldest event, waiting at most `timeout_ns` for one: the CQ that fired. 0, or -EAGAIN: none
 * came. A CQ waits in its channel once, however often it fired; each event taken is acknowledged by
 * nornic_cq_ack_events(). */
int nornic_channel_get_event(struct nornic_channel *channel, struct nornic_cq **cq, uint64_t timeout_ns);

/* Acknowledges `n` events of a CQ. */
void nornic_cq_ack_events(struct nornic_cq *cq, unsigned n);

NORNIC_END_DECLS

#endif
