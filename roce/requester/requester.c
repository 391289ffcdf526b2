/* SPDX-License-Identifier: BSD-2-Clause */
/* The requester's state: where it is, what it retries, when its timer fires. ROCE section 7.5.
 *
 * Four PSNs say where it is; all of them only go forward but the cursor:
 *
 *      una_psn               cursor               hi_psn               nxt_psn
 *  done   |  sent, unanswered  |  to be sent (again)  |  never sent        |  belongs to no WQE yet
 *
 * The cursor is sq.cur and sq.cur_part: a WQE and a packet of it, so that building needs no search. Without
 * loss it runs with hi_psn, and nothing is sent again. una_psn moves by answers only (rx.c),
 * nxt_psn by starting WQEs (tx.c); the window bounds how far the cursor may be ahead of una_psn,
 * whatever has started.
 *
 * What is lost shows in three ways: a NAK names the first missing packet, a READ's or atomic's answer comes
 * without the one before it, or nothing comes and the timer fires. Each sets the cursor back (seek()), and
 * each but a new gap costs a retry; an answer gives all retries back (roce_requester_progress()). Packets
 * between the cursor and hi_psn are then built again out of the same memory. A NAK that arrives while that is
 * under way may tell of the same loss, so the same place is not gone back to twice until there is progress or
 * a timeout (has_gone_back, ROCE-RC-46). With selective retransmission only the packet at restart_psn is sent
 * again, and the cursor jumps back to hi_psn (is_selective); a peer that shows three times that it kept
 * nothing behind the gap gets go-back-N for good. That is for peers that keep packets and say so to nobody.
 * With one that tells by selective acknowledgements what it has (sack.h) the cursor goes from one lost packet
 * to the next (roce_requester_skip(), board.h), and the peer is asked after packets that may be lost without
 * a trace (probe.h).
 *
 * An answer to the first transmission may also overtake the
 * repetition, so that una_psn passes the cursor: then the cursor follows. */
#include "base/base.h"
#include "rdma/queue/local_ops.h"
#include "roce/requester/answers.h"
#include "roce/cc/cc.h"
#include "roce/dev/inner.h"
#include "roce/dev/path.h"
#include "roce/requester/probe.h"
#include "roce/responder/reorder.h"
#include "roce/responder/sack.h"
#include "roce/qp/transport.h"

#define LONGEST_QUEUE_NS UINT64_C(500000000)
#define GO_BACK_STRIKES  3 /* then the peer is taken for one that goes back N */

static void expire(struct rdma_timer *timer, uint64_t now_ns);

static uint64_t ack_timeout_ns(uint8_t timeout)
{
    return 4096ull << timeout;
}

uint64_t roce_ack_timeout_ns(const struct roce_qp *qp)
{
    return ack_timeout_ns(qp->attr.timeout);
}

void roce_requester_reset(struct roce_qp *qp, uint32_t sq_psn)
{
    struct roce_requester *req = &qp->req;
    rdma_timer_cancel(&qp->dev->timers, &req->timer);
    roce_probe_stop(qp);
    roce_answers_clear(qp);
    *req = (struct roce_requester){
        .una_psn = sq_psn,
        .nxt_psn = sq_psn,
        .hi_psn = sq_psn,
        .retry_left = qp->attr.retry_cnt,
        .rnr_left = qp->attr.rnr_retry,
        .timer = {.fire = expire},
    };
    roce_probe_reset(qp);
    roce_window_init(&req->window, qp->dev->config.window_pkts, sq_psn);
}

uint32_t roce_requester_cur_psn(const struct roce_qp *qp)
{
    const struct rdma_sq *sq = &qp->base.sq;
    if (sq->cur == sq->started)
        return qp->req.nxt_psn;
    return roce_psn_add(rdma_sq_wqe(sq, sq->cur)->first_seq, sq->cur_part);
}

/* ROCE-RC-41 leaves the timer from Tr to 4 Tr. One timeout after another, without an answer in between, uses
 * that room: what comes out of a long queue may still be in time. No queue is longer than LONGEST_QUEUE_NS,
 * so that who asks for more gets no more than that. */
static uint64_t patience_ns(uint64_t timeout_ns, uint32_t row)
{
    static const uint8_t times[] = {1, 2, 4};
    return max_u64(timeout_ns, min_u64(timeout_ns * times[row < 2 ? row : 2], LONGEST_QUEUE_NS));
}

uint64_t nornic_rc_gives_up_ns(uint8_t timeout, uint8_t retry_cnt)
{
    uint64_t sum_ns = 0;
    if (!timeout)
        return NET_TIME_NONE;
    for (uint32_t row = 0; row <= retry_cnt; row++)
        sum_ns += patience_ns(ack_timeout_ns(timeout), row);
    return sum_ns;
}

