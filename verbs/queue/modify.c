/* SPDX-License-Identifier: BSD-2-Clause */
/* Attributes of queue pairs: changed and asked. */
#include <errno.h>

#include "verbs/memory/av.h"
#include "verbs/faults/faults.h"
#include "verbs/object.h"
#include "verbs/qp_attr.h"

#define REMOTE_RIGHTS (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

static struct nornic_qp_attr attr_of(const struct ibv_qp_attr *attr)
{
    return (struct nornic_qp_attr){
        .state = (enum nornic_qp_state)attr->qp_state,
        .cur_state = (enum nornic_qp_state)attr->cur_qp_state,
        .en_sqd_async_notify = attr->en_sqd_async_notify,
        .access_flags = attr->qp_access_flags & REMOTE_RIGHTS, /* local ones are not the queue pair's */
        .pkey_index = attr->pkey_index,
        .port = attr->port_num,
        .qkey = attr->qkey,
        .path_mtu = (enum nornic_mtu)attr->path_mtu,
        .timeout = attr->timeout,
        .retry_cnt = attr->retry_cnt,
        .rnr_retry = attr->rnr_retry,
        .min_rnr_timer = attr->min_rnr_timer,
        .rq_psn = attr->rq_psn,
        .sq_psn = attr->sq_psn,
        .max_rd_atomic = attr->max_rd_atomic,
        .max_dest_rd_atomic = attr->max_dest_rd_atomic,
        .dest_qpn = attr->dest_qp_num,
        .alt_pkey_index = attr->alt_pkey_index,
        .alt_timeout = attr->alt_timeout,
        .path_mig_state =
            (unsigned)attr->path_mig_state <= IBV_MIG_ARMED ? (uint8_t)attr->path_mig_state : UINT8_MAX,
    };
}

/* Drops the completions of before a RESET. */
static void discard(struct ibv_cq *cq, uint32_t qp_num)
{
    if (!cq)
        return;
    nornic_cq_discard(verbs_cq_of(cq)->nornic, qp_num);
    if (verbs_cq_of(cq)->hold)
        verbs_hold_drop(verbs_cq_of(cq)->hold, qp_num);
}

/* Drops the attributes that a half of XRC does not use, as the kernel's interface for programs does: perftest
 * gives both halves what an RC queue pair needs. */
static uint32_t mask_of(enum ibv_qp_type type, int attr_mask)
{
    int unused = 0;
    if (type == IBV_QPT_XRC_SEND)
        unused = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
    else if (type == IBV_QPT_XRC_RECV)
        unused = IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY;
    return (uint32_t)(attr_mask & ~unused);
}

/* The two address vectors. 0 or an errno value. */
static int take_paths(struct verbs_context_own *own, const struct ibv_qp_attr *attr, int attr_mask,
                      struct nornic_qp_attr *wanted)
{
    int err = attr_mask & IBV_QP_AV ? -verbs_av_of(own, &attr->ah_attr, &wanted->av) : 0;
    if (err || !(attr_mask & IBV_QP_ALT_PATH))
        return err;
    if (attr->alt_port_num != VERBS_PORT_NUM)
        return verbs_fail(EINVAL, "the alternate path is of port %u of 1", attr->alt_port_num);
    return -verbs_av_of(own, &attr->alt_ah_attr, &wanted->alt_av);
}

int ibv_modify_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask)
{
    struct verbs_qp *qp = verbs_qp_of(base);
    if (verbs_object_need(VERBS_QP, qp))
        return EINVAL;
    if (verbs_is_inherited(base->context))
        return verbs_fail(EIO, "queue pair 0x%06x is the parent's", base->qp_num);
    struct verbs_context_own *own = verbs_own(base->context);
    struct nornic_qp_attr wanted = attr_of(attr);
    if (attr_mask & IBV_QP_RATE_LIMIT)
        return verbs_fail(EOPNOTSUPP, "rates are not limited");
    int err = take_paths(own, attr, attr_mask, &wanted);
    if (err)
        return err;
    err = -nornic_qp_modify(qp->nornic, &wanted, mask_of(base->qp_type, attr_mask));
    if (err)
        return verbs_fail(err, "queue pair 0x%06x in %s cannot be changed to %s with mask 0x%x", base->qp_num,
                          nornic_qp_state_name(nornic_qp_state(qp->nornic)),
                          attr_mask & IBV_QP_STATE ? nornic_qp_state_name(wanted.state) : "the same",
                          (unsigned)attr_mask);
    if (attr_mask & IBV_QP_ACCESS_FLAGS)
        qp->access_flags = attr->qp_access_flags;
    base->state = (enum ibv_qp_state)nornic_qp_state(qp->nornic);
    if (base->state == IBV_QPS_RESET) {
        discard(base->send_cq, base->qp_num);
        discard(base->recv_cq, base->qp_num);
    }
    return 0;
}

int ibv_query_qp(struct ibv_qp *base, struct ibv_qp_attr *attr, int attr_mask, struct ibv_qp_init_attr *init)
{
    struct verbs_qp *qp = verbs_qp_of(base);
    struct nornic_qp_attr now;
    (void)attr_mask; /* all of it costs no more */
    if (verbs_object_need(VERBS_QP, qp))
        return EINVAL;
    nornic_qp_query(qp->nornic, &now, NULL);
    *attr = verbs_qp_attr_of(&now);
    attr->cur_qp_state = attr->qp_state;
    attr->qp_access_flags |= qp->access_flags & ~(unsigned)REMOTE_RIGHTS;
    attr->cap = qp->init.cap;
    attr->alt_port_num = nornic_addr_is_zero(&now.alt_av.dgid) ? 0 : VERBS_PORT_NUM;
    verbs_ah_attr_of(&now.av, &attr->ah_attr);
    verbs_ah_attr_of(&now.alt_av, &attr->alt_ah_attr);
    base->state = attr->qp_state;
    if (init)
        *init = qp->init;
    return 0;
}

int ibv_query_qp_data_in_order(struct ibv_qp *qp, enum ibv_wr_opcode op, uint32_t flags)
{
    (void)qp;
    (void)op;
    (void)flags;
    return 0; /* packets are copied, and sent again, in pieces */
}

/* --- enhanced connection establishment: no vendor's --- */

int ibv_set_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    return ece->vendor_id ? verbs_fail(EOPNOTSUPP, "ECE of vendor 0x%x", ece->vendor_id) : 0;
}

int ibv_query_ece(struct ibv_qp *qp, struct ibv_ece *ece)
{
    (void)qp;
    *ece = (struct ibv_ece){0};
    return 0;
}
