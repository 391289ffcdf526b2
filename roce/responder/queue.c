/* SPDX-License-Identifier: BSD-2-Clause */
/* What the responder has yet to send, in PSN order (ROCE-RS-40). */
#include "roce/dev/inner.h"

static struct roce_response *at(const struct roce_qp *qp, uint32_t index)
{
    return &qp->resp.queue[index & (qp->resp.queue_size - 1)];
}

bool roce_response_pending(const struct roce_qp *qp)
{
    return qp->resp.queue_head != qp->resp.queue_tail;
}

bool roce_response_is_ack(const struct roce_qp *qp)
{
    return roce_response_pending(qp) && at(qp, qp->resp.queue_head)->kind == ROCE_RESPONSE_ACK;
}

uint8_t roce_response_ack_syndrome(const struct roce_qp *qp)
{
    if (!qp->e2e_credits || qp->base.recv.srq)
        return ROCE_SYNDROME_ACK_UNLIMITED;
    return roce_credit_code(rdma_recv_unused(&qp->base.recv));
}

void roce_response_clear(struct roce_qp *qp)
{
    qp->resp.queue_head = qp->resp.queue_tail;
}

uint32_t roce_response_pending_rd_atomic(const struct roce_qp *qp)
{
    uint32_t n = 0;
    for (uint32_t i = qp->resp.queue_head; i != qp->resp.queue_tail; i++) {
        const struct roce_response *r = at(qp, i);
        n += !r->is_replay && (r->kind == ROCE_RESPONSE_READ || r->kind == ROCE_RESPONSE_ATOMIC);
    }
    return n;
}

bool roce_response_has_room(const struct roce_qp *qp)
{
    return qp->resp.queue_tail - qp->resp.queue_head != qp->resp.queue_size;
}

bool roce_response_push(struct roce_qp *qp, const struct roce_response *response)
{
    struct roce_responder *resp = &qp->resp;
    if (!roce_response_has_room(qp))
        return false;
    *at(qp, resp->queue_tail++) = *response;
    roce_dev_ready(qp->dev, qp);
    return true;
}

bool roce_response_drop_ack(struct roce_qp *qp)
{
    if (!roce_response_pending(qp) || at(qp, qp->resp.queue_tail - 1)->kind != ROCE_RESPONSE_ACK)
        return false;
    qp->resp.queue_tail--;
    return true;
}

bool roce_response_insert(struct roce_qp *qp, const struct roce_response *response)
{
    struct roce_responder *resp = &qp->resp;
    if (!roce_response_push(qp, response))
        return false;
    uint32_t i = resp->queue_tail - 1;
    for (; i != resp->queue_head && roce_psn_diff(at(qp, i - 1)->psn, response->psn) > 0; i--)
        *at(qp, i) = *at(qp, i - 1);
    *at(qp, i) = *response;
    return true;
}

void roce_response_push_ack(struct roce_qp *qp, uint32_t psn)
{
    struct roce_responder *resp = &qp->resp;
    struct roce_response *newest = roce_response_pending(qp) ? at(qp, resp->queue_tail - 1) : NULL;
    if (newest && newest->kind == ROCE_RESPONSE_ACK) {
        if (roce_psn_diff(psn, newest->psn) > 0)
            newest->psn = psn;
        newest->msn = resp->msn;
        return;
    }
    /* With a full queue the ACK is lost, and the peer's timer mends it. */
    roce_response_push(qp, &(struct roce_response){.kind = ROCE_RESPONSE_ACK, .psn = psn, .msn = resp->msn});
}

struct roce_response *roce_response_find(struct roce_qp *qp, enum roce_response_kind kind, uint32_t end_psn)
{
    for (uint32_t i = qp->resp.queue_head; i != qp->resp.queue_tail; i++)
        if (at(qp, i)->kind == kind && at(qp, i)->end_psn == end_psn)
            return at(qp, i);
    return NULL;
}
