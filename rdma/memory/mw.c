/* SPDX-License-Identifier: BSD-2-Clause */
/* Windows: ROCE section 13.4. */

#include <errno.h>

#include "rdma/memory/domain.h"

#define MW_REMOTE_CHANGES (NORNIC_ACCESS_REMOTE_WRITE | NORNIC_ACCESS_REMOTE_ATOMIC)

int rdma_mw_alloc(struct rdma_pd *pd, enum nornic_mw_type type, struct rdma_mw **out)
{
    struct rdma_domain *domain = pd->domain;
    if (type != NORNIC_MW_TYPE_1 && type != NORNIC_MW_TYPE_2)
        return -EINVAL;
    struct rdma_mw *mw = domain->mem.alloc(domain->mem.ctx, sizeof *mw);
    if (!mw)
        return -ENOMEM;
    int err = rdma_key_add(&domain->keys, RDMA_KEY_MW, mw, &mw->rkey);
    if (err) {
        domain->mem.free(domain->mem.ctx, mw);
        return err;
    }
    mw->pd = pd;
    mw->type = type;
    rdma_pd_get(pd);
    *out = mw;
    return 0;
}

void rdma_mw_dealloc(struct rdma_mw *mw)
{
    struct rdma_pd *pd = mw->pd;
    struct rdma_domain *domain = pd->domain;
    rdma_mw_unbind(mw);
    rdma_key_remove(&domain->keys, mw->rkey);
    domain->mem.free(domain->mem.ctx, mw);
    rdma_pd_put(pd);
}

uint32_t rdma_mw_next_key(const struct rdma_mw *mw)
{
    return rdma_key_next(&mw->pd->domain->keys, mw->rkey);
}

/* ROCE-MW-3 and the rules of MW-1 and MW-2 for what a bind may ask. */
static bool region_allows(const struct rdma_mr *mr, const struct rdma_pd *pd, const struct rdma_mw_bind *bind)
{
    if (!mr || mr->pd != pd || !(mr->access & NORNIC_ACCESS_MW_BIND) || mr->access & NORNIC_ACCESS_ZERO_BASED)
        return false;
    if (bind->access & MW_REMOTE_CHANGES && !(mr->access & NORNIC_ACCESS_LOCAL_WRITE))
        return false;
    return rdma_range_is_inside(mr->iova, mr->len_bytes, bind->addr, bind->len_bytes);
}

static bool access_is_valid(const struct rdma_mw_bind *bind)
{
    uint32_t allowed = MW_REMOTE_CHANGES | NORNIC_ACCESS_REMOTE_READ;
    if (bind->type == NORNIC_MW_TYPE_2)
        allowed |= NORNIC_ACCESS_ZERO_BASED;
    return !(bind->access & ~allowed);
}

static void link_to(struct rdma_mw *mw, struct rdma_mw_list *list)
{
    mw->list = list;
    mw->prev = NULL;
    mw->next = list->first;
    if (mw->next)
        mw->next->prev = mw;
    list->first = mw;
}

int rdma_mw_bind(struct rdma_domain *domain, const struct rdma_pd *pd, uint32_t qpn,
                 struct rdma_mw_list *list, const struct rdma_mw_bind *bind)
{
    struct rdma_mw *mw = rdma_key_owner(&domain->keys, RDMA_KEY_MW, bind->key);
    bool unbinds = bind->type == NORNIC_MW_TYPE_1 && bind->len_bytes == 0;
    if (!mw || mw->type != bind->type || mw->pd != pd)
        return -EINVAL;
    if (bind->type == NORNIC_MW_TYPE_2 && (mw->mr || bind->len_bytes == 0))
        return -EINVAL; /* ROCE-MW-2 */
    struct rdma_mr *mr = unbinds ? NULL : rdma_mr_find(domain, bind->lkey);
    if (!unbinds && (!region_allows(mr, pd, bind) || !access_is_valid(bind)))
        return -EINVAL;
    rdma_mw_unbind(mw);
    rdma_key_change(&domain->keys, bind->key);
    if (unbinds)
        return 0;
    mw->mr = mr;
    mw->addr = mr->addr + (bind->addr - mr->iova);
    mw->len_bytes = bind->len_bytes;
    mw->base = bind->access & NORNIC_ACCESS_ZERO_BASED ? 0 : bind->addr;
    mw->access = bind->access;
    mw->qpn = qpn;
    mr->windows++;
    if (mw->type == NORNIC_MW_TYPE_2)
        link_to(mw, list);
    return 0;
}

void rdma_mw_unbind(struct rdma_mw *mw)
{
    if (!mw->mr)
        return;
    mw->mr->windows--;
    mw->mr = NULL;
    if (!mw->list)
        return;
    *(mw->prev ? &mw->prev->next : &mw->list->first) = mw->next;
    if (mw->next)
        mw->next->prev = mw->prev;
    mw->list = NULL;
}

void rdma_mw_unbind_all(struct rdma_mw_list *list)
{
    while (list->first)
        rdma_mw_unbind(list->first);
}