void roce_requester_arm(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    if (req->is_rnr_waiting)
        return;
    if (req->una_psn == req->hi_psn || !qp->attr.timeout)
        rdma_timer_cancel(&qp->dev->timers, &req->timer);
    else
        rdma_timer_arm(&qp->dev->timers, &req->timer,
                       now_ns + patience_ns(roce_ack_timeout_ns(qp), req->timeouts_in_row));
}

/* Sets the place to send from to `psn`, which lies in a started WQE, or is nxt_psn. */
static void seek(struct roce_qp *qp, uint32_t psn)
{
    struct rdma_sq *sq = &qp->base.sq;
    qp->req.is_stalled = false; /* that was about another place */
    for (sq->cur = sq->done; sq->cur != sq->started; sq->cur++) {
        const struct rdma_send_wqe *w = rdma_sq_wqe(sq, sq->cur);
        if (rdma_wqe_flags(w) & RDMA_OP_LOCAL && w->local_status != NORNIC_WC_SUCCESS)
            break; /* nothing behind it is started */
        sq->cur_part = (psn - w->first_seq) & ROCE_PSN_MASK;
        if (sq->cur_part < w->seq_count)
            return;
    }
    sq->cur_part = 0;
}

int64_t roce_requester_under_way(const struct roce_qp *qp, uint32_t psn)
{
    return (int64_t)((psn - qp->req.una_psn) & ROCE_PSN_MASK) - qp->req.board.marks;
}

void roce_requester_skip(struct roce_qp *qp)
{
    struct rdma_sq *sq = &qp->base.sq;
    const struct roce_requester *req = &qp->req;
    for (; sq->cur != sq->started; rdma_sq_go_past(sq)) {
        const struct rdma_send_wqe *w = rdma_sq_wqe(sq, sq->cur);
        if (rdma_wqe_flags(w) & RDMA_OP_LOCAL && w->local_status != NORNIC_WC_SUCCESS)
            return; /* nothing behind it is started */
        for (; sq->cur_part < w->seq_count; sq->cur_part++) {
            uint32_t psn = roce_psn_add(w->first_seq, sq->cur_part);
            if (psn == req->hi_psn || roce_board_is_lost(&req->board, psn))
                return;
            if (!roce_board_covers(&req->board, psn)) { /* its turn comes when the board has moved on */
                seek(qp, req->hi_psn);
                return;
            }
        }
    }
}

bool roce_requester_open_board(struct roce_qp *qp)
{
    struct roce_requester *req = &qp->req;
    return roce_board_open(&req->board, &qp->dev->spare, req->una_psn, roce_requester_cur_psn(qp),
                           req->hi_psn);
}

void roce_requester_recover(struct roce_qp *qp, uint64_t now_ns)
{
    seek(qp, qp->req.una_psn);
    roce_requester_skip(qp);
    uint32_t psn = roce_requester_cur_psn(qp);
    if (psn == qp->req.hi_psn)
        return;
    roce_trace_emit(qp->dev, &(struct roce_trace){.kind = ROCE_TRACE_RETRANSMIT,
                                                  .now_ns = now_ns,
                                                  .qpn = qp->base.qpn,
                                                  .cause = ROCE_CAUSE_SELECTIVE_ACK,
                                                  .psn = psn});
    roce_dev_ready(qp->dev, qp);
}

/* What the board and the probes make of it that everything before una_psn is acknowledged. */
static void note_acked(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    if (!qp->peer.is_selective)
        return;
    roce_board_pass(&req->board, req->una_psn, req->hi_psn);
    if (req->una_psn == req->hi_psn) /* with answers to what was none, if the peer has sent such */
        roce_answers_clear(qp);
    roce_probe_acked(qp, req->una_psn, now_ns);
    roce_probe_restart(qp, now_ns);
}

void roce_requester_progress(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    req->retry_left = qp->attr.retry_cnt;
    req->rnr_left = qp->attr.rnr_retry;
    req->timeouts_in_row = 0;
    req->has_gone_back = false;
    req->is_rnr_waiting = false;
    roce_window_progress(&req->window, req->una_psn, req->hi_psn);
    rdma_local_complete(&qp->base);
    /* ROCE-RC-31: an ACK of the first transmission may lie ahead of a go-back-N. A WQE before `done` is the
     * poster's again, so its PSN is not looked at. */
    if ((int32_t)(qp->base.sq.cur - qp->base.sq.done) < 0 ||
        roce_psn_diff(roce_requester_cur_psn(qp), req->una_psn) < 0)
        seek(qp, req->una_psn);
    roce_requester_arm(qp, now_ns);
    note_acked(qp, now_ns);
    roce_dev_ready(qp->dev, qp);
    roce_requester_check_drained(qp);
}

