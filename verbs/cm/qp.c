/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs and SRQs of ids, with the completion queues that a program does not bring itself. */
#include <errno.h>

#include <rdma/rdma_verbs.h>

#include "verbs/cm/cma.h"
#include "verbs/qp_attr.h"

/* --- completion queues --- */

static void destroy_cqs(struct cma_id *id)
{
    struct rdma_cm_id *b = &id->base;
    if (!id->made.has_cqs)
        return;
    if (b->send_cq && b->send_cq != b->recv_cq)
        ibv_destroy_cq(b->send_cq);
    if (b->send_cq_channel && b->send_cq_channel != b->recv_cq_channel)
        ibv_destroy_comp_channel(b->send_cq_channel);
    b->send_cq = NULL;
    b->send_cq_channel = NULL;
    id->made.has_cqs = false;
    if (id->made.has_srq_cq) /* the SRQ's, and goes with that */
        return;
    if (b->recv_cq)
        ibv_destroy_cq(b->recv_cq);
    if (b->recv_cq_channel)
        ibv_destroy_comp_channel(b->recv_cq_channel);
    b->recv_cq = NULL;
    b->recv_cq_channel = NULL;
}

/* A channel with a queue in it. */
static int make_cq(struct cma_id *id, uint32_t entries, struct ibv_comp_channel **channel, struct ibv_cq **cq)
{
    *channel = ibv_create_comp_channel(id->base.verbs);
    *cq = *channel ? ibv_create_cq(id->base.verbs, (int)max_u32(entries, 1), &id->base, *channel, 0) : NULL;
    if (!*cq && *channel) {
        int err = errno;
        ibv_destroy_comp_channel(*channel);
        *channel = NULL;
        errno = err;
    }
    return *cq ? 0 : -1;
}

static int make_cqs(struct cma_id *id, struct ibv_qp_init_attr_ex *attr)
{
    struct rdma_cm_id *b = &id->base;
    const bool receives = attr->qp_type != IBV_QPT_XRC_SEND;
    int err = 0;
    if (attr->qp_type == IBV_QPT_XRC_RECV) /* its receives complete at the CQ of the SRQ */
        return 0;
    id->made.has_cqs = true; /* those that are none of its own stay NULL here */
    if (receives && !attr->recv_cq && !attr->srq)
        err = make_cq(id, attr->cap.max_recv_wr, &b->recv_cq_channel, &b->recv_cq);
    else if (!attr->recv_cq && b->srq)
        attr->recv_cq = b->recv_cq;
    if (!err && !attr->send_cq)
        err = make_cq(id, attr->cap.max_send_wr, &b->send_cq_channel, &b->send_cq);
    if (err) {
        destroy_cqs(id);
        return err;
    }
    if (!attr->recv_cq)
        attr->recv_cq = b->recv_cq ? b->recv_cq : attr->send_cq ? attr->send_cq : b->send_cq;
    if (!attr->send_cq)
        attr->send_cq = b->send_cq;
    return 0;
}

/* --- queue pairs --- */

