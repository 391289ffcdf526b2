/* SPDX-License-Identifier: BSD-2-Clause */
/* When which request packet of RC leaves: ROCE sections 7.1 to 7.3. */
#include "roce/cc.h"
#include "roce/device.h"
#include "roce/local_ops.h"
#include "roce/request.h"

#define ACK_REQ_EVERY_PKTS 64 /* ROCE-RC-12 */

static bool is_credit_limited(const struct roce_send_wqe *w)
{
    return w->opcode == NORNIC_WR_SEND || w->opcode == NORNIC_WR_SEND_WITH_IMM ||
           w->opcode == NORNIC_WR_SEND_WITH_INV || w->opcode == NORNIC_WR_RDMA_WRITE_WITH_IMM;
}

/* Whether the next WQE may start: fence, READ/atomic limit, credits, PSN space. */
static bool may_start(const struct roce_qp *qp, const struct roce_send_wqe *w, uint32_t psn_count)
{
    const struct roce_requester *req = &qp->req;
    if (w->send_flags & NORNIC_SEND_FENCE && req->rd_atomic_outstanding)
        return false; /* ROCE-RC-14 */
    if (roce_wr_is_rd_atomic(w->opcode) && req->rd_atomic_outstanding >= qp->attr.max_rd_atomic)
        return false; /* ROCE-RC-13 */
    /* Without a credit one message may go, so that the connection cannot deadlock: ROCE-RC-22. */
    if (!req->unlimited && is_credit_limited(w) && roce_psn_diff(req->ssn + 1, req->lsn) > 1)
        return false;
    uint32_t outstanding = (req->nxt_psn - req->una_psn) & ROCE_PSN_MASK;
    return outstanding < qp->req.window.pkts && outstanding + psn_count <= 1u << 23; /* ROCE-RC-4 */
}

/* Gives the next posted WQE its PSNs (ROCE-RC-1..5). False: there is none, or it has to wait. */
static bool start_next(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    if (roce_qp_state_now(qp) != NORNIC_QPS_RTS ||
        qp->sq.started == atomic_load_explicit(&qp->sq.posted, memory_order_acquire))
        return false;
    struct roce_send_wqe *w = roce_send_wqe(qp, qp->sq.started);
    if (roce_wr_is_rd_atomic(w->opcode) && qp->attr.max_rd_atomic == 0) {
        /* It could never start. It fails in its turn, after all that was posted before it. */
        if (qp->sq.started == qp->sq.done)
            roce_requester_fail(qp, NORNIC_WC_LOC_QP_OP_ERR, ROCE_CAUSE_LOCAL_ERROR, now_ns);
        return false;
    }
    uint32_t psn_count = roce_request_psns(qp, w);
    if (!may_start(qp, w, psn_count))
        return false;
    w->first_psn = req->nxt_psn;
    w->psn_count = psn_count;
    req->ssn = w->ssn = roce_psn_add(req->ssn, 1);
    if (!is_credit_limited(w))
        req->lsn = roce_psn_add(req->lsn, 1); /* ROCE-RC-21 */
    req->nxt_psn = roce_psn_add(req->nxt_psn, psn_count);
    if (roce_wr_is_rd_atomic(w->opcode))
        req->rd_atomic_outstanding++;
    req->cur_pkt = 0;
    qp->sq.started++;
    return true;
}

/* ROCE-RC-12: at the end of a message, on the last packet that the window lets out, and now and then in
 * between. Also where sending was resumed: on a bad line that is the packet most likely to get through, and
 * its ACK is progress. */
static bool wants_ack(const struct roce_qp *qp, const struct roce_request *r, uint32_t psn)
{
    uint32_t outstanding = (psn + 1 - qp->req.una_psn) & ROCE_PSN_MASK;
    if (qp->req.resuming && psn == qp->req.restart_psn)
        return true;
    /* Paced packets may take so long that the ack timer fires before they are enough to be asked for. */
    if (qp->attr.timeout && roce_cc_pacing_ns(qp, qp->req.unasked_pkts + 1) >= roce_ack_timeout_ns(qp) / 4)
        return true;
    return r->last || outstanding >= qp->req.window.pkts || qp->req.unasked_pkts + 1 >= ACK_REQ_EVERY_PKTS;
}

/* After the packet at `psn` has been built. */
static void advance(struct roce_qp *qp, const struct roce_request *r, uint32_t psn, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    bool whole = roce_wr_is_rd_atomic(r->w->opcode);
    uint32_t end = whole ? roce_psn_add(r->w->first_psn, r->w->psn_count) : roce_psn_add(psn, 1);
    if (roce_psn_diff(psn, req->hi_psn) < 0) {
        roce_count(qp, retransmitted_pkts);
        r->w->restarted = true;
    }
    if (((end - req->una_psn) & ROCE_PSN_MASK) > ((req->hi_psn - req->una_psn) & ROCE_PSN_MASK))
        req->hi_psn = end;
    if (r->last) {
        req->cur++;
        req->cur_pkt = 0;
    } else {
        req->cur_pkt++;
    }
    if (req->lone && psn == req->restart_psn)
        roce_requester_sent_lone(qp);
    if (!roce_timer_armed(&req->timer))
        roce_requester_arm(qp, now_ns);
}

/* The WQE at `cur` cannot be built, or was executed in vain. Those before it may still succeed, so it fails
 * only as the oldest. */
static void stall(struct roce_qp *qp, enum nornic_wc_status status, uint64_t now_ns)
{
    qp->req.stalled = true;
    qp->req.stall_status = status;
    if (qp->req.cur == qp->sq.done)
        roce_requester_fail(qp, status, ROCE_CAUSE_LOCAL_ERROR, now_ns);
}

bool roce_requester_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    enum nornic_qp_state state = roce_qp_state_now(qp);
    if ((state != NORNIC_QPS_RTS && state != NORNIC_QPS_SQD) || req->rnr_waiting)
        return false;
    if (req->stalled) {
        stall(qp, req->stall_status, now_ns);
        return false;
    }
    enum nornic_wc_status failed;
    if (!roce_local_pass(qp, &failed)) {
        if (failed != NORNIC_WC_SUCCESS)
            stall(qp, failed, now_ns);
        return false;
    }
    if (req->cur == qp->sq.started && !start_next(qp, now_ns))
        return false;
    uint32_t psn = roce_requester_cur_psn(qp);
    if (((psn - req->una_psn) & ROCE_PSN_MASK) >= qp->req.window.pkts)
        return false;
    if (roce_cc_must_wait(qp, now_ns))
        return false;
    struct roce_request r = roce_request_next(qp);
    bool ack_req = wants_ack(qp, &r, psn);
    enum roce_built built = roce_request_build(qp, &r, psn, ack_req, run);
    if (built == ROCE_UNREADABLE)
        stall(qp, NORNIC_WC_LOC_PROT_ERR, now_ns);
    if (built != ROCE_BUILT)
        return false;
    req->unasked_pkts = ack_req ? 0 : req->unasked_pkts + 1;
    req->resuming = false;
    advance(qp, &r, psn, now_ns);
    roce_cc_sent(qp, run->pkt_bytes, now_ns);
    return true;
}
