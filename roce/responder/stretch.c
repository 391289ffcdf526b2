/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/responder/stretch.h"

#include "base/base.h"
#include "rdma/access.h"
#include "roce/requester/request.h"
#include "roce/responder/responder.h"

/* The place of the next packets of a message. */
struct stretch {
    uint8_t *to;       /* memory for whole packets, as far as it lies in one piece */
    uint32_t max_pkts; /* without the message's last */
    uint32_t taken;
    uint32_t asked; /* how many were taken when the last came that asks for an ACK; 0: none */
};

/* The packet is a MIDDLE of a message over RC, and no observer wants to see each of those behind it. */
static bool may_be_followed(const struct roce_dev *dev, const struct roce_pkt *pkt)
{
    return pkt->op->flags & ROCE_PKT_MIDDLE && pkt->bth.opcode >> 5 == ROCE_SERVICE_RC &&
           !dev->config.trace && (pkt->tclass & 3) != ROCE_ECN_CE;
}

/* Begins with requests: the checks of roce_responder_rx() for each, in its order. */
static bool begin_request(struct roce_qp *qp, const struct roce_pkt *pkt, struct stretch *s)
{
    const struct roce_responder *resp = &qp->resp;
    uint32_t n_bytes;
    if (resp->nak_state != ROCE_NAK_NONE || qp->reorder.kept || resp->epsn != roce_psn_add(pkt->bth.psn, 1) ||
        !(resp->message & pkt->op->flags))
        return false;
    if (pkt->op->flags & ROCE_PKT_WRITE) {
        struct roce_target target = {.pd = qp->base.pd};
        if (resp->write_len_bytes <= resp->received_bytes || !roce_responder_check_keys(qp, pkt, &target))
            return false;
        n_bytes = resp->write_len_bytes - resp->received_bytes - 1;
        s->to = target.at + resp->received_bytes;
    } else {
        n_bytes = rdma_recv_bytes(&qp->base.recv) - resp->received_bytes;
        s->to = rdma_recv_piece(&qp->base, resp->received_bytes, &n_bytes);
    }
    s->max_pkts = n_bytes / qp->pmtu_bytes;
    return s->to;
}

static void end_request(struct roce_qp *qp, const struct roce_pkt *pkt, const struct stretch *s)
{
    qp->resp.received_bytes += s->taken * qp->pmtu_bytes;
    qp->resp.epsn = roce_psn_add(qp->resp.epsn, s->taken);
    if (s->asked)
        roce_response_push_ack(qp, roce_psn_add(pkt->bth.psn, s->asked));
}

/* Begins with a READ's answer: the checks of roce_requester_rx() for each. */
static bool begin_response(struct roce_qp *qp, const struct roce_pkt *pkt, struct stretch *s)
{
    const struct roce_requester *req = &qp->req;
    const struct rdma_sq *sq = &qp->base.sq;
    if (req->una_psn != roce_psn_add(pkt->bth.psn, 1) || sq->done == sq->started || req->answers.kept)
        return false;
    const struct rdma_send_wqe *w = rdma_sq_wqe(sq, sq->done);
    uint32_t k = (req->una_psn - w->first_seq) & ROCE_PSN_MASK;
    uint32_t sent = (req->hi_psn - req->una_psn) & ROCE_PSN_MASK;
    if (!(rdma_wqe_flags(w) & RDMA_OP_READ) || k >= w->seq_count)
        return false;
    uint32_t n_bytes = min_u32(roce_read_psns(qp, w, k) - 1, sent) * qp->pmtu_bytes;
    s->to = rdma_sq_piece(&qp->base, sq->done, k * qp->pmtu_bytes, &n_bytes, true);
    s->max_pkts = n_bytes / qp->pmtu_bytes;
    return s->to;
}

static void end_response(struct roce_qp *qp, const struct stretch *s, uint64_t now_ns)
{
    qp->req.una_psn = roce_psn_add(qp->req.una_psn, s->taken);
    roce_requester_progress(qp, now_ns);
}

/* Takes the packets that fit. A packet for memory that cannot be written to is left, with all behind it,
 * to the way of single packets, which refuses it. */
static void take(struct rdma_domain *domain, struct stretch *s, struct roce_arrival *arrival, uint32_t next,
                 uint32_t pkt_bytes)
{
    const uint8_t *payload;
    bool asks;
    while (s->taken < s->max_pkts && (payload = roce_arrival_next_middle(arrival, next + s->taken, &asks))) {
        if (!rdma_store(domain, s->to, payload, pkt_bytes))
            return;
        s->to += pkt_bytes;
        s->taken++;
        if (asks)
            s->asked = s->taken;
    }
}

uint32_t roce_stretch_take(struct roce_dev *dev, struct roce_arrival *arrival, uint32_t next, uint64_t now_ns)
{
    const struct roce_pkt *pkt = &arrival->pkt;
    struct roce_qp *qp = may_be_followed(dev, pkt) ? roce_dev_find_qp(dev, pkt->bth.dest_qpn) : NULL;
    struct stretch s = {.taken = 0};
    if (!qp || qp->type != NORNIC_QPT_RC || roce_qp_state_now(qp) == NORNIC_QPS_ERR ||
        pkt->payload_bytes != qp->pmtu_bytes)
        return 0;
    bool is_response = pkt->op->flags & ROCE_PKT_RESPONSE;
    if (!(is_response ? begin_response(qp, pkt, &s) : begin_request(qp, pkt, &s)))
        return 0;
    take(dev->domain, &s, arrival, next, qp->pmtu_bytes);
    if (s.taken == 0)
        return 0;
    if (is_response)
        end_response(qp, &s, now_ns);
    else
        end_request(qp, pkt, &s);
    roce_count_n(qp, rx_pkts, s.taken);
    roce_count_n(qp, rx_bytes, (uint64_t)s.taken * pkt->frame_bytes);
    dev->counters.verdicts[ROCE_RX_TAKEN] += s.taken;
    roce_dev_ready(dev, qp);
    return s.taken;
}