/* A datagram's peer is named with each send, so its queue pair is ready at once. */
static int ready_datagrams(struct ibv_qp *qp)
{
    struct ibv_qp_attr to = {.qp_state = IBV_QPS_RTR};
    int err = ibv_modify_qp(qp, &to, IBV_QP_STATE);
    to.qp_state = IBV_QPS_RTS;
    return err ? err : ibv_modify_qp(qp, &to, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* INIT, so that receives can be posted. By hand: an id that listens for no device yet has no connection. */
static int ready(struct ibv_qp *qp)
{
    bool is_datagram = qp->qp_type == IBV_QPT_UD;
    struct ibv_qp_attr to = {
        .qp_state = IBV_QPS_INIT,
        .port_num = VERBS_PORT_NUM,
        .qkey = NORNIC_CM_QKEY,
        .qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
    };
    int err = ibv_modify_qp(qp, &to,
                            IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
                                (is_datagram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
    return err || !is_datagram ? err : ready_datagrams(qp);
}

int rdma_create_qp_ex(struct rdma_cm_id *base, struct ibv_qp_init_attr_ex *attr)
{
    struct cma_id *id = cma_id_of(base);
    if (base->qp)
        return cma_fail(EINVAL, "the id has a queue pair");
    if (attr->qp_type != base->qp_type)
        return cma_fail(EINVAL, "a queue pair of type %u for an id of type %u", (unsigned)attr->qp_type,
                        (unsigned)base->qp_type);
    if ((base->recv_cq && attr->recv_cq && base->recv_cq != attr->recv_cq) ||
        (base->send_cq && attr->send_cq && base->send_cq != attr->send_cq))
        return cma_fail(EINVAL, "the id has another completion queue");
    if (!(attr->comp_mask & IBV_QP_INIT_ATTR_PD)) {
        attr->comp_mask |= IBV_QP_INIT_ATTR_PD;
        attr->pd = base->pd;
    }
    if (!base->verbs || !attr->pd || attr->pd->context != base->verbs)
        return cma_fail(EINVAL, "the id is on no device, or the protection domain is of another one");
    if (attr->srq == NULL)
        attr->srq = base->srq;
    if (attr->qp_type == IBV_QPT_XRC_RECV && !(attr->comp_mask & IBV_QP_INIT_ATTR_XRCD)) {
        attr->xrcd = cma_xrcd(id->device);
        attr->comp_mask |= IBV_QP_INIT_ATTR_XRCD;
        if (!attr->xrcd)
            return -1;
    }
    if (make_cqs(id, attr))
        return -1;
    base->qp = ibv_create_qp_ex(base->verbs, attr);
    int err = base->qp ? ready(base->qp) : errno;
    if (err) {
        if (base->qp)
            ibv_destroy_qp(base->qp);
        base->qp = NULL;
        destroy_cqs(id);
        errno = err;
        return -1;
    }
    base->pd = attr->pd;
    return 0;
}

int rdma_create_qp(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_qp_init_attr_ex attr = verbs_qp_init_ex(init, pd ? pd : id->pd);
    int err = rdma_create_qp_ex(id, &attr);
    if (!err)
        init->cap = attr.cap;
    return err;
}

void rdma_destroy_qp(struct rdma_cm_id *base)
{
    struct cma_id *id = cma_id_of(base);
    struct cma_group *group;
    for (group = LIST_FIRST(&id->groups); group; group = LIST_NEXT(group, entry))
        if (group->is_attached && base->qp) {
            union ibv_gid gid;
            __builtin_memcpy(gid.raw, group->addr.b, sizeof gid.raw);
            group->is_attached = ibv_detach_mcast(base->qp, &gid, 0) != 0;
        }
    if (base->qp)
        ibv_destroy_qp(base->qp);
    base->qp = NULL;
    destroy_cqs(id);
}

/* --- SRQs --- */

static void destroy_srq_cq(struct cma_id *id)
{
    if (!id->made.has_srq_cq)
        return;
    ibv_destroy_cq(id->base.recv_cq);
    ibv_destroy_comp_channel(id->base.recv_cq_channel);
    id->base.recv_cq = NULL;
    id->base.recv_cq_channel = NULL;
    id->made.has_srq_cq = false;
}

/* An SRQ of XRC has a domain, and a completion queue of its own. 0 or -1. */
static int complete_xrc(struct cma_id *id, struct ibv_srq_init_attr_ex *attr)
{
    struct rdma_cm_id *b = &id->base;
    if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_XRCD)) {
        attr->xrcd = cma_xrcd(id->device);
        attr->comp_mask |= IBV_SRQ_INIT_ATTR_XRCD;
        if (!attr->xrcd)
            return -1;
    }
    if (attr->comp_mask & IBV_SRQ_INIT_ATTR_CQ)
        return 0;
    if (make_cq(id, attr->attr.max_wr, &b->recv_cq_channel, &b->recv_cq))
        return -1;
    id->made.has_srq_cq = true;
    attr->cq = b->recv_cq;
    attr->comp_mask |= IBV_SRQ_INIT_ATTR_CQ;
    return 0;
}

int rdma_create_srq_ex(struct rdma_cm_id *base, struct ibv_srq_init_attr_ex *attr)
{
    struct cma_id *id = cma_id_of(base);
    bool is_xrc = (attr->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) && attr->srq_type == IBV_SRQT_XRC;
    if (base->srq)
        return cma_fail(EINVAL, "the id has an SRQ");
    if (!(attr->comp_mask & IBV_SRQ_INIT_ATTR_PD)) {
        attr->comp_mask |= IBV_SRQ_INIT_ATTR_PD;
        attr->pd = base->pd;
    }
    if (!base->verbs || !attr->pd || attr->pd->context != base->verbs)
        return cma_fail(EINVAL, "the id is on no device, or the protection domain is of another one");
    if (is_xrc && complete_xrc(id, attr))
        return -1;
    base->srq = ibv_create_srq_ex(base->verbs, attr);
    if (!base->srq) {
        int err = errno;
        destroy_srq_cq(id);
        errno = err;
        return -1;
    }
    return 0;
}

int rdma_create_srq(struct rdma_cm_id *id, struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    struct ibv_srq_init_attr_ex attr = {.srq_context = init->srq_context,
                                        .attr = init->attr,
                                        .comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
                                        .srq_type =
                                            id->qp_type == IBV_QPT_XRC_RECV ? IBV_SRQT_XRC : IBV_SRQT_BASIC,
                                        .pd = pd ? pd : id->pd};
    int err = rdma_create_srq_ex(id, &attr);
    if (!err)
        init->attr = attr.attr;
    return err;
}

void rdma_destroy_srq(struct rdma_cm_id *base)
{
    struct cma_id *id = cma_id_of(base);
    if (base->srq)
        ibv_destroy_srq(base->srq);
    base->srq = NULL;
    destroy_srq_cq(id);
}
