/* SPDX-License-Identifier: BSD-2-Clause */
#include "iwarp/term_rx.h"

#include "iwarp/wire/opcode.h"
#include "iwarp/ring.h"

/* The MSN on queue 1 of the request that a Terminate has the header of. False: of none. */
static bool named_request(const struct iwarp_term *h, const uint8_t *bytes, uint32_t len_bytes, uint32_t *msn)
{
    struct iwarp_ctrl ctrl;
    struct iwarp_untagged ddp;
    if (!h->d || len_bytes < IWARP_TERM_LENGTH_BYTES + IWARP_DDP_UNTAGGED_BYTES)
        return false;
    iwarp_untagged_get(&ddp, iwarp_ctrl_get(&ctrl, bytes + IWARP_TERM_LENGTH_BYTES));
    *msn = ddp.msn;
    return !ctrl.t && ddp.qn == IWARP_QN_REQUEST;
}

/* The outstanding READ or atomic of that MSN, or NULL. */
static const struct iwarp_asked *asked_by(const struct iwarp_source *source, uint32_t msn)
{
    for (uint32_t i = source->asked_at.head; i != source->asked_at.tail; i++) {
        const struct iwarp_asked *asked = &source->asked[i & (source->asked_at.size - 1)];
        if (asked->msn == msn && asked->kind != IWARP_ASKED_RTR)
            return asked;
    }
    return NULL;
}

/* The request fails for what the peer found wrong with it; those before it are flushed. */
static void fail_named(struct iwarp_qp *qp, const struct iwarp_asked *asked, uint16_t code)
{
    bool is_access = code >> 8 == IWARP_TERM_RDMAP_STAG >> 8;
    while (qp->base.sq.done != asked->wqe)
        rdma_sq_complete(&qp->base, NORNIC_WC_WR_FLUSH_ERR);
    rdma_sq_complete(&qp->base, is_access ? NORNIC_WC_REM_ACCESS_ERR : NORNIC_WC_REM_OP_ERR);
}

/* IWARP-AMB-02: the control as the peer means it, if that is the other way round. */
static struct iwarp_term read_control(struct iwarp_qp *qp, const uint8_t *bytes)
{
    struct iwarp_term h, meant;
    iwarp_term_get(&h, bytes);
    qp->end = (struct iwarp_end){
        .has_received = true,
        .code = iwarp_term_value(&h),
        .is_turned = iwarp_term_is_turned(&h, &meant),
    };
    return qp->end.is_turned ? meant : h;
}

void iwarp_take_terminate(struct iwarp_qp *qp, const uint8_t *bytes, uint32_t len_bytes)
{
    uint32_t msn;
    qp->end = (struct iwarp_end){.has_received = true, .is_mute = true};
    if (len_bytes >= IWARP_TERM_BYTES) {
        struct iwarp_term h = read_control(qp, bytes);
        uint16_t code = iwarp_term_value(&h);
        const struct iwarp_asked *asked = NULL;
        if (named_request(&h, bytes + IWARP_TERM_BYTES, len_bytes - IWARP_TERM_BYTES, &msn))
            asked = asked_by(&qp->source, msn);
        if (asked && code >> 12 == IWARP_LAYER_RDMAP && code >> 8 != IWARP_TERM_RDMAP_LOCAL >> 8)
            fail_named(qp, asked, code);
    }
    iwarp_drop(qp, IWARP_TCP_CLOSE);
    rdma_qp_event(&qp->base, NORNIC_EVENT_QP_FATAL);
}
