/* SPDX-License-Identifier: BSD-2-Clause */
/* Processing responses: ROCE section 7.4. */
#include "rdma/queue/local_ops.h"
#include "roce/requester/answers.h"
#include "roce/dev/inner.h"
#include "roce/requester/probe.h"
#include "roce/requester/request.h"
#include "roce/responder/sack.h"

static struct rdma_send_wqe *oldest(const struct roce_qp *qp)
{
    return rdma_sq_wqe(&qp->base.sq, qp->base.sq.done);
}

/* ROCE-RC-20, RC-21: what the peer's credit code allows. */
static void take_credits(struct roce_requester *req, const struct roce_aeth *aeth)
{
    uint8_t code = aeth->syndrome & 0x1f;
    if (code == 31) {
        req->is_unlimited = true;
        return;
    }
    uint32_t lsn = roce_psn_add(aeth->msn, roce_credit_count(code));
    if (roce_psn_diff(lsn, req->lsn) > 0)
        req->lsn = lsn;
}

/* Completes the SEND and WRITE packets before `psn` (ROCE-RC-32). False: a READ or atomic before it has not
 * been answered, which stops the walk there. */
static bool ack_before(struct roce_qp *qp, uint32_t psn, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    bool answered = true, progress = false;
    while (roce_psn_diff(psn, req->una_psn) > 0) {
        const struct rdma_send_wqe *w = oldest(qp);
        if (rdma_wqe_flags(w) & RDMA_OP_LOCAL) {
            rdma_sq_complete(&qp->base, NORNIC_WC_SUCCESS);
            continue;
        }
        if (rdma_wqe_flags(w) & RDMA_OP_RD_ATOMIC) {
            answered = false;
            break;
        }
        progress = true;
        uint32_t end = roce_psn_add(w->first_seq, w->seq_count);
        if (roce_psn_diff(psn, end) < 0) {
            req->una_psn = psn;
            break;
        }
        req->una_psn = end;
        rdma_sq_complete(&qp->base, NORNIC_WC_SUCCESS);
    }
    if (progress)
        roce_requester_progress(qp, now_ns);
    return answered;
}

/* An answer was lost: ask again from the oldest missing PSN, once (ROCE-RC-34, RC-35, RC-46). */
static void answer_lost(struct roce_qp *qp, enum roce_cause cause, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    if (req->is_rnr_waiting || (req->has_gone_back && req->restart_psn == req->una_psn))
        return;
    roce_count(qp, implied_nak_seq_err);
    roce_sack_offer(qp);
    roce_requester_restart(qp, req->una_psn, cause, now_ns);
}

static void bad_response(struct roce_qp *qp, uint64_t now_ns)
{
    roce_requester_fail(qp, NORNIC_WC_BAD_RESP_ERR, ROCE_CAUSE_BAD_RESPONSE, now_ns);
}

/* The oldest WQE, a READ or atomic, has been answered up to `end_psn`; `ends`: to the end of a request;
 * `last`: wholly. */
static void answered(struct roce_qp *qp, uint32_t end_psn, bool ends, bool last, uint64_t now_ns)
{
    qp->req.una_psn = end_psn;
    qp->req.rd_atomic -= ends;
    if (last) {
        qp->base.sq.rd_atomic--;
        rdma_sq_complete(&qp->base, NORNIC_WC_SUCCESS);
    }
    roce_requester_progress(qp, now_ns);
}

static bool has_ack_syndrome(const struct roce_pkt *pkt)
{
    return !(pkt->op->flags & ROCE_PKT_AETH) || roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK;
}

/* ROCE-RC-35, RC-36: a READ request that was never reissued is answered FIRST, MIDDLE*, LAST or ONLY; one
 * that was may begin anew anywhere, with whatever opcode the peer's replay gives it, and where a peer may be
 * asked for a gap alone it may end there as well. */
