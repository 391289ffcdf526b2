/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/gap.h"

#include <inttypes.h>
#include <stdio.h>

#include "roce/psn.h"

#define GAP_WALK_MAX 1024 /* packets of a gap that are looked for */

/* Packets of the gap that never came. */
static uint32_t missing_of(const struct explain_half *half)
{
    uint32_t count = (half->capture.gap.end_psn - half->capture.gap.psn) & ROCE_PSN_MASK, missing = 0;
    for (uint32_t i = 0; i < count && i < GAP_WALK_MAX; i++) {
        missing += explain_was_not_asked(half, roce_psn_add(half->capture.gap.psn, i));
    }
    return missing;
}

/* Packets that are acknowledged and not in the capture have arrived: the capture missed them. It may as well
 * hold them cut off within their headers, and so many at once may be another connection's. */
void explain_gap_judge(struct explain_half *half, uint64_t answer, const struct roce_pkt *pkt,
                       struct explain_meaning *m)
{
    struct explain_gap *gap = &half->capture.gap;
    if (!gap->number || gap->is_covered || !half->acks.is_known ||
        roce_psn_diff(half->acks.una_psn, gap->end_psn) < 0)
        return;
    gap->is_covered = true;
    uint32_t missing = missing_of(half);
    if (!missing)
        return;
    half->capture.is_holey = true;
    if (half->capture.is_unseen)
        return;
    bool is_doubtful = half->capture.is_headers_cut || missing >= GAP_WALK_MAX;
    struct explain_why why = {.cause = EXPLAIN_CAUSE_CAPTURE_DROPPED,
                              .sure = is_doubtful ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_SHOWN};
    explain_why_prove(&why, gap->number, "the packet behind them");
    why.has_msn = pkt && pkt->op->flags & ROCE_PKT_AETH;
    why.msn = why.has_msn ? pkt->aeth.msn : 0;
    char covers[40] = "this answer";
    if (!pkt)
        snprintf(covers, sizeof covers, "answer #%" PRIu64, answer);
    explain_because(explain_remark(m, EXPLAIN_FIND_CAPTURE_GAP, "", 0, gap->number,
                                   "%u packet%s before #%" PRIu64
                                   " %s not in this capture, but arrived: %s covers %s",
                                   missing, missing == 1 ? "" : "s", gap->number, missing == 1 ? "is" : "are",
                                   covers, missing == 1 ? "it" : "them"),
                    &why);
}
