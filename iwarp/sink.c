/* SPDX-License-Identifier: BSD-2-Clause */
/* Checks, placement and delivery of segments (RFC 5041 7, RFC 5040 5 and 7). TCP brings segments in
 * order, so that each is placed and delivered as it comes, and a message is never in two places
 * (IWARP-DDP-10, -13). Every check of a segment is made before its first octet is placed (IWARP-SEC-01).
 */
#include "iwarp/sink.h"

#include "iwarp/answer.h"
#include "iwarp/wire/opcode.h"
#include "iwarp/request.h"
#include "iwarp/term_rx.h"
#include "rdma/access.h"

struct segment {
    const struct iwarp_ulpdu *ulpdu;
    struct iwarp_ctrl ctrl;
    struct iwarp_untagged ddp; /* of one that is not tagged */
    const struct iwarp_opcode *op;
    const uint8_t *payload;
    uint32_t payload_bytes;
};

/* --- Sends and Immediate Data --- */

/* Fails the receive that is held. Its completion reports the end of the stream, and no event follows. */
static uint16_t fail_receive(struct iwarp_qp *qp, enum nornic_wc_status status, uint16_t code)
{
    struct nornic_wc wc = {.status = status, .opcode = NORNIC_WC_RECV};
    rdma_recv_complete(&qp->base, &wc, false);
    qp->is_told = true;
    return code;
}

/* IWARP-RDMAP-22. */
static uint16_t invalidate(struct iwarp_qp *qp, uint32_t stag)
{
    const struct rdma_qp *base = &qp->base;
    if (!rdma_invalidate_remote(base->domain, base->pd, base->qpn, stag))
        return IWARP_TERM_NONE;
    enum rdma_remote_fault fault = rdma_mr_remote_fault(base->domain, base->pd, base->qpn, stag, 0, 0, 0);
    return fail_receive(qp, NORNIC_WC_LOC_QP_OP_ERR,
                        fault == RDMA_FAULT_STREAM ? IWARP_TERM_RDMAP_INVALIDATE
                                                   : IWARP_TERM_RDMAP_NO_INVALIDATE);
}

/* The message is whole: IWARP-DDP-11, IWARP-RDMAP-20, -21. */
static uint16_t deliver(struct iwarp_qp *qp, const struct segment *s, struct nornic_wc *wc)
{
    if (!rdma_cq_has_room(rdma_recv_cq(&qp->base), 1))
        return fail_receive(qp, NORNIC_WC_FATAL_ERR, IWARP_TERM_RDMAP_LOCAL);
    if (s->op->flags & IWARP_MSG_INVALIDATE) {
        uint16_t code = invalidate(qp, s->ddp.inv_stag);
        if (code != IWARP_TERM_NONE)
            return code;
        wc->wc_flags |= NORNIC_WC_WITH_INV;
        wc->invalidated_rkey = s->ddp.inv_stag;
    }
    qp->sink.msn[IWARP_QN_SEND]++;
    qp->sink.mo = 0;
    qp->sink.is_in_message = false;
    rdma_recv_complete(&qp->base, wc, s->op->flags & IWARP_MSG_SOLICITED);
    return IWARP_TERM_NONE;
}

/* The receive of the message: IWARP-FLOW-04, IWARP-DDP-21. */
static bool hold_receive(struct iwarp_qp *qp)
{
    if (!qp->sink.is_in_message && !rdma_recv_take(&qp->base))
        return false;
    qp->sink.is_in_message = true;
    return true;
}

static uint16_t take_send(struct iwarp_qp *qp, const struct segment *s)
{
    if (!hold_receive(qp))
        return IWARP_TERM_DDP_NO_BUFFER;
    if (s->payload_bytes > rdma_recv_bytes(&qp->base.recv) - qp->sink.mo) /* IWARP-DDP-22 */
        return fail_receive(qp, NORNIC_WC_LOC_LEN_ERR, IWARP_TERM_DDP_TOO_LONG);
    if (!rdma_recv_scatter(&qp->base, qp->sink.mo, s->payload, s->payload_bytes))
        return fail_receive(qp, NORNIC_WC_LOC_PROT_ERR, IWARP_TERM_DDP_LOCAL);
    qp->sink.mo += s->payload_bytes;
    if (!s->ctrl.l)
        return IWARP_TERM_NONE;
    return deliver(qp, s, &(struct nornic_wc){.opcode = NORNIC_WC_RECV, .byte_len = qp->sink.mo});
}

