/* SPDX-License-Identifier: BSD-2-Clause */
/* Asynchronous events of a context. */
#include <errno.h>

#include "verbs/verbs.h"

static void *ctx_of_event(const struct nornic_event *event)
{
    if (event->cq)
        return nornic_cq_ctx(event->cq);
    if (event->qp)
        return nornic_qp_ctx(event->qp);
    return event->srq ? nornic_srq_ctx(event->srq) : NULL;
}

int ibv_get_async_event(struct ibv_context *context, struct ibv_async_event *event)
{
    struct nornic_event taken;
    struct nornic_dev *dev = verbs_own(context)->dev;
    for (;;) {
        int state = verbs_hold();
        int err = nornic_dev_get_event(dev, &taken, 0);
        verbs_let(state);
        if (err == -ENOBUFS)
            continue;
        if (err == -EAGAIN)
            err = -verbs_wait(context->async_fd);
        else if (!err)
            break;
        if (err) {
            errno = -err;
            return -1;
        }
    }
    *event = (struct ibv_async_event){.event_type = (enum ibv_event_type)taken.type};
    void *about = ctx_of_event(&taken);
    if (about) {
        event->element.cq = about;
        return 0;
    }
    /* Nothing is destroyed that such an event names, so its acknowledgement, which does not say whose it is,
     * is given here. */
    event->element.port_num = VERBS_PORT_NUM;
    nornic_dev_ack_event(dev, &taken);
    return 0;
}

void ibv_ack_async_event(struct ibv_async_event *event)
{
    struct nornic_event about = {.type = (enum nornic_event_type)event->event_type};
    struct ibv_context *context = NULL;
    switch ((int)event->event_type) {
    case IBV_EVENT_CQ_ERR:
        about.cq = verbs_cq_of(event->element.cq)->nornic;
        context = event->element.cq->context;
        break;
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
    case IBV_EVENT_COMM_EST:
    case IBV_EVENT_SQ_DRAINED:
    case IBV_EVENT_PATH_MIG:
    case IBV_EVENT_PATH_MIG_ERR:
    case IBV_EVENT_QP_LAST_WQE_REACHED:
        about.qp = verbs_qp_of(event->element.qp)->nornic;
        context = event->element.qp->context;
        break;
    case IBV_EVENT_SRQ_ERR:
    case IBV_EVENT_SRQ_LIMIT_REACHED:
        about.srq = verbs_srq_of(event->element.srq)->nornic;
        context = event->element.srq->context;
        break;
    }
    if (context) /* NULL: the event is of the port or the device */
        nornic_dev_ack_event(verbs_own(context)->dev, &about);
}
