/* SPDX-License-Identifier: BSD-2-Clause */
/* Receiving: from a frame to the half of the QP that it is for. The checks of ROCE section 6.2, in its order.
 */
#include "roce/wire/arrival.h"
#include "roce/cc/cc.h"
#include "roce/dev/inner.h"
#include "roce/datagram/mcast.h"
#include "roce/dev/path.h"
#include "roce/responder/sack.h"
#include "roce/responder/stretch.h"
#include "roce/qp/transport.h"
#include "roce/datagram/ud.h"

/* ROCE-FRM-4: untagged, priority-tagged, and the VLANs of the GID table are accepted. */
static bool vlan_is_ours(const struct roce_dev *dev, const struct roce_pkt *pkt)
{
    uint16_t vid = roce_pkt_vlan_id(pkt);
    return vid == 0 || roce_gid_has_vlan(&dev->gids, vid);
}

static bool state_takes(const struct roce_qp *qp, bool response)
{
    switch (roce_qp_state_now(qp)) {
    case NORNIC_QPS_RTR:
        return !response;
    case NORNIC_QPS_RTS:
    case NORNIC_QPS_SQD:
    case NORNIC_QPS_SQE:
        return true;
    case NORNIC_QPS_RESET:
    case NORNIC_QPS_INIT:
    case NORNIC_QPS_ERR:
    case NORNIC_QPS_COUNT:
        return false;
    }
    return false;
}

/* ROCE-RX-17: for QP1 any of the port's. */
static bool pkey_is_good(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    if (qp->type == NORNIC_QPT_GSI)
        return roce_pkey_index(qp->dev, pkt->bth.pkey) >= 0;
    uint16_t own = qp->transport->is_connected ? roce_path_pkey(qp, pkt) : roce_qp_pkey(qp);
    return roce_pkeys_match(own, pkt->bth.pkey);
}

/* ROCE-RX-15, RX-16. */
static bool addresses_are_good(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    if (!qp->transport->is_connected)
        return roce_gid_find(&qp->dev->gids, &pkt->dst, roce_pkt_gid_type(pkt), roce_pkt_vlan_id(pkt)) >= 0;
    return roce_path_admits(qp, pkt);
}

/* ROCE-RX-13. Masked atomics travel under opcodes of our own, over RC. */
static bool service_fits(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    if (pkt->op->flags & ROCE_PKT_MASKETH)
        return qp->type == NORNIC_QPT_RC && qp->dev->config.masked_atomics;
    if (pkt->op->flags & ROCE_PKT_SACKETH)
        return roce_sack_is_for(qp);
    return pkt->bth.opcode >> 5 == qp->transport->service;
}

static bool is_to_group(const struct roce_pkt *pkt)
{
    return pkt->bth.dest_qpn == ROCE_MULTICAST_QPN;
}

/* ROCE-RX-11, RX-12: a packet to a group is for those that joined it, and has no QP of its own. */
static enum roce_rx_verdict find(const struct roce_dev *dev, const struct roce_pkt *pkt, struct roce_qp **out)
{
    if (pkt->bth.dest_qpn == 0)
        return ROCE_RX_DROP_QP0;
    if (is_to_group(pkt) != nornic_addr_is_multicast(&pkt->dst))
        return ROCE_RX_DROP_NO_QP;
    *out = roce_dev_find_qp(dev, pkt->bth.dest_qpn);
    return *out || is_to_group(pkt) ? ROCE_RX_TAKEN : ROCE_RX_DROP_NO_QP;
}

/* The checks that need the QP: ROCE-RX-13..18. */
static enum roce_rx_verdict admit(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    bool cnp = pkt->op->flags & ROCE_PKT_CNP;
    if ((!cnp || is_to_group(pkt)) && !service_fits(qp, pkt))
        return ROCE_RX_DROP_TYPE;
    bool answers = pkt->op->flags & ROCE_PKT_RESPONSE && !(pkt->op->flags & ROCE_PKT_SACKETH);
    if (!state_takes(qp, cnp || answers))
        return ROCE_RX_DROP_STATE;
    if (!is_to_group(pkt) && !addresses_are_good(qp, pkt))
        return ROCE_RX_DROP_GID;
    if (!pkey_is_good(qp, pkt))
        return ROCE_RX_DROP_PKEY;
    if (pkt->op->flags & ROCE_PKT_DETH && pkt->deth.qkey != roce_ud_qkey(qp))
        return ROCE_RX_DROP_QKEY;
    if (is_to_group(pkt) && roce_mcast_is_own(qp, pkt))
        return ROCE_RX_DROP_OWN;
    return ROCE_RX_TAKEN;
}

static enum roce_rx_verdict dispatch(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    if (pkt->bth.opcode == ROCE_OPCODE_CNP) {
        if (pkt->payload_bytes || pkt->bth.pad_count) /* ROCE-HDR-12: nothing follows its 16 bytes */
            return ROCE_RX_DROP_LENGTH;
        roce_cc_take_cnp(qp, now_ns);
        return ROCE_RX_TAKEN;
    }
    if (roce_qp_state_now(qp) == NORNIC_QPS_RTR && !qp->resp.has_comm_est) {
        qp->resp.has_comm_est = true;
        rdma_qp_event(&qp->base, NORNIC_EVENT_COMM_EST);
    }
    if (qp->transport->is_connected)
        roce_path_note_migreq(qp, pkt);
    return qp->transport->rx(qp, pkt, now_ns);
}

