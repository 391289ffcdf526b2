/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events: ROCE section 12.2. */
#include "roce/device.h"

const char *nornic_event_name(enum nornic_event_type type)
{
    static const char *const names[NORNIC_EVENT_COUNT] = {
        [NORNIC_EVENT_CQ_ERR] = "CQ_ERR",
        [NORNIC_EVENT_QP_FATAL] = "QP_FATAL",
        [NORNIC_EVENT_QP_REQ_ERR] = "QP_REQ_ERR",
        [NORNIC_EVENT_QP_ACCESS_ERR] = "QP_ACCESS_ERR",
        [NORNIC_EVENT_COMM_EST] = "COMM_EST",
        [NORNIC_EVENT_SQ_DRAINED] = "SQ_DRAINED",
        [NORNIC_EVENT_PATH_MIG] = "PATH_MIG",
        [NORNIC_EVENT_PATH_MIG_ERR] = "PATH_MIG_ERR",
        [NORNIC_EVENT_DEVICE_FATAL] = "DEVICE_FATAL",
        [NORNIC_EVENT_PORT_ACTIVE] = "PORT_ACTIVE",
        [NORNIC_EVENT_PORT_ERR] = "PORT_ERR",
        [NORNIC_EVENT_PKEY_CHANGE] = "PKEY_CHANGE",
        [NORNIC_EVENT_SRQ_ERR] = "SRQ_ERR",
        [NORNIC_EVENT_SRQ_LIMIT_REACHED] = "SRQ_LIMIT_REACHED",
        [NORNIC_EVENT_QP_LAST_WQE_REACHED] = "QP_LAST_WQE_REACHED",
        [NORNIC_EVENT_GID_CHANGE] = "GID_CHANGE",
    };
    return (unsigned)type < NORNIC_EVENT_COUNT && names[type] ? names[type] : "unknown event";
}

void roce_dev_event(struct roce_dev *dev, const struct roce_event *event)
{
    if (dev->config.event)
        dev->config.event(dev->config.ctx, event);
}

void roce_qp_event(struct roce_qp *qp, enum nornic_event_type type)
{
    roce_dev_event(qp->dev, &(struct roce_event){.type = type, .qp = qp});
}

/* ROCE-EV-11. */
void roce_dev_srq_event(void *dev, struct rdma_srq *srq, enum rdma_srq_event event)
{
    enum nornic_event_type type =
        event == RDMA_SRQ_ERR ? NORNIC_EVENT_SRQ_ERR : NORNIC_EVENT_SRQ_LIMIT_REACHED;
    roce_dev_event(dev, &(struct roce_event){.type = type, .srq = srq});
}
