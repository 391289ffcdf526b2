/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be seen of the process. Looking moves nothing, so no progress is made. */
#include <string.h>

#include "sock/runtime.h"

void smcr_sock_counters(struct smcr_counters *out)
{
    memset(out, 0, sizeof *out);
    smcr_rt_lock();
    if (smcr_rt.core)
        *out = *smcr_counters(smcr_rt.core);
    smcr_rt_release();
}

void smcr_sock_stat_visit(const struct smcr_stat_visitor *visitor)
{
    smcr_rt_lock();
    if (smcr_rt.core)
        smcr_stat_visit(smcr_rt.core, visitor);
    smcr_rt_release();
}

void smcr_sock_fallbacks(void (*visit)(void *ctx, const char *reason, uint64_t count), void *ctx)
{
    smcr_rt_lock();
    for (unsigned i = 0; i < SMCR_RT_REASONS && smcr_rt.reasons[i].text; i++)
        visit(ctx, smcr_rt.reasons[i].text, smcr_rt.reasons[i].count);
    smcr_rt_release();
}
