/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/qp/xrc.h"

#include "roce/dev/inner.h"

bool roce_xrc_select(struct roce_qp *qp, const struct roce_pkt *pkt, const struct rdma_pd **pd)
{
    struct roce_responder *resp = &qp->resp;
    uint32_t srqn = pkt->xrceth.xrc_srqn;
    *pd = qp->base.pd;
    if (!qp->base.xrcd)
        return true;
    struct rdma_srq *srq = rdma_xrcd_find(qp->base.xrcd, srqn);
    if (!srq || (resp->message && srqn != resp->srqn))
        return false;
    resp->srqn = srqn;
    *pd = rdma_srq_pd(srq);
    if (pkt->op->flags & ROCE_PKT_TAKES_RECV)
        rdma_recv_select(&qp->base.recv, srq);
    return true;
}

const struct rdma_pd *roce_remote_pd(const struct roce_qp *qp, uint32_t srqn)
{
    if (!qp->base.xrcd)
        return qp->base.pd;
    const struct rdma_srq *srq = rdma_xrcd_find(qp->base.xrcd, srqn);
    return srq ? rdma_srq_pd(srq) : NULL;
}
