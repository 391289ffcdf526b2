/* SPDX-License-Identifier: BSD-2-Clause */
/* The requester: work requests in posting order, each as DDP segments (IWARP-RDMAP-05). One that has to wait
 * holds up those behind it. */
#include "iwarp/request.h"

#include "base/base.h"
#include "iwarp/emit.h"
#include "iwarp/ring.h"
#include "rdma/access.h"
#include "rdma/queue/local_ops.h"

#define RTR_STAG 1u /* IWARP-ECE-08: not 0 */

static void next_wqe(struct iwarp_qp *qp)
{
    rdma_sq_go_past(&qp->base.sq);
    qp->source.offset = qp->source.sge = 0;
    qp->source.is_imm_due = false;
}

/* The WQE is out but for the answers; what it has sent goes up to here (IWARP-ORD-04). */
static void finish_sending(struct iwarp_qp *qp, struct rdma_send_wqe *w)
{
    w->first_seq = qp->source.made_bytes;
    next_wqe(qp);
}

/* Whether all of the local memory of the WQE may be used as it asks. */
static bool memory_is_good(const struct iwarp_qp *qp, const struct rdma_send_wqe *w)
{
    bool writes = rdma_wqe_flags(w) & RDMA_OP_RD_ATOMIC;
    uint32_t index = qp->base.sq.cur;
    if (w->send_flags & NORNIC_SEND_INLINE)
        return true;
    const struct nornic_sge *sges = rdma_sq_sges(&qp->base.sq, index);
    for (uint32_t i = 0; i < w->num_sge; i++)
        if (!rdma_sge_local(qp->base.domain, qp->base.pd, &sges[i], writes))
            return false;
    return true;
}

/* The pieces of `len_bytes` of data from the offset on. Their count, or UINT32_MAX: a fault. */
static uint32_t gather(const struct iwarp_qp *qp, uint32_t len_bytes, struct iwarp_piece *pieces)
{
    uint32_t count = 0;
    for (uint32_t at = 0; at < len_bytes; at += pieces[count++].len_bytes) {
        uint32_t n = len_bytes - at;
        const uint8_t *p = rdma_sq_piece(&qp->base, qp->base.sq.cur, qp->source.offset + at, &n, false);
        if (!p)
            return UINT32_MAX;
        pieces[count] = (struct iwarp_piece){p, n};
    }
    return count;
}

/* A segment with the next of the WQE's data behind `head`; `is_last`: with it the message ends. False: the
 * memory went away meanwhile. */
static bool emit_data(struct iwarp_qp *qp, const uint8_t *head, const uint8_t *head_end, uint32_t len_bytes,
                      bool is_last)
{
    struct iwarp_piece pieces[NORNIC_MAX_SGE + 1];
    uint32_t count = gather(qp, len_bytes, pieces);
    if (count == UINT32_MAX || !iwarp_emit(qp, head, head_end, pieces, count)) {
        iwarp_fail_request(qp, qp->base.sq.cur, NORNIC_WC_LOC_PROT_ERR, IWARP_TERM_RDMAP_LOCAL, NULL);
        return false;
    }
    qp->source.offset += len_bytes;
    qp->source.is_amid_message = !is_last;
    return true;
}

static enum iwarp_op send_opcode(const struct rdma_send_wqe *w)
{
    bool is_solicited = w->send_flags & NORNIC_SEND_SOLICITED;
    if (rdma_wqe_flags(w) & RDMA_OP_INVALIDATE)
        return is_solicited ? IWARP_OP_SEND_SE_INV : IWARP_OP_SEND_INV;
    return is_solicited ? IWARP_OP_SEND_SE : IWARP_OP_SEND;
}

/* IWARP-DDP-03..05, -07, -08. */
static bool emit_send(struct iwarp_qp *qp, struct rdma_send_wqe *w)
{
    uint8_t head[IWARP_HEAD_BYTES];
    enum iwarp_op op = send_opcode(w);
    const struct iwarp_untagged ddp = {
        .inv_stag = iwarp_opcodes[op].flags & IWARP_MSG_INVALIDATE ? w->invalidate_rkey : 0,
        .qn = IWARP_QN_SEND,
        .msn = qp->source.msn[IWARP_QN_SEND],
        .mo = qp->source.offset,
    };
    uint32_t n = min_u32(w->len_bytes - qp->source.offset, iwarp_untagged_room(qp));
    bool is_last = qp->source.offset + n == w->len_bytes;
    if (!emit_data(qp, head, iwarp_put_untagged(head, op, is_last, &ddp), n, is_last))
        return false;
    if (is_last) {
        qp->source.msn[IWARP_QN_SEND]++;
        finish_sending(qp, w);
    }
    return true;
}

