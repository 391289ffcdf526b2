/* SPDX-License-Identifier: BSD-2-Clause */
/* The way between a queue pair of RoCE and its neutral half (rdma/queue/qp.h), which posts go to. Internal to
 * roce/ and host/. */
#ifndef NORNIC_ROCE_BASE_H
#define NORNIC_ROCE_BASE_H

#include "roce/roce.h"

struct rdma_qp;

/* The neutral half of `qp`, which lives as long. */
struct rdma_qp *roce_qp_base(const struct roce_qp *qp);
/* The queue pair around its neutral half `base`, which must be one of RoCE. */
struct roce_qp *roce_qp_from_base(const struct rdma_qp *base);

#endif
