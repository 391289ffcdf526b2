/* SPDX-License-Identifier: BSD-2-Clause */
#include "smcr/trace.h"

#include "smcr/instance.h"

void smcr_trace(struct smcr *smcr, struct smcr_trace trace, uint64_t now_ns)
{
    if (!smcr->config.trace)
        return;
    trace.now_ns = now_ns;
    smcr->config.trace(smcr->config.trace_ctx, &trace);
}
