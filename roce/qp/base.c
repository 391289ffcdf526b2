/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/base.h"

#include "roce/qp/qp.h"

struct rdma_qp *roce_qp_base(const struct roce_qp *qp)
{
    return (struct rdma_qp *)&qp->base;
}

struct roce_qp *roce_qp_from_base(const struct rdma_qp *base)
{
    return roce_qp_of(base);
}
