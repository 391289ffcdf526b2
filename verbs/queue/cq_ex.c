/* SPDX-License-Identifier: BSD-2-Clause */
/* Extended completion queues: a completion is taken by start_poll or next_poll and read member by member
 * until end_poll, by one thread at a time. */
#include <errno.h>
#include <time.h>

#include "verbs/queue/cq.h"
#include "verbs/object.h"
#include "verbs/ops.h"
#include "verbs/queue/wc.h"

#define KNOWN_FLAGS                                                                       \
    (IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_CVLAN | \
     IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)

static struct verbs_cq *own_of(struct ibv_cq_ex *cq)
{
    return (struct verbs_cq *)(void *)cq;
}

static uint64_t now_ns(clockid_t clock)
{
    struct timespec now;
    clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * NS_PER_S + (uint64_t)now.tv_nsec;
}

/* 0; ENOENT: there is none; or what the queue's overflow is. */
static int take(struct verbs_cq *cq)
{
    int got = verbs_take(cq, &cq->wc, 1);
    if (got <= 0)
        return got ? -got : ENOENT;
    cq->base.wr_id = cq->wc.wr_id;
    cq->base.status = (enum ibv_wc_status)cq->wc.status;
    /* A time is asked for only by who reads it. */
    if (cq->base.read_completion_ts)
        cq->taken_ns = now_ns(CLOCK_MONOTONIC);
    if (cq->base.read_completion_wallclock_ns)
        cq->taken_wall_ns = now_ns(CLOCK_REALTIME);
    return 0;
}

static int start_poll(struct ibv_cq_ex *base, struct ibv_poll_cq_attr *attr)
{
    struct verbs_cq *cq = own_of(base);
    if (attr && attr->comp_mask)
        return verbs_fail(EINVAL, "start_poll: comp_mask 0x%x is not known", attr->comp_mask);
    if (!cq->is_single_threaded)
        pthread_mutex_lock(&cq->poll_lock);
    int err = take(cq);
    if (err && !cq->is_single_threaded)
        pthread_mutex_unlock(&cq->poll_lock);
    return err;
}

static int next_poll(struct ibv_cq_ex *base)
{
    return take(own_of(base));
}

static void end_poll(struct ibv_cq_ex *base)
{
    if (!own_of(base)->is_single_threaded)
        pthread_mutex_unlock(&own_of(base)->poll_lock);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *cq)
{
    return verbs_wc_opcode(own_of(cq)->wc.opcode);
}

static uint32_t read_vendor_err(struct ibv_cq_ex *cq)
{
    return verbs_wc_vendor_err(&own_of(cq)->wc);
}

static uint32_t read_byte_len(struct ibv_cq_ex *cq)
{
    return own_of(cq)->wc.byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *cq)
{
    const struct nornic_wc *wc = &own_of(cq)->wc;
    return wc->wc_flags & NORNIC_WC_WITH_INV ? wc->invalidated_rkey : wc->imm_data;
}

static uint32_t read_qp_num(struct ibv_cq_ex *cq)
{
    return own_of(cq)->wc.qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *cq)
{
    return own_of(cq)->wc.src_qpn;
}

static unsigned read_wc_flags(struct ibv_cq_ex *cq)
{
    return own_of(cq)->wc.wc_flags;
}

/* There are no LIDs on Ethernet. */
static uint32_t read_slid(struct ibv_cq_ex *cq)
{
    (void)cq;
    return 0;
}

static uint8_t read_sl(struct ibv_cq_ex *cq)
{
    return verbs_wc_sl(&own_of(cq)->wc);
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *cq)
{
    (void)cq;
    return 0;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *cq)
{
    return own_of(cq)->taken_ns;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *cq)
{
    return own_of(cq)->taken_wall_ns;
}

static uint16_t read_cvlan(struct ibv_cq_ex *cq)
{
    return own_of(cq)->wc.vlan_id;
}

/* Each member that was asked for gets its reader; the others stay NULL. */
static void set_readers(struct ibv_cq_ex *cq, uint64_t flags)
{
    cq->start_poll = start_poll;
    cq->next_poll = next_poll;
    cq->end_poll = end_poll;
    cq->read_opcode = read_opcode;
    cq->read_vendor_err = read_vendor_err;
    cq->read_wc_flags = read_wc_flags;
    if (flags & IBV_WC_EX_WITH_BYTE_LEN)
        cq->read_byte_len = read_byte_len;
    if (flags & IBV_WC_EX_WITH_IMM)
        cq->read_imm_data = read_imm_data;
    if (flags & IBV_WC_EX_WITH_QP_NUM)
        cq->read_qp_num = read_qp_num;
    if (flags & IBV_WC_EX_WITH_SRC_QP)
        cq->read_src_qp = read_src_qp;
    if (flags & IBV_WC_EX_WITH_SLID)
        cq->read_slid = read_slid;
    if (flags & IBV_WC_EX_WITH_SL)
        cq->read_sl = read_sl;
    if (flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
        cq->read_dlid_path_bits = read_dlid_path_bits;
    if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
        cq->read_completion_ts = read_completion_ts;
    if (flags & IBV_WC_EX_WITH_CVLAN)
        cq->read_cvlan = read_cvlan;
    if (flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
        cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
}

struct ibv_cq_ex *verbs_create_cq_ex(struct ibv_context *context, struct ibv_cq_init_attr_ex *init)
{
    const uint32_t known_masks = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
    const uint32_t known_flags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;
    const bool has_domain = init->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD;
    uint32_t flags = init->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS ? init->flags : 0;
    if ((init->comp_mask & ~known_masks) || (flags & ~known_flags))
        return verbs_fail_null(EINVAL, "create_cq_ex: comp_mask 0x%x, flags 0x%x", init->comp_mask, flags);
    if (init->wc_flags & ~(uint64_t)KNOWN_FLAGS)
        return verbs_fail_null(EOPNOTSUPP, "create_cq_ex: no completion tells 0x%llx",
                               (unsigned long long)(init->wc_flags & ~(uint64_t)KNOWN_FLAGS));
    if (flags & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN)
        return verbs_fail_null(EOPNOTSUPP, "create_cq_ex: an overrun is always noticed");
    if (has_domain && verbs_object_need(VERBS_PD, init->parent_domain))
        return NULL;
    if (has_domain && (!verbs_pd_of(init->parent_domain)->origin || init->parent_domain->context != context))
        return verbs_fail_null(EINVAL, "create_cq_ex: the domain is no parent domain of the context");
    const struct verbs_cq_wanted wanted = {.cqe = init->cqe,
                                           .cq_context = init->cq_context,
                                           .channel = init->channel,
                                           .comp_vector = (int)min_u32(init->comp_vector, INT32_MAX)};
    struct verbs_cq *cq = verbs_new_cq(context, &wanted);
    if (!cq)
        return NULL;
    set_readers(&cq->base, init->wc_flags);
    cq->is_single_threaded = flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED;
    return &cq->base;
}
