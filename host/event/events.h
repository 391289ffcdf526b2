/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of a device (ROCE section 12.2): queued, delivered once, acknowledged (ROCE-EV-20). All
 * calls here are made without the device's lock, from any thread. */
#ifndef NORNIC_HOST_EVENTS_H
#define NORNIC_HOST_EVENTS_H

#include <stdint.h>

#include "host/host.h"

struct rdma_qp;

/* One of the members names the object of the event; the others are NULL. */
struct host_event {
    enum nornic_event_type type;
    const struct rdma_qp *qp; /* the neutral half of the queue pair */
    struct rdma_cq *cq;       /* CQ_ERR */
    struct rdma_srq *srq;     /* SRQ_ERR, SRQ_LIMIT_REACHED */
};

/* A descriptor that polls readable (POLLIN) while events wait; the device's. */
int host_dev_event_fd(const struct host_dev *dev);

/* Takes the oldest event, waiting at most `timeout_ns` for one. 0; -EAGAIN: none came; -ENOBUFS, once: there
 * was no memory to queue some. Each event taken is to be acknowledged: until then the object that it names
 * stays, whoever destroys it waits. */
int host_dev_get_event(struct host_dev *dev, struct host_event *event, uint64_t timeout_ns);

/* Acknowledges one event as it was taken. The object that it names may be gone afterwards. */
void host_dev_ack_event(struct host_dev *dev, const struct host_event *event);

/* Destroys a QP, or an SRQ, when the events taken about it are acknowledged; those not taken yet are dropped
 * with it. Waits without the device's lock: do not call it between taking and acknowledging an event of the
 * same object. 0, or -EBUSY: the QP is attached to a multicast group, a QP uses the SRQ; then all stays. */
int host_qp_destroy(struct host_dev *dev, struct roce_qp *qp);
int host_srq_destroy(struct host_dev *dev, struct rdma_srq *srq);

#endif