static bool read_order_is_legal(const struct roce_qp *qp, const struct rdma_send_wqe *w, uint32_t flags,
                                bool first, bool last)
{
    bool ends = flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY), begins = flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY);
    if (!w->is_reissued)
        return ends == last && begins == first;
    return ends == last || (ends && qp->peer.is_selective);
}

static void take_read_response(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    struct rdma_send_wqe *w = oldest(qp);
    uint32_t k = (pkt->bth.psn - w->first_seq) & ROCE_PSN_MASK;
    uint32_t offset = k * qp->pmtu_bytes;
    bool last = k == w->seq_count - 1, begins = qp->read_pkts ? k % qp->read_pkts == 0 : k == 0;
    bool ends = roce_read_psns(qp, w, k) == 1;
    uint32_t want = last ? w->len_bytes - offset : qp->pmtu_bytes;
    if (!(rdma_wqe_flags(w) & RDMA_OP_READ) || !has_ack_syndrome(pkt) || pkt->payload_bytes != want ||
        !read_order_is_legal(qp, w, pkt->op->flags, begins, ends)) {
        bad_response(qp, now_ns); /* ROCE-RC-37..39 */
        return;
    }
    if (want && !rdma_sq_scatter(&qp->base, qp->base.sq.done, offset, pkt->payload, want)) {
        roce_requester_fail(qp, NORNIC_WC_LOC_PROT_ERR, ROCE_CAUSE_LOCAL_ERROR, now_ns);
        return;
    }
    answered(qp, roce_psn_add(pkt->bth.psn, 1), ends, last, now_ns);
}

static void take_atomic_ack(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    struct rdma_send_wqe *w = oldest(qp);
    if (!(rdma_wqe_flags(w) & RDMA_OP_ATOMIC) || !has_ack_syndrome(pkt) || pkt->payload_bytes) {
        bad_response(qp, now_ns);
        return;
    }
    /* Big-endian on the wire, host-endian in memory: ROCE-HDR-11. */
    uint64_t original = pkt->atomicacketh.original;
    if (!rdma_sq_scatter(&qp->base, qp->base.sq.done, 0, (const uint8_t *)&original, 8)) {
        roce_requester_fail(qp, NORNIC_WC_LOC_PROT_ERR, ROCE_CAUSE_LOCAL_ERROR, now_ns);
        return;
    }
    answered(qp, roce_psn_add(pkt->bth.psn, 1), true, true, now_ns);
}

static void take_answer(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    if (pkt->op->flags & ROCE_PKT_ATOMICACKETH)
        take_atomic_ack(qp, pkt, now_ns);
    else
        take_read_response(qp, pkt, now_ns);
}

/* Goes on with what came behind a gap that may just have been filled, and asks for the next one at once. */
static void take_kept_answers(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_answers *answers = &qp->req.answers;
    struct roce_pkt pkt;
    while (answers->has_acked) {
        uint32_t una_psn = qp->req.una_psn;
        if (roce_answers_take(qp, &pkt))
            take_answer(qp, &pkt, now_ns);
        else if (roce_psn_diff(answers->acked_psn, una_psn) <= 0)
            answers->has_acked = false;
        else
            ack_before(qp, answers->acked_psn, now_ns);
        if (qp->req.una_psn == una_psn)
            break;
    }
    if (answers->has_acked)
        roce_answers_ask(qp, now_ns);
}

/* READ responses and ATOMIC ACKs acknowledge what precedes them (ROCE-RS-52) and complete their own WQE. */
static void take_data(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    if (pkt->op->flags & ROCE_PKT_AETH && has_ack_syndrome(pkt))
        take_credits(&qp->req, &pkt->aeth);
    if (ack_before(qp, pkt->bth.psn, now_ns))
        take_answer(qp, pkt, now_ns);
    else if (!roce_answers_keep(qp, pkt))
        answer_lost(qp, ROCE_CAUSE_READ_GAP, now_ns);
    take_kept_answers(qp, now_ns);
}

