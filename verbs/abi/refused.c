/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended verbs that are for hardware: each says so. What would change or end one of their objects can have
 * none, and stays NULL in the table, which the header answers by EOPNOTSUPP itself. */
#include <errno.h>

#include "verbs/ops.h"

struct ibv_flow *verbs_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
    return verbs_fail_null(EOPNOTSUPP, "queue pair 0x%06x: packets are not steered by flows (%u parts)",
                           qp->qp_num, attr->num_of_specs);
}

struct ibv_flow_action *verbs_create_flow_action_esp(struct ibv_context *context,
                                                     struct ibv_flow_action_esp_attr *attr)
{
    (void)context;
    (void)attr;
    return verbs_fail_null(EOPNOTSUPP, "there is no IPsec in a device of software");
}

struct ibv_counters *verbs_create_counters(struct ibv_context *context, struct ibv_counters_init_attr *attr)
{
    (void)context;
    (void)attr;
    return verbs_fail_null(EOPNOTSUPP, "counters of flows: packets are not steered by flows");
}

int verbs_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr)
{
    return verbs_fail(EOPNOTSUPP, "queue pair 0x%06x: rates are not limited (to %u kbit/s)", qp->qp_num,
                      attr->rate_limit);
}

int verbs_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad)
{
    (void)srq;
    *bad = wr;
    return verbs_fail(EOPNOTSUPP, "there is no tag matching");
}

struct ibv_wq *verbs_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr)
{
    (void)context;
    return verbs_fail_null(EOPNOTSUPP, "there are no work queues of raw packets (of %u receives)",
                           attr->max_wr);
}

struct ibv_rwq_ind_table *verbs_create_rwq_ind_table(struct ibv_context *context,
                                                     struct ibv_rwq_ind_table_init_attr *attr)
{
    (void)context;
    (void)attr;
    return verbs_fail_null(EOPNOTSUPP, "there are no work queues of raw packets to choose among");
}
