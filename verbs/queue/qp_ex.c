/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests that a program builds call by call: wr_start, an operation and its setters for each request,
 * wr_complete. They are kept until then and posted as one list, so that they enter the queue together or
 * not at all. One thread builds at a time; others wait in wr_start. */
#include "verbs/queue/qp_ex.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "verbs/faults/faults.h"

struct built {
    struct nornic_send_wr wr;
    struct nornic_sge sges[NORNIC_MAX_SGE];
    size_t inline_at;  /* with NORNIC_SEND_INLINE: its data in the builder's */
    struct ibv_mw *mw; /* that it binds; NULL: none */
};

struct verbs_builder {
    pthread_mutex_t lock; /* from wr_start to wr_complete or wr_abort */
    struct built *list;
    size_t count, room;
    uint8_t *inline_data;
    size_t inline_bytes, inline_room;
    int err; /* the first */
};

#define RC_OPS                                                                                     \
    (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND |        \
     IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP | \
     IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |     \
     IBV_QP_EX_WITH_SEND_WITH_INV)
#define UC_OPS                                                                              \
    (IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM | IBV_QP_EX_WITH_SEND | \
     IBV_QP_EX_WITH_SEND_WITH_IMM | IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_BIND_MW |     \
     IBV_QP_EX_WITH_SEND_WITH_INV)
#define UD_OPS (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)

int verbs_check_send_ops(enum ibv_qp_type type, uint64_t flags)
{
    uint64_t known = 0;
    if (type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND)
        known = RC_OPS;
    else if (type == IBV_QPT_UC)
        known = UC_OPS;
    else if (type == IBV_QPT_UD)
        known = UD_OPS;
    return flags & ~known ? verbs_fail(EOPNOTSUPP, "queue pairs of type %u have no send operations 0x%llx",
                                       (unsigned)type, (unsigned long long)(flags & ~known))
                          : 0;
}

static struct verbs_qp *own_of(struct ibv_qp_ex *qp)
{
    return (struct verbs_qp *)(void *)qp;
}

/* --- requests --- */

static void fail(struct verbs_builder *b, int err)
{
    if (!b->err)
        b->err = err;
}

/* The next request, of the opcode and with the program's wr_id and flags; a spare one after an error, so that
 * its setters need not know. */
static struct built *next(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode)
{
    struct verbs_builder *b = own_of(qp)->builder;
    struct built *list = array_room(b->list, &b->room, b->count + 1, sizeof *list);
    if (list) {
        b->list = list;
    } else {
        fail(b, ENOMEM);
        b->count = 0;
    }
    struct built *built = &b->list[b->count++];
    *built = (struct built){
        .wr = {.wr_id = qp->wr_id, .opcode = (enum nornic_wr_opcode)opcode, .send_flags = qp->wr_flags}};
    return built;
}

static struct built *newest(struct ibv_qp_ex *qp)
{
    struct verbs_builder *b = own_of(qp)->builder;
    if (!b->count)
        fail(b, EINVAL); /* a setter before the first operation */
    return &b->list[b->count ? b->count - 1 : 0];
}

