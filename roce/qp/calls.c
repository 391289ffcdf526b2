/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: creation, and the changes that an application makes. What each half does is in requester*.c
 * and responder*.c, what leads to ERR and SQE in error.c. */
#include "roce/qp/inner.h"

#include <errno.h>

#include "base/base.h"
#include "roce/requester/answers.h"
#include "roce/dev/av.h"
#include "roce/cc/cc.h"
#include "roce/dev/inner.h"
#include "roce/dev/path.h"
#include "roce/requester/probe.h"
#include "roce/qp/state.h"
#include "roce/responder/reorder.h"
#include "roce/qp/transport.h"

#define MASKED_ATOMICS \
    (RDMA_SENDS(NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP) | RDMA_SENDS(NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD))

/* Which objects a QP of the type is made of: ROCE-XRC-1, XRC-2. */
static bool objects_fit(const struct roce_qp_config *c)
{
    if (c->type == NORNIC_QPT_XRC_TGT)
        return c->xrcd && !c->pd && !c->send_cq && !c->recv_cq && !c->srq;
    if (c->type == NORNIC_QPT_XRC_INI)
        return c->pd && c->send_cq && !c->recv_cq && !c->srq && !c->xrcd;
    return c->pd && c->send_cq && c->recv_cq && !c->xrcd;
}

static int check_config(const struct roce_qp_config *c)
{
    if (!roce_transport_of(c->type))
        return -EOPNOTSUPP;
    if (!objects_fit(c))
        return -EINVAL;
    if ((c->caps.max_send_wr < 1 && c->type != NORNIC_QPT_XRC_TGT) || c->caps.max_send_wr > NORNIC_MAX_WR ||
        c->caps.max_recv_wr > NORNIC_MAX_WR || c->caps.max_send_sge > NORNIC_MAX_SGE ||
        c->caps.max_recv_sge > NORNIC_MAX_SGE || c->caps.max_inline_bytes > NORNIC_MAX_INLINE_BYTES ||
        c->reorder_pkts > NORNIC_MAX_REORDER_PKTS)
        return -EINVAL;
    return 0;
}

static void reset(struct roce_qp *qp)
{
    rdma_qp_reset(&qp->base);
    roce_requester_reset(qp, 0);
    roce_responder_reset(qp, 0);
    roce_reorder_clear(qp);
    qp->peer = (struct roce_selective_peer){0};
    roce_cc_reset(qp);
    qp->is_drained = false;
    qp->has_alt = false;
    qp->attr.path_mig_state = ROCE_PATH_MIGRATED;
}

static enum rdma_recv_source recv_source_of(const struct roce_qp_config *config)
{
    if (config->type == NORNIC_QPT_XRC_INI)
        return RDMA_RECV_NONE;
    if (config->type == NORNIC_QPT_XRC_TGT)
        return RDMA_RECV_XRC;
    return config->srq ? RDMA_RECV_SRQ : RDMA_RECV_OWN;
}

/* The neutral half: queues, and the QP as a user of its objects. */
static int init_base(struct roce_qp *qp, const struct roce_qp_config *config)
{
    const struct rdma_qp_parts parts = {
        .ops = &qp->transport->ops,
        .domain = qp->dev->domain,
        .sends = qp->transport->sends & ~(qp->dev->config.masked_atomics ? 0 : MASKED_ATOMICS),
        .is_datagram = !qp->transport->is_connected,
        .sq_sig_all = config->sq_sig_all,
        .recv_source = recv_source_of(config),
        .pd = config->pd,
        .send_cq = config->send_cq,
        .recv_cq = config->recv_cq,
        .srq = config->srq,
        .xrcd = config->xrcd,
        .caps = config->caps,
        .ctx = config->ctx,
    };
    return rdma_qp_init(&qp->base, &parts);
}

