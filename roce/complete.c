/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions: ROCE-RC-60, RC-61, RC-63, CQ-2. */
#include "roce/av.h"
#include "roce/device.h"

void roce_complete_push(struct roce_qp *qp, struct rdma_cq *cq, const struct rdma_wc *wc, bool solicited)
{
    bool was_in_error = rdma_cq_in_error(cq);
    if (!rdma_cq_push(cq, wc, solicited))
        roce_cq_overflowed(qp, cq, !was_in_error);
}

static enum rdma_wc_opcode wc_opcode(enum rdma_wr_opcode opcode)
{
    switch (opcode) {
    case RDMA_WR_RDMA_WRITE:
    case RDMA_WR_RDMA_WRITE_WITH_IMM:
        return RDMA_WC_RDMA_WRITE;
    case RDMA_WR_SEND:
    case RDMA_WR_SEND_WITH_IMM:
    case RDMA_WR_SEND_WITH_INV:
        return RDMA_WC_SEND;
    case RDMA_WR_RDMA_READ:
        return RDMA_WC_RDMA_READ;
    case RDMA_WR_ATOMIC_CMP_AND_SWP:
        return RDMA_WC_COMP_SWAP;
    case RDMA_WR_ATOMIC_FETCH_AND_ADD:
        return RDMA_WC_FETCH_ADD;
    case RDMA_WR_LOCAL_INV:
        return RDMA_WC_LOCAL_INV;
    case RDMA_WR_BIND_MW:
        return RDMA_WC_BIND_MW;
    case RDMA_WR_REG_MR:
        return RDMA_WC_REG_MR;
    case RDMA_WR_MASKED_ATOMIC_CMP_AND_SWP:
        return RDMA_WC_MASKED_COMP_SWAP;
    case RDMA_WR_MASKED_ATOMIC_FETCH_AND_ADD:
        return RDMA_WC_MASKED_FETCH_ADD;
    }
    return RDMA_WC_SEND;
}

void roce_complete_send(struct roce_qp *qp, enum rdma_wc_status status)
{
    struct roce_send_wqe *w = roce_send_wqe(qp, qp->sq.done);
    struct rdma_wc wc = {
        .wr_id = w->wr_id,
        .status = status,
        .opcode = wc_opcode(w->opcode),
        .byte_len = w->len_bytes,
        .qp_num = qp->qpn,
    };
    bool signalled = qp->sq_sig_all || (w->send_flags & RDMA_SEND_SIGNALED) || status != RDMA_WC_SUCCESS;
    roce_ah_put(w);
    qp->sq.done++;
    if (!signalled)
        return;
    /* The CQE frees the slots of the unsignalled WQEs before it as well (ROCE-RC-60). */
    atomic_store_explicit(&qp->sq.released, qp->sq.done, memory_order_release);
    roce_complete_push(qp, qp->send_cq, &wc, false);
}

void roce_flush_send(struct roce_qp *qp)
{
    while (qp->sq.done != atomic_load(&qp->sq.posted))
        roce_complete_send(qp, RDMA_WC_WR_FLUSH_ERR);
    qp->sq.started = qp->sq.done;
    qp->req.cur = qp->sq.done;
}
