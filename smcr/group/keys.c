/* SPDX-License-Identifier: BSD-2-Clause */
/* Keys: a registration of each piece of a group's memory for each link, because each link has a protection
 * domain of its own (SMCR-ARC-24); and what we know of the peer's, an RToken for each of its RMBs and links
 * (SMCR-RKY-01). */
#include <errno.h>

#include "smcr/group/group.h"

/* --- ours --- */

/* A slot that is free, or whose port is gone, has no domain. */
static bool has_domain(const struct smcr_link *link)
{
    return link->pd != NULL;
}

int smcr_mr_make(struct smcr_link *link, uint8_t *bytes, uint64_t len_bytes, uint32_t access,
                 struct rdma_mr **out)
{
    if (!has_domain(link) || *out)
        return 0;
    smcr_port_lock(link->port);
    int err = rdma_mr_reg(link->pd, bytes, len_bytes, access, out);
    smcr_port_unlock(link->port);
    return err;
}

void smcr_mr_free(struct smcr_link *link, struct rdma_mr **mr)
{
    if (!*mr)
        return;
    smcr_port_lock(link->port);
    rdma_mr_dereg(*mr);
    smcr_port_unlock(link->port);
    *mr = NULL;
}

int smcr_group_register(struct smcr_group *group, struct smcr_link *link)
{
    int err = 0;
    for (struct smcr_rmb *rmb = group->rmbs; rmb && !err; rmb = rmb->next)
        err = smcr_mr_make(link, rmb->bytes, (uint64_t)rmb->num_elems * rmb->elem_bytes,
                           NORNIC_ACCESS_LOCAL_WRITE | NORNIC_ACCESS_REMOTE_WRITE, &rmb->mr[link->slot]);
    for (struct smcr_send_buf *buf = group->send_bufs; buf && !err; buf = buf->next)
        err = smcr_mr_make(link, buf->bytes, buf->size_bytes, 0, &buf->mr[link->slot]);
    if (err)
        smcr_group_deregister(group, link);
    return err;
}

void smcr_group_deregister(struct smcr_group *group, struct smcr_link *link)
{
    for (struct smcr_rmb *rmb = group->rmbs; rmb; rmb = rmb->next)
        smcr_mr_free(link, &rmb->mr[link->slot]);
    for (struct smcr_send_buf *buf = group->send_bufs; buf; buf = buf->next)
        smcr_mr_free(link, &buf->mr[link->slot]);
    for (struct smcr_peer_rmb *rmb = group->peer_rmbs; rmb; rmb = rmb->next)
        rmb->token[link->slot].is_known = false;
}

/* --- the peer's --- */

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
