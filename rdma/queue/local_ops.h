/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests that send nothing: LOCAL_INV, BIND_MW, REG_MR. They take their turn in the send queue like
 * any other, use no number of the transport's, and are complete when all before them are; one that is flushed
 * (ROCE-RC-63) may have been executed all the same. Inside the engine only. */
#ifndef NORNIC_RDMA_LOCAL_OPS_H
#define NORNIC_RDMA_LOCAL_OPS_H

#include "rdma/queue/qp.h"

/* Executes those at the place to send from and goes past them, so that what is posted behind finds their
 * effect (ROCE-MW-4). `next_seq`: the number that the next request will begin with. False: sending cannot go
 * on, because one has to wait for what is before it (ROCE-RC-14), and *failed is NORNIC_WC_SUCCESS; or has
 * failed, and
 * *failed is its status. */
bool rdma_local_execute(struct rdma_qp *qp, uint32_t next_seq, enum nornic_wc_status *failed);

/* Completes those that were executed and have become the oldest, and goes past them if sending was to resume
 * there: an answer is always for the oldest WQE, and never for one of these. */
void rdma_local_complete(struct rdma_qp *qp);

#endif
