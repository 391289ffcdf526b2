/* SPDX-License-Identifier: BSD-2-Clause */
/* Completion queue: a ring with one writer (the engine, inside progress) and one reader (the application,
 * or whoever holds its lock), which need no common lock: ROCE section 12.1. */
#ifndef NORNIC_RDMA_CQ_H
#define NORNIC_RDMA_CQ_H

#include <stdbool.h>
#include <stdint.h>

#include "nornic/decls.h"
#include "nornic/wc.h"
#include "rdma/mem.h"

NORNIC_BEGIN_DECLS

struct rdma_cq;

#define RDMA_CQ_MAX_CAPACITY (1u << 24)

struct rdma_cq_config {
    uint32_t capacity; /* completions it holds at least, 1..RDMA_CQ_MAX_CAPACITY */
    /* Called by the engine, inside progress or a control call, when an armed notification fires or the CQ
     * overflows (`overflow`). Must not call back into the engine. May be NULL. */
    void (*notify)(void *ctx, struct rdma_cq *cq, bool overflow);
    void *ctx;
};

/* 0, -EINVAL (capacity) or -ENOMEM. The caller destroys it after every QP that uses it. */
int rdma_cq_create(const struct rdma_mem *mem, const struct rdma_cq_config *config, struct rdma_cq **out);

/* Whether a QP or SRQ uses it; only a control call changes that. */
bool rdma_cq_is_used(const struct rdma_cq *cq);

/* 0, or -EBUSY while a QP uses it (ROCE-CQ-6). */
int rdma_cq_destroy(struct rdma_cq *cq);

/* Takes up to `n` completions, oldest first. Returns how many, or -EIO when the valid ones are all taken
 * and the CQ has overflowed (ROCE-CQ-2). */
int rdma_cq_poll(struct rdma_cq *cq, struct nornic_wc *wcs, unsigned n);

/* Whether a poll would return something: completions, or the error. For the reader. */
bool rdma_cq_is_ready(const struct rdma_cq *cq);

/* Arms the one-shot notification: for the next completion, or the next solicited one (ROCE-CQ-3, CQ-4).
 * Completions already there do not fire it: poll once more after arming. */
void rdma_cq_req_notify(struct rdma_cq *cq, bool solicited_only);

/* Makes it hold `capacity` completions at least; those not polled yet stay, and so do an armed notification
 * and an error. A control call, and no poll may run meanwhile. 0, -EINVAL (capacity out of range, or below
 * the number of those completions) or -ENOMEM; nothing is changed then (ROCE-CQ-6). */
int rdma_cq_resize(struct rdma_cq *cq, uint32_t capacity);

/* Takes out the completions of the queue pairs with this number. As rdma_cq_resize() in what may run. */
void rdma_cq_discard(struct rdma_cq *cq, uint32_t qp_num);

/* How many completions it holds at the most. */
uint32_t rdma_cq_capacity(const struct rdma_cq *cq);
/* The `ctx` of its configuration. */
void *rdma_cq_ctx(const struct rdma_cq *cq);

NORNIC_END_DECLS

#endif
