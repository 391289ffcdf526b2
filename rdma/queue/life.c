/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of the neutral half: its parts, and what RESET makes of them. */
#include "rdma/queue/qp.h"

#include "rdma/memory/domain.h"

static int make_queues(struct rdma_qp *qp, const struct rdma_qp_parts *parts)
{
    int err = rdma_sq_init(qp);
    return err ? err : rdma_recv_init(qp, parts->recv_source, parts->srq);
}

static void free_queues(struct rdma_qp *qp)
{
    rdma_recv_deinit(qp);
    rdma_sq_deinit(qp);
}

int rdma_qp_init(struct rdma_qp *qp, const struct rdma_qp_parts *parts)
{
    qp->ops = parts->ops;
    qp->domain = parts->domain;
    qp->sends = parts->sends;
    qp->is_datagram = parts->is_datagram;
    qp->sq_sig_all = parts->sq_sig_all;
    qp->pd = parts->pd;
    qp->send_cq = parts->send_cq;
    qp->recv_cq = parts->recv_cq;
    qp->xrcd = parts->xrcd;
    qp->caps = parts->caps;
    qp->ctx = parts->ctx;
    int err = make_queues(qp, parts);
    if (err) {
        free_queues(qp);
        return err;
    }
    if (qp->pd)
        rdma_pd_get(qp->pd);
    if (qp->xrcd)
        rdma_xrcd_get(qp->xrcd);
    rdma_qp_join_cqs(qp);
    return 0;
}

void rdma_qp_deinit(struct rdma_qp *qp)
{
    rdma_mw_unbind_all(&qp->windows); /* ROCE-MW-2 */
    rdma_qp_leave_cqs(qp);
    if (qp->pd)
        rdma_pd_put(qp->pd);
    if (qp->xrcd)
        rdma_xrcd_put(qp->xrcd);
    free_queues(qp);
}

void rdma_qp_reset(struct rdma_qp *qp)
{
    rdma_sq_reset(qp);
    rdma_recv_reset(qp);
    rdma_mw_unbind_all(&qp->windows); /* ROCE-MW-2 */
}

void rdma_qp_outstanding(const struct rdma_qp *qp, uint32_t *sends, uint32_t *recvs)
{
    *sends = atomic_load_explicit(&qp->sq.posted, memory_order_acquire) - qp->sq.done;
    *recvs = rdma_recv_ring_count(&qp->recv.rq);
}