void roce_requester_check_drained(struct roce_qp *qp)
{
    if (roce_qp_state_now(qp) != NORNIC_QPS_SQD || qp->is_drained || qp->base.sq.done != qp->base.sq.started)
        return;
    qp->is_drained = true;
    if (qp->attr.en_sqd_async_notify)
        rdma_qp_event(&qp->base, NORNIC_EVENT_SQ_DRAINED);
}

void roce_requester_fail(struct roce_qp *qp, enum nornic_wc_status status, enum roce_cause cause,
                         uint64_t now_ns)
{
    rdma_sq_complete(&qp->base, status);
    if (qp->transport->has_sqe)
        roce_qp_enter_sqe(qp, cause, now_ns);
    else
        roce_qp_enter_error(qp, cause, now_ns);
}

void roce_requester_restart(struct roce_qp *qp, uint32_t psn, enum roce_cause cause, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    if (req->retry_left == 0 && roce_path_migrate(qp)) {
        req->retry_left = qp->attr.retry_cnt;
    } else if (req->retry_left == 0) {
        roce_count(qp, retry_exceeded);
        roce_requester_fail(qp, NORNIC_WC_RETRY_EXC_ERR, ROCE_CAUSE_RETRY_EXCEEDED, now_ns);
        return;
    } else {
        req->retry_left--;
    }
    /* A NAK that follows a timeout tells of a new loss, one that follows a NAK does not: ROCE-RC-46. */
    req->has_gone_back = cause != ROCE_CAUSE_TIMEOUT;
    req->is_resuming = true;
    req->restart_psn = psn;
    req->is_selective =
        cause == ROCE_CAUSE_NAK_SEQ && qp->reorder.own && req->go_back_strikes < GO_BACK_STRIKES;
    roce_answers_clear(qp);
    seek(qp, psn);
    roce_trace_emit(qp->dev, &(struct roce_trace){.kind = ROCE_TRACE_RETRANSMIT,
                                                  .now_ns = now_ns,
                                                  .qpn = qp->base.qpn,
                                                  .cause = cause,
                                                  .psn = psn});
    roce_requester_arm(qp, now_ns);
    roce_dev_ready(qp->dev, qp);
}

void roce_requester_sent_selected(struct roce_qp *qp)
{
    seek(qp, qp->req.hi_psn);
}

void roce_requester_went_back(struct roce_qp *qp, uint64_t now_ns)
{
    qp->req.go_back_strikes++;
    roce_requester_restart(qp, qp->req.una_psn, ROCE_CAUSE_GO_BACK, now_ns);
}

void roce_requester_rnr(struct roce_qp *qp, uint8_t timer_code, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    if (qp->attr.rnr_retry != 7) { /* 7: for ever (ROCE-RC-49) */
        if (req->rnr_left == 0) {
            roce_count(qp, rnr_retry_exceeded);
            roce_requester_fail(qp, NORNIC_WC_RNR_RETRY_EXC_ERR, ROCE_CAUSE_RNR_EXCEEDED, now_ns);
            return;
        }
        req->rnr_left--;
    }
    uint64_t wait_ns = roce_rnr_timer_ns(timer_code);
    req->is_rnr_waiting = true;
    req->is_selective = false;
    roce_answers_clear(qp);
    roce_probe_stop(qp);
    seek(qp, req->una_psn);
    rdma_timer_arm(&qp->dev->timers, &req->timer, now_ns + wait_ns);
    roce_trace_emit(qp->dev, &(struct roce_trace){.kind = ROCE_TRACE_RNR_WAIT,
                                                  .now_ns = now_ns,
                                                  .qpn = qp->base.qpn,
                                                  .cause = ROCE_CAUSE_RNR_NAK,
                                                  .psn = req->una_psn,
                                                  .wait_ns = wait_ns});
}

static void expire(struct rdma_timer *timer, uint64_t now_ns)
{
    struct roce_qp *qp = container_of(timer, struct roce_qp, req.timer);
    struct roce_requester *req = &qp->req;
    if (req->is_rnr_waiting) {
        req->is_rnr_waiting = false;
        req->has_gone_back = false;
        roce_requester_arm(qp, now_ns);
        roce_dev_ready(qp->dev, qp);
        return;
    }
    /* The packet whose answer it waits for has not left yet: no reason to use up a retry (ROCE-CC-5). */
    if (req->is_resuming && roce_cc_waits(qp)) {
        roce_requester_arm(qp, now_ns);
        return;
    }
    roce_count(qp, local_ack_timeout);
    req->timeouts_in_row++;
    roce_window_timeout(&req->window, req->hi_psn);
    roce_sack_offer(qp);
    roce_requester_restart(qp, req->una_psn, ROCE_CAUSE_TIMEOUT, now_ns);
}
