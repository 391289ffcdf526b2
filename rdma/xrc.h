/* SPDX-License-Identifier: BSD-2-Clause */
/* XRC domains: what the SRQs have in common that a target QP may deliver to. An SRQ of one
 * (rdma_srq_config.xrcd) has a number, by which peers name it in each request (ROCE-XRC-2). All calls are
 * control calls, which the caller serialises with the device's progress. */
#ifndef NORNIC_RDMA_XRC_H
#define NORNIC_RDMA_XRC_H

#include <stdint.h>

#include "nornic/decls.h"

NORNIC_BEGIN_DECLS

struct rdma_domain;
struct rdma_xrcd;

#define RDMA_XRC_MAX_SRQ 65536u /* of a device */

/* 0 or -ENOMEM. */
int rdma_xrcd_create(struct rdma_domain *domain, struct rdma_xrcd **out);
/* 0, or -EBUSY while it has an SRQ or a target QP. */
int rdma_xrcd_destroy(struct rdma_xrcd *xrcd);

NORNIC_END_DECLS

#endif
