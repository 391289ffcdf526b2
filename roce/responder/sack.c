/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/responder/sack.h"

#include <string.h>

#include "base/base.h"
#include "roce/dev/av.h"
#include "roce/dev/inner.h"
#include "roce/dev/path.h"
#include "roce/responder/reorder.h"
#include "roce/qp/transport.h"

#define MAX_OFFERS 3

bool roce_sack_is_for(const struct roce_qp *qp)
{
    return qp->type == NORNIC_QPT_RC && qp->dev->config.selective;
}

/* Behind all answers that are queued. One that waits there already says as much when it is built. */
static void push(struct roce_qp *qp, bool is_asked_for)
{
    struct roce_responder *resp = &qp->resp;
    struct roce_response *newest = &resp->queue[(resp->queue_tail - 1) & (resp->queue_size - 1)];
    if (!roce_response_pending(qp) || newest->kind != ROCE_RESPONSE_SACK) {
        /* With a full queue it is lost, and the peer asks again. */
        roce_response_push(qp, &(struct roce_response){.kind = ROCE_RESPONSE_SACK,
                                                       .psn = resp->epsn,
                                                       .msn = resp->msn,
                                                       .is_asked_for = is_asked_for});
        return;
    }
    newest->psn = resp->epsn;
    newest->msn = resp->msn;
    newest->is_asked_for |= is_asked_for;
}

bool roce_sack_gap(struct roce_qp *qp)
{
    if (!roce_sack_is_for(qp))
        return false;
    if (!qp->peer.is_selective && qp->peer.offers == MAX_OFFERS)
        return false;
    qp->peer.offers += !qp->peer.is_selective;
    push(qp, !qp->peer.is_selective);
    return qp->peer.is_selective;
}

void roce_sack_offer(struct roce_qp *qp)
{
    if (!roce_sack_is_for(qp) || qp->peer.is_selective || qp->peer.offers == MAX_OFFERS)
        return;
    qp->peer.offers++;
    qp->req.probe.is_due = true;
}

void roce_sack_note(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    roce_count(qp, sack_received);
    qp->peer.is_selective = true;
    qp->peer.room_pkts = pkt->sacketh.room_pkts;
    if (pkt->sacketh.probe)
        qp->peer.echo = pkt->sacketh.stamp;
    if (pkt->sacketh.probe || !pkt->sacketh.known)
        push(qp, true);
}

bool roce_sack_is_wanted(const struct roce_qp *qp, const struct roce_response *r)
{
    return r->is_asked_for || (r->psn == qp->resp.epsn && qp->reorder.kept);
}

/* The bitmap of what is kept behind the expected PSN. Returns its length, a multiple of 4. */
static uint32_t fill_bitmap(const struct roce_qp *qp, uint8_t bitmap[ROCE_SACK_BITMAP_BYTES])
{
    uint32_t len_bytes = 0, left = qp->reorder.kept;
    memset(bitmap, 0, ROCE_SACK_BITMAP_BYTES);
    for (uint32_t i = 0; left && i < 8 * ROCE_SACK_BITMAP_BYTES && i < roce_reorder_room(qp); i++) {
        if (!roce_reorder_has(qp, roce_psn_add(qp->resp.epsn, 1 + i)))
            continue;
        bitmap[i / 8] |= (uint8_t)(0x80 >> i % 8);
        len_bytes = i / 32 * 4 + 4;
        left--;
    }
    return len_bytes;
}

static bool build(struct roce_qp *qp, uint32_t psn, uint32_t msn, const struct roce_sacketh *sacketh,
                  const uint8_t *bitmap, uint32_t bitmap_bytes, struct roce_run *run)
{
    uint32_t transport_bytes = ROCE_BTH_BYTES + ROCE_AETH_BYTES + ROCE_SACKETH_BYTES + bitmap_bytes;
    struct roce_dest dest = roce_dest_of_peer(qp);
    uint8_t *p = roce_run_begin(run, &qp->tmpl, &dest, transport_bytes);
    if (!p)
        return false;
    p = roce_bth_put(p, &(struct roce_bth){.opcode = ROCE_OPCODE_SACK,
                                           .mig_req = qp->attr.path_mig_state == ROCE_PATH_MIGRATED,
                                           .pkey = roce_qp_pkey(qp),
                                           .dest_qpn = qp->attr.dest_qpn,
                                           .psn = psn});
    p = roce_aeth_put(p, &(struct roce_aeth){.syndrome = ROCE_SYNDROME_NAK_PSN_SEQ, .msn = msn});
    p = roce_sacketh_put(p, sacketh);
    if (bitmap_bytes)
        memcpy(p, bitmap, bitmap_bytes);
    roce_run_seal(run);
    roce_count(qp, sack_sent);
    return true;
}

static struct roce_sacketh header(const struct roce_qp *qp)
{
    return (struct roce_sacketh){.known = qp->peer.is_selective,
                                 .ack = roce_response_ack_syndrome(qp),
                                 .room_pkts = (uint16_t)roce_reorder_room(qp),
                                 .echo = qp->peer.echo};
}

bool roce_sack_build(struct roce_qp *qp, const struct roce_response *r, struct roce_run *run)
{
    uint8_t bitmap[ROCE_SACK_BITMAP_BYTES];
    struct roce_sacketh sacketh = header(qp);
    /* What is kept now lies behind the PSN that is expected now. */
    uint32_t bitmap_bytes = r->psn == qp->resp.epsn ? fill_bitmap(qp, bitmap) : 0;
    return build(qp, r->psn, r->msn, &sacketh, bitmap, bitmap_bytes, run);
}

bool roce_sack_build_probe(struct roce_qp *qp, uint32_t stamp, struct roce_run *run)
{
    struct roce_sacketh sacketh = header(qp);
    sacketh.probe = 1;
    sacketh.stamp = stamp;
    return build(qp, qp->resp.epsn, qp->resp.msn, &sacketh, NULL, 0, run);
}
