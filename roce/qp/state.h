/* SPDX-License-Identifier: BSD-2-Clause */
/* Which change of a QP is legal: ROCE-QP-20..33, as data and one pure function. */
#ifndef NORNIC_ROCE_QP_STATE_H
#define NORNIC_ROCE_QP_STATE_H

#include "roce/roce.h"

/* Judges a modify of a QP in state `cur`: the transition, the attributes that it needs and allows, and the
 * values of those in `mask` that can be judged without the device (not the path MTU against the port's, not
 * the SGID index). Without NORNIC_QP_STATE the QP stays in `cur`. 0 with the state to enter in *next, or
 * -EINVAL. */
int roce_qp_check_modify(enum nornic_qp_type type, enum nornic_qp_state cur,
                         const struct nornic_qp_attr *attr, uint32_t mask, enum nornic_qp_state *next);

#endif
