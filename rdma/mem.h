/* SPDX-License-Identifier: BSD-2-Clause */
/* What the engine cannot compute itself and is handed at creation: memory and randomness. */
#ifndef NORNIC_RDMA_MEM_H
#define NORNIC_RDMA_MEM_H

#include <stddef.h>
#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

/* The allocator that every object of a device uses. `alloc` returns zeroed memory or NULL. The data path
 * never allocates, so that tests can make any allocation fail and see a clean -ENOMEM. */
struct rdma_mem {
    void *(*alloc)(void *ctx, size_t len_bytes);
    void (*free)(void *ctx, void *p);
    void *ctx;
};

/* calloc() and free(). */
extern const struct rdma_mem rdma_mem_libc;

/* A source of random numbers: keys, QP numbers, PSNs. Tests hand in a seeded one. */
struct rdma_random {
    uint64_t (*next)(void *ctx);
    void *ctx;
};

NORNIC_END_DECLS

#endif
