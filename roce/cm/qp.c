/* SPDX-License-Identifier: BSD-2-Clause */
/* The application's QP on its way through the states: the values of ROCE section 16.3, as Linux's rdma_cm
 * sets them (ROCE-INT-23 to 25). */
#include <errno.h>

#include "roce/cm/id.h"

void roce_cm_take_options(struct roce_cm_id *id, const struct nornic_conn_param *param)
{
    if (param->has_traffic_class)
        id->path.av.traffic_class = param->traffic_class;
    id->has_ack_timeout = param->has_ack_timeout;
    id->ack_timeout = param->ack_timeout;
}

int roce_cm_qp_bind(struct roce_cm_id *id, struct roce_qp *qp, const struct nornic_conn_param *param)
{
    struct roce_cm *cm = id->cm;
    uint32_t qpn = qp ? roce_qp_num(qp) : param->qp_num;
    bool shared = id->space == NORNIC_PS_UDP; /* a UD QP answers many */
    struct roce_cm_key key = roce_cm_qpn_key(0, qpn);
    if (qpn < 2 || qpn >= ROCE_MULTICAST_QPN)
        return -EINVAL;
    if (!shared && roce_cm_table_find(&cm->by_local_qpn, key))
        return -EADDRINUSE;
    if (!shared)
        roce_cm_table_add(&cm->by_local_qpn, &id->by_local_qpn, key, id);
    id->qp = qp;
    id->local_qpn = qpn;
    id->srq = param->srq;
    id->own_flow_control = param->flow_control;
    id->qkey = param->qkey ? param->qkey : NORNIC_CM_QKEY;
    return 0;
}

void roce_cm_qp_unbind(struct roce_cm_id *id)
{
    roce_cm_table_remove(&id->cm->by_local_qpn, &id->by_local_qpn);
    id->qp = NULL;
}

void roce_cm_forget_qp(struct roce_cm_id *id)
{
    id->qp = NULL;
}

/* ROCE-INT-24: writing is always allowed, reading where it was agreed on. */
static uint32_t access_flags(const struct roce_cm_id *id)
{
    uint32_t flags = NORNIC_ACCESS_REMOTE_WRITE;
    if (id->terms.responder_resources > 0)
        flags |= NORNIC_ACCESS_REMOTE_READ | NORNIC_ACCESS_REMOTE_ATOMIC;
    return flags;
}

static uint32_t init_attr(const struct roce_cm_id *id, struct nornic_qp_attr *attr)
{
    attr->port = 1;
    attr->pkey_index = id->path.pkey_index;
    attr->access_flags = access_flags(id);
    attr->qkey = id->qkey ? id->qkey : NORNIC_CM_QKEY; /* one that has a queue pair says which */
    return NORNIC_QP_PORT | NORNIC_QP_PKEY_INDEX |
           (id->space == NORNIC_PS_UDP ? NORNIC_QP_QKEY : NORNIC_QP_ACCESS_FLAGS);
}

static uint32_t rtr_attr(const struct roce_cm_id *id, struct nornic_qp_attr *attr)
{
    if (id->space == NORNIC_PS_UDP)
        return 0;
    attr->av = id->path.av;
    attr->path_mtu = (enum nornic_mtu)id->terms.path_mtu;
    attr->dest_qpn = id->remote_qpn;
    attr->rq_psn = id->terms.rq_psn;
    if (id->qp_type == NORNIC_QPT_XRC_INI) /* which answers nothing: ROCE-XRC-1 */
        return NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN;
    attr->max_dest_rd_atomic = id->terms.responder_resources;
    attr->min_rnr_timer = 0; /* ROCE-INT-23 */
    return NORNIC_QP_AV | NORNIC_QP_PATH_MTU | NORNIC_QP_DEST_QPN | NORNIC_QP_RQ_PSN |
           NORNIC_QP_MAX_DEST_RD_ATOMIC | NORNIC_QP_MIN_RNR_TIMER;
}

static uint32_t rts_attr(const struct roce_cm_id *id, struct nornic_qp_attr *attr)
{
    attr->sq_psn = id->terms.sq_psn;
    if (id->space == NORNIC_PS_UDP)
        return NORNIC_QP_SQ_PSN;
    attr->timeout = id->has_ack_timeout ? id->ack_timeout : id->terms.ack_timeout;
    if (id->qp_type == NORNIC_QPT_XRC_TGT) /* which asks for nothing */
        return NORNIC_QP_SQ_PSN | NORNIC_QP_TIMEOUT;
    attr->retry_cnt = id->terms.retry_count; /* ROCE-CM-32 */
    attr->rnr_retry = id->terms.rnr_retry_count;
    attr->max_rd_atomic = id->terms.initiator_depth;
    return NORNIC_QP_SQ_PSN | NORNIC_QP_TIMEOUT | NORNIC_QP_RETRY_CNT | NORNIC_QP_RNR_RETRY |
           NORNIC_QP_MAX_QP_RD_ATOMIC;
}

int roce_cm_qp_attr(const struct roce_cm_id *id, enum nornic_qp_state to, struct nornic_qp_attr *attr,
                    uint32_t *mask)
{
    bool peer_is_known = id->remote_qpn != 0 || id->space == NORNIC_PS_UDP;
    if (id->state == ROCE_CM_LISTEN_STATE || (!id->was_used && to != NORNIC_QPS_INIT))
        return -EINVAL;
    if (to != NORNIC_QPS_INIT && !((to == NORNIC_QPS_RTR || to == NORNIC_QPS_RTS) && peer_is_known))
        return -EINVAL;
    *attr = (struct nornic_qp_attr){.state = to};
    *mask = NORNIC_QP_STATE | (to == NORNIC_QPS_INIT  ? init_attr(id, attr)
                               : to == NORNIC_QPS_RTR ? rtr_attr(id, attr)
                                                      : rts_attr(id, attr));
    return 0;
}

int roce_cm_qp_move(struct roce_cm_id *id, enum nornic_qp_state to, uint64_t now_ns)
{
    struct nornic_qp_attr attr;
    uint32_t mask;
    if (!id->qp || (id->space == NORNIC_PS_UDP && roce_qp_state(id->qp) >= to))
        return 0;
    int err = roce_cm_qp_attr(id, to, &attr, &mask);
    if (!err && to == NORNIC_QPS_RTR && !(id->flow_control && id->own_flow_control))
        roce_qp_no_credits(id->qp);
    return err ? err : roce_qp_modify(id->qp, &attr, mask, now_ns);
}

void roce_cm_qp_error(struct roce_cm_id *id, uint64_t now_ns)
{
    struct nornic_qp_attr attr = {.state = NORNIC_QPS_ERR};
    if (id->qp && id->space != NORNIC_PS_UDP && roce_qp_state(id->qp) != NORNIC_QPS_RESET)
        roce_qp_modify(id->qp, &attr, NORNIC_QP_STATE, now_ns);
}
