/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that were seen before: ROCE section 8.3. None of them is ever executed again, and none yields a
 * NAK. */
#include "roce/dev/inner.h"

/* ROCE-RS-20, RS-21: everything is acknowledged, but not past a READ or atomic behind the duplicate: the peer
 * would take that for its lost answer. */
static void acknowledge(struct roce_qp *qp, uint32_t duplicate_psn)
{
    const struct roce_responder *resp = &qp->resp;
    uint32_t psn = roce_psn_add(resp->epsn, ROCE_PSN_MASK);
    for (uint32_t i = 0; i < qp->attr.max_dest_rd_atomic; i++) {
        const struct roce_resource *r = &resp->resources[i];
        if (r->is_used && roce_psn_diff(r->first_psn, duplicate_psn) > 0 &&
            roce_psn_diff(r->first_psn, psn) <= 0)
            psn = roce_psn_add(r->first_psn, ROCE_PSN_MASK);
    }
    roce_response_push_ack(qp, psn);
}

/* The newest first: when PSNs have come round, an older one with the same PSN may still be kept. */
static struct roce_resource *find_resource(struct roce_qp *qp, uint8_t opcode, uint32_t psn)
{
    uint32_t count = qp->attr.max_dest_rd_atomic;
    for (uint32_t age = 1; age <= count; age++) {
        struct roce_resource *r = &qp->resp.resources[(qp->resp.resource_next + count - age) % count];
        if (r->is_used && r->opcode == opcode && ((psn - r->first_psn) & ROCE_PSN_MASK) < r->psn_count)
            return r;
    }
    return NULL;
}

/* ROCE-RS-22: the retried range is a suffix of the original on a PMTU boundary (ROCE-RC-44). A peer with
 * selective retransmission may ask for whole packets of its middle. */
static bool is_part(const struct roce_qp *qp, const struct roce_resource *r, const struct roce_pkt *pkt,
                    uint32_t skipped_bytes)
{
    uint32_t left_bytes = r->len_bytes - skipped_bytes, dma_len = pkt->reth.dma_len;
    if (pkt->xrceth.xrc_srqn != r->srqn || pkt->reth.rkey != r->rkey || pkt->reth.va != r->va + skipped_bytes)
        return false;
    return dma_len == left_bytes ||
           (qp->peer.is_selective && dma_len && dma_len < left_bytes && dma_len % qp->pmtu_bytes == 0);
}

static enum roce_rx_verdict replay_read(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    const struct roce_resource *r = find_resource(qp, pkt->bth.opcode, pkt->bth.psn);
    if (!r)
        return ROCE_RX_DROP_DUPLICATE;
    uint32_t skipped = ((pkt->bth.psn - r->first_psn) & ROCE_PSN_MASK) * qp->pmtu_bytes;
    if (!is_part(qp, r, pkt, skipped))
        return ROCE_RX_DROP_DUPLICATE;
    bool is_suffix = pkt->reth.dma_len == r->len_bytes - skipped;
    struct roce_response answer = {
        .kind = ROCE_RESPONSE_READ,
        .is_replay = true,
        .psn = pkt->bth.psn,
        .msn = qp->resp.msn,
        .va = pkt->reth.va,
        .rkey = r->rkey,
        .srqn = r->srqn,
        .left_bytes = pkt->reth.dma_len,
        .end_psn = is_suffix ? roce_psn_add(r->first_psn, r->psn_count)
                             : roce_psn_add(pkt->bth.psn, pkt->reth.dma_len / qp->pmtu_bytes),
    };
    roce_count(qp, read_replays);
    /* An answer that is still being sent starts over in its place (ROCE-RS-25), so that those behind it keep
     * theirs. */
    struct roce_response *queued = roce_response_find(qp, ROCE_RESPONSE_READ, answer.end_psn);
    if (queued)
        *queued = answer;
    else if (!roce_response_insert(qp, &answer))
        return ROCE_RX_DROP_BUSY;
    return ROCE_RX_TAKEN;
}

/* ROCE-RS-23. */
static enum roce_rx_verdict replay_atomic(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    const struct roce_resource *r = find_resource(qp, pkt->bth.opcode, pkt->bth.psn);
    if (!r)
        return ROCE_RX_DROP_DUPLICATE;
    struct roce_response answer = {
        .kind = ROCE_RESPONSE_ATOMIC,
        .is_replay = true,
        .psn = r->first_psn,
        .msn = qp->resp.msn,
        .end_psn = roce_psn_add(r->first_psn, 1),
        .original = r->original,
    };
    roce_count(qp, atomic_replays);
    if (!roce_response_find(qp, ROCE_RESPONSE_ATOMIC, answer.end_psn) && !roce_response_insert(qp, &answer))
        return ROCE_RX_DROP_BUSY;
    return ROCE_RX_TAKEN;
}

enum roce_rx_verdict roce_responder_duplicate(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    if (pkt->op->flags & ROCE_PKT_READ)
        return replay_read(qp, pkt);
    if (pkt->op->flags & ROCE_PKT_ATOMIC)
        return replay_atomic(qp, pkt);
    if (pkt->bth.ack_req)
        acknowledge(qp, pkt->bth.psn);
    return ROCE_RX_TAKEN;
}
