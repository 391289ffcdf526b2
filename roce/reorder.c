/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "roce/reorder.h"

#include <errno.h>

#include "roce/device.h"

int roce_reorder_init(struct roce_qp *qp, uint32_t pkts)
{
    struct roce_reorder *r = &qp->reorder;
    r->size = pow2_up(pkts > 2 ? pkts : 2); /* the slot of the expected PSN stays empty */
    r->frame_bytes = ROCE_PMTU_MAX_BYTES + ROCE_FRAME_OVERHEAD_BYTES;
    r->slots = roce_alloc(qp->dev, sizeof *r->slots * r->size);
    r->frames = roce_alloc(qp->dev, (size_t)r->size * r->frame_bytes);
    return r->slots && r->frames ? 0 : -ENOMEM;
}

void roce_reorder_deinit(struct roce_qp *qp)
{
    roce_free(qp->dev, qp->reorder.slots);
    roce_free(qp->dev, qp->reorder.frames);
}

void roce_reorder_clear(struct roce_qp *qp)
{
    for (uint32_t i = 0; i < qp->reorder.size; i++)
        qp->reorder.slots[i].len_bytes = 0;
    qp->reorder.kept = 0;
}

static struct roce_reorder_slot *slot_of(const struct roce_qp *qp, uint32_t psn)
{
    return &qp->reorder.slots[psn & (qp->reorder.size - 1)];
}

static uint8_t *frame_of(const struct roce_qp *qp, uint32_t psn)
{
    return &qp->reorder.frames[(size_t)(psn & (qp->reorder.size - 1)) * qp->reorder.frame_bytes];
}

bool roce_reorder_keep(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    uint32_t psn = pkt->bth.psn;
    if (((psn - qp->resp.epsn) & ROCE_PSN_MASK) >= qp->reorder.size ||
        pkt->frame_bytes > qp->reorder.frame_bytes)
        return false;
    memcpy(frame_of(qp, psn), pkt->frame, pkt->frame_bytes);
    qp->reorder.kept += slot_of(qp, psn)->len_bytes == 0;
    *slot_of(qp, psn) = (struct roce_reorder_slot){.psn = psn, .len_bytes = pkt->frame_bytes};
    return true;
}

bool roce_reorder_take(struct roce_qp *qp, struct roce_pkt *pkt)
{
    uint32_t psn = qp->resp.epsn;
    struct roce_reorder_slot *slot = qp->reorder.kept ? slot_of(qp, psn) : NULL;
    if (!slot || !slot->len_bytes || slot->psn != psn)
        return false;
    /* It was found good when it came; only taking it apart again is needed. */
    roce_pkt_parse(pkt, frame_of(qp, psn), slot->len_bytes,
                   qp->dev->config.parse_flags | ROCE_PARSE_SKIP_ICRC);
    slot->len_bytes = 0;
    qp->reorder.kept--;
    return true;
}

bool roce_reorder_has_gap(struct roce_qp *qp)
{
    struct roce_reorder *r = &qp->reorder;
    for (uint32_t i = 0; i < r->size && r->kept; i++) {
        if (!r->slots[i].len_bytes)
            continue;
        if (roce_psn_diff(r->slots[i].psn, qp->resp.epsn) > 0)
            return true;
        r->slots[i].len_bytes = 0; /* a READ's answers passed it by */
        r->kept--;
    }
    return false;
}
