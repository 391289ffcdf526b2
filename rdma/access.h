/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to the memory of regions, which may be gone: base/guard.h. A fault is counted in the domain.
 * Inside the engines only. */
#ifndef NORNIC_RDMA_ACCESS_H
#define NORNIC_RDMA_ACCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/guard.h"

struct rdma_domain;

/* Counts an access that faulted, also in a system call or under a guard of the caller's. Returns false. */
bool rdma_note_fault(struct rdma_domain *domain);

/* Copies `len_bytes` into memory of a region, and out of it. Returns false when the memory cannot be
 * accessed: a part may be copied. */
static inline bool rdma_store(struct rdma_domain *domain, uint8_t *memory, const uint8_t *from,
                              uint32_t len_bytes)
{
    return guard_copy_to(memory, from, len_bytes) || rdma_note_fault(domain);
}

static inline bool rdma_load(struct rdma_domain *domain, uint8_t *to, const uint8_t *memory,
                             uint32_t len_bytes)
{
    return guard_copy_from(to, memory, len_bytes) || rdma_note_fault(domain);
}

/* Runs `step(arg)`, which accesses the `len_bytes` of `memory`. Returns false when it cannot:
 * guard_run(). */
static inline bool rdma_access(struct rdma_domain *domain, const void *memory, uint32_t len_bytes,
                               void (*step)(void *arg), void *arg)
{
    return guard_run(memory, len_bytes, step, arg) || rdma_note_fault(domain);
}

#endif
