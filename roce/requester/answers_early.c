/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/requester/answers.h"

#include "roce/dev/device.h"

/* The peer is told of a gap by asking for it, and the board tells what is one. */
static bool may_have_gaps(struct roce_qp *qp)
{
    return qp->peer.is_selective && !qp->req.is_rnr_waiting && roce_requester_open_board(qp);
}

bool roce_answers_note_acked(struct roce_qp *qp, uint32_t end_psn)
{
    struct roce_answers *answers = &qp->req.answers;
    if (!may_have_gaps(qp))
        return false;
    if (!answers->has_acked || roce_psn_diff(end_psn, answers->acked_psn) > 0)
        answers->acked_psn = end_psn;
    answers->has_acked = true;
    roce_board_reach(&qp->req.board, roce_psn_add(end_psn, ROCE_PSN_MASK));
    return true;
}

bool roce_answers_keep(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    uint32_t psn = pkt->bth.psn;
    if (!may_have_gaps(qp) || !roce_board_covers(&qp->req.board, psn) || !roce_answers_put(qp, pkt))
        return false;
    roce_count(qp, kept_pkts);
    roce_board_mark(&qp->req.board, psn);
    return roce_answers_note_acked(qp, psn);
}

/* Only where it is news: the oldest that is missing, or what is right before the newest. */
void roce_answers_ask(struct roce_qp *qp, uint64_t now_ns)
{
    const struct roce_requester *req = &qp->req;
    uint32_t before = roce_psn_add(req->answers.acked_psn, ROCE_PSN_MASK);
    if (roce_requester_cur_psn(qp) == req->una_psn)
        return; /* sending goes on there already */
    if (roce_board_is_lost(&req->board, req->una_psn) ||
        (req->answers.has_acked && roce_board_is_lost(&req->board, before)))
        roce_requester_recover(qp, now_ns);
}
