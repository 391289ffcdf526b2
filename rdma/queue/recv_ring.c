/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "rdma/queue/recv_ring.h"

#include <errno.h>
#include <string.h>

static struct nornic_sge *slot_sges(const struct rdma_recv_ring *ring, uint32_t index)
{
    return &ring->sges[(size_t)(index & (ring->size - 1)) * ring->max_sge];
}

int rdma_recv_ring_init(struct rdma_recv_ring *ring, const struct rdma_mem *mem, uint32_t max_wr,
                        uint32_t max_sge)
{
    *ring = (struct rdma_recv_ring){.size = pow2_up(max_wr), .max_sge = max_sge};
    ring->wqes = mem->alloc(mem->ctx, sizeof *ring->wqes * ring->size);
    ring->sges = mem->alloc(mem->ctx, sizeof *ring->sges * ring->size * (max_sge ? max_sge : 1));
    if (ring->wqes && ring->sges)
        return 0;
    rdma_recv_ring_deinit(ring, mem);
    return -ENOMEM;
}

void rdma_recv_ring_deinit(struct rdma_recv_ring *ring, const struct rdma_mem *mem)
{
    if (ring->wqes)
        mem->free(mem->ctx, ring->wqes);
    if (ring->sges)
        mem->free(mem->ctx, ring->sges);
    ring->wqes = NULL;
    ring->sges = NULL;
}

void rdma_recv_ring_reset(struct rdma_recv_ring *ring)
{
    atomic_store(&ring->posted, 0);
    atomic_store(&ring->released, 0);
}

void rdma_recv_ring_copy(struct rdma_recv_ring *ring, const struct rdma_recv_ring *from)
{
    uint32_t begin = atomic_load(&from->released), end = atomic_load(&from->posted);
    for (uint32_t i = begin; i != end; i++) {
        ring->wqes[i & (ring->size - 1)] = from->wqes[i & (from->size - 1)];
        if (ring->max_sge)
            memcpy(slot_sges(ring, i), slot_sges(from, i), sizeof *ring->sges * ring->max_sge);
    }
    atomic_store(&ring->released, begin);
    atomic_store(&ring->posted, end);
}

int rdma_recv_ring_post(struct rdma_recv_ring *ring, const struct nornic_recv_wr *wr)
{
    if (wr->num_sge > ring->max_sge)
        return -EINVAL;
    uint64_t sum = 0;
    for (uint32_t i = 0; i < wr->num_sge; i++)
        sum += wr->sg_list[i].len_bytes;
    if (sum > RDMA_RECV_MAX_BYTES)
        return -EINVAL;
    uint32_t posted = atomic_load_explicit(&ring->posted, memory_order_relaxed);
    if (posted - atomic_load_explicit(&ring->released, memory_order_acquire) >= ring->size)
        return -ENOMEM;
    ring->wqes[posted & (ring->size - 1)] =
        (struct rdma_recv_wqe){.wr_id = wr->wr_id, .num_sge = wr->num_sge, .len_bytes = (uint32_t)sum};
    if (wr->num_sge)
        memcpy(slot_sges(ring, posted), wr->sg_list, sizeof *wr->sg_list * wr->num_sge);
    /* Sequentially consistent, because a poster looks at the QP's state next: rdma_qp_post_recv(). */
    atomic_store(&ring->posted, posted + 1);
    return 0;
}

uint32_t rdma_recv_ring_count(const struct rdma_recv_ring *ring)
{
    /* Sequentially consistent: a flush after the state was set sees every post that did not see the state. */
    return atomic_load(&ring->posted) - atomic_load_explicit(&ring->released, memory_order_relaxed);
}

const struct rdma_recv_wqe *rdma_recv_ring_oldest(const struct rdma_recv_ring *ring,
                                                  const struct nornic_sge **sges)
{
    if (rdma_recv_ring_count(ring) == 0)
        return NULL;
    uint32_t released = atomic_load_explicit(&ring->released, memory_order_relaxed);
    *sges = slot_sges(ring, released);
    return &ring->wqes[released & (ring->size - 1)];
}

void rdma_recv_ring_pop(struct rdma_recv_ring *ring)
{
    uint32_t released = atomic_load_explicit(&ring->released, memory_order_relaxed);
    atomic_store_explicit(&ring->released, released + 1, memory_order_release);
}
