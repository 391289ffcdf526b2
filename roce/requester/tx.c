/* SPDX-License-Identifier: BSD-2-Clause */
/* Sends the request packets of RC: their order, the window and AckReq (ROCE-RC-1 to RC-22). */
#include "base/base.h"
#include "rdma/queue/local_ops.h"
#include "roce/cc/cc.h"
#include "roce/dev/inner.h"
#include "roce/requester/probe.h"
#include "roce/requester/request.h"

#define ACK_REQ_EVERY_PKTS 64 /* ROCE-RC-12 */

/* Returns whether the window lets the packet at `psn` out. Packets that arrived after a gap do not count
 * against the window. Beyond the window `psn` is at most `peer.room_pkts` ahead of `una_psn`. */
static bool has_room(const struct roce_qp *qp, uint32_t psn)
{
    const struct roce_requester *req = &qp->req;
    uint32_t ahead = (psn - req->una_psn) & ROCE_PSN_MASK;
    if (ahead < req->window.pkts)
        return true;
    return ahead <= qp->peer.room_pkts && roce_requester_under_way(qp, psn) < (int64_t)req->window.pkts;
}

/* Returns whether the next WQE may start: fence, credits, PSN space. */
static bool may_start(const struct roce_qp *qp, const struct rdma_send_wqe *w, uint32_t psn_count)
{
    const struct roce_requester *req = &qp->req;
    uint32_t flags = rdma_wqe_flags(w);
    if (w->send_flags & NORNIC_SEND_FENCE && qp->base.sq.rd_atomic)
        return false; /* ROCE-RC-14 */
    /* Without a credit one message may go, so that the connection cannot deadlock: ROCE-RC-22. */
    if (!req->is_unlimited && flags & RDMA_OP_TAKES_RECV && roce_psn_diff(req->ssn + 1, req->lsn) > 1)
        return false;
    uint32_t outstanding = (req->nxt_psn - req->una_psn) & ROCE_PSN_MASK;
    return has_room(qp, req->nxt_psn) && outstanding + psn_count <= 1u << 23; /* ROCE-RC-4 */
}

/* Gives the next posted WQE its PSNs (ROCE-RC-1..5). False: there is none, or it has to wait. */
static bool start_next(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    struct rdma_sq *sq = &qp->base.sq;
    const struct rdma_send_wqe *w = rdma_sq_next(sq);
    if (roce_qp_state_now(qp) != NORNIC_QPS_RTS || !w)
        return false;
    uint32_t flags = rdma_wqe_flags(w);
    if (flags & RDMA_OP_RD_ATOMIC && qp->attr.max_rd_atomic == 0) {
        /* It could never start. It fails in its turn, after all that was posted before it. */
        if (sq->started == sq->done)
            roce_requester_fail(qp, NORNIC_WC_LOC_QP_OP_ERR, ROCE_CAUSE_LOCAL_ERROR, now_ns);
        return false;
    }
    uint32_t psn_count = roce_request_psns(qp, w);
    if (!may_start(qp, w, psn_count))
        return false;
    rdma_sq_start_next(sq, req->nxt_psn, psn_count);
    req->ssn = roce_psn_add(req->ssn, 1);
    if (!(flags & RDMA_OP_TAKES_RECV))
        req->lsn = roce_psn_add(req->lsn, 1); /* ROCE-RC-21 */
    req->nxt_psn = roce_psn_add(req->nxt_psn, psn_count);
    if (flags & RDMA_OP_RD_ATOMIC)
        sq->rd_atomic++;
    sq->cur_part = 0;
    return true;
}

/* Returns whether the READ or atomic request at `psn` may leave. A repeated request may. A new one needs
 * fewer than `max_rd_atomic` outstanding requests (ROCE-RC-13), and room for its answer. */
static bool may_ask(const struct roce_qp *qp, const struct roce_request *r, uint32_t psn)
{
    const struct roce_requester *req = &qp->req;
    if (roce_psn_diff(psn, req->hi_psn) < 0)
        return true;
    uint32_t outstanding = (psn - req->una_psn) & ROCE_PSN_MASK;
    return req->rd_atomic < qp->attr.max_rd_atomic &&
           (!qp->read_pkts || !outstanding || outstanding + r->psn_count <= 2 * qp->read_pkts);
}

/* Returns whether the packet at `psn` asks for an ACK (ROCE-RC-12): the last of a message, the last of the
 * window, and at least every 64th. So does the first packet after a resume. On a bad line it is the most
 * likely to arrive, and its ACK is progress. */
static bool wants_ack(const struct roce_qp *qp, const struct roce_request *r, uint32_t psn)
{
    uint32_t outstanding = (psn + 1 - qp->req.una_psn) & ROCE_PSN_MASK;
    if (qp->req.is_resuming && psn == qp->req.restart_psn)
        return true;
    /* Paced packets ask early: 64 of them may take longer than the ack timer. */
    if (qp->attr.timeout && roce_cc_pacing_ns(qp, qp->req.unasked_pkts + 1) >= roce_ack_timeout_ns(qp) / 4)
        return true;
    /* A repeated packet asks: it may close the gap before packets that asked earlier. */
    if (qp->req.board.slots && roce_psn_diff(psn, qp->req.hi_psn) < 0)
        return true;
    return r->is_last || r->psn_count > 1 || outstanding >= qp->req.window.pkts ||
           qp->req.unasked_pkts + 1 >= ACK_REQ_EVERY_PKTS;
}