/* Takes Immediate Data (IWARP-RDMAP-40, -41, -43, IWARP-VERB-07). `write_bytes` of a Write directly
 * before are the completion's byte count. */
static uint16_t take_imm(struct iwarp_qp *qp, const struct segment *s, uint64_t write_bytes)
{
    struct nornic_wc wc = {
        .opcode = NORNIC_WC_RECV_RDMA_WITH_IMM,
        .wc_flags = NORNIC_WC_WITH_IMM,
        .byte_len = (uint32_t)write_bytes,
    };
    if (!hold_receive(qp))
        return IWARP_TERM_DDP_NO_BUFFER;
    memcpy(&wc.imm_data, s->payload, sizeof wc.imm_data);
    memcpy(&wc.imm_data_2, s->payload + sizeof wc.imm_data, sizeof wc.imm_data_2);
    return deliver(qp, s, &wc);
}

/* --- tagged --- */

/* Places a segment of a Write (IWARP-DDP-08, -23..27). A Write of 0 bytes skips the check of its STag. */
static uint16_t take_write(struct iwarp_qp *qp, const struct segment *s)
{
    const struct rdma_qp *base = &qp->base;
    struct iwarp_sink *sink = &qp->sink;
    struct iwarp_tagged ddp;
    iwarp_tagged_get(&ddp, s->ulpdu->bytes + IWARP_CTRL_BYTES);
    if (s->payload_bytes) {
        uint8_t *to = rdma_mr_remote(base->domain, base->pd, base->qpn, ddp.stag, ddp.to, s->payload_bytes,
                                     NORNIC_ACCESS_REMOTE_WRITE);
        if (!to)
            return iwarp_fault_of_tagged(rdma_mr_remote_fault(base->domain, base->pd, base->qpn, ddp.stag,
                                                              ddp.to, s->payload_bytes,
                                                              NORNIC_ACCESS_REMOTE_WRITE));
        if (!rdma_store(base->domain, to, s->payload, s->payload_bytes))
            return iwarp_fault_of_tagged(RDMA_FAULT_ACCESS);
    }
    sink->write_bytes = (sink->is_in_write ? sink->write_bytes : 0) + s->payload_bytes;
    sink->is_in_write = !s->ctrl.l;
    return IWARP_TERM_NONE;
}

static uint16_t take_tagged(struct iwarp_qp *qp, const struct segment *s)
{
    return s->ctrl.opcode == IWARP_OP_WRITE ? take_write(qp, s) : iwarp_take_read_response(qp, s->ulpdu);
}

/* --- untagged --- */

/* Checks the queue, MSN and MO of a segment (IWARP-DDP-20, -21, -13; IWARP-RDMAP-03). A segment
 * continues at the end of the last one. */
static uint16_t check_untagged(const struct iwarp_qp *qp, const struct segment *s)
{
    uint32_t so_far = s->ddp.qn == IWARP_QN_SEND ? qp->sink.mo : 0;
    if (s->ddp.qn != s->op->qn)
        return IWARP_TERM_DDP_QN;
    if (s->ddp.msn != qp->sink.msn[s->ddp.qn])
        return IWARP_TERM_DDP_MSN;
    bool is_single = !(s->op->flags & IWARP_MSG_PAYLOAD);
    bool is_amid = s->ddp.qn == IWARP_QN_SEND && qp->sink.is_in_message;
    if (s->ddp.mo != so_far || (is_single && (!s->ctrl.l || is_amid)))
        return IWARP_TERM_DDP_MO;
    if (is_single && s->ctrl.opcode != IWARP_OP_TERMINATE && s->payload_bytes != s->op->header_bytes)
        return IWARP_TERM_RDMAP_CATASTROPHIC;
    return IWARP_TERM_NONE;
}

