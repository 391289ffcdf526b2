/* SPDX-License-Identifier: BSD-2-Clause */
/* Queue pairs: created, opened, destroyed; attached to groups. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "verbs/faults/faults.h"
#include "verbs/object.h"
#include "verbs/ops.h"
#include "verbs/qp_attr.h"
#include "verbs/queue/qp_ex.h"

#define KNOWN_MASK                                                                 \
    (IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_XRCD | IBV_QP_INIT_ATTR_CREATE_FLAGS | \
     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS)

/* --- life --- */

/* Returns the length of the list of pieces. Inline data in its place costs nothing, and adapters grant it
 * unasked; rdma_xclient counts on it. */
static uint32_t least_inline(const struct ibv_qp_cap *cap)
{
    return min_u32(max_u32(cap->max_send_sge, 1), NORNIC_MAX_SGE) * (uint32_t)sizeof(struct ibv_sge);
}

static struct nornic_qp_config config_of(const struct ibv_qp_init_attr_ex *init, struct verbs_qp *qp)
{
    bool is_target = init->qp_type == IBV_QPT_XRC_RECV, is_initiator = init->qp_type == IBV_QPT_XRC_SEND;
    bool receives = !is_target && !is_initiator;
    struct nornic_qp_config config = {
        NORNIC_INIT(config),
        .type = (enum nornic_qp_type)init->qp_type,
        .pd = init->pd && !is_target ? verbs_pd_of(init->pd)->nornic : NULL,
        .send_cq = init->send_cq && !is_target ? verbs_cq_of(init->send_cq)->nornic : NULL,
        .recv_cq = init->recv_cq && receives ? verbs_cq_of(init->recv_cq)->nornic : NULL,
        .srq = init->srq && receives ? verbs_srq_of(init->srq)->nornic : NULL,
        .xrcd = is_target ? verbs_xrcd_of(init->xrcd)->nornic : NULL,
        .caps = {.max_send_wr = max_u32(init->cap.max_send_wr, 1),
                 .max_recv_wr = init->cap.max_recv_wr,
                 .max_send_sge = init->cap.max_send_sge,
                 .max_recv_sge = init->cap.max_recv_sge,
                 .max_inline_bytes = max_u32(init->cap.max_inline_data, least_inline(&init->cap))},
        .sq_sig_all = init->sq_sig_all,
        .block_multicast_loopback = (init->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS) &&
                                    (init->create_flags & IBV_QP_CREATE_BLOCK_SELF_MCAST_LB),
        .ctx = qp,
    };
    return config;
}

static void grant(struct verbs_qp *qp, struct ibv_qp_cap *cap)
{
    struct nornic_qp_caps caps;
    nornic_qp_query(qp->nornic, NULL, &caps);
    *cap = (struct ibv_qp_cap){.max_send_wr = caps.max_send_wr,
                               .max_recv_wr = caps.max_recv_wr,
                               .max_send_sge = caps.max_send_sge,
                               .max_recv_sge = caps.max_recv_sge,
                               .max_inline_data = caps.max_inline_bytes};
}

static void describe(struct verbs_qp *qp, struct ibv_context *context, const struct ibv_qp_init_attr_ex *init)
{
    qp->init = (struct ibv_qp_init_attr){.qp_context = init->qp_context,
                                         .send_cq = init->send_cq,
                                         .recv_cq = init->recv_cq,
                                         .srq = init->srq,
                                         .cap = init->cap,
                                         .qp_type = init->qp_type,
                                         .sq_sig_all = init->sq_sig_all};
    qp->base.qp_base = (struct ibv_qp){.context = context,
                                       .qp_context = init->qp_context,
                                       .pd = init->pd,
                                       .send_cq = init->send_cq,
                                       .recv_cq = init->recv_cq,
                                       .srq = init->srq,
                                       .handle = verbs_object_number(VERBS_QP, qp, context),
                                       .qp_num = nornic_qp_num(qp->nornic),
                                       .state = IBV_QPS_RESET,
                                       .qp_type = init->qp_type};
    pthread_mutex_init(&qp->base.qp_base.mutex, NULL);
    pthread_cond_init(&qp->base.qp_base.cond, NULL);
}

/* Checks the objects that the attributes name. */
static int check_handles(const struct ibv_qp_init_attr_ex *init)
{
    bool is_target = init->qp_type == IBV_QPT_XRC_RECV,
         receives = !is_target && init->qp_type != IBV_QPT_XRC_SEND;
    int err = is_target ? verbs_object_need(VERBS_XRCD, init->xrcd) : verbs_object_need(VERBS_PD, init->pd);
    if (!err && init->send_cq && !is_target)
        err = verbs_object_need(VERBS_CQ, init->send_cq);
    if (!err && init->recv_cq && receives)
        err = verbs_object_need(VERBS_CQ, init->recv_cq);
    return !err && init->srq && receives ? verbs_object_need(VERBS_SRQ, init->srq) : err;
}

