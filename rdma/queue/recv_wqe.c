/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/queue/recv.h"

#include <assert.h>
#include <errno.h>

#include "rdma/memory/domain.h"
#include "rdma/queue/qp.h"
#include "rdma/memory/sge.h"

static int init_own(struct rdma_qp *qp)
{
    struct rdma_recv *recv = &qp->recv;
    int err = rdma_recv_ring_init(&recv->rq, &qp->domain->mem, qp->caps.max_recv_wr, qp->caps.max_recv_sge);
    qp->caps.max_recv_wr = recv->rq.size;
    return err;
}

static int make_room(struct rdma_qp *qp, uint32_t num_sge)
{
    qp->recv.copy = rdma_alloc(qp->domain, sizeof *qp->recv.copy * num_sge);
    return qp->recv.copy ? 0 : -ENOMEM;
}

static int init_srq(struct rdma_qp *qp, struct rdma_srq *srq)
{
    if (rdma_pd_domain(rdma_srq_pd(srq)) != qp->domain || rdma_srq_xrcd(srq))
        return -EINVAL;
    qp->caps.max_recv_wr = 0;
    qp->caps.max_recv_sge = rdma_srq_max_sge(srq);
    int err = make_room(qp, qp->caps.max_recv_sge + 1);
    if (err)
        return err;
    qp->recv.srq = srq;
    rdma_srq_get(srq);
    return 0;
}

int rdma_recv_init(struct rdma_qp *qp, enum rdma_recv_source source, struct rdma_srq *srq)
{
    qp->recv.source = source;
    switch (source) {
    case RDMA_RECV_OWN:
        return init_own(qp);
    case RDMA_RECV_SRQ:
        return init_srq(qp, srq);
    case RDMA_RECV_XRC:
        return rdma_xrcd_domain(qp->xrcd) == qp->domain ? make_room(qp, RDMA_SRQ_MAX_SGE) : -EINVAL;
    case RDMA_RECV_NONE:
        break;
    }
    return 0;
}

void rdma_recv_deinit(struct rdma_qp *qp)
{
    struct rdma_recv *recv = &qp->recv;
    rdma_recv_ring_deinit(&recv->rq, &qp->domain->mem);
    rdma_free(qp->domain, recv->copy);
    if (recv->srq)
        rdma_srq_put(recv->srq);
}

/* An XRC SRQ counts a target QP as its user only while that holds one of its WQEs. */
static void let_go(struct rdma_recv *recv)
{
    recv->is_held = false;
    if (recv->source != RDMA_RECV_XRC || !recv->srq)
        return;
    rdma_srq_put(recv->srq);
    recv->srq = NULL;
}

void rdma_recv_reset(struct rdma_qp *qp)
{
    rdma_recv_ring_reset(&qp->recv.rq);
    let_go(&qp->recv);
}

void rdma_recv_select(struct rdma_recv *recv, struct rdma_srq *srq)
{
    assert(!recv->is_held);
    recv->srq = srq;
}

struct rdma_cq *rdma_recv_cq(const struct rdma_qp *qp)
{
    return qp->recv.source == RDMA_RECV_XRC ? rdma_srq_cq(qp->recv.srq) : qp->recv_cq;
}

static bool take_from_srq(struct rdma_recv *recv)
{
    recv->sges = recv->copy;
    recv->is_held = rdma_srq_take(recv->srq, &recv->wqe, recv->copy);
    if (recv->source == RDMA_RECV_XRC && recv->is_held)
        rdma_srq_get(recv->srq);
    else if (recv->source == RDMA_RECV_XRC)
        recv->srq = NULL;
    return recv->is_held;
}

bool rdma_recv_take(struct rdma_qp *qp)
{
    struct rdma_recv *recv = &qp->recv;
    assert(!recv->is_held);
    if (recv->srq)
        return take_from_srq(recv);
    const struct rdma_recv_wqe *oldest = rdma_recv_ring_oldest(&recv->rq, &recv->sges);
    if (!oldest)
        return false;
    recv->wqe = *oldest;
    recv->is_held = true;
    return true;
}

static const struct rdma_pd *recv_pd(const struct rdma_qp *qp)
{
    return qp->recv.srq ? rdma_srq_pd(qp->recv.srq) : qp->pd;
}

bool rdma_recv_scatter(struct rdma_qp *qp, uint32_t offset, const uint8_t *src, uint32_t len_bytes)
{
    const struct rdma_recv *recv = &qp->recv;
    const struct rdma_pd *pd = recv_pd(qp);
    return rdma_sge_scatter(qp->domain, pd, recv->sges, recv->wqe.num_sge, offset, src, len_bytes);
}

uint8_t *rdma_recv_piece(struct rdma_qp *qp, uint32_t offset, uint32_t *n_bytes)
{
    const struct rdma_recv *recv = &qp->recv;
    const struct rdma_pd *pd = recv_pd(qp);
    return rdma_sge_piece(qp->domain, pd, recv->sges, recv->wqe.num_sge, offset, n_bytes, true);
}

void rdma_recv_complete(struct rdma_qp *qp, struct nornic_wc *wc, bool is_solicited)
{
    struct rdma_recv *recv = &qp->recv;
    assert(recv->is_held);
    wc->wr_id = recv->wqe.wr_id;
    wc->qp_num = qp->qpn;
    struct rdma_cq *cq = rdma_recv_cq(qp);
    if (!recv->srq)
        rdma_recv_ring_pop(&recv->rq);
    let_go(recv);
    rdma_qp_push_wc(qp, cq, wc, is_solicited);
}

static void fail_held(struct rdma_qp *qp, enum nornic_wc_status status)
{
    struct nornic_wc wc = {.status = status, .opcode = NORNIC_WC_RECV};
    rdma_recv_complete(qp, &wc, false);
}

void rdma_recv_give_back(struct rdma_qp *qp, enum nornic_wc_status srq_status)
{
    if (qp->recv.is_held && qp->recv.srq)
        fail_held(qp, srq_status);
    qp->recv.is_held = false;
}

void rdma_recv_flush(struct rdma_qp *qp)
{
    if (qp->recv.is_held)
        fail_held(qp, NORNIC_WC_WR_FLUSH_ERR);
    while (!qp->recv.srq && rdma_recv_take(qp))
        fail_held(qp, NORNIC_WC_WR_FLUSH_ERR);
}

uint32_t rdma_recv_unused(const struct rdma_recv *recv)
{
    return rdma_recv_ring_count(&recv->rq) - recv->is_held;
}