static void take_nak_seq(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    roce_count(qp, packet_seq_err);
    /* Behind an RNR NAK some peers NAK what was in flight: it must not cut the wait short (ROCE-RC-48,
     * INT-12). */
    if (req->is_rnr_waiting && roce_psn_diff(pkt->bth.psn, req->una_psn) >= 0)
        return;
    if (!ack_before(qp, pkt->bth.psn, now_ns)) {
        answer_lost(qp, ROCE_CAUSE_IMPLIED_NAK, now_ns);
        return;
    }
    if (req->has_gone_back && req->restart_psn == req->una_psn)
        return; /* ROCE-RC-46 */
    roce_requester_restart(qp, req->una_psn, ROCE_CAUSE_NAK_SEQ, now_ns);
}

static enum nornic_wc_status nak_status(uint8_t syndrome)
{
    switch (syndrome) {
    case ROCE_SYNDROME_NAK_INV_REQ:
        return NORNIC_WC_REM_INV_REQ_ERR;
    case ROCE_SYNDROME_NAK_REM_ACC:
        return NORNIC_WC_REM_ACCESS_ERR;
    }
    return NORNIC_WC_REM_OP_ERR;
}

static void take_plain_ack(struct roce_qp *qp, uint32_t psn, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    bool of_selected = req->is_selective && !req->is_resuming && psn == req->restart_psn;
    if (!ack_before(qp, roce_psn_add(psn, 1), now_ns)) {
        if (!roce_answers_note_acked(qp, roce_psn_add(psn, 1)))
            answer_lost(qp, ROCE_CAUSE_IMPLIED_NAK, now_ns);
        take_kept_answers(qp, now_ns);
        return;
    }
    /* A peer that keeps what comes behind a gap would have acknowledged that too, or named the next gap. */
    req->is_selective = false;
    if (of_selected && req->una_psn != req->hi_psn && roce_qp_state_now(qp) != NORNIC_QPS_ERR)
        roce_requester_went_back(qp, now_ns);
}

/* An opcode 0x11 packet whose PSN is in range. */
static enum roce_rx_verdict take_ack(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    uint32_t psn = pkt->bth.psn;
    switch (roce_syndrome_kind(pkt->aeth.syndrome)) {
    case ROCE_SYN_ACK:
        roce_count(qp, acks_received);
        take_credits(req, &pkt->aeth);
        take_plain_ack(qp, psn, now_ns);
        return ROCE_RX_TAKEN;
    case ROCE_SYN_RNR:
        roce_count(qp, rnr_nak_received);
        if (req->is_rnr_waiting)
            return ROCE_RX_TAKEN;
        if (ack_before(qp, psn, now_ns))
            roce_requester_rnr(qp, pkt->aeth.syndrome & 0x1f, now_ns);
        else
            answer_lost(qp, ROCE_CAUSE_IMPLIED_NAK, now_ns);
        return ROCE_RX_TAKEN;
    case ROCE_SYN_NAK:
        if (pkt->aeth.syndrome == ROCE_SYNDROME_NAK_PSN_SEQ) {
            take_nak_seq(qp, pkt, now_ns);
            return ROCE_RX_TAKEN;
        }
        roce_count(qp, nak_fatal_received);
        if (ack_before(qp, psn, now_ns)) /* ROCE-RC-50 */
            roce_requester_fail(qp, nak_status(pkt->aeth.syndrome), ROCE_CAUSE_NAK_FATAL, now_ns);
        else
            answer_lost(qp, ROCE_CAUSE_IMPLIED_NAK, now_ns);
        return ROCE_RX_TAKEN;
    case ROCE_SYN_RESERVED:
        break;
    }
    return ROCE_RX_DROP_SYNDROME; /* ROCE-HDR-20 */
}

