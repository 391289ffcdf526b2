/* SPDX-License-Identifier: BSD-2-Clause */
/* Unreliable Connection: packets like those of RC, without answers. A lost packet stays lost, and the
 * receiver tells of whole messages only. ROCE section 9. */
#include "rdma/queue/local_ops.h"
#include "roce/cc/cc.h"
#include "roce/dev/inner.h"
#include "roce/requester/request.h"
#include "roce/responder/responder.h"
#include "roce/qp/transport.h"

/* --- sending --- */

static bool start_next(struct roce_qp *qp)
{
    struct rdma_sq *sq = &qp->base.sq;
    const struct rdma_send_wqe *w = rdma_sq_next(sq);
    if (roce_qp_state_now(qp) != NORNIC_QPS_RTS || !w)
        return false;
    rdma_sq_start_next(sq, qp->req.nxt_psn, roce_request_psns(qp, w));
    sq->cur_part = 0;
    return true;
}

/* No packet is ever sent twice, so a PSN is used up when its packet was built: a message that fails
 * half-way leaves no gap behind. */
static bool uc_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    enum nornic_qp_state state = roce_qp_state_now(qp);
    enum nornic_wc_status failed;
    if (state != NORNIC_QPS_RTS && state != NORNIC_QPS_SQD)
        return false;
    if (!rdma_local_execute(&qp->base, qp->req.nxt_psn, &failed)) {
        /* Here it is always the oldest, which waits for nothing. */
        roce_requester_fail(qp, failed, ROCE_CAUSE_LOCAL_ERROR, now_ns);
        return false;
    }
    if (qp->base.sq.cur == qp->base.sq.started && !start_next(qp))
        return false;
    if (roce_cc_must_wait(qp, now_ns))
        return false;
    struct roce_request r = roce_request_next(qp);
    enum roce_built built = roce_request_build(qp, &r, req->nxt_psn, false, run);
    if (built == ROCE_UNREADABLE)
        roce_requester_fail(qp, NORNIC_WC_LOC_PROT_ERR, ROCE_CAUSE_LOCAL_ERROR, now_ns);
    if (built != ROCE_BUILT)
        return false;
    req->nxt_psn = req->una_psn = req->hi_psn = roce_psn_add(req->nxt_psn, 1);
    qp->base.sq.cur_part++;
    roce_cc_sent(qp, run->pkt_bytes, now_ns);
    if (r.is_last) { /* ROCE-UC-1 */
        qp->base.sq.cur++;
        rdma_sq_complete(&qp->base, NORNIC_WC_SUCCESS);
        roce_requester_check_drained(qp);
    }
    return true;
}

/* --- receiving --- */

/* The open message, if there is one, is given up without a word. A receive WQE that it took is the next
 * message's again, or fails with `srq_status` if it came from an SRQ (ROCE-UC-4). */
static void abandon(struct roce_qp *qp, enum nornic_wc_status srq_status)
{
    if (qp->resp.message)
        roce_count(qp, messages_abandoned);
    qp->resp.message = 0;
    rdma_recv_give_back(&qp->base, srq_status);
}

/* A fault of this side ends the connection: ROCE section 6.3, last row. */
static void fail_locally(struct roce_qp *qp, enum nornic_wc_status recv_status, uint64_t now_ns)
{
    struct nornic_wc wc = {.status = recv_status, .opcode = NORNIC_WC_RECV};
    rdma_recv_complete(&qp->base, &wc, false);
    abandon(qp, recv_status);
    roce_qp_enter_error(qp, ROCE_CAUSE_LOCAL_ERROR, now_ns);
}

/* ROCE-UC-2, UC-3: the first packet of a message is welcome with any PSN and ends an open message; any
 * other must be the very next of the open message. */
static bool is_next(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    struct roce_responder *resp = &qp->resp;
    bool expected = pkt->bth.psn == resp->epsn;
    if (!expected)
        roce_count(qp, out_of_sequence);
    if (pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY)) {
        abandon(qp, NORNIC_WC_LOC_QP_OP_ERR);
        resp->epsn = pkt->bth.psn;
        return true;
    }
    return expected && roce_responder_check_sequence(resp, pkt->op->flags);
}

/* Returns the fault of a packet that is the next one; ROCE_RX_TAKEN: none. */
static enum roce_rx_verdict check(struct roce_qp *qp, const struct roce_pkt *pkt, struct roce_target *target)
{
    uint32_t flags = pkt->op->flags;
    if (!roce_responder_check_enabled(qp, flags))
        return ROCE_RX_DROP_OPCODE;
    if (flags & ROCE_PKT_TAKES_RECV && !rdma_recv_take(&qp->base))
        return ROCE_RX_DROP_NO_RECV;
    if (!roce_responder_check_keys(qp, pkt, target))
        return ROCE_RX_DROP_KEY;
    struct roce_fault fault = roce_responder_check_length(qp, pkt);
    if (!fault.syndrome)
        return ROCE_RX_TAKEN;
    return fault.recv_status == NORNIC_WC_LOC_LEN_ERR ? ROCE_RX_DROP_TOO_LONG : ROCE_RX_DROP_LENGTH;
}

/* Gives the message up, and goes past the packet if it is the expected (ROCE-UC-5). Returns `verdict`. */
static enum roce_rx_verdict drop(struct roce_qp *qp, const struct roce_pkt *pkt, enum roce_rx_verdict verdict)
{
    abandon(qp, verdict == ROCE_RX_DROP_TOO_LONG ? NORNIC_WC_LOC_LEN_ERR : NORNIC_WC_LOC_QP_OP_ERR);
    if (pkt->bth.psn == qp->resp.epsn)
        qp->resp.epsn = roce_psn_add(qp->resp.epsn, 1);
    return verdict;
}

static enum roce_rx_verdict uc_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    if (!(pkt->op->flags & ROCE_PKT_DEFINED))
        return ROCE_RX_DROP_OPCODE; /* ROCE-OPC-5: as if it had never come */
    struct roce_target target = {.pd = qp->base.pd};
    enum roce_rx_verdict verdict = ROCE_RX_DROP_ORDER;
    if (is_next(qp, pkt))
        verdict = check(qp, pkt, &target);
    if (verdict != ROCE_RX_TAKEN)
        return drop(qp, pkt, verdict);
    struct roce_fault fault = roce_responder_execute(qp, pkt, &target);
    if (!fault.syndrome)
        return ROCE_RX_TAKEN;
    if (fault.recv_status == NORNIC_WC_LOC_ACCESS_ERR)
        return drop(qp, pkt, ROCE_RX_DROP_KEY);
    fail_locally(qp, fault.recv_status, now_ns);
    return ROCE_RX_DROP_LOCAL;
}

const struct roce_transport roce_uc = {
    .service = ROCE_SERVICE_UC,
    .is_connected = true,
    .has_sqe = true,
    .sends = ROCE_SENDS_CONNECTED,
    .ops = {.posted = roce_qp_posted},
    .rx = uc_rx,
    .tx = uc_tx,
};
