/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "roce/responder/reorder.h"

#include <errno.h>

#include "roce/dev/inner.h"

int roce_reorder_init(struct roce_qp *qp, uint32_t pkts)
{
    struct roce_reorder *r = &qp->reorder;
    uint32_t size = pow2_up(pkts > 2 ? pkts : 2); /* the slot of the expected PSN stays empty */
    r->own = roce_alloc(qp->dev, sizeof *r->own);
    if (!r->own)
        return -ENOMEM;
    return roce_spare_init(r->own, qp->dev, 1, size, size, ROCE_PMTU_MAX_BYTES + ROCE_FRAME_OVERHEAD_BYTES);
}

static struct roce_spare *store(const struct roce_qp *qp)
{
    return qp->reorder.own ? qp->reorder.own : &qp->dev->spare;
}

static uint32_t *slot_of(const struct roce_qp *qp, uint32_t psn)
{
    return &qp->reorder.slots[psn & (store(qp)->table_words - 1)];
}

static void empty_slot(struct roce_qp *qp, uint32_t *slot)
{
    roce_spare_give_frame(store(qp), *slot);
    *slot = 0;
    qp->reorder.kept--;
}

/* A QP that keeps nothing needs no table. */
static void give_back_table(struct roce_qp *qp)
{
    if (qp->reorder.kept || !qp->reorder.slots)
        return;
    roce_spare_give_table(store(qp), qp->reorder.slots);
    qp->reorder.slots = NULL;
}

void roce_reorder_clear(struct roce_qp *qp)
{
    for (uint32_t i = 0; qp->reorder.kept; i++)
        if (*slot_of(qp, i))
            empty_slot(qp, slot_of(qp, i));
    give_back_table(qp);
}

void roce_reorder_deinit(struct roce_qp *qp)
{
    roce_reorder_clear(qp);
    if (qp->reorder.own)
        roce_spare_deinit(qp->reorder.own, qp->dev);
    roce_free(qp->dev, qp->reorder.own);
}

uint32_t roce_reorder_room(const struct roce_qp *qp)
{
    uint32_t size = store(qp)->table_words;
    return qp->reorder.own || qp->peer.is_selective ? size - (size != 0) : 0;
}

/* Of the device's store a QP keeps no more than is left for the others, so that a peer which leaves gaps open
 * does not have it all. */
static bool has_share(const struct roce_qp *qp)
{
    return qp->reorder.own || qp->reorder.kept < roce_spare_frames_left(&qp->dev->spare);
}

bool roce_reorder_keep(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    uint32_t psn = pkt->bth.psn;
    if (((psn - qp->resp.epsn) & ROCE_PSN_MASK) > roce_reorder_room(qp))
        return false;
    if (!qp->reorder.slots && !(qp->reorder.slots = roce_spare_take_table(store(qp))))
        return false;
    uint32_t *slot = slot_of(qp, psn);
    if (!*slot && has_share(qp)) {
        *slot = roce_spare_take_frame(store(qp), pkt->frame_bytes);
        qp->reorder.kept += *slot != 0;
    }
    struct roce_spare_frame *frame = *slot ? roce_spare_frame(store(qp), *slot) : NULL;
    if (!frame || sizeof *frame + pkt->frame_bytes > store(qp)->frame_bytes) {
        give_back_table(qp);
        return false;
    }
    frame->psn = psn;
    frame->len_bytes = pkt->frame_bytes;
    memcpy(frame->bytes, pkt->frame, pkt->frame_bytes);
    return true;
}

bool roce_reorder_has(const struct roce_qp *qp, uint32_t psn)
{
    uint32_t number = qp->reorder.slots ? *slot_of(qp, psn) : 0;
    return number && roce_spare_frame(store(qp), number)->psn == psn;
}

bool roce_reorder_take(struct roce_qp *qp, struct roce_pkt *pkt)
{
    uint32_t psn = qp->resp.epsn;
    if (!roce_reorder_has(qp, psn))
        return false;
    const struct roce_spare_frame *frame = roce_spare_frame(store(qp), *slot_of(qp, psn));
    /* It was found good when it came; only taking it apart again is needed. */
    roce_pkt_parse(pkt, frame->bytes, frame->len_bytes, qp->dev->config.parse_flags | ROCE_PARSE_SKIP_ICRC);
    empty_slot(qp, slot_of(qp, psn));
    give_back_table(qp);
    return true;
}

bool roce_reorder_has_gap(struct roce_qp *qp)
{
    for (uint32_t psn = qp->resp.epsn; qp->reorder.kept; psn = roce_psn_add(psn, 1)) {
        uint32_t *slot = slot_of(qp, psn);
        if (!*slot)
            continue;
        if (roce_psn_diff(roce_spare_frame(store(qp), *slot)->psn, qp->resp.epsn) > 0)
            return true;
        empty_slot(qp, slot); /* a READ's answers passed it by */
    }
    give_back_table(qp);
    return false;
}
