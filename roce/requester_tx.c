/* SPDX-License-Identifier: BSD-2-Clause */
/* Building request packets: ROCE sections 7.1 to 7.3. */
#include "net/bytes.h"
#include "roce/device.h"
#include "roce/transport.h"

#define ACK_REQ_EVERY_PKTS 64 /* ROCE-RC-12 */

/* A request packet about to be built. */
struct request {
    uint32_t index; /* of its WQE */
    struct roce_send_wqe *w;
    uint32_t pkt;               /* which packet of the message */
    uint32_t offset, len_bytes; /* its part of the data */
    bool first, last;
    uint8_t op; /* enum roce_op */
};

static bool is_credit_limited(const struct roce_send_wqe *w)
{
    return w->opcode == RDMA_WR_SEND || w->opcode == RDMA_WR_SEND_WITH_IMM ||
           w->opcode == RDMA_WR_RDMA_WRITE_WITH_IMM;
}

static uint32_t psns_of(const struct roce_qp *qp, const struct roce_send_wqe *w)
{
    if (roce_wr_is_rd_atomic(w->opcode) && w->opcode != RDMA_WR_RDMA_READ)
        return 1;
    return w->len_bytes ? (w->len_bytes - 1) / qp->pmtu_bytes + 1 : 1;
}

/* Whether the next WQE may start: fence, READ/atomic limit, credits, PSN space. */
static bool may_start(const struct roce_qp *qp, const struct roce_send_wqe *w, uint32_t psn_count)
{
    const struct roce_requester *req = &qp->req;
    if (w->send_flags & RDMA_SEND_FENCE && req->rd_atomic_outstanding)
        return false; /* ROCE-RC-14 */
    if (roce_wr_is_rd_atomic(w->opcode) && req->rd_atomic_outstanding >= qp->attr.max_rd_atomic)
        return false; /* ROCE-RC-13 */
    /* Without a credit one message may go, so that the connection cannot deadlock: ROCE-RC-22. */
    if (!req->unlimited && is_credit_limited(w) && roce_psn_diff(req->ssn + 1, req->lsn) > 1)
        return false;
    uint32_t outstanding = (req->nxt_psn - req->una_psn) & ROCE_PSN_MASK;
    return outstanding < qp->req.window_pkts && outstanding + psn_count <= 1u << 23; /* ROCE-RC-4 */
}