/* IWARP-VERB-07, IWARP-RDMAP-43: the second message of a Write with immediate, or Immediate Data alone. */
static bool emit_imm(struct iwarp_qp *qp, struct rdma_send_wqe *w)
{
    uint8_t head[IWARP_HEAD_BYTES];
    enum iwarp_op op = w->send_flags & NORNIC_SEND_SOLICITED ? IWARP_OP_IMM_SE : IWARP_OP_IMM;
    const struct iwarp_untagged ddp = {.qn = IWARP_QN_SEND, .msn = qp->source.msn[IWARP_QN_SEND]++};
    struct iwarp_imm imm = {{0}};
    memcpy(imm.imm_data, &w->imm_data, sizeof w->imm_data);
    memcpy(imm.imm_data + sizeof w->imm_data, &w->imm_data_2, sizeof w->imm_data_2);
    uint8_t *p = iwarp_put_untagged(head, op, true, &ddp);
    iwarp_emit(qp, head, iwarp_imm_put(p, &imm), NULL, 0);
    finish_sending(qp, w);
    return true;
}

/* IWARP-DDP-06, IWARP-RDMAP-08. */
static bool emit_write(struct iwarp_qp *qp, struct rdma_send_wqe *w)
{
    uint8_t head[IWARP_HEAD_BYTES];
    if (qp->source.is_imm_due)
        return emit_imm(qp, w);
    uint32_t n = min_u32(w->len_bytes - qp->source.offset, iwarp_tagged_room(qp));
    bool is_last = qp->source.offset + n == w->len_bytes;
    const uint8_t *end =
        iwarp_put_tagged(head, IWARP_OP_WRITE, is_last, w->rkey, w->remote_addr + qp->source.offset);
    if (!emit_data(qp, head, end, n, is_last))
        return false;
    if (!is_last)
        return true;
    qp->source.is_imm_due = rdma_wqe_flags(w) & RDMA_OP_IMM;
    if (!qp->source.is_imm_due)
        finish_sending(qp, w);
    return true;
}

/* --- requests that are answered --- */

/* IWARP-FLOW-01. */
static bool has_credit(const struct iwarp_qp *qp)
{
    return iwarp_ring_count(&qp->source.asked_at) < qp->session.ord;
}

static struct iwarp_asked *ask(struct iwarp_qp *qp, struct rdma_send_wqe *w)
{
    struct iwarp_asked *asked = iwarp_asked_add(&qp->source);
    *asked = (struct iwarp_asked){.wqe = qp->base.sq.cur, .msn = qp->source.msn[IWARP_QN_REQUEST]++};
    w->seq_count++;
    qp->base.sq.rd_atomic++;
    return asked;
}

static void emit_read_request(struct iwarp_qp *qp, uint32_t msn, const struct iwarp_read_req *req)
{
    uint8_t head[IWARP_HEAD_BYTES];
    const struct iwarp_untagged ddp = {.qn = IWARP_QN_REQUEST, .msn = msn};
    uint8_t *p = iwarp_put_untagged(head, IWARP_OP_READ_REQUEST, true, &ddp);
    iwarp_emit(qp, head, iwarp_read_req_put(p, req), NULL, 0);
}

/* The next SGE with room in it, or NULL: the READ is of nothing. */
static const struct nornic_sge *next_sink(struct iwarp_qp *qp, const struct rdma_send_wqe *w)
{
    const struct nornic_sge *sges = rdma_sq_sges(&qp->base.sq, qp->base.sq.cur);
    while (qp->source.sge < w->num_sge && sges[qp->source.sge].len_bytes == 0)
        qp->source.sge++;
    return qp->source.sge < w->num_sge ? &sges[qp->source.sge++] : NULL;
}

/* IWARP-RDMAP-15: one Request an SGE, each with a credit of its own. */
static bool emit_read(struct iwarp_qp *qp, struct rdma_send_wqe *w)
{
    if (!has_credit(qp))
        return false;
    const struct nornic_sge *sink = next_sink(qp, w);
    const struct iwarp_read_req req = {
        .sink_stag = sink ? sink->lkey : RTR_STAG,
        .sink_to = sink ? sink->addr : 0,
        .size = sink ? sink->len_bytes : 0,
        .src_stag = w->rkey,
        .src_to = w->remote_addr + qp->source.offset,
    };
    struct iwarp_asked *asked = ask(qp, w);
    asked->kind = IWARP_ASKED_READ;
    asked->sink_stag = req.sink_stag;
    asked->sink_to = req.sink_to;
    asked->size = req.size;
    emit_read_request(qp, asked->msn, &req);
    qp->source.offset += req.size;
    if (qp->source.offset == w->len_bytes)
        next_wqe(qp);
    return true;
}

