/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting work: the only part of a QP that the application's thread touches beside a running progress. Each
 * queue is a ring with one poster; `posted` is published with release order after the slot, `released` tells
 * what is free. */
#include <errno.h>
#include <string.h>

#include "rdma/queue/qp.h"

/* The sum of the SGEs, or UINT64_MAX if it is more than a message may have (ROCE-QP-40). */
static uint64_t sge_sum(const struct nornic_sge *sges, uint32_t num_sge)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < num_sge; i++)
        sum += sges[i].len_bytes;
    return sum <= NORNIC_MAX_MSG_BYTES ? sum : UINT64_MAX;
}

static bool takes(const struct rdma_qp *qp, enum nornic_wr_opcode opcode)
{
    return (unsigned)opcode < RDMA_WR_OPCODES && qp->sends & RDMA_SENDS(opcode);
}

/* Checks the length by the kind of request: an atomic is 8 bytes long, a local one and Immediate Data alone
 * have no SGE, data that comes back cannot be inline, and RoCE has four octets of immediate data. */
static bool fits_opcode(const struct rdma_qp *qp, const struct nornic_send_wr *wr, uint64_t len_bytes)
{
    uint32_t flags = rdma_wr_flags(wr->opcode);
    bool is_inline = wr->send_flags & NORNIC_SEND_INLINE;
    if (flags & RDMA_OP_ATOMIC && len_bytes != 8)
        return false;
    if (!(flags & RDMA_OP_DATA) && (wr->num_sge || is_inline))
        return false;
    if (wr->send_flags & NORNIC_SEND_IMM_8 && !takes(qp, NORNIC_WR_IMM))
        return false;
    return !is_inline || (!(flags & RDMA_OP_RD_ATOMIC) && len_bytes <= qp->sq.max_inline_bytes);
}

/* The immediate errors of ROCE-QP-40. */
static int check_send(const struct rdma_qp *qp, const struct nornic_send_wr *wr, uint64_t *len_bytes)
{
    if (!takes(qp, wr->opcode) || wr->num_sge > qp->sq.max_sge)
        return -EINVAL;
    *len_bytes = sge_sum(wr->sg_list, wr->num_sge);
    if (*len_bytes == UINT64_MAX || !fits_opcode(qp, wr, *len_bytes))
        return -EINVAL;
    return qp->ops->check_send ? qp->ops->check_send(qp, wr, (uint32_t)*len_bytes) : 0;
}

static void copy_inline(uint8_t *to, const struct nornic_send_wr *wr)
{
    for (uint32_t i = 0; i < wr->num_sge; i++) {
        if (wr->sg_list[i].len_bytes)
            memcpy(to, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].len_bytes);
        to += wr->sg_list[i].len_bytes;
    }
}

/* Takes the destination of a datagram. The WQE counts itself as a user of the handle, until it is complete
 * or forgotten. */
static void take_destination(struct rdma_send_wqe *w, const struct nornic_send_wr *wr)
{
    w->ah = wr->ud.ah;
    w->remote_qpn = wr->ud.remote_qpn;
    w->remote_qkey = wr->ud.remote_qkey;
    w->pkey_index = wr->ud.pkey_index;
    atomic_fetch_add(&w->ah->users, 1);
}

/* Returns octets 4 to 7 of Immediate Data: 0 for a request of 32 bits (IWARP-RDMAP-43). */
static uint32_t second_half(const struct nornic_send_wr *wr)
{
    bool has_it = wr->opcode == NORNIC_WR_IMM || wr->send_flags & NORNIC_SEND_IMM_8;
    return has_it ? wr->imm_data_2 : 0;
}

