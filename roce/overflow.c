/* SPDX-License-Identifier: BSD-2-Clause */
/* Overflowed CQs (ROCE-CQ-2). Each CQ knows the QPs that complete into it, so that an overflow costs what its
 * own QPs cost, however many others the device has. They are marked here, and moved to ERR at the end of a step
 * (roce_dev_settle()), when no QP is half-way through one. */
#include "roce/device.h"

static struct roce_cq_user **users_of(struct rdma_cq *cq)
{
    return (struct roce_cq_user **)rdma_cq_users(cq);
}

static void join(struct roce_cq_user *user, struct roce_qp *qp, struct rdma_cq *cq)
{
    if (!cq)
        return;
    struct roce_cq_user **first = users_of(cq);
    *user = (struct roce_cq_user){.qp = qp, .next = *first};
    if (*first)
        (*first)->prev = user;
    *first = user;
    rdma_cq_get(cq);
}

static void leave(struct roce_cq_user *user, struct rdma_cq *cq)
{
    if (!cq)
        return;
    *(user->prev ? &user->prev->next : users_of(cq)) = user->next;
    if (user->next)
        user->next->prev = user->prev;
    rdma_cq_put(cq);
}

void roce_cqs_join(struct roce_qp *qp)
{
    join(&qp->cq_users[0], qp, qp->send_cq);
    join(&qp->cq_users[1], qp, qp->recv_cq);
}

void roce_cq_overflow_unmark(struct roce_qp *qp)
{
    struct roce_dev *dev = qp->dev;
    if (!qp->failing)
        return;
    *(qp->failing_prev ? &qp->failing_prev->failing_next : &dev->failing) = qp->failing_next;
    if (qp->failing_next)
        qp->failing_next->failing_prev = qp->failing_prev;
    qp->failing = false;
}

void roce_cqs_leave(struct roce_qp *qp)
{
    roce_cq_overflow_unmark(qp);
    leave(&qp->cq_users[0], qp->send_cq);
    leave(&qp->cq_users[1], qp->recv_cq);
}

static void mark(struct roce_qp *qp)
{
    struct roce_dev *dev = qp->dev;
    if (qp->failing)
        return;
    qp->failing = true;
    qp->failing_prev = NULL;
    qp->failing_next = dev->failing;
    if (dev->failing)
        dev->failing->failing_prev = qp;
    dev->failing = qp;
}

void roce_cq_overflowed(struct roce_qp *qp, struct rdma_cq *cq, bool first_time)
{
    mark(qp); /* it may have come to a CQ that was in error before */
    if (!first_time)
        return;
    roce_dev_event(qp->dev, &(struct roce_event){.type = NORNIC_EVENT_CQ_ERR, .cq = cq});
    for (struct roce_cq_user *user = *users_of(cq); user; user = user->next)
        mark(user->qp);
}