/* IWARP-ATOM-10: what is not masked, as masks. One that compares nothing and swaps all has an AOpCode of its
 * own (IWARP-ATOM-08). */
static struct iwarp_atomic_req atomic_of(const struct rdma_send_wqe *w, uint32_t request_id)
{
    bool is_masked = rdma_wqe_flags(w) & RDMA_OP_MASKED;
    struct iwarp_atomic_req req = {.request_id = request_id, .stag = w->rkey, .to = w->remote_addr};
    if (w->opcode == NORNIC_WR_ATOMIC_FETCH_AND_ADD || w->opcode == NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD) {
        req.aopcode = IWARP_FETCH_ADD;
        req.data = w->compare_add;
        req.mask = is_masked ? w->compare_mask : 0;
        req.compare_mask = UINT64_MAX;
        return req;
    }
    req.aopcode =
        is_masked && w->compare_mask == 0 && w->swap_mask == UINT64_MAX ? IWARP_SWAP : IWARP_CMP_SWAP;
    req.data = w->swap;
    req.mask = is_masked ? w->swap_mask : UINT64_MAX;
    req.compare = req.aopcode == IWARP_SWAP ? 0 : w->compare_add;
    req.compare_mask = is_masked && req.aopcode == IWARP_CMP_SWAP ? w->compare_mask : UINT64_MAX;
    return req;
}

static bool emit_atomic(struct iwarp_qp *qp, struct rdma_send_wqe *w)
{
    uint8_t head[IWARP_HEAD_BYTES] = {0};
    if (!has_credit(qp))
        return false;
    struct iwarp_asked *asked = ask(qp, w);
    asked->kind = IWARP_ASKED_ATOMIC;
    const struct iwarp_untagged ddp = {.qn = IWARP_QN_REQUEST, .msn = asked->msn};
    const struct iwarp_atomic_req req = atomic_of(w, asked->msn);
    uint8_t *p = iwarp_put_untagged(head, IWARP_OP_ATOMIC_REQUEST, true, &ddp);
    iwarp_emit(qp, head, iwarp_atomic_req_put(p, &req), NULL, 0);
    next_wqe(qp);
    return true;
}

static void emit_empty_write(struct iwarp_qp *qp)
{
    uint8_t head[IWARP_HEAD_BYTES];
    iwarp_emit(qp, head, iwarp_put_tagged(head, IWARP_OP_WRITE, true, RTR_STAG, 0), NULL, 0);
}

void iwarp_nudge_emit(struct iwarp_qp *qp)
{
    qp->is_nudge_due = false;
    emit_empty_write(qp);
}

void iwarp_rtr_emit(struct iwarp_qp *qp)
{
    qp->is_rtr_due = false;
    if (qp->session.rtr == IWARP_RTR_WRITE) {
        emit_empty_write(qp);
        return;
    }
    struct iwarp_asked *asked = iwarp_asked_add(&qp->source);
    *asked = (struct iwarp_asked){.kind = IWARP_ASKED_RTR, .msn = qp->source.msn[IWARP_QN_REQUEST]++};
    emit_read_request(qp, asked->msn, &(struct iwarp_read_req){.sink_stag = RTR_STAG, .src_stag = RTR_STAG});
}

/* --- the send queue --- */

/* Starts the WQE at the place to send from, unless it has to wait. False: it waits, or has failed. */
static bool start(struct iwarp_qp *qp, struct rdma_send_wqe *w)
{
    struct rdma_sq *sq = &qp->base.sq;
    if (w->send_flags & NORNIC_SEND_FENCE && sq->rd_atomic)
        return false;
    rdma_sq_start_next(sq, 0, 0);
    if (rdma_wqe_flags(w) & RDMA_OP_RD_ATOMIC && qp->session.ord == 0) {
        iwarp_fail_request(qp, sq->cur, NORNIC_WC_LOC_QP_OP_ERR, IWARP_TERM_RDMAP_LOCAL, NULL);
        return false;
    }
    if (!memory_is_good(qp, w)) {
        iwarp_fail_request(qp, sq->cur, NORNIC_WC_LOC_PROT_ERR, IWARP_TERM_RDMAP_LOCAL, NULL);
        return false;
    }
    return true;
}

static bool emit_part(struct iwarp_qp *qp, struct rdma_send_wqe *w)
{
    uint32_t flags = rdma_wqe_flags(w);
    if (flags & RDMA_OP_READ)
        return emit_read(qp, w);
    if (flags & RDMA_OP_ATOMIC)
        return emit_atomic(qp, w);
    if (flags & RDMA_OP_WRITE)
        return emit_write(qp, w);
    return flags & RDMA_OP_SEND ? emit_send(qp, w) : emit_imm(qp, w);
}

