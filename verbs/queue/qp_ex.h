/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends by wr_start, wr_* and wr_complete. Internal to verbs/. */
#ifndef NORNIC_VERBS_QP_EX_H
#define NORNIC_VERBS_QP_EX_H

#include "verbs/verbs.h"

/* Whether a queue pair of `type` has the operations `flags` (enum ibv_qp_create_send_ops_flags). 0 or an
 * errno value: EOPNOTSUPP. */
int verbs_check_send_ops(enum ibv_qp_type type, uint64_t flags);

/* Gives a new queue pair these operations. 0 or ENOMEM. And frees what that took; also where it has none. */
int verbs_builder_add(struct verbs_qp *qp, uint64_t flags);
void verbs_builder_remove(struct verbs_qp *qp);

#endif