/* Gives the next posted WQE its PSNs (ROCE-RC-1..5). False: there is none, or it has to wait. */
static bool start_next(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    if (roce_qp_state_now(qp) != ROCE_QPS_RTS ||
        qp->sq.started == atomic_load_explicit(&qp->sq.posted, memory_order_acquire))
        return false;
    struct roce_send_wqe *w = roce_send_wqe(qp, qp->sq.started);
    if (roce_wr_is_rd_atomic(w->opcode) && qp->attr.max_rd_atomic == 0) {
        /* It could never start. It fails in its turn, after all that was posted before it. */
        if (qp->sq.started == qp->sq.done)
            roce_requester_fail(qp, RDMA_WC_LOC_QP_OP_ERR, ROCE_CAUSE_LOCAL_ERROR, now_ns);
        return false;
    }
    uint32_t psn_count = psns_of(qp, w);
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

static uint8_t send_op(const struct request *r, bool imm)
{
    if (r->last && r->first)
        return imm ? ROCE_OP_SEND_ONLY_IMM : ROCE_OP_SEND_ONLY;
    if (r->last)
        return imm ? ROCE_OP_SEND_LAST_IMM : ROCE_OP_SEND_LAST;
    return r->first ? ROCE_OP_SEND_FIRST : ROCE_OP_SEND_MIDDLE;
}

static uint8_t write_op(const struct request *r, bool imm)
{
    if (r->last && r->first)
        return imm ? ROCE_OP_WRITE_ONLY_IMM : ROCE_OP_WRITE_ONLY;
    if (r->last)
        return imm ? ROCE_OP_WRITE_LAST_IMM : ROCE_OP_WRITE_LAST;
    return r->first ? ROCE_OP_WRITE_FIRST : ROCE_OP_WRITE_MIDDLE;
}

static uint8_t request_op(const struct request *r)
{
    switch (r->w->opcode) {
    case RDMA_WR_SEND:
        return send_op(r, false);
    case RDMA_WR_SEND_WITH_IMM:
        return send_op(r, true);
    case RDMA_WR_RDMA_WRITE:
        return write_op(r, false);
    case RDMA_WR_RDMA_WRITE_WITH_IMM:
        return write_op(r, true);
    case RDMA_WR_RDMA_READ:
        return ROCE_OP_READ_REQUEST;
    case RDMA_WR_ATOMIC_CMP_AND_SWP:
        return ROCE_OP_CMP_SWAP;
    case RDMA_WR_ATOMIC_FETCH_AND_ADD:
        return ROCE_OP_FETCH_ADD;
    case RDMA_WR_SEND_WITH_INV:
    case RDMA_WR_LOCAL_INV:
    case RDMA_WR_BIND_MW:
    case RDMA_WR_REG_MR:
    case RDMA_WR_MASKED_ATOMIC_CMP_AND_SWP:
    case RDMA_WR_MASKED_ATOMIC_FETCH_AND_ADD:
        break; /* refused by the post */
    }
    return ROCE_OP_SEND_ONLY;
}

static struct request describe(const struct roce_qp *qp)
{
    const struct roce_requester *req = &qp->req;
    struct request r = {.index = req->cur, .w = roce_send_wqe(qp, req->cur), .pkt = req->cur_pkt};
    if (roce_wr_is_rd_atomic(r.w->opcode)) {
        /* A READ is one packet however long, and a restarted one asks for the missing suffix: ROCE-RC-44. */
        r.first = r.last = true;
        r.offset = r.w->opcode == RDMA_WR_RDMA_READ ? r.pkt * qp->pmtu_bytes : 0;
    } else {
        r.first = r.pkt == 0;
        r.last = r.pkt == r.w->psn_count - 1;
        r.offset = r.pkt * qp->pmtu_bytes;
        r.len_bytes = r.last ? r.w->len_bytes - r.offset : qp->pmtu_bytes;
    }
    r.op = request_op(&r);
    return r;
}

/* ROCE-RC-12: at the end of a message, on the last packet that the window lets out, and now and then in
 * between. Also where sending was resumed: on a bad line that is the packet most likely to get through, and
 * its ACK is progress. */
static bool wants_ack(const struct roce_qp *qp, const struct request *r, uint32_t psn)
{
    uint32_t outstanding = (psn + 1 - qp->req.una_psn) & ROCE_PSN_MASK;
    if (qp->req.resuming && psn == qp->req.restart_psn)
        return true;
    return r->last || outstanding >= qp->req.window_pkts || qp->req.unasked_pkts + 1 >= ACK_REQ_EVERY_PKTS;
}

static uint8_t *put_ext(uint8_t *p, const struct request *r, uint32_t flags)
{
    const struct roce_send_wqe *w = r->w;
    if (flags & ROCE_PKT_RETH)
        p = roce_reth_put(p, &(struct roce_reth){.va = w->remote_addr + r->offset,
                                                 .rkey = w->rkey,
                                                 .dma_len = w->len_bytes - r->offset});
    if (flags & ROCE_PKT_ATOMICETH) {
        bool add = w->opcode == RDMA_WR_ATOMIC_FETCH_AND_ADD; /* ROCE-HDR-11 */
        p = roce_atomiceth_put(p, &(struct roce_atomiceth){.va = w->remote_addr,
                                                           .rkey = w->rkey,
                                                           .swap_add = add ? w->compare_add : w->swap,
                                                           .compare = add ? 0 : w->compare_add});
    }
    if (flags & ROCE_PKT_IMMDT)
        p = put_bytes(p, &w->imm_data, sizeof w->imm_data);
    return p;
}

/* Builds the packet into `frame`. False: its data cannot be read (ROCE-RC-17). */
static bool build(struct roce_qp *qp, const struct request *r, uint32_t psn, struct net_frame *frame)
{
    uint8_t opcode = ROCE_OPCODE(qp->transport->service, r->op);
    const struct roce_opcode *op = &roce_opcodes[opcode];
    uint8_t pad = (uint8_t)(-r->len_bytes & 3);
    uint32_t transport_bytes = ROCE_BTH_BYTES + op->ext_bytes + r->len_bytes + pad;
    bool notifies = op->flags & ROCE_PKT_COMPLETES_RECV;
    struct roce_bth bth = {
        .opcode = opcode,
        .se = notifies && r->w->send_flags & RDMA_SEND_SOLICITED, /* ROCE-RC-11 */
        .mig_req = 1,                                             /* ROCE-HDR-2 */
        .pad_count = pad,
        .pkey = roce_qp_pkey(qp),
        .dest_qpn = qp->attr.dest_qpn,
        .ack_req = wants_ack(qp, r, psn),
        .psn = psn,
    };
    uint8_t *p = roce_frame_begin(&qp->tmpl, frame->data, transport_bytes, qp->dev->ip_id);
    p = roce_bth_put(p, &bth);
    p = put_ext(p, r, op->flags);
    if (r->len_bytes && !roce_gather(qp, r->index, r->offset, p, r->len_bytes))
        return false;
    memset(p + r->len_bytes, 0, pad);
    frame->len_bytes = roce_frame_seal(&qp->tmpl, frame->data, transport_bytes);
    frame->seg_bytes = 0;
    qp->dev->ip_id++;
    qp->req.unasked_pkts = bth.ack_req ? 0 : qp->req.unasked_pkts + 1;
    qp->req.resuming = false;
    return true;
}

/* After the packet at `psn` has been built. */
static void advance(struct roce_qp *qp, const struct request *r, uint32_t psn, uint64_t now_ns)
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
    if (!roce_timer_armed(&req->timer))
        roce_requester_arm(qp, now_ns);
}

/* The WQE at `cur` cannot be built. Those before it may still succeed, so it fails only as the oldest. */
static void stall(struct roce_qp *qp, enum rdma_wc_status status, uint64_t now_ns)
{
    qp->req.stalled = true;
    qp->req.stall_status = status;
    if (qp->req.cur == qp->sq.done)
        roce_requester_fail(qp, status, ROCE_CAUSE_LOCAL_ERROR, now_ns);
}

bool roce_requester_tx(struct roce_qp *qp, struct net_frame *frame, uint64_t now_ns)
{
    struct roce_requester *req = &qp->req;
    enum roce_qp_state state = roce_qp_state_now(qp);
    if ((state != ROCE_QPS_RTS && state != ROCE_QPS_SQD) || req->rnr_waiting)
        return false;
    if (req->stalled) {
        stall(qp, req->stall_status, now_ns);
        return false;
    }
    if (req->cur == qp->sq.started && !start_next(qp, now_ns))
        return false;
    uint32_t psn = roce_requester_cur_psn(qp);
    if (((psn - req->una_psn) & ROCE_PSN_MASK) >= qp->req.window_pkts)
        return false;
    struct request r = describe(qp);
    if (!build(qp, &r, psn, frame)) {
        stall(qp, RDMA_WC_LOC_PROT_ERR, now_ns);
        return false;
    }
    advance(qp, &r, psn, now_ns);
    return true;
}
