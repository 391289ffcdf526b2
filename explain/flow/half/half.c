/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/half/half.h"

#include <stdlib.h>

#include "roce/psn.h"

bool explain_is_asked(const struct explain_half *half, uint32_t psn)
{
    return explain_sent_find(&half->history, psn) || explain_read_find(&half->reads, psn);
}

bool explain_was_not_asked(const struct explain_half *half, uint32_t psn)
{
    bool may_be_forgotten = explain_horizon_hides(&half->history.horizon, psn) ||
                            explain_horizon_hides(&half->reads.horizon, psn);
    return !may_be_forgotten && !explain_is_asked(half, psn);
}

struct explain_recovery *explain_half_recovery(struct explain_half *half)
{
    if (half->recovery)
        return half->recovery;
    half->recovery = calloc(1, sizeof *half->recovery);
    if (half->recovery)
        half->recovery->run.cursor = half->asks.next_psn;
    return half->recovery;
}

bool explain_is_passed_unseen(const struct explain_half *half, uint32_t psn, const struct explain_sent *s)
{
    const struct explain_run *run = half->recovery ? &half->recovery->run : NULL;
    if (!run || !run->number || (s && s->number >= run->number) || roce_psn_diff(psn, run->psn) < 0)
        return false;
    return roce_psn_diff(run->cursor, psn) > 0 &&
           !(run->end.is_there && roce_psn_diff(psn, run->end.psn) >= 0);
}

bool explain_is_newest_here(const struct explain_half *half, uint32_t psn, const struct explain_sent *s)
{
    return s && !explain_is_passed_unseen(half, psn, s);
}

size_t explain_half_bytes(const struct explain_half *half)
{
    return explain_history_bytes(&half->history) + explain_reads_bytes(&half->reads) +
           explain_answers_bytes(&half->answers) + explain_acks_bytes(&half->acks) +
           explain_carried_bytes(&half->carried) + (half->recovery ? sizeof *half->recovery : 0) +
           (half->early ? sizeof *half->early : 0) + (half->selective ? sizeof *half->selective : 0);
}

void explain_half_free(struct explain_half *half)
{
    explain_history_free(&half->history);
    explain_reads_free(&half->reads);
    explain_answers_free(&half->answers);
    explain_acks_free(&half->acks);
    explain_carried_free(&half->carried);
    free(half->recovery);
    free(half->early);
    free(half->selective);
}
