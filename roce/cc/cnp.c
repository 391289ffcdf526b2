/* SPDX-License-Identifier: BSD-2-Clause */
/* The notification point: ROCE-CC-2..4. */
#include <string.h>

#include "roce/dev/av.h"
#include "roce/cc/cc.h"
#include "roce/dev/inner.h"
#include "roce/qp/transport.h"

#define UNCONNECTED_HOPS 64

/* Where CNPs to the source of `pkt` are. */
static uint32_t slot_of(const struct roce_cc *cc, const struct roce_pkt *pkt)
{
    uint32_t hash = pkt->deth.src_qpn;
    for (unsigned i = 0; i < sizeof pkt->src.b; i++)
        hash = hash * 31 + pkt->src.b[i];
    return hash % cc->num_slots;
}

/* To the peer, as everything goes there. */
static struct roce_cnp_slot to_peer(const struct roce_qp *qp)
{
    const struct nornic_av *av = &qp->attr.av;
    return (struct roce_cnp_slot){.av = *av,
                                  .flow_label =
                                      roce_flow_label(av->flow_label, qp->base.qpn, qp->attr.dest_qpn),
                                  .dest_qpn = qp->attr.dest_qpn};
}

/* Back to where a datagram came from. */
static struct roce_cnp_slot to_sender(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    int gid = roce_gid_find(&qp->dev->gids, &pkt->dst, NORNIC_GID_V2, roce_pkt_vlan_id(pkt));
    return (struct roce_cnp_slot){.av = {.dgid = pkt->src,
                                         .sgid_index = gid < 0 ? UINT8_MAX : (uint8_t)gid,
                                         .hop_limit = UNCONNECTED_HOPS,
                                         .dst_mac = pkt->src_mac},
                                  .flow_label = roce_flow_label(0, 1, 1),
                                  .dest_qpn = pkt->deth.src_qpn};
}

/* Whether somebody stands behind the packet whom a CNP can slow down. Of a connected QP it is the peer, whose
 * addresses the packet bears. A datagram shows by its Q_Key that its sender may send here, which one without
 * a DETH never did; and its source is a QP number that a QP can have. */
static bool has_source(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    if (qp->transport->is_connected)
        return true;
    return pkt->op->flags & ROCE_PKT_DETH && pkt->deth.src_qpn != 0 &&
           pkt->deth.src_qpn != ROCE_MULTICAST_QPN;
}

void roce_cnp_note(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    struct roce_cc *cc = qp->cc;
    if (!has_source(qp, pkt))
        return;
    roce_count(qp, np_ecn_marked);
    if (!cc || pkt->bth.opcode == ROCE_OPCODE_CNP)
        return;
    uint32_t index = slot_of(cc, pkt);
    struct roce_cnp_slot *slot = &cc->slots[index];
    if (now_ns < slot->next_ns)
        return;
    const struct roce_cc_config *c = &qp->dev->config.cc;
    *slot = qp->transport->is_connected ? to_peer(qp) : to_sender(qp, pkt);
    slot->av.sl = c->cnp_priority;
    slot->av.traffic_class = (uint8_t)(c->cnp_dscp << 2);
    slot->pkey = pkt->bth.pkey;
    slot->next_ns = now_ns + c->cnp_interval_ns;
    /* A CNP comes from the address that the marked packet went to. A multicast group is no source, and its
     * sender could not be slowed down for all members by one. */
    if (roce_av_is_valid(qp->dev, &slot->av))
        cc->cnps_due |= 1u << index;
}

/* ROCE-HDR-12. The template is this packet's alone, so nothing else may follow it. */
static void build(const struct roce_qp *qp, const struct roce_cnp_slot *slot, struct roce_run *run)
{
    struct roce_frame_template tmpl;
    const uint32_t transport_bytes = ROCE_BTH_BYTES + ROCE_CNP_BYTES;
    roce_av_template_ecn(qp->dev, &slot->av, qp->dev->config.cc.cnp_ect ? ROCE_ECN_ECT0 : 0, slot->flow_label,
                         &tmpl);
    struct roce_way way = {.gid_epoch = 0};
    struct roce_dest dest = {
        .route = roce_route_to(qp->dev, &slot->av.dgid, &way), .dgid = &slot->av.dgid, .qpn = slot->dest_qpn};
    uint8_t *p = roce_run_begin(run, &tmpl, &dest, transport_bytes);
    p = roce_bth_put(
        p, &(struct roce_bth){.opcode = ROCE_OPCODE_CNP, .pkey = slot->pkey, .dest_qpn = slot->dest_qpn});
    memset(p, 0, ROCE_CNP_BYTES);
    roce_run_seal(run);
    run->max_pkts = 1;
}

bool roce_cnp_tx(struct roce_qp *qp, struct roce_run *run)
{
    struct roce_cc *cc = qp->cc;
    while (cc->cnps_due) {
        uint32_t index = (uint32_t)__builtin_ctz(cc->cnps_due);
        const struct roce_cnp_slot *slot = &cc->slots[index];
        cc->cnps_due &= cc->cnps_due - 1;
        if (!roce_av_is_valid(qp->dev, &slot->av)) /* the address has gone meanwhile */
            continue;
        build(qp, slot, run);
        roce_count(qp, np_cnp_sent);
        return true;
    }
    return false;
}
