/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/event.h"

#include "rdma/memory/domain.h"
#include "rdma/queue/qp.h"

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

void rdma_domain_on_event(struct rdma_domain *domain, rdma_event_hook *hook, void *ctx)
{
    domain->on_event = hook;
    domain->event_ctx = ctx;
}

void rdma_domain_event(const struct rdma_domain *domain, const struct rdma_event *event)
{
    if (domain->on_event)
        domain->on_event(domain->event_ctx, event);
}

void rdma_qp_event(struct rdma_qp *qp, enum nornic_event_type type)
{
    rdma_domain_event(qp->domain, &(struct rdma_event){.type = type, .qp = qp});
}
