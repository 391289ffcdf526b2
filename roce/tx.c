/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: ready QPs take turns, and within a QP its two halves do. */
#include "roce/av.h"
#include "roce/cc.h"
#include "roce/device.h"
#include "roce/transport.h"

#define TURN_PKTS   16  /* packets that a QP sends before the next ready one */
#define LOOPED_PKTS 256 /* that stay inside, in one call: two QPs could entertain each other for ever */

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
 * too long fails as on a dead path; roce_dev_pkey_set() wakes it. A send of QP1 names its own. */
static bool build_next(struct roce_qp *qp, struct net_frame *frame, uint64_t now_ns)
{
    if (!roce_qp_pkey(qp) && qp->type != NORNIC_QPT_GSI)
        return false;
    return roce_cnp_tx(qp, frame) || qp->transport->tx(qp, frame, now_ns);
}

/* A device that sleeps has to be woken for what it finds in its hands. */
static void hand_over(struct roce_dev *from, struct roce_dev *to, const struct net_frame *frame,
                      uint64_t now_ns)
{
    bool was_pending = roce_dev_tx_pending(to);
    roce_rx_frame(to, frame, now_ns);
    roce_dev_settle(to, now_ns);
    if (to != from && !was_pending && roce_dev_tx_pending(to) && to->config.doorbell)
        to->config.doorbell(to->config.ctx);
}

/* Hands a frame to the devices, this one and linked ones, that have QPs in its group. */
static void loop_to_group(struct roce_dev *dev, const struct roce_qp *from, const struct net_frame *frame,
                          uint64_t now_ns)
{
    struct roce_dev *d = dev;
    do {
        if (roce_mcast_find(&d->groups, from->frame_dgid))
            hand_over(dev, d, frame, now_ns);
        d = d->linked;
    } while (d != dev);
}

/* Hands a frame to the device, this one or a linked one, whose address and QP it bears. Devices on one
 * address are told apart by the QPN; where none has that QP, one of them counts the drop. */
static void loop(struct roce_dev *dev, const struct roce_qp *from, const struct net_frame *frame,
                 uint64_t now_ns)
{
    struct roce_dev *d = dev, *to = NULL;
    do {
        if (roce_dev_owns(d, from->frame_dgid)) {
            bool has_qp = roce_dev_find_qp(d, from->frame_dest_qpn);
            to = to && !has_qp ? to : d;
            if (has_qp)
                break;
        }
        d = d->linked;
    } while (d != dev);
    if (to)
        hand_over(dev, to, frame, now_ns);
}

unsigned roce_dev_tx(struct roce_dev *dev, struct net_frame *bufs, unsigned n, uint64_t now_ns)
{
    unsigned filled = 0, looped = 0;
    roce_dev_collect_posted(dev);
    while (filled < n && looped < LOOPED_PKTS && dev->ready_first) {
        struct roce_qp *qp = dev->ready_first;
        roce_dev_unready(dev, qp);
        unsigned turn = 0;
        while (filled < n && looped < LOOPED_PKTS && turn < TURN_PKTS &&
               build_next(qp, &bufs[filled], now_ns)) {
            roce_count(qp, tx_pkts);
            roce_count_n(qp, tx_bytes, bufs[filled].len_bytes);
            trace_tx(qp, &bufs[filled], now_ns);
            turn++;
            if (qp->transport->connected) {
                qp->frame_route = roce_route_to(dev, &qp->attr.av.dgid, &qp->way);
                qp->frame_dgid = &qp->attr.av.dgid;
                qp->frame_dest_qpn = qp->attr.dest_qpn;
            }
            if (qp->frame_route == ROCE_ROUTE_LOOP)
                loop(dev, qp, &bufs[filled], now_ns);
            else if (qp->frame_route == ROCE_ROUTE_BOTH)
                loop_to_group(dev, qp, &bufs[filled], now_ns);
            looped += qp->frame_route != ROCE_ROUTE_PORT;
            if (qp->frame_route != ROCE_ROUTE_LOOP)
                filled++;
        }
        if (filled == n || looped == LOOPED_PKTS || turn == TURN_PKTS)
            roce_dev_ready(dev, qp);
    }
    roce_dev_settle(dev, now_ns);
    return filled;
}
