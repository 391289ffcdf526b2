/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/xrc.h"

#include <errno.h>

#include "rdma/srq.h"
#include "rdma/xrc.h"
#include "roce/device.h"
#include "roce/transport.h"

#define MAX_SRQN 0xffffffu

bool roce_xrc_select(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    struct roce_responder *resp = &qp->resp;
    uint32_t srqn = pkt->xrceth.xrc_srqn;
    if (!qp->xrcd)
        return true;
    struct rdma_srq *srq = rdma_xrcd_find(qp->xrcd, srqn);
    if (!srq || (resp->message && srqn != resp->srqn))
        return false;
    resp->srqn = srqn;
    if (pkt->op->flags & ROCE_PKT_TAKES_RECV)
        roce_recv_select(&qp->recv, srq);
    return true;
}

const struct rdma_pd *roce_remote_pd(const struct roce_qp *qp, uint32_t srqn)
{
    if (!qp->xrcd)
        return qp->pd;
    const struct rdma_srq *srq = rdma_xrcd_find(qp->xrcd, srqn);
    return srq ? rdma_srq_pd(srq) : NULL;
}

/* --- the two halves: ROCE-XRC-1 --- */

static int ini_check_send(const struct roce_qp *qp, const struct nornic_send_wr *wr, uint32_t len_bytes)
{
    (void)qp;
    (void)len_bytes;
    return wr->remote_srqn > MAX_SRQN ? -EINVAL : 0;
}

static enum roce_rx_verdict ini_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    return pkt->op->flags & ROCE_PKT_RESPONSE ? roce_requester_rx(qp, pkt, now_ns) : ROCE_RX_DROP_TYPE;
}

static enum roce_rx_verdict tgt_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    return pkt->op->flags & ROCE_PKT_RESPONSE ? ROCE_RX_DROP_TYPE : roce_responder_rx(qp, pkt, now_ns);
}

const struct roce_transport roce_xrc_ini = {
    .service = ROCE_SERVICE_XRC,
    .connected = true,
    .sends = ROCE_SENDS_CONNECTED | ROCE_SENDS(NORNIC_WR_RDMA_READ) |
             ROCE_SENDS(NORNIC_WR_ATOMIC_CMP_AND_SWP) | ROCE_SENDS(NORNIC_WR_ATOMIC_FETCH_AND_ADD) |
             ROCE_SENDS(NORNIC_WR_SEND_WITH_INV),
    .check_send = ini_check_send,
    .rx = ini_rx,
    .tx = roce_requester_tx,
};

const struct roce_transport roce_xrc_tgt = {
    .service = ROCE_SERVICE_XRC,
    .connected = true,
    .rx = tgt_rx,
    .tx = roce_responder_tx,
};