/* Takes a segment that is a whole message, after its checks. */
static uint16_t take_single(struct iwarp_qp *qp, const struct segment *s)
{
    qp->sink.msn[s->ddp.qn]++;
    if (s->ctrl.opcode == IWARP_OP_READ_REQUEST)
        return iwarp_take_read_request(qp, s->ulpdu);
    if (s->ctrl.opcode == IWARP_OP_ATOMIC_REQUEST)
        return iwarp_take_atomic_request(qp, s->ulpdu);
    if (s->ctrl.opcode == IWARP_OP_ATOMIC_RESPONSE)
        return iwarp_take_atomic_response(qp, s->ulpdu);
    iwarp_take_terminate(qp, s->payload, s->payload_bytes);
    return IWARP_TERM_NONE;
}

static uint16_t take_untagged(struct iwarp_qp *qp, struct segment *s)
{
    uint64_t write_bytes = qp->sink.is_in_write ? 0 : qp->sink.write_bytes;
    iwarp_untagged_get(&s->ddp, s->ulpdu->bytes + IWARP_CTRL_BYTES);
    uint16_t code = check_untagged(qp, s);
    if (code != IWARP_TERM_NONE)
        return code;
    if (s->ddp.qn == IWARP_QN_SEND || s->ddp.qn == IWARP_QN_REQUEST)
        qp->sink.write_bytes = 0; /* answers may come between a Write and its Immediate Data */
    if (s->op->flags & IWARP_MSG_TAKES_RECV)
        return s->op->flags & IWARP_MSG_PAYLOAD ? take_send(qp, s) : take_imm(qp, s, write_bytes);
    return take_single(qp, s);
}

/* --- any --- */

/* Versions, then the opcode: IWARP-DDP-02, IWARP-RDMAP-01. */
static uint16_t check_control(const struct iwarp_qp *qp, const struct iwarp_ctrl *ctrl)
{
    if (ctrl->dv != IWARP_DDP_VERSION)
        return ctrl->t ? IWARP_TERM_DDP_TAGGED_VERSION : IWARP_TERM_DDP_VERSION;
    if (!iwarp_is_rdmap_version(ctrl->rv)) /* IWARP-GEN-05 */
        return IWARP_TERM_RDMAP_VERSION;
    if (ctrl->opcode >= IWARP_OP_DEFINED)
        return IWARP_TERM_RDMAP_OPCODE;
    uint32_t flags = iwarp_opcodes[ctrl->opcode].flags;
    bool is_tagged = flags & IWARP_MSG_TAGGED,
         is_known = !(flags & IWARP_MSG_EXTENSION) || !qp->no_extensions;
    return is_known && is_tagged == ctrl->t ? IWARP_TERM_NONE : IWARP_TERM_RDMAP_OPCODE;
}

/* Ends the stream for an invalid segment. A Terminate is never answered by another (IWARP-RDMAP-30,
 * -35). In another version of DDP or RDMAP the opcode may mean anything. */
static void refuse(struct iwarp_qp *qp, const struct segment *s, uint16_t code)
{
    bool is_terminate = s->ctrl.dv == IWARP_DDP_VERSION && iwarp_is_rdmap_version(s->ctrl.rv) &&
                        s->ctrl.opcode == IWARP_OP_TERMINATE;
    if (is_terminate)
        iwarp_take_terminate(qp, NULL, 0);
    else
        iwarp_terminate(qp, code, s->ulpdu);
}

void iwarp_take_ulpdu(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu)
{
    struct segment s = {.ulpdu = ulpdu};
    iwarp_ctrl_get(&s.ctrl, ulpdu->bytes);
    uint16_t code = check_control(qp, &s.ctrl);
    if (code == IWARP_TERM_NONE) {
        uint32_t head = s.ctrl.t ? IWARP_DDP_TAGGED_BYTES : IWARP_DDP_UNTAGGED_BYTES;
        s.op = &iwarp_opcodes[s.ctrl.opcode];
        s.payload = ulpdu->bytes + head;
        s.payload_bytes = ulpdu->len_bytes - head;
        code = s.ctrl.t ? take_tagged(qp, &s) : take_untagged(qp, &s);
    }
    if (code != IWARP_TERM_NONE)
        refuse(qp, &s, code);
}
