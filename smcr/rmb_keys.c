/* SPDX-License-Identifier: BSD-2-Clause */
/* Registrations: each piece of a group's memory has one per link, because each link has a protection domain
 * of its own (SMCR-ARC-24). */
#include <errno.h>

#include "smcr/group.h"

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