bool iwarp_request_emit(struct iwarp_qp *qp)
{
    struct rdma_sq *sq = &qp->base.sq;
    enum nornic_wc_status failed;
    if (!rdma_local_execute(&qp->base, 0, &failed)) {
        if (failed != NORNIC_WC_SUCCESS)
            iwarp_fail_request(qp, sq->cur, failed, IWARP_TERM_RDMAP_LOCAL, NULL);
        return false;
    }
    struct rdma_send_wqe *w = sq->cur == sq->started ? rdma_sq_next(sq) : rdma_sq_wqe(sq, sq->cur);
    if (!w || (sq->cur == sq->started && !start(qp, w)))
        return false;
    return emit_part(qp, w);
}

/* --- the answers --- */

/* One request is answered: its credit is back. */
static void answered(struct iwarp_qp *qp, const struct iwarp_asked *asked)
{
    if (asked->kind != IWARP_ASKED_RTR) {
        rdma_sq_wqe(&qp->base.sq, asked->wqe)->seq_count--;
        qp->base.sq.rd_atomic--;
    }
    qp->source.asked_at.head++;
    iwarp_complete_ready(qp);
}

/* Payload of a Response into the sink that was named, which must still be writable here (IWARP-AMB-05). */
static bool place(struct iwarp_qp *qp, const struct iwarp_asked *asked, const uint8_t *from,
                  uint32_t len_bytes)
{
    const struct nornic_sge sink = {asked->sink_to, asked->size, asked->sink_stag};
    uint8_t *to = rdma_sge_local(qp->base.domain, qp->base.pd, &sink, true);
    return to && rdma_store(qp->base.domain, to + asked->done_bytes, from, len_bytes);
}

/* IWARP-RDMAP-14: exactly what was asked for. Nothing is looked at where nothing is placed (IWARP-DDP-08). */
uint16_t iwarp_take_read_response(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu)
{
    struct iwarp_ctrl ctrl;
    struct iwarp_tagged ddp;
    const uint8_t *payload = iwarp_tagged_get(&ddp, iwarp_ctrl_get(&ctrl, ulpdu->bytes));
    uint32_t n = ulpdu->len_bytes - IWARP_DDP_TAGGED_BYTES;
    struct iwarp_asked *asked = iwarp_asked_oldest(&qp->source);
    if (!iwarp_ring_count(&qp->source.asked_at) || asked->kind == IWARP_ASKED_ATOMIC)
        return IWARP_TERM_RDMAP_OPCODE;
    if (n && ddp.stag != asked->sink_stag)
        return IWARP_TERM_DDP_STAG;
    if (n && (ddp.to != asked->sink_to + asked->done_bytes || n > asked->size - asked->done_bytes))
        return IWARP_TERM_DDP_BOUNDS;
    if (ctrl.l != (asked->done_bytes + n == asked->size))
        return IWARP_TERM_DDP_BOUNDS;
    if (n && !place(qp, asked, payload, n)) {
        iwarp_fail_request(qp, asked->wqe, NORNIC_WC_LOC_PROT_ERR, IWARP_TERM_DDP_LOCAL, ulpdu);
        return IWARP_TERM_NONE;
    }
    asked->done_bytes += n;
    if (ctrl.l)
        answered(qp, asked);
    return IWARP_TERM_NONE;
}

/* IWARP-ATOM-03, -06. */
uint16_t iwarp_take_atomic_response(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu)
{
    struct iwarp_atomic_rsp rsp;
    const struct iwarp_asked *asked = iwarp_asked_oldest(&qp->source);
    iwarp_atomic_rsp_get(&rsp, ulpdu->bytes + IWARP_DDP_UNTAGGED_BYTES);
    if (!iwarp_ring_count(&qp->source.asked_at) || asked->kind != IWARP_ASKED_ATOMIC ||
        rsp.request_id != asked->msn)
        return IWARP_TERM_RDMAP_OPCODE;
    const uint8_t *original = (const uint8_t *)&rsp.original;
    if (!rdma_sq_scatter(&qp->base, asked->wqe, 0, original, sizeof rsp.original)) {
        iwarp_fail_request(qp, asked->wqe, NORNIC_WC_LOC_PROT_ERR, IWARP_TERM_DDP_LOCAL, ulpdu);
        return IWARP_TERM_NONE;
    }
    answered(qp, asked);
    return IWARP_TERM_NONE;
}
