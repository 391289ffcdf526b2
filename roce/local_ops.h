/* SPDX-License-Identifier: BSD-2-Clause */
/* Work requests that send nothing: LOCAL_INV, BIND_MW, REG_MR. They take their turn in the send queue like
 * any other, use no PSN, and are complete when all before them are; one that is flushed (ROCE-RC-63) may
 * have been executed all the same. Inside roce/ only. */
#ifndef NORNIC_ROCE_LOCAL_OPS_H
#define NORNIC_ROCE_LOCAL_OPS_H

#include "roce/qp.h"

static inline bool roce_wr_is_local(enum nornic_wr_opcode opcode)
{
    return opcode == NORNIC_WR_LOCAL_INV || opcode == NORNIC_WR_BIND_MW || opcode == NORNIC_WR_REG_MR;
}

/* Passes those at the place to send from; new ones are executed on the way, so that what is posted behind
 * finds their effect (ROCE-MW-4). False: sending cannot go on, because one has to wait for what is before
 * it (ROCE-RC-14), and *failed is NORNIC_WC_SUCCESS; or has failed, and *failed is its status. */
bool roce_local_pass(struct roce_qp *qp, enum nornic_wc_status *failed);

/* Completes those that were executed and have become the oldest, and passes them if sending was to resume
 * there: an answer is always for the oldest WQE, and never for one of these. */
void roce_local_retire(struct roce_qp *qp);

#endif