/* Updates the requester after the packet at `psn` has been built. */
static void advance(struct roce_qp *qp, const struct roce_request *r, uint32_t psn, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    uint32_t end = roce_psn_add(psn, r->psn_count);
    bool again = roce_psn_diff(psn, req->hi_psn) < 0;
    if (again) {
        roce_count(qp, retransmitted_pkts);
        r->w->is_reissued = true;
    } else if (rdma_wqe_flags(r->w) & RDMA_OP_RD_ATOMIC) {
        req->rd_atomic++;
    }
    if (((end - req->una_psn) & ROCE_PSN_MASK) > ((req->hi_psn - req->una_psn) & ROCE_PSN_MASK))
        req->hi_psn = end;
    if (r->is_last)
        rdma_sq_go_past(&qp->base.sq);
    else
        qp->base.sq.cur_part += r->psn_count;
    if (req->is_selective && psn == req->restart_psn)
        roce_requester_sent_selected(qp);
    roce_board_sent(&req->board, psn, (end - psn) & ROCE_PSN_MASK, again);
    roce_probe_sent(qp, psn, again, now_ns);
    if (!rdma_timer_armed(&req->timer))
        roce_requester_arm(qp, now_ns);
}

/* Stops at the WQE at `cur`, which cannot be built or failed locally. Earlier WQEs may still succeed, so
 * the WQE fails when it is the oldest. */
static void stall(struct roce_qp *qp, enum nornic_wc_status status, uint64_t now_ns)
{
    qp->req.is_stalled = true;
    qp->req.stall_status = status;
    if (qp->base.sq.cur == qp->base.sq.done)
        roce_requester_fail(qp, status, ROCE_CAUSE_LOCAL_ERROR, now_ns);
}

/* Returns whether the packets after the one at `psn` may follow it without separate checks. They have no
 * pacing, no trace and no selective recovery, and are sent for the first time. */
static bool may_count_on(const struct roce_qp *qp, uint32_t psn)
{
    const struct roce_requester *req = &qp->req;
    return !qp->cc && !qp->dev->config.trace && qp->type == NORNIC_QPT_RC && !req->is_selective &&
           !req->board.slots && req->hi_psn == roce_psn_add(psn, 1);
}

/* Adds to the run the MIDDLE packets of the message after `r`, the packet at `psn`. They fit the window,
 * and ask for no ACK. */
static void count_on(struct roce_qp *qp, const struct roce_request *r, uint32_t psn, struct roce_run *run)
{
    struct roce_requester *req = &qp->req;
    uint32_t outstanding = (psn + 1 - req->una_psn) & ROCE_PSN_MASK;
    uint32_t middles = r->w->seq_count - r->pkt - 2;
    if (outstanding + 1 >= req->window.pkts || req->unasked_pkts + 1 >= ACK_REQ_EVERY_PKTS)
        return;
    uint32_t unasked =
        min_u32(req->window.pkts - 1 - outstanding, ACK_REQ_EVERY_PKTS - 1 - req->unasked_pkts);
    uint32_t n_bytes = min_u32(min_u32(middles, unasked), roce_run_room(run)) * qp->pmtu_bytes;
    const uint8_t *data =
        n_bytes ? rdma_sq_piece(&qp->base, r->index, r->offset + qp->pmtu_bytes, &n_bytes, false) : NULL;
    uint32_t n = data ? n_bytes / qp->pmtu_bytes : 0;
    if (n == 0)
        return;
    n = roce_run_count_on(run, qp->dev->domain, n, data);
    qp->base.sq.cur_part += n;
    req->unasked_pkts += n;
    req->hi_psn = roce_psn_add(req->hi_psn, n);
}

bool roce_requester_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    enum nornic_qp_state state = roce_qp_state_now(qp);
    if ((state != NORNIC_QPS_RTS && state != NORNIC_QPS_SQD) || req->is_rnr_waiting)
        return false;
    if (req->probe.is_due) {
        if (qp->peer.is_selective)
            roce_requester_open_board(qp);
        return roce_probe_tx(qp, run, now_ns);
    }
    if (req->board.slots)
        roce_requester_skip(qp);
    if (req->is_stalled) {
        stall(qp, req->stall_status, now_ns);
        return false;
    }
    enum nornic_wc_status failed;
    if (!rdma_local_execute(&qp->base, qp->req.nxt_psn, &failed)) {
        if (failed != NORNIC_WC_SUCCESS)
            stall(qp, failed, now_ns);
        return false;
    }
    if (qp->base.sq.cur == qp->base.sq.started && !start_next(qp, now_ns))
        return false;
    uint32_t psn = roce_requester_cur_psn(qp);
    if (!has_room(qp, psn))
        return false;
    if (roce_cc_must_wait(qp, now_ns))
        return false;
    struct roce_request r = roce_request_next(qp);
    if (rdma_wqe_flags(r.w) & RDMA_OP_RD_ATOMIC && !may_ask(qp, &r, psn))
        return false;
    bool ack_req = wants_ack(qp, &r, psn);
    enum roce_built built = roce_request_build(qp, &r, psn, ack_req, run);
    if (built == ROCE_UNREADABLE)
        stall(qp, NORNIC_WC_LOC_PROT_ERR, now_ns);
    if (built != ROCE_BUILT)
        return false;
    req->unasked_pkts = ack_req ? 0 : req->unasked_pkts + 1;
    req->is_resuming = false;
    advance(qp, &r, psn, now_ns);
    roce_cc_sent(qp, run->pkt_bytes, now_ns);
    if (!r.is_first && !r.is_last && may_count_on(qp, psn))
        count_on(qp, &r, psn, run);
    return true;
}
