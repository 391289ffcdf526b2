/* SPDX-License-Identifier: BSD-2-Clause */
/* The reliable services. Reliable Connection: a requester and a responder that share a QP (ROCE sections 7
 * and 8). Extended Reliable Connection: each of them is a QP of its own (ROCE section 10.4). */
#include <errno.h>

#include "roce/dev/inner.h"
#include "roce/responder/sack.h"
#include "roce/qp/transport.h"

#define MAX_SRQN 0xffffffu

static enum roce_rx_verdict rc_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    if (pkt->op->flags & ROCE_PKT_SACKETH) {
        if (pkt->sacketh.version)
            return ROCE_RX_DROP_OPCODE;
        if (pkt->payload_bytes > ROCE_SACK_BITMAP_BYTES)
            return ROCE_RX_DROP_LENGTH;
        return roce_requester_take_sack(qp, pkt, now_ns);
    }
    if (pkt->op->flags & ROCE_PKT_RESPONSE)
        return roce_requester_rx(qp, pkt, now_ns);
    return roce_responder_rx(qp, pkt, now_ns);
}

/* Without the other half's turn, a long READ response would hold back this QP's own requests, or they its
 * ACKs. The halves take turns run by run, requests first: an ACK is in less of a hurry, and may leave behind
 * them in the same train. A READ response that its turn found before its time keeps the turn: the rate is
 * that of both halves (ROCE-CC-7), and requests, always first when the time has come, would hold it back
 * until the last of them is out. */
static bool rc_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns)
{
    if (run->pkts && run->is_response)
        return roce_responder_tx(qp, run, now_ns);
    if (run->pkts)
        return roce_requester_tx(qp, run, now_ns) ||
               (roce_response_is_ack(qp) && roce_responder_tx(qp, run, now_ns));
    bool built = qp->is_responders_turn
                     ? roce_responder_tx(qp, run, now_ns) || roce_requester_tx(qp, run, now_ns)
                     : roce_requester_tx(qp, run, now_ns) || roce_responder_tx(qp, run, now_ns);
    qp->is_responders_turn = built ? !run->is_response : qp->is_responders_turn && roce_response_pending(qp);
    return built;
}

const struct roce_transport roce_rc = {
    .service = ROCE_SERVICE_RC,
    .is_connected = true,
    .sends = ROCE_SENDS_CONNECTED | RDMA_SENDS(NORNIC_WR_RDMA_READ) |
             RDMA_SENDS(NORNIC_WR_ATOMIC_CMP_AND_SWP) | RDMA_SENDS(NORNIC_WR_ATOMIC_FETCH_AND_ADD) |
             RDMA_SENDS(NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP) |
             RDMA_SENDS(NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD) | RDMA_SENDS(NORNIC_WR_SEND_WITH_INV),
    .ops = {.posted = roce_qp_posted},
    .rx = rc_rx,
    .tx = rc_tx,
};

/* --- XRC, whose two QPs are a half each: ROCE-XRC-1 --- */

static int ini_check_send(const struct rdma_qp *base, const struct nornic_send_wr *wr, uint32_t len_bytes)
{
    (void)base;
    (void)len_bytes;
    return wr->remote_srqn > MAX_SRQN ? -EINVAL : 0;
}

static enum roce_rx_verdict ini_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    return pkt->op->flags & ROCE_PKT_RESPONSE ? roce_requester_rx(qp, pkt, now_ns) : ROCE_RX_DROP_TYPE;
}

static enum roce_rx_verdict tgt_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    return pkt->op->flags & ROCE_PKT_RESPONSE ? ROCE_RX_DROP_TYPE : roce_responder_rx(qp, pkt, now_ns);
}

const struct roce_transport roce_xrc_ini = {
    .service = ROCE_SERVICE_XRC,
    .is_connected = true,
    .sends = ROCE_SENDS_CONNECTED | RDMA_SENDS(NORNIC_WR_RDMA_READ) |
             RDMA_SENDS(NORNIC_WR_ATOMIC_CMP_AND_SWP) | RDMA_SENDS(NORNIC_WR_ATOMIC_FETCH_AND_ADD) |
             RDMA_SENDS(NORNIC_WR_SEND_WITH_INV),
    .ops = {.posted = roce_qp_posted, .check_send = ini_check_send},
    .rx = ini_rx,
    .tx = roce_requester_tx,
};

const struct roce_transport roce_xrc_tgt = {
    .service = ROCE_SERVICE_XRC,
    .is_connected = true,
    .ops = {.posted = roce_qp_posted},
    .rx = tgt_rx,
    .tx = roce_responder_tx,
};
