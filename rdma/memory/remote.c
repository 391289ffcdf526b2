/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks accesses by remote keys, and invalidates keys. */
#include <errno.h>

#include "rdma/memory/domain.h"

#define REMOTE_CHANGES (NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC)
#define REMOTE_RIGHTS  (NORNIC_ACCESS_REMOTE_READ | REMOTE_CHANGES)

/* Returns the bound window of `rkey` that QP `qpn` of `pd` may use (ROCE-MW-1, MW-2), or NULL. */
static struct rdma_mw *usable_window(const struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn,
                                     uint32_t rkey)
{
    struct rdma_mw *mw = rdma_key_find(&domain->keys, RDMA_KEY_MW, rkey);
    if (!mw || !mw->mr || mw->pd != pd || (mw->type == NORNIC_MW_TYPE_2 && mw->qpn != qpn))
        return NULL;
    return mw;
}

uint8_t *rdma_mr_remote(const struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn,
                        uint32_t rkey, uint64_t va, uint64_t len_bytes, uint32_t access)
{
    const struct rdma_mr *mr = rdma_mr_find(domain, rkey);
    if (mr) {
        if (mr->pd != pd || (mr->access & access) != access ||
            !rdma_range_is_inside(mr->iova, mr->len_bytes, va, len_bytes))
            return NULL;
        return rdma_mr_place(mr, va - mr->iova, len_bytes, access & REMOTE_CHANGES);
    }
    /* ROCE-MW-5: the window's rights and range. Its region lives as long as the window is bound. */
    const struct rdma_mw *mw = usable_window(domain, pd, qpn, rkey);
    if (!mw || (mw->access & access) != access ||
        !rdma_range_is_inside(mw->base, mw->len_bytes, va, len_bytes))
        return NULL;
    return mw->addr + (va - mw->base);
}

enum rdma_remote_fault rdma_mr_remote_fault(const struct rdma_domain *domain, const struct rdma_pd *pd,
                                            uint32_t qpn, uint32_t rkey, uint64_t va, uint64_t len_bytes,
                                            uint32_t access)
{
    const struct rdma_mr *mr = rdma_mr_find(domain, rkey);
    const struct rdma_mw *mw = rdma_key_find(&domain->keys, RDMA_KEY_MW, rkey);
    if (!mr && !(mw && mw->mr))
        return RDMA_FAULT_KEY;
    if (mr ? mr->pd != pd : !usable_window(domain, pd, qpn, rkey))
        return RDMA_FAULT_STREAM;
    if (((mr ? mr->access : mw->access) & access) != access)
        return RDMA_FAULT_ACCESS;
    return len_bytes && va + (len_bytes - 1) < va ? RDMA_FAULT_WRAP : RDMA_FAULT_BOUNDS;
}

/* Invalidates the fast region, or unbinds the type 2 window, of `key` (ROCE-MR-7; RS-44 if a peer asks).
 * Returns 0 or -EINVAL. */
static int invalidate(struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn, uint32_t key,
                      bool remote)
{
    struct rdma_mr *mr = rdma_mr_find(domain, key);
    if (mr) {
        if (!mr->is_fast || mr->pd != pd || mr->windows != 0 || (remote && !(mr->access & REMOTE_RIGHTS)))
            return -EINVAL;
        mr->is_valid = false;
        return 0;
    }
    struct rdma_mw *mw = usable_window(domain, pd, qpn, key);
    if (!mw || mw->type != NORNIC_MW_TYPE_2)
        return -EINVAL;
    rdma_mw_unbind(mw);
    return 0;
}

int rdma_invalidate_local(struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn, uint32_t key)
{
    return invalidate(domain, pd, qpn, key, false);
}

int rdma_invalidate_remote(struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn, uint32_t rkey)
{
    return invalidate(domain, pd, qpn, rkey, true);
}
