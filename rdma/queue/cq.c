/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring counts completions from 0 and lets both counts wrap: `tail` is the producer's, `head` the
 * consumer's, and tail - head is what waits. A release of `tail` publishes a completion with all data that
 * was placed before it (ROCE-CQ-1); a release of `head` gives the slot back.
 *
 * Arming and adding race: the consumer arms, then looks at `tail` once more; the producer moves `tail`,
 * then looks at `armed`. At least one of the two must see the other's store, which only a single total
 * order of these four accesses gives: they are sequentially consistent. */
#include "base/base.h"
#include "rdma/transport.h"

#include <errno.h>
#include <stdatomic.h>

#define CQ_LINE_BYTES 64

/* Ordered: a higher one includes the lower ones (ROCE-CQ-4: "any" wins). */
enum cq_arm { CQ_ARM_NONE, CQ_ARM_SOLICITED, CQ_ARM_ANY };

struct rdma_cq {
    struct nornic_wc *ring;
    uint32_t mask; /* capacity - 1; the capacity is a power of two */
    struct rdma_mem mem;
    void (*notify)(void *ctx, struct rdma_cq *cq, bool overflow);
    void *ctx;
    uint32_t users; /* QPs; changed by control calls only */
    struct rdma_cq_user *users_list;
    uint8_t pad_shared[CQ_LINE_BYTES];
    _Atomic uint32_t tail; /* producer */
    atomic_bool in_error;
    uint8_t pad_producer[CQ_LINE_BYTES];
    _Atomic uint32_t head; /* consumer */
    _Atomic int armed;     /* enum cq_arm */
    uint8_t pad_consumer[CQ_LINE_BYTES];
};

int rdma_cq_create(const struct rdma_mem *mem, const struct rdma_cq_config *config, struct rdma_cq **out)
{
    if (config->capacity == 0 || config->capacity > RDMA_CQ_MAX_CAPACITY)
        return -EINVAL;
    struct rdma_cq *cq = mem->alloc(mem->ctx, sizeof *cq);
    if (!cq)
        return -ENOMEM;
    uint32_t capacity = pow2_up(config->capacity);
    cq->ring = mem->alloc(mem->ctx, capacity * sizeof cq->ring[0]);
    if (!cq->ring) {
        mem->free(mem->ctx, cq);
        return -ENOMEM;
    }
    cq->mask = capacity - 1;
    cq->mem = *mem;
    cq->notify = config->notify;
    cq->ctx = config->ctx;
    *out = cq;
    return 0;
}

int rdma_cq_resize(struct rdma_cq *cq, uint32_t capacity)
{
    uint32_t head = atomic_load(&cq->head), tail = atomic_load(&cq->tail);
    if (capacity == 0 || capacity > RDMA_CQ_MAX_CAPACITY || capacity < tail - head)
        return -EINVAL;
    capacity = pow2_up(capacity);
    struct nornic_wc *ring = cq->mem.alloc(cq->mem.ctx, capacity * sizeof ring[0]);
    if (!ring)
        return -ENOMEM;
    for (uint32_t i = head; i != tail; i++)
        ring[i & (capacity - 1)] = cq->ring[i & cq->mask];
    cq->mem.free(cq->mem.ctx, cq->ring);
    cq->ring = ring;
    cq->mask = capacity - 1;
    return 0;
}

void rdma_cq_discard(struct rdma_cq *cq, uint32_t qp_num)
{
    uint32_t head = atomic_load(&cq->head), tail = atomic_load(&cq->tail), kept = tail;
    for (uint32_t i = tail; i-- != head;) /* those that stay move towards the newest */
        if (cq->ring[i & cq->mask].qp_num != qp_num)
            cq->ring[--kept & cq->mask] = cq->ring[i & cq->mask];
    atomic_store(&cq->head, kept);
}

bool rdma_cq_is_used(const struct rdma_cq *cq)
{
    return cq->users != 0;
}

