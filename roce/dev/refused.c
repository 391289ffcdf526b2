/* SPDX-License-Identifier: BSD-2-Clause */
/* A peer's host that says that nobody there takes packets. */
#include "base/base.h"
#include "roce/dev/inner.h"
#include "roce/qp/transport.h"

#define REFUSED_NS (100 * NS_PER_MS) /* for an answer, which would show that it was not so */

/* Waits for an answer of `peer`, and not for an RNR NAK's time to be over. */
static bool awaits(const struct roce_qp *qp, const struct nornic_addr *peer)
{
    return qp->transport->is_connected && nornic_addr_equal(&qp->attr.av.dgid, peer) &&
           rdma_timer_armed(&qp->req.timer) && !qp->req.is_rnr_waiting;
}

void roce_dev_refused(struct roce_dev *dev, const struct nornic_addr *peer, uint64_t now_ns)
{
    for (uint32_t i = 0; i < dev->config.max_qp; i++) {
        struct roce_qp *qp = dev->qps[i];
        if (!qp || !awaits(qp, peer))
            continue;
        qp->req.retry_left = 0;
        if (qp->req.timer.deadline_ns > now_ns + REFUSED_NS)
            rdma_timer_arm(&dev->timers, &qp->req.timer, now_ns + REFUSED_NS);
    }
}
