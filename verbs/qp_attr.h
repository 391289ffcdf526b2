/* SPDX-License-Identifier: BSD-2-Clause */
/* The attributes of queue pairs, translated for both libraries. Internal to verbs/. */
#ifndef NORNIC_VERBS_QP_ATTR_H
#define NORNIC_VERBS_QP_ATTR_H

#include <infiniband/verbs.h>

#include "nornic/qp.h"

/* Returns the attributes of nornic as those of libibverbs, without the paths and the limits. */
static inline struct ibv_qp_attr verbs_qp_attr_of(const struct nornic_qp_attr *from)
{
    return (struct ibv_qp_attr){
        .qp_state = (enum ibv_qp_state)from->state,
        .cur_qp_state = (enum ibv_qp_state)from->cur_state,
        .path_mtu = (enum ibv_mtu)from->path_mtu,
        .path_mig_state = (enum ibv_mig_state)from->path_mig_state,
        .qkey = from->qkey,
        .rq_psn = from->rq_psn,
        .sq_psn = from->sq_psn,
        .dest_qp_num = from->dest_qpn,
        .qp_access_flags = from->access_flags,
        .pkey_index = from->pkey_index,
        .alt_pkey_index = from->alt_pkey_index,
        .en_sqd_async_notify = from->en_sqd_async_notify,
        .max_rd_atomic = from->max_rd_atomic,
        .max_dest_rd_atomic = from->max_dest_rd_atomic,
        .min_rnr_timer = from->min_rnr_timer,
        .port_num = from->port,
        .timeout = from->timeout,
        .retry_cnt = from->retry_cnt,
        .rnr_retry = from->rnr_retry,
        .alt_timeout = from->alt_timeout,
    };
}

/* Returns the plain attributes of a new queue pair as extended ones, with the protection domain `pd`. */
static inline struct ibv_qp_init_attr_ex verbs_qp_init_ex(const struct ibv_qp_init_attr *init,
                                                          struct ibv_pd *pd)
{
    return (struct ibv_qp_init_attr_ex){
        .qp_context = init->qp_context,
        .send_cq = init->send_cq,
        .recv_cq = init->recv_cq,
        .srq = init->srq,
        .cap = init->cap,
        .qp_type = init->qp_type,
        .sq_sig_all = init->sq_sig_all,
        .comp_mask = IBV_QP_INIT_ATTR_PD,
        .pd = pd,
    };
}

#endif
