/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions: ROCE-RC-60, RC-61, RC-63, CQ-2. */
#include "roce/av.h"
#include "roce/device.h"

void roce_complete_push(struct roce_qp *qp, struct rdma_cq *cq, const struct nornic_wc *wc, bool solicited)
{
    bool was_in_error = rdma_cq_in_error(cq);
    if (!rdma_cq_push(cq, wc, solicited))
        roce_cq_overflowed(qp, cq, !was_in_error);
}

static enum nornic_wc_opcode wc_opcode(enum nornic_wr_opcode opcode)
{
    switch (opcode) {
    case NORNIC_WR_RDMA_WRITE:
    case NORNIC_WR_RDMA_WRITE_WITH_IMM:
        return NORNIC_WC_RDMA_WRITE;
    case NORNIC_WR_SEND:
    case NORNIC_WR_SEND_WITH_IMM:
    case NORNIC_WR_SEND_WITH_INV:
        return NORNIC_WC_SEND;
    case NORNIC_WR_RDMA_READ:
        return NORNIC_WC_RDMA_READ;
    case NORNIC_WR_ATOMIC_CMP_AND_SWP:
        return NORNIC_WC_COMP_SWAP;
    case NORNIC_WR_ATOMIC_FETCH_AND_ADD:
        return NORNIC_WC_FETCH_ADD;
    case NORNIC_WR_LOCAL_INV:
        return NORNIC_WC_LOCAL_INV;
    case NORNIC_WR_BIND_MW:
        return NORNIC_WC_BIND_MW;
    case NORNIC_WR_REG_MR:
        return NORNIC_WC_REG_MR;
    case NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP:
        return NORNIC_WC_MASKED_COMP_SWAP;
    case NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD:
        return NORNIC_WC_MASKED_FETCH_ADD;
    }
    return NORNIC_WC_SEND;
}

void roce_complete_send(struct roce_qp *qp, enum nornic_wc_status status)
{
    struct roce_send_wqe *w = roce_send_wqe(qp, qp->sq.done);
    struct nornic_wc wc = {
        .wr_id = w->wr_id,
        .status = status,
        .opcode = wc_opcode(w->opcode),
        .byte_len = w->len_bytes,
        .qp_num = qp->qpn,
    };
    bool signalled = qp->sq_sig_all || (w->send_flags & NORNIC_SEND_SIGNALED) || status != NORNIC_WC_SUCCESS;
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
        roce_complete_send(qp, NORNIC_WC_WR_FLUSH_ERR);
    qp->sq.started = qp->sq.done;
    qp->req.cur = qp->sq.done;
}
