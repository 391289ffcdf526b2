/* SPDX-License-Identifier: BSD-2-Clause */
/* What we know of the peer's RMBs: one RToken per link (SMCR-RKY-01). */
#include <errno.h>

#include "smcr/group.h"

struct smcr_peer_rmb *smcr_peer_rmb_by_key(const struct smcr_group *group, const struct smcr_link *link,
                                           uint32_t rkey)
{
    for (struct smcr_peer_rmb *rmb = group->peer_rmbs; rmb; rmb = rmb->next)
        if (rmb->token[link->slot].is_known && rmb->token[link->slot].rkey == rkey)
            return rmb;
    return NULL;
}

struct smcr_peer_rmb *smcr_peer_rmb_find(struct smcr_group *group, const struct smcr_link *link,
                                         uint32_t rkey, uint64_t va, bool may_add)
{
    struct rdma_mem *mem = &group->smcr->mem;
    struct smcr_peer_rmb *rmb = smcr_peer_rmb_by_key(group, link, rkey);
    if (rmb && rmb->token[link->slot].va == va)
        return rmb;
    if (rmb || !may_add || group->num_peer_rmbs >= SMCR_MAX_RMBS) /* SMCR-RKY-10 */
        return NULL;
    rmb = mem->alloc(mem->ctx, sizeof *rmb);
    if (!rmb)
        return NULL;
    rmb->token[link->slot] = (struct smcr_rtoken){.rkey = rkey, .va = va, .is_known = true};
    rmb->next = group->peer_rmbs;
    group->peer_rmbs = rmb;
    group->num_peer_rmbs++;
    return rmb;
}

void smcr_peer_rmb_free(struct smcr_group *group, struct smcr_peer_rmb *rmb)
{
    struct rdma_mem *mem = &group->smcr->mem;
    struct smcr_peer_rmb **at = &group->peer_rmbs;
    while (*at != rmb)
        at = &(*at)->next;
    *at = rmb->next;
    group->num_peer_rmbs--;
    mem->free(mem->ctx, rmb);
}
