/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions: registration, fast registration, and the place of a local SGE. */
#include <errno.h>

#include "rdma/memory/domain.h"

#define MR_REMOTE_CHANGES (NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC)
#define MR_ALL_ACCESS                                                                                    \
    (NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_READ | MR_REMOTE_CHANGES | NORNIC_ACCESS_MW_BIND | \
     NORNIC_ACCESS_ZERO_BASED)

static uint8_t nowhere; /* the place of 0 bytes */

/* ROCE-MR-1. */
static bool access_is_valid(uint32_t access)
{
    if (access & ~(uint32_t)MR_ALL_ACCESS)
        return false;
    return !(access & MR_REMOTE_CHANGES) || (access & NORNIC_ACCESS_LOCAL_WRITE);
}

static bool memory_is_valid(const void *addr, uint64_t len_bytes, uint64_t iova, uint32_t access)
{
    return addr && access_is_valid(access) && len_bytes <= UINTPTR_MAX - (uintptr_t)addr &&
           len_bytes <= UINT64_MAX - iova && !(access & NORNIC_ACCESS_ZERO_BASED && iova);
}

static int add_region(struct rdma_pd *pd, struct rdma_mr **out)
{
    struct rdma_domain *domain = pd->domain;
    struct rdma_mr *mr = domain->mem.alloc(domain->mem.ctx, sizeof *mr);
    if (!mr)
        return -ENOMEM;
    int err = rdma_key_add(&domain->keys, RDMA_KEY_MR, mr, &mr->rkey);
    if (err) {
        domain->mem.free(domain->mem.ctx, mr);
        return err;
    }
    mr->pd = pd;
    mr->lkey = mr->rkey;
    rdma_pd_get(pd);
    *out = mr;
    return 0;
}

static void make_valid(struct rdma_mr *mr, void *addr, uint64_t len_bytes, uint64_t iova, uint32_t access)
{
    mr->addr = addr;
    mr->len_bytes = len_bytes;
    mr->iova = iova;
    mr->access = access;
    mr->is_valid = true;
}

int rdma_mr_reg_iova(struct rdma_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova, uint32_t access,
                     struct rdma_mr **out)
{
    if (!memory_is_valid(addr, len_bytes, iova, access))
        return -EINVAL;
    int err = add_region(pd, out);
    if (!err)
        make_valid(*out, addr, len_bytes, iova, access);
    return err;
}

int rdma_mr_reg(struct rdma_pd *pd, void *addr, uint64_t len_bytes, uint32_t access, struct rdma_mr **out)
{
    uint64_t iova = access & NORNIC_ACCESS_ZERO_BASED ? 0 : (uintptr_t)addr;
    return rdma_mr_reg_iova(pd, addr, len_bytes, iova, access, out);
}

int rdma_mr_reg_all(struct rdma_pd *pd, uint32_t access, rdma_is_memory *is_memory, struct rdma_mr **out)
{
    if (!access_is_valid(access) || access & (NORNIC_ACCESS_MW_BIND | NORNIC_ACCESS_ZERO_BASED))
        return -EINVAL;
    int err = add_region(pd, out);
    if (!err) {
        make_valid(*out, NULL, UINT64_MAX, 0, access);
        (*out)->is_memory = is_memory;
    }
    return err;
}

int rdma_mr_reg_null(struct rdma_pd *pd, void *zeros, void *sink, uint64_t len_bytes, struct rdma_mr **out)
{
    int err = zeros && sink ? add_region(pd, out) : -EINVAL;
    if (!err) {
        make_valid(*out, zeros, len_bytes, 0, NORNIC_ACCESS_LOCAL_WRITE);
        (*out)->sink = sink;
    }
    return err;
}

int rdma_mr_alloc_fast(struct rdma_pd *pd, uint64_t max_bytes, struct rdma_mr **out)
{
    if (max_bytes == 0)
        return -EINVAL;
    int err = add_region(pd, out);
    if (!err) {
        (*out)->is_fast = true;
        (*out)->max_bytes = max_bytes;
    }
    return err;
}

int rdma_mr_fast_reg(struct rdma_domain *domain, const struct rdma_pd *pd, const struct rdma_fast_reg *reg)
{
    struct rdma_mr *mr = rdma_key_owner(&domain->keys, RDMA_KEY_MR, reg->key);
    if (!mr || !mr->is_fast || mr->is_valid || mr->pd != pd || reg->len_bytes > mr->max_bytes ||
        !memory_is_valid(reg->addr, reg->len_bytes, reg->iova, reg->access))
        return -EINVAL;
    rdma_key_change(&domain->keys, reg->key);
    make_valid(mr, reg->addr, reg->len_bytes, reg->iova, reg->access);
    return 0;
}

int rdma_mr_change(struct rdma_mr *mr, struct rdma_pd *pd, void *addr, uint64_t len_bytes, uint64_t iova,
                   uint32_t access)
{
    if (mr->is_fast || mr->is_memory || mr->sink || pd->domain != mr->pd->domain ||
        !memory_is_valid(addr, len_bytes, iova, access))
        return -EINVAL;
    if (mr->windows)
        return -EBUSY;
    rdma_pd_get(pd);
    rdma_pd_put(mr->pd);
    mr->pd = pd;
    make_valid(mr, addr, len_bytes, iova, access);
    return 0;
}

int rdma_mr_dereg(struct rdma_mr *mr)
{
    struct rdma_pd *pd = mr->pd;
    struct rdma_domain *domain = pd->domain;
    if (mr->windows != 0)
        return -EBUSY;
    rdma_key_remove(&domain->keys, mr->rkey);
    domain->mem.free(domain->mem.ctx, mr);
    rdma_pd_put(pd);
    return 0;
}

struct rdma_mr *rdma_mr_find(const struct rdma_domain *domain, uint32_t key)
{
    struct rdma_mr *mr = rdma_key_find(&domain->keys, RDMA_KEY_MR, key);
    return mr && mr->is_valid ? mr : NULL;
}

uint8_t *rdma_mr_place(const struct rdma_mr *mr, uint64_t offset, uint64_t len_bytes, bool write)
{
    if (!mr->is_memory)
        return mr->addr + offset;
    uint8_t *at = (uint8_t *)(uintptr_t)offset;
    if (len_bytes == 0)
        return &nowhere;
    return mr->is_memory(at, len_bytes, write) ? at : NULL;
}

uint8_t *rdma_sge_local(const struct rdma_domain *domain, const struct rdma_pd *pd,
                        const struct nornic_sge *sge, bool write)
{
    if (sge->len_bytes == 0)
        return &nowhere;
    const struct rdma_mr *mr = rdma_mr_find(domain, sge->lkey);
    if (!mr || mr->pd != pd || (write && !(mr->access & NORNIC_ACCESS_LOCAL_WRITE)))
        return NULL;
    if (mr->sink)
        return sge->len_bytes > mr->len_bytes ? NULL : write ? mr->sink : mr->addr;
    if (!rdma_range_is_inside(mr->iova, mr->len_bytes, sge->addr, sge->len_bytes))
        return NULL;
    return rdma_mr_place(mr, sge->addr - mr->iova, sge->len_bytes, write);
}
