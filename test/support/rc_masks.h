/* SPDX-License-Identifier: BSD-2-Clause */
/* What an RC queue pair must be given on its way to RTS, beside the state: ROCE-QP-20 to 23. */
#ifndef NORNIC_TEST_SUPPORT_RC_MASKS_H
#define NORNIC_TEST_SUPPORT_RC_MASKS_H

#include "nornic/qp.h"

#define RC_INIT_MASK (NORNIC_QP_PKEY_INDEX | NORNIC_QP_PORT | NORNIC_QP_ACCESS_FLAGS)
#define RC_RTR_MASK                                                              \
    (NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN | \
     NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER)
#define RC_RTS_MASK                                                                     \
    (NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY | NORNIC_QP_SQ_PSN | \
     NORNIC_QP_MAX_QP_RD_ATOMIC)

#endif