/* RoCEv1 has no ECN field. */
static bool is_marked(const struct roce_pkt *pkt)
{
    return (pkt->tclass & 3) == ROCE_ECN_CE && roce_pkt_gid_type(pkt) == NORNIC_GID_V2;
}

/* The port counters of key violations have 16 bits: ROCE-RX-17, RX-18. */
static bool saturates(enum roce_rx_verdict verdict)
{
    return verdict == ROCE_RX_DROP_PKEY || verdict == ROCE_RX_DROP_QKEY;
}

/* Gives a packet to a QP if it may have it, counts and tells what became of it. `verdict`: so far; without a
 * QP it is the last. */
static enum roce_rx_verdict deliver(struct roce_dev *dev, struct roce_qp *qp, const struct roce_pkt *pkt,
                                    enum roce_rx_verdict verdict, uint64_t now_ns)
{
    if (verdict == ROCE_RX_TAKEN)
        verdict = admit(qp, pkt);
    struct roce_trace event = {
        .kind = ROCE_TRACE_PKT_RX,
        .now_ns = now_ns,
        .qpn = qp ? qp->base.qpn : 0,
        .frame = pkt->frame,
        .frame_bytes = pkt->frame_bytes,
        .pkt = verdict == ROCE_RX_NOT_ROCE ? NULL : pkt,
    };
    if (verdict == ROCE_RX_TAKEN) {
        verdict = dispatch(qp, pkt, now_ns);
        if (is_marked(pkt)) /* ROCE-RX-21 */
            roce_cnp_note(qp, pkt, now_ns);
        roce_count(qp, rx_pkts);
        roce_count_n(qp, rx_bytes, pkt->frame_bytes);
        roce_dev_ready(dev, qp);
    }
    if (!saturates(verdict) || dev->counters.verdicts[verdict] < UINT16_MAX)
        dev->counters.verdicts[verdict]++;
    event.verdict = verdict;
    roce_trace_emit(dev, &event);
    return verdict;
}

/* ROCE-UD-22: to every member, each of which judges for itself. */
static enum roce_rx_verdict deliver_to_group(struct roce_dev *dev, const struct roce_pkt *pkt,
                                             uint64_t now_ns)
{
    const struct roce_mcast_group *group = roce_mcast_find(&dev->groups, &pkt->dst);
    enum roce_rx_verdict verdict = ROCE_RX_DROP_NO_QP;
    if (!group)
        return deliver(dev, NULL, pkt, verdict, now_ns);
    for (const struct roce_mcast_member *m = group->members; m; m = m->next) {
        enum roce_rx_verdict copy = deliver(dev, m->qp, pkt, ROCE_RX_TAKEN, now_ns);
        verdict = verdict == ROCE_RX_TAKEN ? verdict : copy;
    }
    return verdict;
}

/* A packet with the verdict of the parser. Returns whether somebody took it. */
static bool take_packet(struct roce_dev *dev, const struct roce_pkt *pkt, enum roce_rx_verdict verdict,
                        uint64_t now_ns)
{
    struct roce_qp *qp = NULL;
    if (verdict == ROCE_RX_TAKEN && !vlan_is_ours(dev, pkt))
        verdict = ROCE_RX_DROP_L2;
    bool is_cnp = verdict == ROCE_RX_TAKEN && pkt->op->flags & ROCE_PKT_CNP;
    if (verdict == ROCE_RX_TAKEN)
        verdict = find(dev, pkt, &qp);
    if (verdict == ROCE_RX_TAKEN && is_to_group(pkt))
        verdict = deliver_to_group(dev, pkt, now_ns);
    else
        verdict = deliver(dev, qp, pkt, verdict, now_ns);
    if (is_cnp && verdict != ROCE_RX_TAKEN)
        dev->counters.qps.rp_cnp_ignored++; /* ROCE-CC-5 */
    roce_dev_settle(dev, now_ns);
    return verdict == ROCE_RX_TAKEN;
}

static void take_train(struct roce_dev *dev, const struct net_frame *frame, uint64_t now_ns)
{
    struct roce_arrival arrival;
    roce_arrival_begin(&arrival, frame, dev->config.parse_flags,
                       dev->config.udp_socket ? &dev->ip_ids : NULL);
    for (uint32_t i = 0; i < arrival.train.count;) {
        enum roce_rx_verdict verdict = roce_arrival_packet(&arrival, i++);
        dev->counters.qps.rx_ip_id_foreign += arrival.is_foreign;
        if (take_packet(dev, &arrival.pkt, verdict, now_ns) && i < arrival.train.count)
            i += roce_stretch_take(dev, &arrival, i, now_ns);
    }
    roce_arrival_end(&arrival);
}

void roce_rx_frame(struct roce_dev *dev, const struct net_frame *frame, uint64_t now_ns)
{
    if (frame->seg_bytes || dev->config.udp_socket) {
        take_train(dev, frame, now_ns);
        return;
    }
    struct roce_pkt pkt;
    enum roce_rx_verdict verdict =
        roce_pkt_parse(&pkt, frame->data, frame->len_bytes, dev->config.parse_flags);
    take_packet(dev, &pkt, verdict, now_ns);
}

void roce_dev_rx(struct roce_dev *dev, const struct net_frame *frames, unsigned n, uint64_t now_ns)
{
    for (unsigned i = 0; i < n; i++)
        roce_rx_frame(dev, &frames[i], now_ns);
}