static int init_parts(struct roce_qp *qp, const struct roce_qp_config *config)
{
    int err = config->reorder_pkts ? roce_reorder_init(qp, config->reorder_pkts) : 0;
    if (!err)
        err = roce_responder_init(qp);
    if (!err)
        err = roce_cc_init(qp);
    return err ? err : roce_dev_add_qp(qp->dev, qp);
}

/* Also after init_parts() has failed. */
static void free_qp(struct roce_qp *qp)
{
    rdma_qp_deinit(&qp->base);
    roce_cc_deinit(qp);
    roce_responder_deinit(qp);
    roce_reorder_deinit(qp);
    roce_free(qp->dev, qp);
}

int roce_qp_create(struct roce_dev *dev, const struct roce_qp_config *config, struct roce_qp **out)
{
    int err = check_config(config);
    if (!err && !roce_transport_of(config->type)->is_connected && !nornic_mtu_for_port(dev->port_mtu_bytes))
        err = -EMSGSIZE;
    if (err)
        return err;
    struct roce_qp *qp = roce_alloc(dev, sizeof *qp);
    if (!qp)
        return -ENOMEM;
    qp->dev = dev;
    qp->type = config->type;
    qp->transport = roce_transport_of(config->type);
    qp->e2e_credits = config->e2e_credits && !config->xrcd; /* ROCE-RS-53: who knows for which SRQ? */
    qp->block_multicast_loopback = config->block_multicast_loopback;
    if (!qp->transport->is_connected) /* ROCE-UD-1 */
        qp->pmtu_bytes = nornic_mtu_bytes(nornic_mtu_for_port(dev->port_mtu_bytes));
    err = init_base(qp, config);
    if (err) {
        roce_free(dev, qp);
        return err;
    }
    err = init_parts(qp, config);
    if (err) {
        free_qp(qp);
        return err;
    }
    reset(qp);
    *out = qp;
    return 0;
}

int roce_qp_destroy(struct roce_qp *qp)
{
    if (qp->groups)
        return -EBUSY;
    struct roce_dev *dev = qp->dev;
    rdma_timer_cancel(&dev->timers, &qp->req.timer);
    roce_probe_stop(qp);
    roce_answers_clear(qp);
    roce_qp_end_reach(qp);
    roce_dev_remove_qp(dev, qp);
    if (dev->config.qp_gone)
        dev->config.qp_gone(dev->config.ctx, qp);
    free_qp(qp);
    return 0;
}

/* --- modify --- */

/* Checks a change against the device's GIDs, its MTU and the send queue. The table of state.c checks all
 * else. */
static int check_against_device(const struct roce_qp *qp, const struct nornic_qp_attr *a, uint32_t mask,
                                enum nornic_qp_state next)
{
    if (mask & NORNIC_QP_AV && !roce_av_is_of_peer(qp->dev, &a->av))
        return -EINVAL;
    if (!roce_path_change_is_valid(qp, a, mask))
        return -EINVAL;
    if (mask & NORNIC_QP_PKEY_INDEX && !roce_dev_pkey_get(qp->dev, a->pkey_index))
        return -EINVAL;
    if (mask & NORNIC_QP_PATH_MTU && a->path_mtu > nornic_mtu_for_port(qp->dev->port_mtu_bytes))
        return -EINVAL;
    /* ROCE-QP-31: SQD is left for RTS, or changed, only when it has drained. */
    if (roce_qp_state_now(qp) == NORNIC_QPS_SQD && !qp->is_drained &&
        (next == NORNIC_QPS_RTS || next == NORNIC_QPS_SQD))
        return -EINVAL;
    return 0;
}