static int check(const struct ibv_qp_init_attr_ex *init)
{
    const uint32_t flags = init->comp_mask & IBV_QP_INIT_ATTR_CREATE_FLAGS ? init->create_flags : 0;
    bool is_target = init->qp_type == IBV_QPT_XRC_RECV;
    if ((init->comp_mask & ~(uint32_t)KNOWN_MASK) || (flags & ~(uint32_t)IBV_QP_CREATE_BLOCK_SELF_MCAST_LB))
        return verbs_fail(EOPNOTSUPP, "create_qp_ex: comp_mask 0x%x, create_flags 0x%x", init->comp_mask,
                          flags);
    if (init->qp_type == IBV_QPT_RAW_PACKET || init->qp_type == IBV_QPT_DRIVER)
        return verbs_fail(EOPNOTSUPP, "there are no queue pairs of type %u", (unsigned)init->qp_type);
    if (is_target ? !(init->comp_mask & IBV_QP_INIT_ATTR_XRCD) || !init->xrcd
                  : !(init->comp_mask & IBV_QP_INIT_ATTR_PD) || !init->pd)
        return verbs_fail(EINVAL, "a queue pair of type %u has no %s", (unsigned)init->qp_type,
                          is_target ? "XRC domain" : "protection domain");
    return check_handles(init);
}

static struct verbs_qp *create(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
    struct verbs_context_own *own = verbs_own(context);
    struct verbs_qp *qp = verbs_object_new(VERBS_QP, sizeof *qp);
    if (!qp)
        return verbs_fail_null(ENOMEM, "no memory for a queue pair");
    const struct nornic_qp_config config = config_of(init, qp);
    int err = verbs_fault_alloc(own->faults, VERBS_FAULT_OF_QP);
    if (!err)
        err = -nornic_qp_create(own->dev, &config, &qp->nornic);
    if (err) {
        verbs_object_free(VERBS_QP, qp);
        return verbs_fail_null(
            err,
            "a queue pair of type %u with %u sends of %u pieces, %u receives of %u, %u bytes "
            "inline was refused",
            (unsigned)init->qp_type, init->cap.max_send_wr, init->cap.max_send_sge, init->cap.max_recv_wr,
            init->cap.max_recv_sge, init->cap.max_inline_data);
    }
    if (own->faults)
        qp->serial = atomic_fetch_add(&own->faults->qps_made, 1) + 1;
    qp->xrcd = init->qp_type == IBV_QPT_XRC_RECV ? verbs_xrcd_of(init->xrcd)->nornic : NULL;
    grant(qp, &init->cap);
    describe(qp, context, init);
    pthread_mutex_lock(&own->lock);
    LIST_INSERT_HEAD(&own->qps, qp, entry);
    pthread_mutex_unlock(&own->lock);
    return qp;
}

struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
    struct ibv_qp_init_attr_ex all = verbs_qp_init_ex(init, pd);
    if (check(&all))
        return NULL;
    struct verbs_qp *qp = create(pd->context, &all);
    if (!qp)
        return NULL;
    init->cap = all.cap;
    return &qp->base.qp_base;
}

struct ibv_qp *verbs_create_qp_ex(struct ibv_context *context, struct ibv_qp_init_attr_ex *init)
{
    if (check(init))
        return NULL;
    if ((init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) &&
        verbs_check_send_ops(init->qp_type, init->send_ops_flags))
        return NULL;
    struct verbs_qp *qp = create(context, init);
    if (!qp)
        return NULL;
    if ((init->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS) && verbs_builder_add(qp, init->send_ops_flags)) {
        ibv_destroy_qp(&qp->base.qp_base);
        return NULL;
    }
    return &qp->base.qp_base;
}

static void free_name(struct verbs_qp *qp)
{
    pthread_mutex_destroy(&qp->base.qp_base.mutex);
    pthread_cond_destroy(&qp->base.qp_base.cond);
    verbs_object_free(VERBS_QP, qp);
}

