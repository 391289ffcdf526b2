/* SPDX-License-Identifier: BSD-2-Clause */
/* Completions into a CQ, and what becomes of its QPs when one does not fit (ROCE-CQ-2). Each CQ knows the QPs
 * that complete into it, so that an overflow costs what its own QPs cost, however many others there are. They
 * are marked here, and moved to ERR by their transport at the end of its step, when no QP is half-way through
 * one. */
#include "rdma/memory/domain.h"
#include "rdma/queue/qp.h"

static void join(struct rdma_cq_user *user, struct rdma_qp *qp, struct rdma_cq *cq)
{
    if (!cq)
        return;
    struct rdma_cq_user **first = rdma_cq_users(cq);
    *user = (struct rdma_cq_user){.qp = qp, .next = *first};
    if (*first)
        (*first)->prev = user;
    *first = user;
    rdma_cq_get(cq);
}

static void leave(struct rdma_cq_user *user, struct rdma_cq *cq)
{
    if (!cq)
        return;
    *(user->prev ? &user->prev->next : rdma_cq_users(cq)) = user->next;
    if (user->next)
        user->next->prev = user->prev;
    rdma_cq_put(cq);
}

void rdma_qp_join_cqs(struct rdma_qp *qp)
{
    join(&qp->cq_users[0], qp, qp->send_cq);
    join(&qp->cq_users[1], qp, qp->recv_cq);
}

static void unmark(struct rdma_qp *qp)
{
    if (!qp->is_failing)
        return;
    *(qp->failing_prev ? &qp->failing_prev->failing_next : &qp->domain->failing) = qp->failing_next;
    if (qp->failing_next)
        qp->failing_next->failing_prev = qp->failing_prev;
    qp->is_failing = false;
}

void rdma_qp_leave_cqs(struct rdma_qp *qp)
{
    unmark(qp);
    leave(&qp->cq_users[0], qp->send_cq);
    leave(&qp->cq_users[1], qp->recv_cq);
}

static void mark(struct rdma_qp *qp)
{
    struct rdma_domain *domain = qp->domain;
    if (qp->is_failing)
        return;
    qp->is_failing = true;
    qp->failing_prev = NULL;
    qp->failing_next = domain->failing;
    if (domain->failing)
        domain->failing->failing_prev = qp;
    domain->failing = qp;
}

void rdma_qp_push_wc(struct rdma_qp *qp, struct rdma_cq *cq, const struct nornic_wc *wc, bool is_solicited)
{
    bool was_in_error = rdma_cq_in_error(cq);
    if (rdma_cq_push(cq, wc, is_solicited))
        return;
    mark(qp); /* it may have come to a CQ that was in error before */
    if (was_in_error)
        return;
    rdma_domain_event(qp->domain, &(struct rdma_event){.type = NORNIC_EVENT_CQ_ERR, .cq = cq});
    for (struct rdma_cq_user *user = *rdma_cq_users(cq); user; user = user->next)
        mark(user->qp);
}

struct rdma_qp *rdma_domain_take_failing(struct rdma_domain *domain)
{
    struct rdma_qp *qp = domain->failing;
    if (qp)
        unmark(qp);
    return qp;
}
