/* SPDX-License-Identifier: BSD-2-Clause */
/* What can be seen of the process. Looking moves nothing, so no progress is made. */
#include <stdio.h>
#include <string.h>

#include "sock/rendezvous/cgroup.h"
#include "sock/rendezvous/rendezvous.h"
#include "sock/runtime.h"
#include "sock/stat/json.h"

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

void smcr_sock_files(smcr_file_visit visit, void *ctx)
{
    const struct smcr_cgroup *cgroup = smcr_rt.rendezvous ? smcr_rendezvous_cgroup(smcr_rt.rendezvous) : NULL;
    char procs[sizeof cgroup->home + sizeof "/cgroup.procs"];
    visit(ctx, "/proc", SMCR_FILE_READ);
    visit(ctx, SMCR_STAT_DIR, SMCR_FILES_REMOVED);
    if (!cgroup)
        return;
    snprintf(procs, sizeof procs, "%s/cgroup.procs", cgroup->home);
    visit(ctx, procs, SMCR_FILE_WRITTEN);
    visit(ctx, cgroup->home, SMCR_FILES_REMOVED);
    visit(ctx, cgroup->own, SMCR_FILE_WRITTEN);
}