int rdma_cq_destroy(struct rdma_cq *cq)
{
    if (rdma_cq_is_used(cq))
        return -EBUSY;
    struct rdma_mem mem = cq->mem;
    mem.free(mem.ctx, cq->ring);
    mem.free(mem.ctx, cq);
    return 0;
}

int rdma_cq_poll(struct rdma_cq *cq, struct nornic_wc *wcs, unsigned n)
{
    /* Before `tail`: once the error is seen, nothing is added any more, so that an empty ring stays empty. */
    bool in_error = atomic_load_explicit(&cq->in_error, memory_order_acquire);
    uint32_t head = atomic_load_explicit(&cq->head, memory_order_relaxed);
    uint32_t count = atomic_load(&cq->tail) - head;
    if (count == 0 && in_error)
        return -EIO;
    if (count > n)
        count = n;
    for (uint32_t i = 0; i < count; i++)
        wcs[i] = cq->ring[(head + i) & cq->mask];
    atomic_store_explicit(&cq->head, head + count, memory_order_release);
    return (int)count;
}

bool rdma_cq_is_ready(const struct rdma_cq *cq)
{
    return atomic_load_explicit(&cq->tail, memory_order_acquire) !=
               atomic_load_explicit(&cq->head, memory_order_relaxed) ||
           atomic_load_explicit(&cq->in_error, memory_order_acquire);
}

void rdma_cq_req_notify(struct rdma_cq *cq, bool solicited_only)
{
    if (!solicited_only) {
        atomic_store(&cq->armed, CQ_ARM_ANY);
        return;
    }
    int none = CQ_ARM_NONE; /* ROCE-CQ-4: an armed "any" stays */
    atomic_compare_exchange_strong(&cq->armed, &none, CQ_ARM_SOLICITED);
}

uint32_t rdma_cq_capacity(const struct rdma_cq *cq)
{
    return cq->mask + 1;
}

void *rdma_cq_ctx(const struct rdma_cq *cq)
{
    return cq->ctx;
}

/* ROCE-CQ-3, CQ-4: disarms and notifies, once. The loop ends when the consumer's concurrent arming, which
 * only raises the level, has been seen. */
static void fire(struct rdma_cq *cq, bool solicited)
{
    int armed = atomic_load(&cq->armed);
    while (armed == CQ_ARM_ANY || (armed == CQ_ARM_SOLICITED && solicited)) {
        if (!atomic_compare_exchange_weak(&cq->armed, &armed, CQ_ARM_NONE))
            continue;
        if (cq->notify)
            cq->notify(cq->ctx, cq, false);
        return;
    }
}

bool rdma_cq_push(struct rdma_cq *cq, const struct nornic_wc *wc, bool solicited)
{
    if (rdma_cq_in_error(cq))
        return false;
    if (!rdma_cq_has_room(cq, 1)) {
        atomic_store_explicit(&cq->in_error, true, memory_order_release); /* ROCE-CQ-2 */
        if (cq->notify)
            cq->notify(cq->ctx, cq, true);
        return false;
    }
    uint32_t tail = atomic_load_explicit(&cq->tail, memory_order_relaxed);
    cq->ring[tail & cq->mask] = *wc;
    atomic_store(&cq->tail, tail + 1);
    fire(cq, solicited || wc->status != NORNIC_WC_SUCCESS);
    return true;
}

bool rdma_cq_has_room(const struct rdma_cq *cq, uint32_t count)
{
    uint32_t used = atomic_load_explicit(&cq->tail, memory_order_relaxed) -
                    atomic_load_explicit(&cq->head, memory_order_acquire);
    return count <= rdma_cq_capacity(cq) - used && !rdma_cq_in_error(cq);
}

bool rdma_cq_in_error(const struct rdma_cq *cq)
{
    return atomic_load_explicit(&cq->in_error, memory_order_relaxed);
}

struct rdma_cq_user **rdma_cq_users(struct rdma_cq *cq)
{
    return &cq->users_list;
}

void rdma_cq_get(struct rdma_cq *cq)
{
    cq->users++;
}

void rdma_cq_put(struct rdma_cq *cq)
{
    cq->users--;
}
