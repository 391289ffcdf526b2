/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/recv.h"

#include <assert.h>
#include <errno.h>

#include "rdma/srq.h"
#include "rdma/xrc.h"
#include "roce/device.h"

static_assert(NORNIC_MAX_SGE == RDMA_SRQ_MAX_SGE, "a QP takes what an SRQ takes");

static int init_xrc(struct roce_qp *qp)
{
    struct roce_recv *recv = &qp->recv;
    if (rdma_xrcd_domain(qp->xrcd) != qp->dev->domain)
        return -EINVAL;
    recv->is_xrc = true;
    recv->copy = roce_alloc(qp->dev, sizeof *recv->copy * RDMA_SRQ_MAX_SGE);
    return recv->copy ? 0 : -ENOMEM;
}

/* An XRC SRQ counts a target QP as its user only while that holds one of its WQEs. */
static void let_go(struct roce_recv *recv)
{
    recv->held = false;
    if (!recv->is_xrc || !recv->srq)
        return;
    rdma_srq_put(recv->srq);
    recv->srq = NULL;
}

int roce_recv_init(struct roce_qp *qp, struct rdma_srq *srq)
{
    struct roce_recv *recv = &qp->recv;
    if (qp->type == NORNIC_QPT_XRC_INI)
        return 0;
    if (qp->type == NORNIC_QPT_XRC_TGT)
        return init_xrc(qp);
    if (!srq) {
        int err = rdma_recv_ring_init(&recv->rq, &qp->dev->mem, qp->caps.max_recv_wr, qp->caps.max_recv_sge);
        qp->caps.max_recv_wr = recv->rq.size;
        return err;
    }
    if (rdma_pd_domain(rdma_srq_pd(srq)) != qp->dev->domain || rdma_srq_xrcd(srq))
        return -EINVAL;
    qp->caps.max_recv_wr = 0;
    qp->caps.max_recv_sge = rdma_srq_max_sge(srq);
    recv->copy = roce_alloc(qp->dev, sizeof *recv->copy * (qp->caps.max_recv_sge + 1));
    if (!recv->copy)
        return -ENOMEM;
    recv->srq = srq;
    rdma_srq_get(srq);
    return 0;
}

void roce_recv_deinit(struct roce_qp *qp)
{
    struct roce_recv *recv = &qp->recv;
    rdma_recv_ring_deinit(&recv->rq, &qp->dev->mem);
    roce_free(qp->dev, recv->copy);
    if (recv->srq)
        rdma_srq_put(recv->srq);
}

void roce_recv_reset(struct roce_qp *qp)
{
    rdma_recv_ring_reset(&qp->recv.rq);
    let_go(&qp->recv);
}

void roce_recv_select(struct roce_recv *recv, struct rdma_srq *srq)
{
    assert(!recv->held);
    recv->srq = srq;
}

struct rdma_cq *roce_recv_cq(const struct roce_qp *qp)
{
    return qp->recv.is_xrc ? rdma_srq_cq(qp->recv.srq) : qp->recv_cq;
}

bool roce_recv_take(struct roce_qp *qp)
{
    struct roce_recv *recv = &qp->recv;
    assert(!recv->held);
    if (recv->srq) {
        recv->sges = recv->copy;
        recv->held = rdma_srq_take(recv->srq, &recv->wqe, recv->copy);
        if (recv->is_xrc && recv->held)
            rdma_srq_get(recv->srq);
        else if (recv->is_xrc)
            recv->srq = NULL;
        return recv->held;
    }
    const struct rdma_recv_wqe *oldest = rdma_recv_ring_oldest(&recv->rq, &recv->sges);
    if (!oldest)
        return false;
    recv->wqe = *oldest;
    recv->held = true;
    return true;
}

bool roce_recv_scatter(struct roce_qp *qp, uint32_t offset, const uint8_t *src, uint32_t len_bytes)
{
    const struct roce_recv *recv = &qp->recv;
    const struct rdma_pd *pd = recv->srq ? rdma_srq_pd(recv->srq) : qp->pd;
    return roce_scatter(qp->dev, pd, recv->sges, recv->wqe.num_sge, offset, src, len_bytes);
}

void roce_recv_complete(struct roce_qp *qp, struct nornic_wc *wc, bool solicited)
{
    struct roce_recv *recv = &qp->recv;
    assert(recv->held);
    wc->wr_id = recv->wqe.wr_id;
    wc->qp_num = qp->qpn;
    struct rdma_cq *cq = roce_recv_cq(qp);
    if (!recv->srq)
        rdma_recv_ring_pop(&recv->rq);
    let_go(recv);
    roce_complete_push(qp, cq, wc, solicited);
}

static void fail_held(struct roce_qp *qp, enum nornic_wc_status status)
{
    struct nornic_wc wc = {.status = status, .opcode = NORNIC_WC_RECV};
    roce_recv_complete(qp, &wc, false);
}

void roce_recv_give_back(struct roce_qp *qp, enum nornic_wc_status srq_status)
{
    if (qp->recv.held && qp->recv.srq)
        fail_held(qp, srq_status);
    qp->recv.held = false;
}

void roce_recv_flush(struct roce_qp *qp)
{
    if (qp->recv.held)
        fail_held(qp, NORNIC_WC_WR_FLUSH_ERR);
    while (!qp->recv.srq && roce_recv_take(qp))
        fail_held(qp, NORNIC_WC_WR_FLUSH_ERR);
}

uint32_t roce_recv_unused(const struct roce_recv *recv)
{
    return rdma_recv_ring_count(&recv->rq) - recv->held;
}