static void merge(struct nornic_qp_attr *to, const struct nornic_qp_attr *a, uint32_t mask)
{
    to->en_sqd_async_notify = mask & NORNIC_QP_EN_SQD_ASYNC_NOTIFY ? a->en_sqd_async_notify : false;
    if (mask & NORNIC_QP_ACCESS_FLAGS)
        to->access_flags = a->access_flags;
    if (mask & NORNIC_QP_PKEY_INDEX)
        to->pkey_index = a->pkey_index;
    if (mask & NORNIC_QP_PORT)
        to->port = a->port;
    if (mask & NORNIC_QP_QKEY)
        to->qkey = a->qkey;
    if (mask & NORNIC_QP_AV)
        to->av = a->av;
    if (mask & NORNIC_QP_PATH_MTU)
        to->path_mtu = a->path_mtu;
    if (mask & NORNIC_QP_TIMEOUT)
        to->timeout = a->timeout;
    if (mask & NORNIC_QP_RETRY_CNT)
        to->retry_cnt = a->retry_cnt;
    if (mask & NORNIC_QP_RNR_RETRY)
        to->rnr_retry = a->rnr_retry;
    if (mask & NORNIC_QP_RQ_PSN)
        to->rq_psn = a->rq_psn & ROCE_PSN_MASK;
    if (mask & NORNIC_QP_MAX_QP_RD_ATOMIC)
        to->max_rd_atomic = a->max_rd_atomic;
    if (mask & NORNIC_QP_MIN_RNR_TIMER)
        to->min_rnr_timer = a->min_rnr_timer;
    if (mask & NORNIC_QP_SQ_PSN)
        to->sq_psn = a->sq_psn & ROCE_PSN_MASK;
    if (mask & NORNIC_QP_MAX_DEST_RD_ATOMIC)
        to->max_dest_rd_atomic = a->max_dest_rd_atomic;
    if (mask & NORNIC_QP_DEST_QPN)
        to->dest_qpn = a->dest_qpn;
    if (mask & NORNIC_QP_ALT_PATH) {
        to->alt_av = a->alt_av;
        to->alt_pkey_index = a->alt_pkey_index;
        to->alt_timeout = a->alt_timeout;
    }
    if (mask & NORNIC_QP_PATH_MIG_STATE && a->path_mig_state == ROCE_PATH_REARM)
        to->path_mig_state = ROCE_PATH_REARM;
}

/* max_dest_rd_atomic sizes the responder's rings, so a change may fail for want of memory; nothing is lost
 * then. */
static int resize_responder(struct roce_qp *qp, uint8_t max_dest_rd_atomic)
{
    uint8_t old = qp->attr.max_dest_rd_atomic;
    struct roce_responder kept = qp->resp;
    if (max_dest_rd_atomic == old)
        return 0;
    qp->attr.max_dest_rd_atomic = max_dest_rd_atomic;
    int err = roce_responder_init(qp);
    if (err) {
        qp->resp = kept;
        qp->attr.max_dest_rd_atomic = old;
        return err;
    }
    roce_responder_carry_over(qp, &kept, old);
    roce_free(qp->dev, kept.resources);
    roce_free(qp->dev, kept.queue);
    return 0;
}

static void enter_state(struct roce_qp *qp, enum nornic_qp_state from, enum nornic_qp_state next,
                        uint64_t now_ns)
{
    if (next == NORNIC_QPS_ERR && from != NORNIC_QPS_ERR) {
        roce_qp_enter_error(qp, ROCE_CAUSE_MODIFY, now_ns);
        return;
    }
    roce_qp_set_state(qp, next, ROCE_CAUSE_MODIFY, now_ns);
    if (next == NORNIC_QPS_RESET)
        reset(qp);
    if (next == NORNIC_QPS_RTR && from == NORNIC_QPS_INIT)
        roce_responder_reset(qp, qp->attr.rq_psn);
    if (next == NORNIC_QPS_RTS && from == NORNIC_QPS_RTR)
        roce_requester_reset(qp, qp->attr.sq_psn);
    if (next == NORNIC_QPS_SQD && from == NORNIC_QPS_RTS) {
        qp->is_drained = false;
        roce_requester_check_drained(qp);
    }
    if (next == NORNIC_QPS_SQD && from == NORNIC_QPS_SQD) {
        /* Nothing is outstanding, so the next message has the counts that are in force now: ROCE-QP-27. */
        qp->req.retry_left = qp->attr.retry_cnt;
        qp->req.rnr_left = qp->attr.rnr_retry;
    }
    roce_dev_ready(qp->dev, qp);
}

