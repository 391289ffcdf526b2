/* SPDX-License-Identifier: BSD-2-Clause */
/* The QPs that want attention: those with fresh posts, which any thread may announce, and those that may have
 * something to send. */
#include "roce/dev/inner.h"

void roce_dev_ready(struct roce_dev *dev, struct roce_qp *qp)
{
    if (qp->is_ready)
        return;
    qp->is_ready = true;
    qp->ready_next = NULL;
    qp->ready_prev = dev->ready_last;
    *(dev->ready_last ? &dev->ready_last->ready_next : &dev->ready_first) = qp;
    dev->ready_last = qp;
}

void roce_dev_unready(struct roce_dev *dev, struct roce_qp *qp)
{
    if (!qp->is_ready)
        return;
    *(qp->ready_prev ? &qp->ready_prev->ready_next : &dev->ready_first) = qp->ready_next;
    *(qp->ready_next ? &qp->ready_next->ready_prev : &dev->ready_last) = qp->ready_prev;
    qp->is_ready = false;
}

void roce_qp_posted(struct rdma_qp *base)
{
    struct roce_qp *qp = roce_qp_of(base);
    struct roce_dev *dev = qp->dev;
    if (atomic_exchange(&qp->is_posted, true))
        return;
    struct roce_qp *head = atomic_load(&dev->posted);
    do
        qp->posted_next = head;
    while (!atomic_compare_exchange_weak(&dev->posted, &head, qp));
    if (!head && dev->config.doorbell)
        dev->config.doorbell(dev->config.ctx);
}

void roce_dev_collect_posted(struct roce_dev *dev)
{
    if (!atomic_load_explicit(&dev->posted, memory_order_relaxed))
        return;
    struct roce_qp *qp = atomic_exchange(&dev->posted, NULL);
    while (qp) {
        struct roce_qp *next = qp->posted_next;
        /* Cleared before its queues are looked at: a post that comes later rings again. An exchange, because
         * it acquires what every poster wrote that found the mark set and left; a store would not. */
        atomic_exchange(&qp->is_posted, false);
        enum nornic_qp_state state = roce_qp_state_now(qp);
        if (state == NORNIC_QPS_ERR || state == NORNIC_QPS_SQE)
            rdma_sq_flush(&qp->base);
        if (state == NORNIC_QPS_ERR)
            rdma_recv_flush(&qp->base);
        roce_dev_ready(dev, qp);
        qp = next;
    }
}

bool roce_dev_tx_pending(const struct roce_dev *dev)
{
    return dev->ready_first || atomic_load_explicit(&dev->posted, memory_order_relaxed);
}
