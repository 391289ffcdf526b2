/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending: ready QPs take turns, and within a QP its two halves do. */
#include "base/base.h"
#include "net/wire/train.h"
#include "roce/dev/av.h"
#include "roce/cc/cc.h"
#include "roce/dev/inner.h"
#include "roce/qp/transport.h"

#define TURN_PKTS   16  /* packets that a QP sends before the next ready one */
#define LOOPED_PKTS 256 /* that stay inside, in one call: two QPs could entertain each other for ever */

/* Shows the trace the newest packet of a run. */
static void trace_tx(struct roce_qp *qp, const struct roce_run *run, uint64_t now_ns)
{
    struct roce_dev *dev = qp->dev;
    if (!dev->config.trace)
        return;
    struct net_train train;
    net_train_begin(&train, run->frame);
    struct net_frame frame = net_train_packet(&train, train.count - 1);
    struct roce_pkt pkt;
    struct roce_trace event = {
        .kind = ROCE_TRACE_PKT_TX,
        .now_ns = now_ns,
        .qpn = qp->base.qpn,
        .frame = frame.data,
        .frame_bytes = frame.len_bytes,
    };
    if (dev->config.trace_parse_tx) {
        roce_pkt_parse(&pkt, frame.data, frame.len_bytes, ROCE_PARSE_V1);
        event.pkt = &pkt;
    }
    roce_trace_emit(dev, &event);
    net_train_end(&train);
}

/* CNPs go first: they are few, and what they report is happening now; one that is due while a run is built
 * has come by the hands of this call, and leaves before the next. A QP whose P_Key was cleared sends
 * nothing: an invalid key is never on the wire (ROCE-HDR-5). Its timers run, so that a request which waits
 * too long fails as on a dead path; roce_dev_pkey_set() wakes it. A send of QP1 names its own. */
static bool build_next(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns)
{
    if (!roce_qp_pkey(qp) && qp->type != NORNIC_QPT_GSI)
        return false;
    return (qp->cc && run->pkts == 0 && roce_cnp_tx(qp, run)) || qp->transport->tx(qp, run, now_ns);
}

/* Builds a run of a QP's next packets into `frame`. Returns how many they are. */
static uint32_t build_run(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns)
{
    for (uint32_t before; run->pkts < run->max_pkts; trace_tx(qp, run, now_ns)) {
        before = run->pkts;
        if (!build_next(qp, run, now_ns))
            break;
        roce_count_n(qp, tx_pkts, run->pkts - before);
        roce_count_n(qp, tx_bytes, (uint64_t)(run->pkts - before) * run->pkt_bytes);
    }
    return run->pkts;
}

/* A device that sleeps has to be woken for what it finds in its hands. */
static void hand_over(struct roce_dev *from, struct roce_dev *to, const struct net_frame *frame,
                      uint64_t now_ns)
{
    bool was_pending = roce_dev_tx_pending(to);
    roce_rx_frame(to, frame, now_ns);
    if (to != from && !was_pending && roce_dev_tx_pending(to) && to->config.doorbell)
        to->config.doorbell(to->config.ctx);
}

/* Hands a run to the devices, this one and linked ones, that have QPs in its group. */
static void loop_to_group(struct roce_dev *dev, const struct roce_run *run, uint64_t now_ns)
{
    struct roce_dev *d = dev;
    do {
        if (roce_mcast_find(&d->groups, run->dest.dgid))
            hand_over(dev, d, run->frame, now_ns);
        d = d->linked;
    } while (d != dev);
}

/* Hands a run to the device, this one or a linked one, whose address and QP it bears. Devices on one
 * address are told apart by the QPN; where none has that QP, one of them counts the drop. */
static void loop(struct roce_dev *dev, const struct roce_run *run, uint64_t now_ns)
{
    struct roce_dev *d = dev, *to = NULL;
    do {
        if (roce_dev_owns(d, run->dest.dgid)) {
            bool has_qp = roce_dev_find_qp(d, run->dest.qpn);
            to = to && !has_qp ? to : d;
            if (has_qp)
                break;
        }
        d = d->linked;
    } while (d != dev);
    if (to)
        hand_over(dev, to, run->frame, now_ns);
}

/* One turn of a ready QP. `*left` is how many packets may still stay inside. Returns how many buffers it
 * filled; a QP that may have more to send is ready again. */
static unsigned take_turn(struct roce_dev *dev, struct roce_qp *qp, struct net_frame *bufs, unsigned n,
                          uint32_t *left, uint64_t now_ns)
{
    unsigned filled = 0;
    uint32_t turn = 0;
    while (filled < n && *left && turn < TURN_PKTS) {
        struct roce_run run;
        /* A train is as long as the turn; where nobody waits for the next, as long as the buffer. */
        uint32_t most = dev->ready_first ? min_u32(TURN_PKTS - turn, *left) : *left;
        if (dev->config.udp_socket) /* its kernel numbers the packets of a train from 0 on */
            dev->ip_id = 0;
        roce_run_init(&run, &bufs[filled], max_u32(1, min_u32(bufs[filled].train_pkts, most)), &dev->ip_id);
        if (build_run(qp, &run, now_ns) == 0)
            return filled;
        turn += run.pkts;
        if (run.dest.route == ROCE_ROUTE_LOOP)
            loop(dev, &run, now_ns);
        else if (run.dest.route == ROCE_ROUTE_BOTH)
            loop_to_group(dev, &run, now_ns);
        if (run.dest.route != ROCE_ROUTE_PORT)
            *left -= run.pkts;
        filled += run.dest.route != ROCE_ROUTE_LOOP;
    }
    roce_dev_ready(dev, qp);
    return filled;
}

unsigned roce_dev_tx(struct roce_dev *dev, struct net_frame *bufs, unsigned n, uint64_t now_ns)
{
    unsigned filled = 0;
    uint32_t left = LOOPED_PKTS;
    roce_dev_collect_posted(dev);
    while (filled < n && left && dev->ready_first) {
        struct roce_qp *qp = dev->ready_first;
        roce_dev_unready(dev, qp);
        filled += take_turn(dev, qp, bufs + filled, n - filled, &left, now_ns);
    }
    roce_dev_settle(dev, now_ns);
    return filled;
}
