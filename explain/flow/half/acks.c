/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/half/acks.h"

#include <stdlib.h>

#include "roce/psn.h"

bool explain_acks_note(struct explain_acks *acks, const struct explain_progress *progress)
{
    if (!acks->progress)
        acks->progress = calloc(EXPLAIN_PROGRESS_KEPT, sizeof *acks->progress);
    if (!acks->progress)
        return false;
    acks->progress[acks->next_progress++ % EXPLAIN_PROGRESS_KEPT] = *progress;
    return true;
}

const struct explain_progress *explain_acks_short_of(const struct explain_acks *acks, uint32_t psn,
                                                     uint64_t after_ns)
{
    const struct explain_progress *newest = NULL;
    for (unsigned i = 0; acks->progress && i < EXPLAIN_PROGRESS_KEPT; i++) {
        const struct explain_progress *p = &acks->progress[i];
        if (p->number && roce_psn_diff(psn, p->end_psn) >= 0 && p->time_ns > after_ns) {
            after_ns = p->time_ns;
            newest = p;
        }
    }
    return newest;
}

size_t explain_acks_bytes(const struct explain_acks *acks)
{
    return acks->progress ? EXPLAIN_PROGRESS_KEPT * sizeof *acks->progress : 0;
}

void explain_acks_free(struct explain_acks *acks)
{
    free(acks->progress);
}
