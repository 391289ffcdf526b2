/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/fail.h"

#include "iwarp/wire/opcode.h"
#include "iwarp/ring.h"
#include "rdma/queue/local_ops.h"

uint16_t iwarp_fault_of_tagged(enum rdma_remote_fault fault)
{
    switch (fault) {
    case RDMA_FAULT_KEY:
    case RDMA_FAULT_ACCESS: /* IWARP-AMB-04: DDP has no code for rights */
        return IWARP_TERM_DDP_STAG;
    case RDMA_FAULT_STREAM:
        return IWARP_TERM_DDP_STREAM;
    case RDMA_FAULT_WRAP:
        return IWARP_TERM_DDP_WRAP;
    case RDMA_FAULT_BOUNDS:
        break;
    }
    return IWARP_TERM_DDP_BOUNDS;
}

uint16_t iwarp_fault_of_request(enum rdma_remote_fault fault)
{
    switch (fault) {
    case RDMA_FAULT_KEY:
        return IWARP_TERM_RDMAP_STAG;
    case RDMA_FAULT_ACCESS:
        return IWARP_TERM_RDMAP_ACCESS;
    case RDMA_FAULT_STREAM:
        return IWARP_TERM_RDMAP_STREAM;
    case RDMA_FAULT_WRAP:
        return IWARP_TERM_RDMAP_WRAP;
    case RDMA_FAULT_BOUNDS:
        break;
    }
    return IWARP_TERM_RDMAP_BOUNDS;
}

void iwarp_stop_work(struct iwarp_qp *qp)
{
    bool is_first = rdma_qp_state_now(&qp->base) != NORNIC_QPS_ERR;
    /* Sequentially consistent: see rdma_qp_post_recv(). */
    atomic_store(&qp->base.state, NORNIC_QPS_ERR);
    rdma_sq_flush(&qp->base);
    rdma_recv_flush(&qp->base);
    qp->base.sq.rd_atomic = 0;
    qp->source.asked_at.head = qp->source.asked_at.tail;
    if (is_first && qp->base.recv.srq)
        rdma_qp_event(&qp->base, NORNIC_EVENT_QP_LAST_WQE_REACHED);
}

void iwarp_drop(struct iwarp_qp *qp, enum iwarp_tcp tcp)
{
    qp->state = IWARP_QP_ERROR;
    qp->tcp = tcp;
    qp->deadline_ns = UINT64_MAX;
    iwarp_stop_work(qp);
}

/* --- the Terminate --- */

/* IWARP-RDMAP-31: which errors have the header of what caused them. That of a segment whose version is not
 * known has no known layout. */
static bool has_headers(uint16_t code)
{
    if (code >> 12 == IWARP_LAYER_MPA || code >> 8 == IWARP_TERM_RDMAP_LOCAL >> 8)
        return false;
    return code != IWARP_TERM_DDP_VERSION && code != IWARP_TERM_DDP_TAGGED_VERSION;
}

static uint8_t *put_segment(uint8_t *p, struct iwarp_term *h, uint16_t code,
                            const struct iwarp_ulpdu *segment)
{
    struct iwarp_ctrl ctrl;
    iwarp_ctrl_get(&ctrl, segment->bytes);
    uint32_t n = ctrl.t ? IWARP_DDP_TAGGED_BYTES : IWARP_DDP_UNTAGGED_BYTES;
    bool is_whole_read = !ctrl.t && ctrl.opcode == IWARP_OP_READ_REQUEST &&
                         segment->len_bytes == IWARP_DDP_UNTAGGED_BYTES + IWARP_READ_REQ_BYTES;
    h->m = h->d = 1;
    h->r = is_whole_read && code >> 8 == IWARP_TERM_RDMAP_STAG >> 8;
    if (h->r)
        n += IWARP_READ_REQ_BYTES;
    p = iwarp_term_length_put(p, &(struct iwarp_term_length){(uint16_t)segment->len_bytes});
    memcpy(p, segment->bytes, n);
    return p + n;
}

/* IWARP-RDMAP-29, -30. */
static void make_terminate(struct iwarp_qp *qp, uint16_t code, const struct iwarp_ulpdu *segment)
{
    const struct iwarp_ctrl ctrl = {
        .l = 1, .dv = IWARP_DDP_VERSION, .rv = IWARP_RDMAP_VERSION, .opcode = IWARP_OP_TERMINATE};
    const struct iwarp_untagged ddp = {.qn = IWARP_QN_TERMINATE, .msn = 1};
    struct iwarp_term h = {.layer = (uint8_t)(code >> 12), .etype = code >> 8 & 15, .code = (uint8_t)code};
    memset(qp->term, 0, sizeof qp->term);
    uint8_t *control = iwarp_untagged_put(iwarp_ctrl_put(qp->term, &ctrl), &ddp);
    uint8_t *end = control + IWARP_TERM_BYTES;
    if (segment && has_headers(code))
        end = put_segment(end, &h, code, segment);
    iwarp_term_put(control, &h);
    qp->term_bytes = (uint8_t)(end - qp->term);
}

