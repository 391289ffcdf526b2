/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/local_ops.h"

#include "rdma/mw.h"
#include "roce/device.h"

/* ROCE-MW-1..4. */
static enum nornic_wc_status bind(struct roce_qp *qp, const struct roce_send_wqe *w)
{
    const struct rdma_mw_bind bind = {
        .type = w->binds_type_1 ? NORNIC_MW_TYPE_1 : NORNIC_MW_TYPE_2,
        .key = w->rkey,
        .lkey = w->bind.lkey,
        .addr = w->bind.addr,
        .len_bytes = w->bind.len_bytes,
        .access = w->bind.access,
    };
    return rdma_mw_bind(qp->dev->domain, qp->pd, qp->qpn, &qp->windows, &bind) ? NORNIC_WC_MW_BIND_ERR
                                                                               : NORNIC_WC_SUCCESS;
}

/* ROCE-MR-6. */
static enum nornic_wc_status reg(struct roce_qp *qp, const struct roce_send_wqe *w)
{
    const struct rdma_fast_reg reg = {
        .key = w->rkey,
        .addr = (void *)(uintptr_t)w->bind.addr,
        .len_bytes = w->bind.len_bytes,
        .iova = w->bind.iova,
        .access = w->bind.access,
    };
    return rdma_mr_fast_reg(qp->dev->domain, qp->pd, &reg) ? NORNIC_WC_LOC_QP_OP_ERR : NORNIC_WC_SUCCESS;
}

static enum nornic_wc_status execute(struct roce_qp *qp, const struct roce_send_wqe *w)
{
    if (w->opcode == NORNIC_WR_BIND_MW)
        return bind(qp, w);
    if (w->opcode == NORNIC_WR_REG_MR)
        return reg(qp, w);
    /* ROCE-MR-7. */
    return rdma_invalidate_local(qp->dev->domain, qp->pd, qp->qpn, w->invalidate_rkey)
               ? NORNIC_WC_LOC_QP_OP_ERR
               : NORNIC_WC_SUCCESS;
}

/* The next WQE to start, if it is one that sends nothing. */
static struct roce_send_wqe *next_local(const struct roce_qp *qp)
{
    if (roce_qp_state_now(qp) != NORNIC_QPS_RTS ||
        qp->sq.started == atomic_load_explicit(&qp->sq.posted, memory_order_acquire))
        return NULL;
    struct roce_send_wqe *w = roce_send_wqe(qp, qp->sq.started);
    return roce_wr_is_local(w->opcode) ? w : NULL;
}

/* ROCE-RC-14: a fence waits for READs and atomics, a local invalidate for everything. */
static bool has_to_wait(const struct roce_qp *qp, const struct roce_send_wqe *w)
{
    if (w->send_flags & NORNIC_SEND_FENCE && qp->req.rd_atomic_outstanding)
        return true;
    return w->opcode == NORNIC_WR_LOCAL_INV && qp->sq.done != qp->sq.started;
}

bool roce_local_pass(struct roce_qp *qp, enum nornic_wc_status *failed)
{
    struct roce_requester *req = &qp->req;
    *failed = NORNIC_WC_SUCCESS;
    for (;;) {
        struct roce_send_wqe *w = roce_send_wqe(qp, req->cur);
        if (req->cur == qp->sq.started) {
            w = next_local(qp);
            if (!w)
                return true;
            if (has_to_wait(qp, w))
                return false;
            w->first_psn = req->nxt_psn;
            w->local_status = execute(qp, w);
            qp->sq.started++;
        } else if (!roce_wr_is_local(w->opcode)) {
            return true;
        }
        if (w->local_status != NORNIC_WC_SUCCESS) {
            *failed = w->local_status;
            return false;
        }
        req->cur++;
        req->cur_pkt = 0;
        roce_local_retire(qp);
    }
}

void roce_local_retire(struct roce_qp *qp)
{
    struct roce_requester *req = &qp->req;
    while (qp->sq.done != qp->sq.started) {
        const struct roce_send_wqe *w = roce_send_wqe(qp, qp->sq.done);
        if (!roce_wr_is_local(w->opcode) || w->local_status != NORNIC_WC_SUCCESS)
            return;
        if (req->cur == qp->sq.done) {
            req->cur++;
            req->cur_pkt = 0;
        }
        roce_complete_send(qp, NORNIC_WC_SUCCESS);
    }
}
