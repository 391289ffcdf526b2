/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting work: the only part of a QP that the application's thread touches beside a running progress. Each
 * queue is a ring with one poster; `posted` is published with release order after the slot, `released` tells
 * what is free. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "roce/av.h"
#include "roce/device.h"
#include "roce/local_ops.h"
#include "roce/transport.h"
#include "roce/xrc.h"

int roce_send_queue_init(struct roce_qp *qp)
{
    struct roce_send_queue *sq = &qp->sq;
    sq->size = qp->caps.max_send_wr = pow2_up(qp->caps.max_send_wr);
    sq->max_sge = qp->caps.max_send_sge;
    sq->max_inline_bytes = qp->caps.max_inline_bytes;

    sq->wqes = roce_alloc(qp->dev, sizeof *sq->wqes * sq->size);
    sq->sges = roce_alloc(qp->dev, sizeof *sq->sges * sq->size * (sq->max_sge ? sq->max_sge : 1));
    sq->inline_bytes = roce_alloc(qp->dev, (size_t)sq->size * sq->max_inline_bytes + 1);
    return sq->wqes && sq->sges && sq->inline_bytes ? 0 : -ENOMEM;
}

/* WQEs that are discarded without a completion use their address handles no longer. */
static void forget_sends(struct roce_qp *qp)
{
    for (uint32_t i = qp->sq.done; i != atomic_load(&qp->sq.posted); i++)
        roce_ah_put(roce_send_wqe(qp, i));
}

void roce_send_queue_deinit(struct roce_qp *qp)
{
    forget_sends(qp);
    roce_free(qp->dev, qp->sq.wqes);
    roce_free(qp->dev, qp->sq.sges);
    roce_free(qp->dev, qp->sq.inline_bytes);
}

void roce_send_queue_reset(struct roce_qp *qp)
{
    forget_sends(qp);
    atomic_store(&qp->sq.posted, 0);
    atomic_store(&qp->sq.released, 0);
    qp->sq.started = qp->sq.done = 0;
}

/* The sum of the SGEs, or UINT64_MAX if it is more than a message may have (ROCE-QP-40). */
static uint64_t sge_sum(const struct nornic_sge *sges, uint32_t num_sge)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < num_sge; i++)
        sum += sges[i].len_bytes;
    return sum <= NORNIC_MAX_MSG_BYTES ? sum : UINT64_MAX;
}

static bool send_opcode_is_allowed(const struct roce_qp *qp, enum nornic_wr_opcode opcode)
{
    if (roce_wr_is_masked(opcode) && !qp->dev->config.masked_atomics)
        return false;
    return (unsigned)opcode < 64 && qp->transport->sends & ROCE_SENDS(opcode);
}

/* The immediate errors of ROCE-QP-40. */
static int check_send(const struct roce_qp *qp, const struct nornic_send_wr *wr, uint64_t *len_bytes)
{
    if (!send_opcode_is_allowed(qp, wr->opcode) || wr->num_sge > qp->sq.max_sge)
        return -EINVAL;
    *len_bytes = sge_sum(wr->sg_list, wr->num_sge);
    if (*len_bytes == UINT64_MAX)
        return -EINVAL;
    if (roce_wr_is_rd_atomic(wr->opcode) && wr->opcode != NORNIC_WR_RDMA_READ && *len_bytes != 8)
        return -EINVAL;
    if (roce_wr_is_local(wr->opcode) && (wr->num_sge || wr->send_flags & NORNIC_SEND_INLINE))
        return -EINVAL;
    if (wr->send_flags & NORNIC_SEND_INLINE &&
        (roce_wr_is_rd_atomic(wr->opcode) || *len_bytes > qp->sq.max_inline_bytes))
        return -EINVAL;
    return qp->transport->check_send ? qp->transport->check_send(qp, wr, (uint32_t)*len_bytes) : 0;
}

static void fill_send(struct roce_qp *qp, uint32_t index, const struct nornic_send_wr *wr, uint32_t len_bytes)
{
    struct roce_send_wqe *w = roce_send_wqe(qp, index);
    *w = (struct roce_send_wqe){
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
    if (wr->opcode == NORNIC_WR_BIND_MW || wr->opcode == NORNIC_WR_REG_MR)
        w->bind = wr->bind;
    if (wr->opcode == NORNIC_WR_SEND_WITH_INV || wr->opcode == NORNIC_WR_LOCAL_INV)
        w->invalidate_rkey = wr->invalidate_rkey;
    if (!qp->transport->connected)
        roce_ah_get(w, wr);
    else
        w->remote_srqn = wr->remote_srqn;
    if (!(wr->send_flags & NORNIC_SEND_INLINE)) {
        if (wr->num_sge)
            memcpy(roce_send_sges(qp, index), wr->sg_list, sizeof *wr->sg_list * wr->num_sge);
        return;
    }
    uint8_t *to = roce_send_inline(qp, index);
    for (uint32_t i = 0; i < wr->num_sge; i++) {
        if (wr->sg_list[i].len_bytes)
            memcpy(to, (const void *)(uintptr_t)wr->sg_list[i].addr, wr->sg_list[i].len_bytes);
        to += wr->sg_list[i].len_bytes;
    }
}

static int post_one_send(struct roce_qp *qp, const struct nornic_send_wr *wr, bool binds_type_1)
{
    uint64_t len_bytes;
    int err = check_send(qp, wr, &len_bytes);
    if (err)
        return err;
    uint32_t posted = atomic_load_explicit(&qp->sq.posted, memory_order_relaxed);
    if (posted - atomic_load_explicit(&qp->sq.released, memory_order_acquire) >= qp->sq.size)
        return -ENOMEM;
    fill_send(qp, posted, wr, (uint32_t)len_bytes);
    roce_send_wqe(qp, posted)->binds_type_1 = binds_type_1;
    atomic_store(&qp->sq.posted, posted + 1);
    return 0;
}

int roce_post_send(struct roce_qp *qp, const struct nornic_send_wr *wr, const struct nornic_send_wr **bad)
{
    enum nornic_qp_state state = roce_qp_state_now(qp);
    int err = state >= NORNIC_QPS_RTS ? 0 : -EINVAL;
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
        roce_dev_posted(qp);
    return err;
}

int roce_bind_mw(struct roce_qp *qp, struct rdma_mw *mw, uint64_t wr_id, uint32_t send_flags,
                 const struct nornic_bind *bind)
{
    if (mw->type != NORNIC_MW_TYPE_1 || mw->pd != qp->pd || roce_qp_state_now(qp) < NORNIC_QPS_RTS)
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
    roce_dev_posted(qp);
    return 0;
}

int roce_post_recv(struct roce_qp *qp, const struct nornic_recv_wr *wr, const struct nornic_recv_wr **bad)
{
    bool has_queue = !qp->recv.srq && !roce_qp_is_xrc(qp);
    int err = roce_qp_state_now(qp) == NORNIC_QPS_RESET || !has_queue ? -EINVAL : 0;
    while (wr && !err) {
        err = rdma_recv_ring_post(&qp->recv.rq, wr);
        if (!err)
            wr = wr->next;
    }
    if (err && bad)
        *bad = wr;
    /* A QP that went to ERR meanwhile has flushed what it saw; either it saw these, or we see its new state
     * here (both sides use sequentially consistent order) and ask for another flush. */
    if (atomic_load(&qp->state) == NORNIC_QPS_ERR)
        roce_dev_posted(qp);
    return err;
}
