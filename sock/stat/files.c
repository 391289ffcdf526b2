/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>

#include "sock/rendezvous/cgroup.h"
#include "sock/rendezvous/rendezvous.h"
#include "sock/runtime.h"
#include "sock/stat/json.h"

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
