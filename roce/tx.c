/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: ready QPs take turns, and within a QP its two halves do. */
#include "roce/av.h"
#include "roce/cc.h"
#include "roce/device.h"
#include "roce/transport.h"

#define TURN_PKTS   16  /* packets that a QP sends before the next ready one */
#define LOOPED_PKTS 256 /* that stay inside, in one call: two QPs could entertain each other for ever */

static void unready(struct roce_dev *dev, struct roce_qp *qp)
{
    dev->ready_first = qp->ready_next;
    *(qp->ready_next ? &qp->ready_next->ready_prev : &dev->ready_last) = NULL;
    qp->ready = false;
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
        roce_pkt_parse(&pkt, frame->data, frame->len_bytes, ROCE_PARSE_V1);
        event.pkt = &pkt;
    }
    roce_trace_emit(dev, &event);
}

/* CNPs go first: they are few, and what they report is happening now. A QP whose P_Key was cleared sends
 * nothing: an invalid key is never on the wire (ROCE-HDR-5). Its timers run, so that a request which waits
 * too long fails as on a dead path; roce_dev_pkey_set() wakes it. */
static bool build_next(struct roce_qp *qp, struct net_frame *frame, uint64_t now_ns)
{
    if (!roce_qp_pkey(qp))
        return false;
    return roce_cnp_tx(qp, frame) || qp->transport->tx(qp, frame, now_ns);
}

/* Hands a frame to the device, this one or a linked one, that has its destination QP (a multicast one: to
 * all). Where none has it, this one counts the drop. */
static void loop(struct roce_dev *dev, const struct net_frame *frame, uint32_t dest_qpn, uint64_t now_ns)
{
    struct roce_dev *d = dev;
    bool all = dest_qpn == ROCE_MULTICAST_QPN, found = false;
    do {
        if (all || (!found && roce_dev_find_qp(d, dest_qpn))) {
            found = true;
            roce_rx_frame(d, frame, now_ns);
            roce_dev_settle(d, now_ns);
        }
        d = d->linked;
    } while (d != dev);
    if (!found)
        roce_rx_frame(dev, frame, now_ns);
}

unsigned roce_dev_tx(struct roce_dev *dev, struct net_frame *bufs, unsigned n, uint64_t now_ns)
{
    unsigned filled = 0, looped = 0;
    roce_dev_collect_posted(dev);
    while (filled < n && looped < LOOPED_PKTS && dev->ready_first) {
        struct roce_qp *qp = dev->ready_first;
        unready(dev, qp);
        unsigned turn = 0;
        while (filled < n && looped < LOOPED_PKTS && turn < TURN_PKTS &&
               build_next(qp, &bufs[filled], now_ns)) {
            roce_count(qp, tx_pkts);
            roce_count_n(qp, tx_bytes, bufs[filled].len_bytes);
            trace_tx(qp, &bufs[filled], now_ns);
            turn++;
            if (qp->transport->connected) {
                qp->frame_route = roce_route_to(dev, &qp->attr.av.dgid, &qp->way);
                qp->frame_dest_qpn = qp->attr.dest_qpn;
            }
            if (qp->frame_route != ROCE_ROUTE_PORT) {
                loop(dev, &bufs[filled], qp->frame_dest_qpn, now_ns);
                looped++;
            }
            if (qp->frame_route != ROCE_ROUTE_LOOP)
                filled++;
        }
        if (filled == n || looped == LOOPED_PKTS || turn == TURN_PKTS)
            roce_dev_ready(dev, qp);
    }
    roce_dev_settle(dev, now_ns);
    return filled;
}
