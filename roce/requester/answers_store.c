/* SPDX-License-Identifier: BSD-2-Clause */
/* What of roce/requester/answers.h needs no requester: where the packets are. */
#include "roce/requester/answers.h"

#include <string.h>

#include "roce/dev/inner.h"

static uint32_t *slot_of(const struct roce_qp *qp, uint32_t psn)
{
    return &qp->req.answers.slots[psn & (qp->dev->spare.table_words - 1)];
}

static void empty_slot(struct roce_qp *qp, uint32_t *slot)
{
    roce_spare_give_frame(&qp->dev->spare, *slot);
    *slot = 0;
    qp->req.answers.kept--;
}

static bool has_answer(const struct roce_qp *qp, uint32_t psn)
{
    uint32_t number = qp->req.answers.kept ? *slot_of(qp, psn) : 0;
    return number && roce_spare_frame(&qp->dev->spare, number)->psn == psn;
}

/* Who keeps nothing needs no table. */
static void give_back_table(struct roce_qp *qp)
{
    struct roce_answers *answers = &qp->req.answers;
    if (answers->kept || !answers->slots)
        return;
    roce_spare_give_table(&qp->dev->spare, answers->slots);
    answers->slots = NULL;
}

void roce_answers_clear(struct roce_qp *qp)
{
    struct roce_answers *answers = &qp->req.answers;
    for (uint32_t i = 0; answers->kept; i++)
        if (*slot_of(qp, i))
            empty_slot(qp, slot_of(qp, i));
    give_back_table(qp);
    answers->has_acked = false;
    roce_board_close(&qp->req.board, &qp->dev->spare);
}

/* As of what comes too early at the other end (reorder.h): who keeps answers leaves as much to others. */
static bool has_share(const struct roce_qp *qp)
{
    return qp->req.answers.kept < roce_spare_frames_left(&qp->dev->spare);
}

bool roce_answers_put(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    struct roce_answers *answers = &qp->req.answers;
    struct roce_spare *spare = &qp->dev->spare;
    if (!answers->slots && !(answers->slots = roce_spare_take_table(spare)))
        return false;
    uint32_t *slot = slot_of(qp, pkt->bth.psn);
    if (has_answer(qp, pkt->bth.psn))
        return true; /* came twice */
    if (*slot)
        empty_slot(qp, slot); /* an answer to what was none, which was passed by */
    *slot = has_share(qp) ? roce_spare_take_frame(spare, pkt->frame_bytes) : 0;
    if (!*slot) {
        give_back_table(qp);
        return false;
    }
    answers->kept++;
    struct roce_spare_frame *frame = roce_spare_frame(spare, *slot);
    frame->psn = pkt->bth.psn;
    frame->len_bytes = pkt->frame_bytes;
    memcpy(frame->bytes, pkt->frame, pkt->frame_bytes);
    return true;
}

bool roce_answers_take(struct roce_qp *qp, struct roce_pkt *pkt)
{
    if (!has_answer(qp, qp->req.una_psn))
        return false;
    uint32_t *slot = slot_of(qp, qp->req.una_psn);
    /* It was found good when it came; only taking it apart again is needed. */
    const struct roce_spare_frame *frame = roce_spare_frame(&qp->dev->spare, *slot);
    roce_pkt_parse(pkt, frame->bytes, frame->len_bytes, qp->dev->config.parse_flags | ROCE_PARSE_SKIP_ICRC);
    empty_slot(qp, slot);
    give_back_table(qp);
    return true;
}
