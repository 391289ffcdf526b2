/* SPDX-License-Identifier: BSD-2-Clause */
/* A ring of receive WQEs: the receive queue of a QP, or an SRQ. One poster (an application's thread) and
 * one taker (the engine) need no common lock: `posted` is published with release order after the slot,
 * `released` tells what is free. Inside the engine only. */
#ifndef NORNIC_RDMA_RECV_RING_H
#define NORNIC_RDMA_RECV_RING_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "rdma/mem.h"
#include "nornic/wr.h"

#define RDMA_RECV_MAX_BYTES (1u << 31) /* the sum of a WQE's SGEs: ROCE-QP-40 */

struct rdma_recv_wqe {
    uint64_t wr_id;
    uint32_t num_sge;
    uint32_t len_bytes; /* the sum of its SGEs */
};

/* Free-running indexes into a ring of a power of two. */
struct rdma_recv_ring {
    struct rdma_recv_wqe *wqes;
    struct nornic_sge *sges; /* max_sge a slot */
    uint32_t size;           /* slots */
    uint32_t max_sge;
    _Atomic uint32_t posted;   /* the poster's: one past the newest */
    _Atomic uint32_t released; /* the taker's: the oldest that is not given back */
};

/* Room for `max_wr` WQEs at least. 0 or -ENOMEM. */
int rdma_recv_ring_init(struct rdma_recv_ring *ring, const struct rdma_mem *mem, uint32_t max_wr,
                        uint32_t max_sge);
/* Also of one that failed to initialise, or is all zero. */
void rdma_recv_ring_deinit(struct rdma_recv_ring *ring, const struct rdma_mem *mem);
/* Forgets every WQE. Neither poster nor taker runs. */
void rdma_recv_ring_reset(struct rdma_recv_ring *ring);
/* Copies what `from` holds into a fresh ring of the same max_sge, which has room for it. Neither poster nor
 * taker runs. */
void rdma_recv_ring_copy(struct rdma_recv_ring *ring, const struct rdma_recv_ring *from);

/* The poster: copies one request. 0, -EINVAL (too many SGEs or bytes: ROCE-QP-40) or -ENOMEM (full). */
int rdma_recv_ring_post(struct rdma_recv_ring *ring, const struct nornic_recv_wr *wr);

/* The taker: how many wait. */
uint32_t rdma_recv_ring_count(const struct rdma_recv_ring *ring);
/* The taker: the oldest, or NULL; with its SGEs. Stays valid until the pop. */
const struct rdma_recv_wqe *rdma_recv_ring_oldest(const struct rdma_recv_ring *ring,
                                                  const struct nornic_sge **sges);
/* The taker: gives the oldest slot back. There is one. */
void rdma_recv_ring_pop(struct rdma_recv_ring *ring);

#endif
