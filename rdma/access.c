/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/access.h"

#include "base/guard.h"
#include "rdma/memory/domain.h"

void rdma_note_fault(struct rdma_domain *domain)
{
    domain->fault_count++;
}

/* Counts an access that was not `whole`; returns `whole`. */
static bool note(struct rdma_domain *domain, bool whole)
{
    if (!whole)
        rdma_note_fault(domain);
    return whole;
}

bool rdma_store(struct rdma_domain *domain, uint8_t *memory, const uint8_t *from, uint32_t len_bytes)
{
    return note(domain, guard_copy_to(memory, from, len_bytes));
}

bool rdma_load(struct rdma_domain *domain, uint8_t *to, const uint8_t *memory, uint32_t len_bytes)
{
    return note(domain, guard_copy_from(to, memory, len_bytes));
}

bool rdma_access(struct rdma_domain *domain, const void *memory, uint32_t len_bytes, void (*step)(void *arg),
                 void *arg)
{
    return note(domain, guard_run(memory, len_bytes, step, arg));
}
