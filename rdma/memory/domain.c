/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/memory/domain.h"

#include <errno.h>

#define SRQNS 0xffffffu /* 24 bits, not 0 */

int rdma_domain_create(const struct rdma_mem *mem, const struct rdma_random *random, uint32_t max_mr,
                       struct rdma_domain **out)
{
    struct rdma_domain *domain = mem->alloc(mem->ctx, sizeof *domain);
    if (!domain)
        return -ENOMEM;
    int err = rdma_key_table_init(&domain->keys, mem, random, max_mr);
    if (err) {
        mem->free(mem->ctx, domain);
        return err;
    }
    rdma_slot_numbers_init(&domain->xrc.srqns, random, RDMA_XRC_MAX_SRQ, 1, SRQNS);
    domain->mem = *mem;
    *out = domain;
    return 0;
}

int rdma_domain_destroy(struct rdma_domain *domain)
{
    if (domain->pd_count != 0 || domain->xrcd_count != 0)
        return -EBUSY;
    struct rdma_mem mem = domain->mem;
    if (domain->xrc.places)
        mem.free(mem.ctx, domain->xrc.places);
    rdma_key_table_deinit(&domain->keys, &mem);
    mem.free(mem.ctx, domain);
    return 0;
}

uint32_t rdma_domain_pds(const struct rdma_domain *domain)
{
    return domain->pd_count;
}

uint32_t rdma_domain_xrcds(const struct rdma_domain *domain)
{
    return domain->xrcd_count;
}

uint64_t rdma_domain_faults(const struct rdma_domain *domain)
{
    return domain->fault_count;
}

int rdma_pd_create(struct rdma_domain *domain, struct rdma_pd **out)
{
    struct rdma_pd *pd = domain->mem.alloc(domain->mem.ctx, sizeof *pd);
    if (!pd)
        return -ENOMEM;
    pd->domain = domain;
    domain->pd_count++;
    *out = pd;
    return 0;
}

int rdma_pd_destroy(struct rdma_pd *pd)
{
    if (pd->dependents != 0)
        return -EBUSY; /* ROCE-PD-2 */
    struct rdma_domain *domain = pd->domain;
    domain->pd_count--;
    domain->mem.free(domain->mem.ctx, pd);
    return 0;
}

struct rdma_domain *rdma_pd_domain(const struct rdma_pd *pd)
{
    return pd->domain;
}

void rdma_pd_get(struct rdma_pd *pd)
{
    pd->dependents++;
}

void rdma_pd_put(struct rdma_pd *pd)
{
    pd->dependents--;
}
