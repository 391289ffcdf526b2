/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/event/events.h"

#include "host/dev/dev.h"
#include "rdma/srq.h"
#include "roce/neutral.h"

int host_dev_event_fd(const struct host_dev *dev)
{
    return dev->events.acks.fd;
}

int host_dev_get_event(struct host_dev *dev, struct host_event *event, uint64_t timeout_ns)
{
    return host_event_queue_take(&dev->events, event, timeout_ns);
}

void host_dev_ack_event(struct host_dev *dev, const struct host_event *event)
{
    host_event_queue_acknowledge(&dev->events, event);
}

int host_qp_destroy(struct host_dev *dev, struct roce_qp *qp)
{
    struct host_event_closing closing;
    host_event_queue_close(&dev->events, &closing, roce_qp_base(qp));
    host_dev_lock(dev);
    int err = roce_qp_destroy(qp);
    host_event_queue_closed(&dev->events, &closing, !err);
    host_dev_unlock(dev);
    return err;
}

int host_srq_destroy(struct host_dev *dev, struct rdma_srq *srq)
{
    struct host_event_closing closing;
    host_event_queue_close(&dev->events, &closing, srq);
    host_dev_lock(dev);
    int err = rdma_srq_destroy(srq);
    host_event_queue_closed(&dev->events, &closing, !err);
    host_dev_unlock(dev);
    return err;
}
