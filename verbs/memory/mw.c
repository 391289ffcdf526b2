/* SPDX-License-Identifier: BSD-2-Clause */
/* Memory windows. */
#include <errno.h>
#include <stdlib.h>

#include "verbs/faults/faults.h"
#include "verbs/object.h"
#include "verbs/ops.h"

#define BIND_FLAGS (unsigned)(IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED)

struct ibv_mw *verbs_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
    if (verbs_object_need(VERBS_PD, pd))
        return NULL;
    struct verbs_mw *mw = verbs_object_new(VERBS_MW, sizeof *mw);
    int err = mw ? verbs_fault_alloc(verbs_own(pd->context)->faults, VERBS_FAULT_OF_MW) : ENOMEM;
    if (!err)
        err = -nornic_mw_alloc(verbs_pd_of(pd)->nornic, (enum nornic_mw_type)type, &mw->nornic);
    if (err) {
        verbs_object_free(VERBS_MW, mw);
        return verbs_fail_null(err, "no memory window of type %u", (unsigned)type);
    }
    mw->base = (struct ibv_mw){.context = pd->context,
                               .pd = pd,
                               .rkey = nornic_mw_rkey(mw->nornic),
                               .handle = verbs_object_number(VERBS_MW, mw, pd->context),
                               .type = type};
    return &mw->base;
}

int verbs_dealloc_mw(struct ibv_mw *mw)
{
    int err = verbs_object_claim(VERBS_MW, mw);
    if (err || verbs_is_inherited(mw->context))
        return err;
    nornic_mw_dealloc(verbs_mw_of(mw)->nornic);
    verbs_object_free(VERBS_MW, mw);
    return 0;
}

int verbs_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind)
{
    const struct ibv_mw_bind_info *info = &bind->bind_info;
    int err = verbs_object_need_to_post(VERBS_QP, qp);
    if (!err)
        err = verbs_object_need_to_post(VERBS_MW, mw);
    if (err)
        return err;
    const struct nornic_bind wanted = {
        .lkey = info->mr ? info->mr->lkey : 0,
        .addr = info->addr,
        .len_bytes = info->length,
        .access = info->mw_access_flags & VERBS_WINDOW_RIGHTS,
    };
    if ((info->mw_access_flags & ~(unsigned)VERBS_WINDOW_KNOWN) || (bind->send_flags & ~BIND_FLAGS))
        return verbs_fail(EINVAL, "bind_mw: access 0x%x, flags 0x%x", info->mw_access_flags,
                          bind->send_flags);
    if (verbs_pd_of(mw->pd)->nornic != verbs_pd_of(qp->pd)->nornic)
        return verbs_fail(EPERM, "the window and queue pair 0x%06x have different protection domains",
                          qp->qp_num);
    err = -nornic_qp_bind_mw(verbs_qp_of(qp)->nornic, verbs_mw_of(mw)->nornic, bind->wr_id, bind->send_flags,
                             &wanted);
    if (err)
        return verbs_fail(err, "the window cannot be bound to %llu bytes at 0x%llx",
                          (unsigned long long)info->length, (unsigned long long)info->addr);
    mw->rkey = nornic_mw_rkey(verbs_mw_of(mw)->nornic);
    return 0;
}