enum roce_rx_verdict roce_requester_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    bool is_ack =
        pkt->op->flags & ROCE_PKT_AETH && !(pkt->op->flags & (ROCE_PKT_READ_RESP | ROCE_PKT_ATOMICACKETH));
    uint32_t ahead = (pkt->bth.psn - req->una_psn) & ROCE_PSN_MASK;
    if (ahead >= ((req->hi_psn - req->una_psn) & ROCE_PSN_MASK)) {
        /* A duplicate of the newest ACK may still bring credits (ROCE-RC-30). */
        if (is_ack && ahead == ROCE_PSN_MASK && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK)
            take_credits(req, &pkt->aeth);
        return ROCE_RX_DROP_GHOST;
    }
    if (is_ack)
        return take_ack(qp, pkt, now_ns);
    take_data(qp, pkt, now_ns);
    return ROCE_RX_TAKEN;
}

/* What the bitmap says. A READ or atomic that the peer keeps has not been answered yet. */
static void take_bitmap(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    struct roce_requester *req = &qp->req;
    const struct rdma_sq *sq = &qp->base.sq;
    uint32_t index = sq->done;
    for (uint32_t i = 0; i < 8 * pkt->payload_bytes; i++) {
        uint32_t psn = roce_psn_add(pkt->bth.psn, 1 + i);
        if (!(pkt->payload[i / 8] & 0x80 >> i % 8))
            continue;
        const struct rdma_send_wqe *w = rdma_sq_wqe(sq, index);
        while (index != sq->started && ((psn - w->first_seq) & ROCE_PSN_MASK) >= w->seq_count)
            w = rdma_sq_wqe(sq, ++index);
        if (index == sq->started || roce_psn_diff(psn, req->hi_psn) >= 0)
            return;
        if (!(rdma_wqe_flags(w) & RDMA_OP_RD_ATOMIC)) {
            roce_board_mark(&req->board, psn);
            continue;
        }
        uint32_t count = roce_read_psns(qp, w, (psn - w->first_seq) & ROCE_PSN_MASK);
        roce_board_renew(&req->board, psn, count);
        i += count - 1; /* its answers, of which nothing can be kept there */
    }
}

/* Without a board it says no more than a NAK. */
static void take_as_nak(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    if (!req->has_gone_back || req->restart_psn != req->una_psn)
        roce_requester_restart(qp, req->una_psn, ROCE_CAUSE_NAK_SEQ, now_ns);
}

enum roce_rx_verdict roce_requester_take_sack(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    enum nornic_qp_state state = roce_qp_state_now(qp);
    uint32_t under_way = (req->hi_psn - req->una_psn) & ROCE_PSN_MASK;
    bool has_begun = state == NORNIC_QPS_RTS || state == NORNIC_QPS_SQD; /* else there is no PSN yet */
    if (has_begun && ((pkt->bth.psn - req->una_psn) & ROCE_PSN_MASK) > under_way)
        return ROCE_RX_DROP_GHOST; /* nobody's word that the peer understands it */
    roce_sack_note(qp, pkt);
    if (!has_begun || req->is_rnr_waiting)
        return ROCE_RX_TAKEN;
    if (roce_syndrome_kind(pkt->sacketh.ack) == ROCE_SYN_ACK)
        take_credits(req, &(struct roce_aeth){.syndrome = pkt->sacketh.ack, .msn = pkt->aeth.msn});
    roce_probe_answered(qp, pkt->sacketh.echo, now_ns);
    roce_probe_restart(qp, now_ns);
    if (!ack_before(qp, pkt->bth.psn, now_ns) && !roce_answers_note_acked(qp, pkt->bth.psn)) {
        answer_lost(qp, ROCE_CAUSE_IMPLIED_NAK, now_ns);
        return ROCE_RX_TAKEN;
    }
    bool tells_of_loss = pkt->payload_bytes > 0 || req->board.slots;
    if (req->una_psn == req->hi_psn || !tells_of_loss)
        return ROCE_RX_TAKEN;
    if (!roce_requester_open_board(qp)) {
        take_as_nak(qp, now_ns);
        return ROCE_RX_TAKEN;
    }
    roce_board_expects(&req->board, pkt->bth.psn);
    take_bitmap(qp, pkt);
    roce_board_echo(&req->board, pkt->sacketh.echo);
    roce_requester_recover(qp, now_ns);
    return ROCE_RX_TAKEN;
}
