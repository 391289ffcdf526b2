/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared receive queues. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/faults/faults.h"
#include "verbs/object.h"
#include "verbs/ops.h"
#include "verbs/queue/post.h"

static struct ibv_srq *create(struct ibv_pd *pd, const struct nornic_srq_config *wanted, void *srq_context,
                              struct ibv_srq_attr *granted)
{
    struct nornic_srq_config config = *wanted;
    struct nornic_dev_attr limits;
    if (verbs_object_need(VERBS_PD, pd) || !pd)
        return NULL;
    nornic_dev_query(verbs_own(pd->context)->dev, &limits, sizeof limits);
    if (config.max_wr > limits.max_srq_wr || config.max_sge > limits.max_sge)
        return verbs_fail_null(EINVAL, "an SRQ of %u receives (at most %u) of %u pieces (at most %u)",
                               config.max_wr, limits.max_srq_wr, config.max_sge, limits.max_sge);
    config.max_wr = max_u32(config.max_wr, 1);
    config.max_sge = max_u32(config.max_sge, 1);
    struct verbs_srq *srq = verbs_object_new(VERBS_SRQ, sizeof *srq);
    config.ctx = srq;
    int err = srq ? verbs_fault_alloc(verbs_own(pd->context)->faults, VERBS_FAULT_OF_SRQ) : ENOMEM;
    if (!err)
        err = -nornic_srq_create(verbs_pd_of(pd)->nornic, &config, &srq->nornic);
    if (err) {
        verbs_object_free(VERBS_SRQ, srq);
        return verbs_fail_null(err, "an SRQ of %u receives was refused", config.max_wr);
    }
    srq->max_sge = config.max_sge;
    srq->base = (struct ibv_srq){.context = pd->context,
                                 .srq_context = srq_context,
                                 .pd = pd,
                                 .handle = verbs_object_number(VERBS_SRQ, srq, pd->context)};
    pthread_mutex_init(&srq->base.mutex, NULL);
    pthread_cond_init(&srq->base.cond, NULL);
    nornic_srq_query(srq->nornic, &granted->max_wr, NULL, NULL);
    granted->max_sge = config.max_sge;
    return &srq->base;
}

struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *init)
{
    struct nornic_srq_config config = {NORNIC_INIT(config), .max_wr = init->attr.max_wr,
                                       .max_sge = init->attr.max_sge};
    return create(pd, &config, init->srq_context, &init->attr);
}

struct ibv_srq *verbs_create_srq_ex(struct ibv_context *context, struct ibv_srq_init_attr_ex *init)
{
    const uint32_t xrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
    const uint32_t known = xrc | IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_TM;
    struct nornic_srq_config config = {NORNIC_INIT(config), .max_wr = init->attr.max_wr,
                                       .max_sge = init->attr.max_sge};
    const int type = init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE ? (int)init->srq_type : IBV_SRQT_BASIC;
    const bool is_xrc = type == IBV_SRQT_XRC;
    if (type == IBV_SRQT_TM)
        return verbs_fail_null(EOPNOTSUPP, "there is no tag matching");
    if ((type != IBV_SRQT_BASIC && !is_xrc) || !(init->comp_mask & IBV_SRQ_INIT_ATTR_PD) ||
        (init->comp_mask & ~(uint32_t)known) || (is_xrc && (init->comp_mask & xrc) != xrc))
        return verbs_fail_null(EINVAL, "create_srq_ex: comp_mask 0x%x, type %u", init->comp_mask,
                               (unsigned)init->srq_type);
    if (init->pd && !verbs_object_need(VERBS_PD, init->pd) && init->pd->context != context)
        return verbs_fail_null(EINVAL, "create_srq_ex: the domain is of another context");
    if (is_xrc && (verbs_object_need(VERBS_XRCD, init->xrcd) || verbs_object_need(VERBS_CQ, init->cq)))
        return NULL;
    if (is_xrc) {
        config.xrcd = verbs_xrcd_of(init->xrcd)->nornic;
        config.cq = verbs_cq_of(init->cq)->nornic;
    }
    return create(init->pd, &config, init->srq_context, &init->attr);
}

int ibv_destroy_srq(struct ibv_srq *base)
{
    struct verbs_srq *srq = verbs_srq_of(base);
    int err = verbs_object_claim(VERBS_SRQ, srq);
    if (err || verbs_is_inherited(base->context))
        return err;
    err = -nornic_srq_destroy(srq->nornic);
    if (err) {
        verbs_object_keep(VERBS_SRQ, srq);
        return verbs_fail(err, "a queue pair uses the SRQ");
    }
    pthread_mutex_destroy(&base->mutex);
    pthread_cond_destroy(&base->cond);
    verbs_object_free(VERBS_SRQ, srq);
    return 0;
}

int ibv_modify_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr, int mask)
{
    int err = verbs_object_need(VERBS_SRQ, srq);
    if (err)
        return err;
    if (verbs_is_inherited(srq->context))
        return verbs_fail(EIO, "the SRQ is the parent's");
    struct nornic_srq *nornic = verbs_srq_of(srq)->nornic;
    err = mask & ~(IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT) ? EINVAL : 0;
    if (!err && (mask & IBV_SRQ_MAX_WR))
        err = -nornic_srq_resize(nornic, attr->max_wr);
    if (!err && (mask & IBV_SRQ_LIMIT))
        err = -nornic_srq_set_limit(nornic, attr->srq_limit);
    return err ? verbs_fail(err, "the SRQ cannot have %u receives, or a limit of %u", attr->max_wr,
                            attr->srq_limit)
               : 0;
}

int ibv_query_srq(struct ibv_srq *srq, struct ibv_srq_attr *attr)
{
    int err = verbs_object_need(VERBS_SRQ, srq);
    if (err)
        return err;
    nornic_srq_query(verbs_srq_of(srq)->nornic, &attr->max_wr, &attr->srq_limit, NULL);
    attr->max_sge = verbs_srq_of(srq)->max_sge;
    return 0;
}

int verbs_get_srq_num(struct ibv_srq *srq, uint32_t *number)
{
    *number = nornic_srq_number(verbs_srq_of(srq)->nornic);
    return *number ? 0 : verbs_fail(EOPNOTSUPP, "only SRQs of XRC have a number");
}

static int post(void *queue, const struct nornic_recv_wr *wr, const struct nornic_recv_wr **bad)
{
    return nornic_srq_post_recv(queue, wr, bad);
}

int verbs_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    return verbs_post_receives(verbs_own(srq->context), wr, bad, post, verbs_srq_of(srq)->nornic, NULL);
}
