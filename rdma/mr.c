/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "rdma/domain.h"

#define MR_REMOTE_CHANGES (RDMA_ACCESS_REMOTE_WRITE | RDMA_ACCESS_REMOTE_ATOMIC)
#define MR_ALL_ACCESS \
    (RDMA_ACCESS_LOCAL_WRITE | RDMA_ACCESS_REMOTE_READ | MR_REMOTE_CHANGES | RDMA_ACCESS_ZERO_BASED)

/* ROCE-MR-1. */
static bool access_is_valid(uint32_t access)
{
    if (access & ~(uint32_t)MR_ALL_ACCESS)
        return false;
    return !(access & MR_REMOTE_CHANGES) || (access & RDMA_ACCESS_LOCAL_WRITE);
}

/* ROCE-MR-3: [at, at + n) lies in [base, base + len), computed without overflow. */
static bool range_is_inside(uint64_t base, uint64_t len_bytes, uint64_t at, uint64_t n)
{
    return n <= len_bytes && at >= base && at - base <= len_bytes - n;
}

int rdma_mr_reg(struct rdma_pd *pd, void *addr, uint64_t len_bytes, uint32_t access, struct rdma_mr **out)
{
    struct rdma_domain *domain = pd->domain;
    if (!addr || !access_is_valid(access) || len_bytes > UINTPTR_MAX - (uintptr_t)addr)
        return -EINVAL;
    struct rdma_mr *mr = domain->mem.alloc(domain->mem.ctx, sizeof *mr);
    if (!mr)
        return -ENOMEM;
    int err = rdma_key_add(&domain->keys, mr, &mr->rkey);
    if (err != 0) {
        domain->mem.free(domain->mem.ctx, mr);
        return err;
    }
    mr->pd = pd;
    mr->addr = addr;
    mr->len_bytes = len_bytes;
    mr->iova = access & RDMA_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr;
    mr->access = access;
    mr->lkey = mr->rkey;
    rdma_pd_get(pd);
    *out = mr;
    return 0;
}

void rdma_mr_dereg(struct rdma_mr *mr)
{
    struct rdma_pd *pd = mr->pd;
    struct rdma_domain *domain = pd->domain;
    rdma_key_remove(&domain->keys, mr->rkey);
    domain->mem.free(domain->mem.ctx, mr);
    rdma_pd_put(pd);
}

struct rdma_mr *rdma_mr_find(const struct rdma_domain *domain, uint32_t key)
{
    return rdma_key_find(&domain->keys, key);
}

uint8_t *rdma_mr_remote(const struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t rkey,
                        uint64_t va, uint64_t len_bytes, uint32_t access)
{
    const struct rdma_mr *mr = rdma_mr_find(domain, rkey);
    if (!mr || mr->pd != pd || (mr->access & access) != access)
        return NULL;
    if (!range_is_inside(mr->iova, mr->len_bytes, va, len_bytes))
        return NULL;
    return mr->addr + (va - mr->iova);
}

uint8_t *rdma_sge_local(const struct rdma_domain *domain, const struct rdma_pd *pd,
                        const struct rdma_sge *sge, bool write)
{
    static uint8_t nowhere;
    if (sge->len_bytes == 0)
        return &nowhere;
    const struct rdma_mr *mr = rdma_mr_find(domain, sge->lkey);
    if (!mr || mr->pd != pd || (write && !(mr->access & RDMA_ACCESS_LOCAL_WRITE)))
        return NULL;
    uint64_t base = (uintptr_t)mr->addr;
    if (!range_is_inside(base, mr->len_bytes, sge->addr, sge->len_bytes))
        return NULL;
    return mr->addr + (sge->addr - base);
}