/* Of two requests under way each may be for half of what fits. */
static uint32_t read_pkts_of(const struct roce_qp *qp)
{
    uint32_t bytes = qp->dev->config.answer_bytes;
    return bytes ? max_u32(bytes / 2 / qp->pmtu_bytes, 1) : 0;
}

int roce_qp_modify(struct roce_qp *qp, const struct nornic_qp_attr *attr, uint32_t mask, uint64_t now_ns)
{
    enum nornic_qp_state cur = roce_qp_state_now(qp), next;
    int err = roce_qp_check_modify(qp->type, cur, attr, mask, &next);
    if (!err)
        err = check_against_device(qp, attr, mask, next);
    if (!err && mask & NORNIC_QP_MAX_DEST_RD_ATOMIC)
        err = resize_responder(qp, attr->max_dest_rd_atomic);
    if (err)
        return err;
    bool migrate = mask & NORNIC_QP_PATH_MIG_STATE && attr->path_mig_state == ROCE_PATH_MIGRATED;
    merge(&qp->attr, attr, mask);
    qp->has_alt |= (mask & NORNIC_QP_ALT_PATH) != 0;
    if (mask & NORNIC_QP_PATH_MTU) {
        qp->pmtu_bytes = nornic_mtu_bytes(qp->attr.path_mtu);
        qp->read_pkts = read_pkts_of(qp);
    }
    if (mask & (NORNIC_QP_AV | NORNIC_QP_DEST_QPN))
        roce_path_make(qp);
    if (migrate)
        roce_path_migrate(qp);
    enter_state(qp, cur, next, now_ns);
    return 0;
}

void roce_qp_no_credits(struct roce_qp *qp)
{
    qp->e2e_credits = false;
}

/* --- posts: what every transport does --- */

int roce_post_send(struct roce_qp *qp, const struct nornic_send_wr *wr, const struct nornic_send_wr **bad)
{
    return rdma_qp_post_send(&qp->base, wr, bad);
}

int roce_post_send_all(struct roce_qp *qp, const struct nornic_send_wr *wr)
{
    return rdma_qp_post_send_all(&qp->base, wr);
}

int roce_post_recv(struct roce_qp *qp, const struct nornic_recv_wr *wr, const struct nornic_recv_wr **bad)
{
    return rdma_qp_post_recv(&qp->base, wr, bad);
}

int roce_bind_mw(struct roce_qp *qp, struct rdma_mw *mw, uint64_t wr_id, uint32_t send_flags,
                 const struct nornic_bind *bind)
{
    return rdma_qp_bind_mw(&qp->base, mw, wr_id, send_flags, bind);
}

/* --- questions --- */

void roce_qp_query(const struct roce_qp *qp, struct nornic_qp_attr *attr, struct nornic_qp_caps *caps)
{
    if (attr) {
        *attr = qp->attr;
        attr->cur_state = roce_qp_state_now(qp);
        attr->sq_psn = qp->req.nxt_psn;
        attr->rq_psn = qp->resp.epsn;
    }
    if (caps)
        *caps = qp->base.caps;
}

uint32_t roce_qp_num(const struct roce_qp *qp)
{
    return qp->base.qpn;
}

enum nornic_qp_state roce_qp_state(const struct roce_qp *qp)
{
    return roce_qp_state_now(qp);
}

void *roce_qp_ctx(const struct roce_qp *qp)
{
    return qp->base.ctx;
}

const struct roce_counters *roce_qp_counters(const struct roce_qp *qp)
{
    return &qp->counters;
}

void roce_qp_outstanding(const struct roce_qp *qp, uint32_t *sends, uint32_t *recvs)
{
    rdma_qp_outstanding(&qp->base, sends, recvs);
}
