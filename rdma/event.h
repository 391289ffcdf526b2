/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of a domain's objects: ROCE section 12.2. They go through the one hook of the domain,
 * which its transport sets. Inside the engine only. */
#ifndef NORNIC_RDMA_EVENT_H
#define NORNIC_RDMA_EVENT_H

#include "nornic/device.h"

struct rdma_cq;
struct rdma_domain;
struct rdma_qp;
struct rdma_srq;

/* What it is about is named by one of the members; the others are NULL. */
struct rdma_event {
    enum nornic_event_type type;
    struct rdma_qp *qp;
    struct rdma_cq *cq;   /* CQ_ERR */
    struct rdma_srq *srq; /* SRQ_ERR, SRQ_LIMIT_REACHED */
};

/* Called inside progress and control calls. Must not call back into the domain. */
typedef void rdma_event_hook(void *ctx, const struct rdma_event *event);
/* Set once, before anything happens. */
void rdma_domain_on_event(struct rdma_domain *domain, rdma_event_hook *hook, void *ctx);

/* Raises an event; and one that is about a QP. */
void rdma_domain_event(const struct rdma_domain *domain, const struct rdma_event *event);
void rdma_qp_event(struct rdma_qp *qp, enum nornic_event_type type);

#endif
