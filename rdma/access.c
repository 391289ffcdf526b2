/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/access.h"

#include "rdma/memory/domain.h"

bool rdma_note_fault(struct rdma_domain *domain)
{
    domain->fault_count++;
    return false;
}