static void fill_wqe(struct rdma_qp *qp, uint32_t index, const struct nornic_send_wr *wr, uint32_t len_bytes)
{
    struct rdma_send_wqe *w = rdma_sq_wqe(&qp->sq, index);
    uint32_t flags = rdma_wr_flags(wr->opcode);
    *w = (struct rdma_send_wqe){
        .wr_id = wr->wr_id,
        .remote_addr = wr->remote_addr,
        .compare_add = wr->compare_add,
        .swap = wr->swap,
        .compare_mask = wr->compare_mask,
        .swap_mask = wr->swap_mask,
        .opcode = wr->opcode,
        .send_flags = wr->send_flags,
        .rkey = wr->rkey,
        .imm_data = wr->imm_data,
        .num_sge = wr->num_sge,
        .len_bytes = len_bytes,
    };
    if (flags & RDMA_OP_BIND)
        w->bind = wr->bind;
    if (flags & RDMA_OP_INVALIDATE)
        w->invalidate_rkey = wr->invalidate_rkey;
    if (qp->is_datagram)
        take_destination(w, wr);
    else
        w->remote_srqn = wr->remote_srqn;
    if (flags & RDMA_OP_IMM && !qp->is_datagram)
        w->imm_data_2 = second_half(wr);
    if (wr->send_flags & NORNIC_SEND_INLINE)
        copy_inline(rdma_sq_inline(&qp->sq, index), wr);
    else if (wr->num_sge)
        memcpy(rdma_sq_sges(&qp->sq, index), wr->sg_list, sizeof *wr->sg_list * wr->num_sge);
}

static int post_one_send(struct rdma_qp *qp, const struct nornic_send_wr *wr, bool binds_type_1)
{
    uint64_t len_bytes;
    int err = check_send(qp, wr, &len_bytes);
    if (err)
        return err;
    uint32_t posted = atomic_load_explicit(&qp->sq.posted, memory_order_relaxed);
    if (posted - atomic_load_explicit(&qp->sq.released, memory_order_acquire) >= qp->sq.size)
        return -ENOMEM;
    fill_wqe(qp, posted, wr, (uint32_t)len_bytes);
    rdma_sq_wqe(&qp->sq, posted)->binds_type_1 = binds_type_1;
    atomic_store(&qp->sq.posted, posted + 1);
    return 0;
}

int rdma_qp_post_send(struct rdma_qp *qp, const struct nornic_send_wr *wr, const struct nornic_send_wr **bad)
{
    int err = rdma_qp_state_now(qp) >= NORNIC_QPS_RTS ? 0 : -EINVAL;
    bool any = false;
    for (; wr && !err; any = true) {
        err = post_one_send(qp, wr, false);
        if (err)
            break;
        wr = wr->next;
    }
    if (err && bad)
        *bad = wr;
    if (any)
        qp->ops->posted(qp);
    return err;
}

int rdma_qp_post_send_all(struct rdma_qp *qp, const struct nornic_send_wr *wr)
{
    uint32_t room = qp->sq.size - (atomic_load_explicit(&qp->sq.posted, memory_order_relaxed) -
                                   atomic_load_explicit(&qp->sq.released, memory_order_acquire));
    uint64_t len_bytes;
    int err = 0;
    for (const struct nornic_send_wr *one = wr; one && !err; one = one->next)
        err = room-- ? check_send(qp, one, &len_bytes) : -ENOMEM;
    return err ? err : rdma_qp_post_send(qp, wr, NULL);
}

int rdma_qp_bind_mw(struct rdma_qp *qp, struct rdma_mw *mw, uint64_t wr_id, uint32_t send_flags,
                    const struct nornic_bind *bind)
{
    if (mw->type != NORNIC_MW_TYPE_1 || mw->pd != qp->pd || rdma_qp_state_now(qp) < NORNIC_QPS_RTS)
        return -EINVAL;
    const struct nornic_send_wr wr = {
        .wr_id = wr_id,
        .opcode = NORNIC_WR_BIND_MW,
        .send_flags = send_flags,
        .rkey = rdma_mw_next_key(mw),
        .bind = *bind,
    };
    int err = post_one_send(qp, &wr, true);
    if (err)
        return err;
    mw->rkey = wr.rkey;
    qp->ops->posted(qp);
    return 0;
}

int rdma_qp_post_recv(struct rdma_qp *qp, const struct nornic_recv_wr *wr, const struct nornic_recv_wr **bad)
{
    int err = rdma_qp_state_now(qp) == NORNIC_QPS_RESET || qp->recv.source != RDMA_RECV_OWN ? -EINVAL : 0;
    while (wr && !err) {
        err = rdma_recv_ring_post(&qp->recv.rq, wr);
        if (!err)
            wr = wr->next;
    }
    if (err && bad)
        *bad = wr;
    /* A QP that went to ERR meanwhile has flushed the posts that it saw; either it saw these, or we see its
     * new state here (both sides use sequentially consistent order) and ask for another flush. */
    if (atomic_load(&qp->state) == NORNIC_QPS_ERR)
        qp->ops->posted(qp);
    return err;
}
