/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls that programs reach through a context's tables and not by name. Internal to verbs/. */
#ifndef NORNIC_VERBS_OPS_H
#define NORNIC_VERBS_OPS_H

#include "verbs/verbs.h"

/* verbs/device/query.c. `attr_bytes`: what the program has room for. */
int verbs_query_port(struct ibv_context *context, uint8_t port_num, struct ibv_port_attr *attr,
                     size_t attr_bytes);
int verbs_query_device_ex(struct ibv_context *context, const struct ibv_query_device_ex_input *input,
                          struct ibv_device_attr_ex *attr, size_t attr_bytes);
int verbs_query_rt_values(struct ibv_context *context, struct ibv_values_ex *values);

/* verbs/memory/pd.c */
struct ibv_td *verbs_alloc_td(struct ibv_context *context, struct ibv_td_init_attr *init);
int verbs_dealloc_td(struct ibv_td *td);
struct ibv_pd *verbs_alloc_parent_domain(struct ibv_context *context,
                                         struct ibv_parent_domain_init_attr *attr);

/* verbs/memory/mr.c */
struct ibv_mr *verbs_alloc_null_mr(struct ibv_pd *pd);
int verbs_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags, struct ibv_sge *sges,
                    uint32_t num_sges);

/* verbs/memory/dm.c */
struct ibv_dm *verbs_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr);
int verbs_free_dm(struct ibv_dm *dm);
struct ibv_mr *verbs_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t bytes,
                               unsigned access);

/* verbs/memory/mw.c */
struct ibv_mw *verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int verbs_dealloc_mw(struct ibv_mw *mw);
int verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);

/* verbs/queue/cq.c, verbs/queue/cq_ex.c */
int verbs_poll_cq(struct ibv_cq *cq, int num_entries, struct ibv_wc *wc);
int verbs_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int verbs_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init);

/* verbs/queue/srq.c */
int verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
struct ibv_srq *verbs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init);
int verbs_get_srq_num(struct ibv_srq *srq, uint32_t *number);
struct ibv_xrcd *verbs_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *init);
int verbs_close_xrcd(struct ibv_xrcd *xrcd);

/* verbs/queue/post.c */
int verbs_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

/* verbs/queue/qp.c */
struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init);
struct ibv_qp *verbs_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr);

/* verbs/abi/refused.c */
struct ibv_flow *verbs_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr);
struct ibv_flow_action *verbs_create_flow_action_esp(struct ibv_context *context,
                                                     struct ibv_flow_action_esp_attr *attr);
struct ibv_counters *verbs_create_counters(struct ibv_context *context, struct ibv_counters_init_attr *attr);
int verbs_modify_qp_rate_limit(struct ibv_qp *qp, struct ibv_qp_rate_limit_attr *attr);
int verbs_post_srq_ops(struct ibv_srq *srq, struct ibv_ops_wr *wr, struct ibv_ops_wr **bad);
struct ibv_wq *verbs_create_wq(struct ibv_context *context, struct ibv_wq_init_attr *attr);
struct ibv_rwq_ind_table *verbs_create_rwq_ind_table(struct ibv_context *context,
                                                     struct ibv_rwq_ind_table_init_attr *attr);

#endif