/* Which event tells the program, whose completions do not: the table of section 7 of the requirements. */
static enum nornic_event_type event_of(uint16_t code)
{
    bool is_access = code >> 8 == IWARP_TERM_RDMAP_STAG >> 8 || code >> 8 == IWARP_TERM_DDP_STAG >> 8 ||
                     code == IWARP_TERM_RDMAP_CATASTROPHIC;
    return is_access ? NORNIC_EVENT_QP_ACCESS_ERR : NORNIC_EVENT_QP_FATAL;
}

void iwarp_terminate(struct iwarp_qp *qp, uint16_t code, const struct iwarp_ulpdu *segment)
{
    if (qp->state == IWARP_QP_TERMINATE || qp->state == IWARP_QP_ERROR)
        return;
    bool may_speak = qp->session.is_initiator || qp->has_heard; /* IWARP-MPA-03 */
    qp->state = IWARP_QP_TERMINATE;
    qp->end = (struct iwarp_end){.has_sent = may_speak, .code = code};
    if (may_speak) {
        make_terminate(qp, code, segment);
        iwarp_stop_work(qp);
    } else {
        iwarp_drop(qp, IWARP_TCP_CLOSE);
    }
    if (!qp->is_told)
        rdma_qp_event(&qp->base, event_of(code));
}

/* --- completions --- */

/* Goes past the WQEs of which TCP has taken all. It may be long until one of these completes, behind a READ;
 * what is made and not yet taken is a batch at the most, so that octets modulo 2^32 can be compared here and
 * nowhere later. */
static void go_past_taken(struct iwarp_qp *qp)
{
    const struct rdma_sq *sq = &qp->base.sq;
    uint32_t taken_bytes = qp->source.made_bytes - iwarp_fpdu_tx_left(&qp->tx);
    for (; qp->source.taken != sq->cur; qp->source.taken++) {
        const struct rdma_send_wqe *w = rdma_sq_wqe(sq, qp->source.taken);
        bool waits_for_tcp = !(rdma_wqe_flags(w) & (RDMA_OP_LOCAL | RDMA_OP_RD_ATOMIC));
        if (waits_for_tcp && (int32_t)(taken_bytes - w->first_seq) < 0)
            return;
    }
}

/* All of it is out, and the answers to it are in (IWARP-ORD-04). */
static bool is_finished(const struct iwarp_qp *qp, const struct rdma_send_wqe *w)
{
    return rdma_wqe_flags(w) & RDMA_OP_RD_ATOMIC ? w->seq_count == 0 : qp->base.sq.done != qp->source.taken;
}

/* Completes the oldest if it is finished, or has nothing to send. */
static bool complete_oldest(struct iwarp_qp *qp)
{
    struct rdma_sq *sq = &qp->base.sq;
    const struct rdma_send_wqe *w = rdma_sq_wqe(sq, sq->done);
    uint32_t before = sq->done;
    if (sq->done == sq->cur)
        return false;
    if (rdma_wqe_flags(w) & RDMA_OP_LOCAL)
        rdma_local_complete(&qp->base);
    else if (is_finished(qp, w))
        rdma_sq_complete(&qp->base, NORNIC_WC_SUCCESS);
    return sq->done != before;
}

void iwarp_complete_ready(struct iwarp_qp *qp)
{
    go_past_taken(qp);
    while (complete_oldest(qp))
        ;
}

/* Completes the WQEs before `wqe`: what they send is made, and goes out before the Terminate. */
static void complete_before(struct iwarp_qp *qp, uint32_t wqe)
{
    struct rdma_sq *sq = &qp->base.sq;
    while (sq->done != wqe) {
        const struct rdma_send_wqe *w = rdma_sq_wqe(sq, sq->done);
        bool is_unanswered = rdma_wqe_flags(w) & RDMA_OP_RD_ATOMIC && w->seq_count;
        rdma_sq_complete(&qp->base, is_unanswered ? NORNIC_WC_WR_FLUSH_ERR : NORNIC_WC_SUCCESS);
    }
}

void iwarp_fail_untaken(struct iwarp_qp *qp, enum nornic_wc_status status)
{
    complete_before(qp, qp->source.taken);
    rdma_sq_complete(&qp->base, status);
}

void iwarp_fail_request(struct iwarp_qp *qp, uint32_t wqe, enum nornic_wc_status status, uint16_t code,
                        const struct iwarp_ulpdu *segment)
{
    complete_before(qp, wqe);
    rdma_sq_complete(&qp->base, status);
    qp->is_told = true;
    iwarp_terminate(qp, code, segment);
}
