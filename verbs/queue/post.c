/* SPDX-License-Identifier: BSD-2-Clause */
/* Posting. Requests are translated a batch at a time on the stack. Lists of SGEs need no copy: struct
 * ibv_sge and struct nornic_sge have one layout. */
#include "verbs/queue/post.h"

#include <errno.h>
#include <string.h>

#include "verbs/faults/faults.h"
#include "verbs/ops.h"

#define BATCH       16
#define KNOWN_FLAGS (IBV_SEND_FENCE | IBV_SEND_SIGNALED | IBV_SEND_SOLICITED | IBV_SEND_INLINE)

static const struct nornic_sge *pieces(const struct ibv_sge *list)
{
    return (const struct nornic_sge *)(const void *)list;
}

static void take_bind(const struct ibv_send_wr *wr, struct nornic_send_wr *out)
{
    const struct ibv_mw_bind_info *info = &wr->bind_mw.bind_info;
    out->rkey = verbs_window_key(wr->bind_mw.mw, wr->bind_mw.rkey);
    out->bind = (struct nornic_bind){.lkey = info->mr ? info->mr->lkey : 0,
                                     .addr = info->addr,
                                     .len_bytes = info->length,
                                     .access = info->mw_access_flags & VERBS_WINDOW_RIGHTS};
}

/* Gives the windows that posted requests bind, up to `refused` (NULL: all), their new keys. */
static void rename_windows(struct ibv_send_wr *const *of_batch, const struct nornic_send_wr *batch,
                           unsigned count, const struct nornic_send_wr *refused)
{
    for (unsigned i = 0; i < count && &batch[i] != refused; i++)
        if (of_batch[i]->opcode == IBV_WR_BIND_MW && of_batch[i]->bind_mw.mw)
            of_batch[i]->bind_mw.mw->rkey = batch[i].rkey;
}

static void take_atomic(const struct ibv_send_wr *wr, struct nornic_send_wr *out)
{
    out->remote_addr = wr->wr.atomic.remote_addr;
    out->rkey = wr->wr.atomic.rkey;
    out->compare_add = wr->wr.atomic.compare_add;
    out->swap = wr->wr.atomic.swap;
}

/* Fills in the members that depend on the opcode and the queue pair's type. False: nornic has no such
 * request. */
static bool take_operation(enum ibv_qp_type type, const struct ibv_send_wr *wr, struct nornic_send_wr *out)
{
    switch ((int)wr->opcode) {
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_READ:
        out->imm_data = wr->imm_data;
        out->remote_addr = wr->wr.rdma.remote_addr;
        out->rkey = wr->wr.rdma.rkey;
        return true;
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
        out->imm_data = wr->imm_data;
        if (type == IBV_QPT_UD) {
            out->ud.ah = wr->wr.ud.ah ? verbs_ah_of(wr->wr.ud.ah)->nornic : NULL;
            out->ud.remote_qpn = wr->wr.ud.remote_qpn & VERBS_QPN_MASK;
            out->ud.remote_qkey = wr->wr.ud.remote_qkey;
        }
        return true;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
        take_atomic(wr, out);
        return true;
    case IBV_WR_LOCAL_INV:
    case IBV_WR_SEND_WITH_INV:
        out->invalidate_rkey = wr->invalidate_rkey;
        return true;
    case IBV_WR_BIND_MW:
        take_bind(wr, out);
        return !(wr->bind_mw.bind_info.mw_access_flags & ~(unsigned)VERBS_WINDOW_KNOWN);
    }
    return false;
}

static bool take(struct verbs_qp *qp, const struct ibv_send_wr *wr, struct nornic_send_wr *out)
{
    enum ibv_qp_type type = qp->base.qp_base.qp_type;
    *out = (struct nornic_send_wr){
        .wr_id = wr->wr_id,
        .sg_list = pieces(wr->sg_list),
        .num_sge = (uint32_t)wr->num_sge,
        .opcode = (enum nornic_wr_opcode)wr->opcode,
        .send_flags = wr->send_flags,
    };
    if (type == IBV_QPT_XRC_SEND)
        out->remote_srqn = wr->qp_type.xrc.remote_srqn;
    return take_operation(type, wr, out) && !(wr->send_flags & ~(unsigned)KNOWN_FLAGS);
}

int verbs_post_send(struct ibv_qp *base, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    struct verbs_qp *qp = verbs_qp_of(base);
    const struct verbs_faults *faults = verbs_own(base->context)->faults;
    struct nornic_send_wr batch[BATCH];
    struct ibv_send_wr *of_batch[BATCH];
    if (verbs_is_inherited(base->context)) { /* no device thread here; the lock may be held for ever */
        *bad = wr;
        return verbs_fail(EIO, "queue pair 0x%06x belongs to the parent process of fork()", base->qp_num);
    }
    while (wr) {
        const struct nornic_send_wr *refused = NULL;
        unsigned n = 0;
        bool is_known = true, binds = false;
        for (; wr && n < BATCH; wr = wr->next, n++) {
            is_known = take(qp, wr, &batch[n]);
            if (!is_known)
                break;
            if (faults)
                verbs_fault_send(qp, &batch[n]);
            binds |= wr->opcode == IBV_WR_BIND_MW;
            of_batch[n] = wr;
            if (n)
                batch[n - 1].next = &batch[n];
        }
        int state = verbs_hold(); /* it may ring the doorbell */
        int err = n ? -nornic_qp_post_send(qp->nornic, batch, &refused) : 0;
        verbs_let(state);
        if (binds)
            rename_windows(of_batch, batch, n, refused);
        if (err || !is_known) {
            *bad = err ? of_batch[refused - batch] : wr;
            return verbs_fail(err ? err : EINVAL, "queue pair 0x%06x takes no request %u with flags 0x%x now",
                              base->qp_num, (unsigned)(*bad)->opcode, (*bad)->send_flags);
        }
    }
    return 0;
}

int verbs_post_receives(struct verbs_context_own *own, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
                        int (*post)(void *queue, const struct nornic_recv_wr *wr,
                                    const struct nornic_recv_wr **bad),
                        void *queue, struct verbs_qp *qp)
{
    struct nornic_recv_wr batch[BATCH];
    struct ibv_recv_wr *of_batch[BATCH];
    if (own->is_inherited) {
        *bad = wr;
        return verbs_fail(EIO, "the queue that takes receives is the parent's");
    }
    while (wr) {
        const struct nornic_recv_wr *refused = NULL;
        unsigned n = 0;
        for (; wr && n < BATCH; wr = wr->next, n++) {
            batch[n] = (struct nornic_recv_wr){
                .wr_id = wr->wr_id, .sg_list = pieces(wr->sg_list), .num_sge = (uint32_t)wr->num_sge};
            if (own->faults)
                verbs_fault_recv(own, qp, &batch[n]);
            of_batch[n] = wr;
            if (n)
                batch[n - 1].next = &batch[n];
        }
        int err = -post(queue, batch, &refused);
        if (err) {
            *bad = of_batch[refused - batch];
            return verbs_fail(err, "no room for a receive of %d pieces, or no state for one",
                              (*bad)->num_sge);
        }
    }
    return 0;
}

static int post_to_qp(void *queue, const struct nornic_recv_wr *wr, const struct nornic_recv_wr **bad)
{
    return nornic_qp_post_recv(queue, wr, bad);
}

int verbs_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    return verbs_post_receives(verbs_own(qp->context), wr, bad, post_to_qp, verbs_qp_of(qp)->nornic,
                               verbs_qp_of(qp));
}