/* Destroys the queue pair and its own parts. 0 or an errno value. */
static int destroy(struct verbs_qp *qp)
{
    struct ibv_qp *base = &qp->base.qp_base;
    struct verbs_context_own *own = verbs_own(base->context);
    if (qp->origin) {
        atomic_fetch_sub(&qp->origin->users, 1);
        free_name(qp);
        return 0;
    }
    if (atomic_load(&qp->users))
        return verbs_fail(EBUSY, "queue pair 0x%06x is open elsewhere", base->qp_num);
    pthread_mutex_lock(&own->lock);
    LIST_REMOVE(qp, entry);
    pthread_mutex_unlock(&own->lock);
    verbs_settle(own);
    int err = -nornic_qp_destroy(qp->nornic);
    if (err) {
        pthread_mutex_lock(&own->lock);
        LIST_INSERT_HEAD(&own->qps, qp, entry);
        pthread_mutex_unlock(&own->lock);
        return verbs_fail(err, "queue pair 0x%06x is attached to a group", base->qp_num);
    }
    verbs_builder_remove(qp);
    free_name(qp);
    return 0;
}

int ibv_destroy_qp(struct ibv_qp *qp)
{
    int err = verbs_object_claim(VERBS_QP, qp);
    if (err || verbs_is_inherited(qp->context))
        return err;
    err = destroy(verbs_qp_of(qp));
    if (err)
        verbs_object_keep(VERBS_QP, qp);
    return err;
}

/* --- XRC: a target by its number --- */

struct ibv_qp *verbs_open_qp(struct ibv_context *context, struct ibv_qp_open_attr *attr)
{
    const uint32_t needed = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
    struct verbs_context_own *own = verbs_own(context);
    if ((attr->comp_mask & ~(uint32_t)IBV_QP_OPEN_ATTR_CONTEXT) != needed ||
        attr->qp_type != IBV_QPT_XRC_RECV)
        return verbs_fail_null(EINVAL, "open_qp: comp_mask 0x%x, type %u", attr->comp_mask,
                               (unsigned)attr->qp_type);
    if (verbs_object_need(VERBS_XRCD, attr->xrcd))
        return NULL;
    const struct nornic_xrcd *xrcd = verbs_xrcd_of(attr->xrcd)->nornic;
    struct verbs_qp *qp, *name = verbs_object_new(VERBS_QP, sizeof *name);
    pthread_mutex_lock(&own->lock);
    for (qp = LIST_FIRST(&own->qps); qp; qp = LIST_NEXT(qp, entry))
        if (qp->base.qp_base.qp_num == attr->qp_num && qp->base.qp_base.qp_type == IBV_QPT_XRC_RECV &&
            qp->xrcd == xrcd)
            break;
    if (qp && name) {
        atomic_fetch_add(&qp->users, 1);
        name->nornic = qp->nornic;
        name->origin = qp;
        name->init = qp->init;
        name->xrcd = qp->xrcd;
    }
    pthread_mutex_unlock(&own->lock);
    if (!qp || !name) {
        int err = name ? EINVAL : ENOMEM;
        verbs_object_free(VERBS_QP, name);
        return verbs_fail_null(err, "the XRC domain has no target 0x%06x to open", attr->qp_num);
    }
    const struct ibv_qp_init_attr_ex init = {
        .qp_context = attr->comp_mask & IBV_QP_OPEN_ATTR_CONTEXT ? attr->qp_context : NULL,
        .qp_type = IBV_QPT_XRC_RECV};
    describe(name, context, &init);
    name->base.qp_base.state = qp->base.qp_base.state;
    return &name->base.qp_base;
}

/* --- groups --- */

static struct nornic_addr group_of(const union ibv_gid *gid)
{
    struct nornic_addr group;
    memcpy(group.b, gid->raw, sizeof group.b);
    return group;
}

int ibv_attach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    (void)lid; /* a name of the group on InfiniBand */
    const struct nornic_addr group = group_of(gid);
    int err = verbs_object_need(VERBS_QP, qp);
    if (err)
        return err;
    if (verbs_is_inherited(qp->context))
        return verbs_fail(EIO, "queue pair 0x%06x is the parent's", qp->qp_num);
    err = -nornic_qp_attach_mcast(verbs_qp_of(qp)->nornic, &group);
    return err ? verbs_fail(err, "queue pair 0x%06x cannot be attached to the group", qp->qp_num) : 0;
}

int ibv_detach_mcast(struct ibv_qp *qp, const union ibv_gid *gid, uint16_t lid)
{
    (void)lid;
    const struct nornic_addr group = group_of(gid);
    int err = verbs_object_need(VERBS_QP, qp);
    if (err || verbs_is_inherited(qp->context))
        return err;
    err = -nornic_qp_detach_mcast(verbs_qp_of(qp)->nornic, &group);
    return err ? verbs_fail(err, "queue pair 0x%06x is not attached to the group", qp->qp_num) : 0;
}
