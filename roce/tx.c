/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: ready QPs take turns, and within a QP its two halves do. */
#include "roce/device.h"

#define TURN_PKTS 16 /* packets that a QP sends before the next ready one */

/* Without the other half's turn, a long READ response would hold back this QP's own requests, or they its
 * ACKs. */
static bool qp_tx(struct roce_qp *qp, struct net_frame *frame, uint64_t now_ns)
{
    qp->tx_turn = !qp->tx_turn;
    if (qp->tx_turn)
        return roce_responder_tx(qp, frame, now_ns) || roce_requester_tx(qp, frame, now_ns);
    return roce_requester_tx(qp, frame, now_ns) || roce_responder_tx(qp, frame, now_ns);
}

static void trace_tx(struct roce_qp *qp, const struct net_frame *frame, uint64_t now_ns)
{
    struct roce_dev *dev = qp->dev;
    if (!dev->config.trace)
        return;
    struct roce_pkt pkt;
    struct roce_trace event = {
        .kind = ROCE_TRACE_PKT_TX,
        .now_ns = now_ns,
        .qpn = qp->qpn,
        .frame = frame->data,
        .frame_bytes = frame->len_bytes,
    };
    if (dev->config.trace_parse_tx) {
        roce_pkt_parse(&pkt, frame->data, frame->len_bytes, 0);
        event.pkt = &pkt;
    }
    roce_trace_emit(dev, &event);
}

unsigned roce_dev_tx(struct roce_dev *dev, struct net_frame *bufs, unsigned n, uint64_t now_ns)
{
    unsigned filled = 0;
    roce_dev_collect_posted(dev);
    while (filled < n && dev->ready_first) {
        struct roce_qp *qp = dev->ready_first;
        dev->ready_first = qp->ready_next;
        *(qp->ready_next ? &qp->ready_next->ready_prev : &dev->ready_last) = NULL;
        qp->ready = false;
        unsigned turn = 0;
        while (filled < n && turn < TURN_PKTS && qp_tx(qp, &bufs[filled], now_ns)) {
            roce_count(qp, tx_pkts);
            roce_count_n(qp, tx_bytes, bufs[filled].len_bytes);
            trace_tx(qp, &bufs[filled], now_ns);
            filled++;
            turn++;
        }
        if (filled == n || turn == TURN_PKTS)
            roce_dev_ready(dev, qp);
    }
    roce_dev_settle(dev, now_ns);
    return filled;
}