static struct built *next_remote(struct ibv_qp_ex *qp, enum ibv_wr_opcode opcode, uint32_t rkey,
                                 uint64_t addr)
{
    struct built *built = next(qp, opcode);
    built->wr.rkey = rkey;
    built->wr.remote_addr = addr;
    return built;
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare,
                              uint64_t swap)
{
    struct built *built = next_remote(qp, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr);
    built->wr.compare_add = compare;
    built->wr.swap = swap;
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
    next_remote(qp, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr)->wr.compare_add = add;
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
                       const struct ibv_mw_bind_info *info)
{
    struct built *built = next(qp, IBV_WR_BIND_MW);
    built->mw = mw;
    if (info->mw_access_flags & ~(unsigned)VERBS_WINDOW_KNOWN)
        fail(own_of(qp)->builder, EINVAL);
    built->wr.rkey = verbs_window_key(mw, rkey);
    built->wr.bind = (struct nornic_bind){.lkey = info->mr ? info->mr->lkey : 0,
                                          .addr = info->addr,
                                          .len_bytes = info->length,
                                          .access = info->mw_access_flags & VERBS_WINDOW_RIGHTS};
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
    next(qp, IBV_WR_LOCAL_INV)->wr.invalidate_rkey = rkey;
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
    next_remote(qp, IBV_WR_RDMA_READ, rkey, addr);
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
    next_remote(qp, IBV_WR_RDMA_WRITE, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
    next_remote(qp, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr)->wr.imm_data = imm;
}

static void wr_send(struct ibv_qp_ex *qp)
{
    next(qp, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
    next(qp, IBV_WR_SEND_WITH_IMM)->wr.imm_data = imm;
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
    next(qp, IBV_WR_SEND_WITH_INV)->wr.invalidate_rkey = rkey;
}

/* --- setters --- */

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey)
{
    struct built *built = newest(qp);
    built->wr.ud.ah = verbs_ah_of(ah)->nornic;
    built->wr.ud.remote_qpn = qpn & VERBS_QPN_MASK;
    built->wr.ud.remote_qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t srqn)
{
    newest(qp)->wr.remote_srqn = srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *qp, size_t num_sge, const struct ibv_sge *list)
{
    struct built *built = newest(qp);
    if (num_sge > NORNIC_MAX_SGE) {
        fail(own_of(qp)->builder, EINVAL);
        return;
    }
    for (size_t i = 0; i < num_sge; i++)
        built->sges[i] =
            (struct nornic_sge){.addr = list[i].addr, .len_bytes = list[i].length, .lkey = list[i].lkey};
    built->wr.num_sge = (uint32_t)num_sge;
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
    const struct ibv_sge sge = {.addr = addr, .length = length, .lkey = lkey};
    wr_set_sge_list(qp, 1, &sge);
}

/* Room for `bytes` more of inline data. False: no memory. */
static bool make_room(struct verbs_builder *b, size_t bytes)
{
    uint8_t *data = array_room(b->inline_data, &b->inline_room, b->inline_bytes + bytes, 1);
    if (data)
        b->inline_data = data;
    else
        fail(b, ENOMEM);
    return data;
}

/* The program may use its memory again at once, so the data is copied here; where it is, the list of pieces
 * says when all are there. */
static void wr_set_inline_data_list(struct ibv_qp_ex *qp, size_t num_buf, const struct ibv_data_buf *list)
{
    struct verbs_builder *b = own_of(qp)->builder;
    struct built *built = newest(qp);
    size_t bytes = 0;
    for (size_t i = 0; i < num_buf; i++)
        bytes += list[i].length;
    if (bytes > own_of(qp)->init.cap.max_inline_data)
        fail(b, EINVAL);
    else if (make_room(b, bytes)) {
        built->inline_at = b->inline_bytes;
        for (size_t i = 0; i < num_buf; i++) {
            memcpy(b->inline_data + b->inline_bytes, list[i].addr, list[i].length);
            b->inline_bytes += list[i].length;
        }
        built->sges[0] = (struct nornic_sge){.len_bytes = (uint32_t)bytes};
        built->wr.num_sge = bytes ? 1 : 0;
        built->wr.send_flags |= NORNIC_SEND_INLINE;
    }
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
    const struct ibv_data_buf buf = {.addr = addr, .length = length};
    wr_set_inline_data_list(qp, 1, &buf);
}

/* --- begin and end --- */

/* In a child of a fork the lock may be held by a thread that is not there; nothing is posted there. */
static void wr_start(struct ibv_qp_ex *qp)
{
    struct verbs_builder *b = own_of(qp)->builder;
    if (!verbs_is_inherited(qp->qp_base.context))
        pthread_mutex_lock(&b->lock);
    b->count = b->inline_bytes = 0;
    b->err = 0;
}

static int wr_complete(struct ibv_qp_ex *qp)
{
    struct verbs_builder *b = own_of(qp)->builder;
    if (verbs_is_inherited(qp->qp_base.context))
        return verbs_fail(EIO, "queue pair 0x%06x is the parent's", qp->qp_base.qp_num);
    for (size_t i = 0; i < b->count; i++) {
        struct built *built = &b->list[i];
        built->wr.sg_list = built->sges;
        built->wr.next = i + 1 < b->count ? &b->list[i + 1].wr : NULL;
        if (built->wr.send_flags & NORNIC_SEND_INLINE)
            built->sges[0].addr = (uintptr_t)(b->inline_data + built->inline_at);
        if (verbs_own(qp->qp_base.context)->faults)
            verbs_fault_send(own_of(qp), &built->wr);
    }
    int err = b->err, state = verbs_hold();
    if (!err && b->count)
        err = -nornic_qp_post_send_all(own_of(qp)->nornic, &b->list[0].wr);
    verbs_let(state);
    for (size_t i = 0; i < b->count && !err; i++)
        if (b->list[i].mw)
            b->list[i].mw->rkey = b->list[i].wr.rkey;
    pthread_mutex_unlock(&b->lock);
    return err ? verbs_fail(err, "queue pair 0x%06x takes no such requests now", qp->qp_base.qp_num) : 0;
}

static void wr_abort(struct ibv_qp_ex *qp)
{
    if (!verbs_is_inherited(qp->qp_base.context))
        pthread_mutex_unlock(&own_of(qp)->builder->lock);
}

/* --- life --- */

static void set_operations(struct ibv_qp_ex *qp, uint64_t flags)
{
    qp->wr_start = wr_start;
    qp->wr_complete = wr_complete;
    qp->wr_abort = wr_abort;
    qp->wr_set_sge = wr_set_sge;
    qp->wr_set_sge_list = wr_set_sge_list;
    qp->wr_set_inline_data = wr_set_inline_data;
    qp->wr_set_inline_data_list = wr_set_inline_data_list;
    if (qp->qp_base.qp_type == IBV_QPT_UD)
        qp->wr_set_ud_addr = wr_set_ud_addr;
    if (qp->qp_base.qp_type == IBV_QPT_XRC_SEND)
        qp->wr_set_xrc_srqn = wr_set_xrc_srqn;
    if (flags & IBV_QP_EX_WITH_RDMA_WRITE)
        qp->wr_rdma_write = wr_rdma_write;
    if (flags & IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM)
        qp->wr_rdma_write_imm = wr_rdma_write_imm;
    if (flags & IBV_QP_EX_WITH_SEND)
        qp->wr_send = wr_send;
    if (flags & IBV_QP_EX_WITH_SEND_WITH_IMM)
        qp->wr_send_imm = wr_send_imm;
    if (flags & IBV_QP_EX_WITH_RDMA_READ)
        qp->wr_rdma_read = wr_rdma_read;
    if (flags & IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP)
        qp->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
    if (flags & IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD)
        qp->wr_atomic_fetch_add = wr_atomic_fetch_add;
    if (flags & IBV_QP_EX_WITH_LOCAL_INV)
        qp->wr_local_inv = wr_local_inv;
    if (flags & IBV_QP_EX_WITH_BIND_MW)
        qp->wr_bind_mw = wr_bind_mw;
    if (flags & IBV_QP_EX_WITH_SEND_WITH_INV)
        qp->wr_send_inv = wr_send_inv;
}

int verbs_builder_add(struct verbs_qp *qp, uint64_t flags)
{
    struct verbs_builder *b = calloc(1, sizeof *b);
    if (b) {
        b->room = 8;
        b->list = calloc(b->room, sizeof *b->list);
    }
    if (!b || !b->list) {
        free(b);
        return verbs_fail(ENOMEM, "no memory for send operations");
    }
    pthread_mutex_init(&b->lock, NULL);
    qp->builder = b;
    set_operations(&qp->base, flags);
    return 0;
}

void verbs_builder_remove(struct verbs_qp *qp)
{
    struct verbs_builder *b = qp->builder;
    if (!b)
        return;
    pthread_mutex_destroy(&b->lock);
    free(b->inline_data);
    free(b->list);
    free(b);
}

struct ibv_qp_ex *ibv_qp_to_qp_ex(struct ibv_qp *qp)
{
    return verbs_qp_of(qp)->builder ? &verbs_qp_of(qp)->base : NULL;
}
