/* SPDX-License-Identifier: BSD-2-Clause */
/* The send queue's ring, the data of its WQEs, and their completion: ROCE-RC-60, RC-61, RC-63. */
#include <errno.h>
#include <string.h>

#include "base/base.h"
#include "rdma/memory/domain.h"
#include "rdma/queue/qp.h"
#include "rdma/memory/sge.h"

int rdma_sq_init(struct rdma_qp *qp)
{
    struct rdma_sq *sq = &qp->sq;
    sq->size = qp->caps.max_send_wr = pow2_up(qp->caps.max_send_wr);
    sq->max_sge = qp->caps.max_send_sge;
    sq->max_inline_bytes = qp->caps.max_inline_bytes;

    sq->wqes = rdma_alloc(qp->domain, sizeof *sq->wqes * sq->size);
    sq->sges = rdma_alloc(qp->domain, sizeof *sq->sges * sq->size * max_u32(sq->max_sge, 1));
    sq->inline_bytes = rdma_alloc(qp->domain, (size_t)sq->size * sq->max_inline_bytes + 1);
    return sq->wqes && sq->sges && sq->inline_bytes ? 0 : -ENOMEM;
}

static void release_ah(struct rdma_send_wqe *w)
{
    if (w->ah)
        atomic_fetch_sub(&w->ah->users, 1);
    w->ah = NULL;
}

/* WQEs that are discarded without a completion use their address handles no longer. */
static void forget(struct rdma_sq *sq)
{
    for (uint32_t i = sq->done; i != atomic_load(&sq->posted); i++)
        release_ah(rdma_sq_wqe(sq, i));
}

void rdma_sq_deinit(struct rdma_qp *qp)
{
    forget(&qp->sq);
    rdma_free(qp->domain, qp->sq.wqes);
    rdma_free(qp->domain, qp->sq.sges);
    rdma_free(qp->domain, qp->sq.inline_bytes);
}

void rdma_sq_reset(struct rdma_qp *qp)
{
    struct rdma_sq *sq = &qp->sq;
    forget(sq);
    atomic_store(&sq->posted, 0);
    atomic_store(&sq->released, 0);
    sq->started = sq->done = sq->cur = sq->cur_part = sq->rd_atomic = 0;
}

bool rdma_sq_gather(const struct rdma_qp *qp, uint32_t index, uint32_t offset, uint8_t *dst,
                    uint32_t len_bytes)
{
    const struct rdma_send_wqe *w = rdma_sq_wqe(&qp->sq, index);
    if (w->send_flags & NORNIC_SEND_INLINE) {
        memcpy(dst, rdma_sq_inline(&qp->sq, index) + offset, len_bytes);
        return true;
    }
    return rdma_sge_gather(qp->domain, qp->pd, rdma_sq_sges(&qp->sq, index), w->num_sge, offset, dst,
                           len_bytes);
}

bool rdma_sq_scatter(const struct rdma_qp *qp, uint32_t index, uint32_t offset, const uint8_t *src,
                     uint32_t len_bytes)
{
    const struct rdma_send_wqe *w = rdma_sq_wqe(&qp->sq, index);
    return rdma_sge_scatter(qp->domain, qp->pd, rdma_sq_sges(&qp->sq, index), w->num_sge, offset, src,
                            len_bytes);
}

uint8_t *rdma_sq_piece(const struct rdma_qp *qp, uint32_t index, uint32_t offset, uint32_t *n_bytes,
                       bool write)
{
    const struct rdma_send_wqe *w = rdma_sq_wqe(&qp->sq, index);
    if (!write && w->send_flags & NORNIC_SEND_INLINE)
        return rdma_sq_inline(&qp->sq, index) + offset;
    return rdma_sge_piece(qp->domain, qp->pd, rdma_sq_sges(&qp->sq, index), w->num_sge, offset, n_bytes,
                          write);
}

void rdma_sq_complete(struct rdma_qp *qp, enum nornic_wc_status status)
{
    struct rdma_sq *sq = &qp->sq;
    struct rdma_send_wqe *w = rdma_sq_wqe(sq, sq->done);
    struct nornic_wc wc = {
        .wr_id = w->wr_id,
        .status = status,
        .opcode = rdma_wr_ops[w->opcode].wc_opcode,
        .byte_len = w->len_bytes,
        .qp_num = qp->qpn,
    };
    bool is_signalled = qp->sq_sig_all || w->send_flags & NORNIC_SEND_SIGNALED || status != NORNIC_WC_SUCCESS;
    release_ah(w);
    sq->done++;
    if (!is_signalled)
        return;
    /* The CQE frees the slots of the unsignalled WQEs before it as well (ROCE-RC-60). */
    atomic_store_explicit(&sq->released, sq->done, memory_order_release);
    rdma_qp_push_wc(qp, qp->send_cq, &wc, false);
}

void rdma_sq_flush(struct rdma_qp *qp)
{
    struct rdma_sq *sq = &qp->sq;
    while (sq->done != atomic_load(&sq->posted))
        rdma_sq_complete(qp, NORNIC_WC_WR_FLUSH_ERR);
    sq->started = sq->cur = sq->done;
}
