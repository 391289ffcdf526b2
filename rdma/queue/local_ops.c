/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/queue/local_ops.h"

/* ROCE-MW-1..4. */
static enum nornic_wc_status bind(struct rdma_qp *qp, const struct rdma_send_wqe *w)
{
    const struct rdma_mw_bind bind = {
        .type = w->binds_type_1 ? NORNIC_MW_TYPE_1 : NORNIC_MW_TYPE_2,
        .key = w->rkey,
        .lkey = w->bind.lkey,
        .addr = w->bind.addr,
        .len_bytes = w->bind.len_bytes,
        .access = w->bind.access,
    };
    int err = rdma_mw_bind(qp->domain, qp->pd, qp->qpn, &qp->windows, &bind);
    return err ? NORNIC_WC_MW_BIND_ERR : NORNIC_WC_SUCCESS;
}

/* ROCE-MR-6. */
static enum nornic_wc_status reg(struct rdma_qp *qp, const struct rdma_send_wqe *w)
{
    const struct rdma_fast_reg reg = {
        .key = w->rkey,
        .addr = (void *)(uintptr_t)w->bind.addr,
        .len_bytes = w->bind.len_bytes,
        .iova = w->bind.iova,
        .access = w->bind.access,
    };
    return rdma_mr_fast_reg(qp->domain, qp->pd, &reg) ? NORNIC_WC_LOC_QP_OP_ERR : NORNIC_WC_SUCCESS;
}

/* ROCE-MR-7. */
static enum nornic_wc_status invalidate(struct rdma_qp *qp, const struct rdma_send_wqe *w)
{
    int err = rdma_invalidate_local(qp->domain, qp->pd, qp->qpn, w->invalidate_rkey);
    return err ? NORNIC_WC_LOC_QP_OP_ERR : NORNIC_WC_SUCCESS;
}

static enum nornic_wc_status execute(struct rdma_qp *qp, const struct rdma_send_wqe *w)
{
    if (w->opcode == NORNIC_WR_BIND_MW)
        return bind(qp, w);
    return w->opcode == NORNIC_WR_REG_MR ? reg(qp, w) : invalidate(qp, w);
}

static bool is_local(const struct rdma_send_wqe *w)
{
    return rdma_wqe_flags(w) & RDMA_OP_LOCAL;
}

/* The next WQE to start, if it is one that sends nothing. */
static struct rdma_send_wqe *next_local(const struct rdma_qp *qp)
{
    struct rdma_send_wqe *w = rdma_qp_state_now(qp) == NORNIC_QPS_RTS ? rdma_sq_next(&qp->sq) : NULL;
    return w && is_local(w) ? w : NULL;
}

/* ROCE-RC-14: a fence waits for READs and atomics, a local invalidate for everything. */
static bool has_to_wait(const struct rdma_sq *sq, const struct rdma_send_wqe *w)
{
    if (w->send_flags & NORNIC_SEND_FENCE && sq->rd_atomic)
        return true;
    return w->opcode == NORNIC_WR_LOCAL_INV && sq->done != sq->started;
}

bool rdma_local_execute(struct rdma_qp *qp, uint32_t next_seq, enum nornic_wc_status *failed)
{
    struct rdma_sq *sq = &qp->sq;
    *failed = NORNIC_WC_SUCCESS;
    for (;;) {
        struct rdma_send_wqe *w = rdma_sq_wqe(sq, sq->cur);
        if (sq->cur == sq->started) {
            w = next_local(qp);
            if (!w)
                return true;
            if (has_to_wait(sq, w))
                return false;
            rdma_sq_start_next(sq, next_seq, 0);
            w->local_status = execute(qp, w);
        } else if (!is_local(w)) {
            return true;
        }
        if (w->local_status != NORNIC_WC_SUCCESS) {
            *failed = w->local_status;
            return false;
        }
        rdma_sq_go_past(sq);
        rdma_local_complete(qp);
    }
}

void rdma_local_complete(struct rdma_qp *qp)
{
    struct rdma_sq *sq = &qp->sq;
    while (sq->done != sq->started) {
        const struct rdma_send_wqe *w = rdma_sq_wqe(sq, sq->done);
        if (!is_local(w) || w->local_status != NORNIC_WC_SUCCESS)
            return;
        if (sq->cur == sq->done)
            rdma_sq_go_past(sq);
        rdma_sq_complete(qp, NORNIC_WC_SUCCESS);
    }
}
