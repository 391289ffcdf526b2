/* SPDX-License-Identifier: BSD-2-Clause */
/* The ways of a queue pair into ERR and SQE. What fails calls these, from the requester to the device, and
 * they lean on none of it. */
#include "roce/requester/answers.h"
#include "roce/dev/inner.h"
#include "roce/requester/probe.h"
#include "roce/responder/reorder.h"

void roce_qp_set_state(struct roce_qp *qp, enum nornic_qp_state to, enum roce_cause cause, uint64_t now_ns)
{
    enum nornic_qp_state from = roce_qp_state_now(qp);
    /* Sequentially consistent: see rdma_qp_post_recv(). */
    atomic_store(&qp->base.state, to);
    qp->attr.state = to;
    roce_qp_tell_reach(qp);
    if (from != to)
        roce_trace_emit(qp->dev, &(struct roce_trace){.kind = ROCE_TRACE_QP_STATE,
                                                      .now_ns = now_ns,
                                                      .qpn = qp->base.qpn,
                                                      .cause = cause,
                                                      .from_state = from,
                                                      .to_state = to});
}

void roce_qp_enter_error(struct roce_qp *qp, enum roce_cause cause, uint64_t now_ns)
{
    if (roce_qp_state_now(qp) == NORNIC_QPS_ERR)
        return;
    roce_qp_set_state(qp, NORNIC_QPS_ERR, cause, now_ns);
    rdma_timer_cancel(&qp->dev->timers, &qp->req.timer);
    roce_probe_stop(qp);
    roce_answers_clear(qp);
    roce_reorder_clear(qp);
    /* Only what leads up to a fatal NAK of ours, and that NAK, is still sent (ROCE-RS-12). */
    if (cause != ROCE_CAUSE_REQUEST_ERROR)
        roce_response_clear(qp);
    rdma_sq_flush(&qp->base);
    rdma_recv_flush(&qp->base);
    if (qp->base.recv.srq) /* ROCE-RS-72 */
        rdma_qp_event(&qp->base, NORNIC_EVENT_QP_LAST_WQE_REACHED);
    roce_dev_ready(qp->dev, qp);
}

void roce_qp_enter_sqe(struct roce_qp *qp, enum roce_cause cause, uint64_t now_ns)
{
    roce_qp_set_state(qp, NORNIC_QPS_SQE, cause, now_ns);
    rdma_sq_flush(&qp->base);
}

void roce_dev_settle(struct roce_dev *dev, uint64_t now_ns)
{
    struct rdma_qp *base;
    while ((base = rdma_domain_take_failing(dev->domain))) {
        struct roce_qp *qp = roce_qp_of(base);
        if (roce_qp_state_now(qp) == NORNIC_QPS_RESET || roce_qp_state_now(qp) == NORNIC_QPS_ERR)
            continue;
        roce_qp_enter_error(qp, ROCE_CAUSE_CQ_OVERFLOW, now_ns);
        rdma_qp_event(&qp->base, NORNIC_EVENT_QP_FATAL); /* no CQE can tell: ROCE-EV-2 */
    }
}
