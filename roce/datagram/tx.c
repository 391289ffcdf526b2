/* SPDX-License-Identifier: BSD-2-Clause */
/* Sending datagrams. A message is one packet and is complete with it: nothing is ever sent again. */
#include "net/bytes.h"
#include "roce/dev/av.h"
#include "roce/cc/cc.h"
#include "roce/dev/inner.h"
#include "roce/qp/transport.h"
#include "roce/datagram/ud.h"

#define CONTROLLED_QKEY 0x80000000u /* ROCE-UD-3 */

static uint16_t pkey_of(const struct roce_qp *qp, const struct rdma_send_wqe *w)
{
    return qp->type == NORNIC_QPT_GSI ? qp->dev->pkeys[w->pkey_index] : roce_qp_pkey(qp);
}

static uint32_t qkey_of(const struct roce_qp *qp, const struct rdma_send_wqe *w)
{
    return qp->type == NORNIC_QPT_GSI || w->remote_qkey & CONTROLLED_QKEY ? roce_ud_qkey(qp) : w->remote_qkey;
}

/* Builds the packet of the oldest WQE. */
static enum roce_built build(struct roce_qp *qp, const struct rdma_send_wqe *w, enum roce_route route,
                             struct roce_run *run)
{
    const struct roce_frame_template *tmpl = &roce_ah_of(w->ah)->tmpl;
    bool imm = w->opcode == NORNIC_WR_SEND_WITH_IMM;
    uint8_t opcode = ROCE_OPCODE(ROCE_SERVICE_UD, imm ? ROCE_OP_SEND_ONLY_IMM : ROCE_OP_SEND_ONLY);
    uint8_t pad = (uint8_t)(-w->len_bytes & 3);
    uint32_t transport_bytes = ROCE_BTH_BYTES + roce_opcodes[opcode].ext_bytes + w->len_bytes + pad;
    struct roce_bth bth = {
        .opcode = opcode,
        .se = (w->send_flags & NORNIC_SEND_SOLICITED) != 0,
        .mig_req = 1, /* ROCE-HDR-2 */
        .pad_count = pad,
        .pkey = pkey_of(qp, w),
        .dest_qpn = w->remote_qpn,
        .psn = qp->req.nxt_psn,
    };
    struct roce_dest dest = {.route = roce_route_qpn(qp->dev, route, w->remote_qpn),
                             .dgid = &roce_ah_of(w->ah)->av.dgid,
                             .qpn = w->remote_qpn};
    uint8_t *p = roce_run_begin(run, tmpl, &dest, transport_bytes);
    if (!p)
        return ROCE_RUN_ENDS;
    p = roce_bth_put(p, &bth);
    p = roce_deth_put(p, &(struct roce_deth){.qkey = qkey_of(qp, w), .src_qpn = qp->base.qpn});
    if (imm)
        p = put_bytes(p, &w->imm_data, sizeof w->imm_data);
    if (w->len_bytes && !rdma_sq_gather(&qp->base, qp->base.sq.done, 0, p, w->len_bytes))
        return ROCE_UNREADABLE;
    memset(p + w->len_bytes, 0, pad);
    roce_run_seal(run);
    qp->req.nxt_psn = roce_psn_add(qp->req.nxt_psn, 1);
    return ROCE_BUILT;
}

static void finish(struct roce_qp *qp, enum nornic_wc_status status)
{
    qp->base.sq.started++;
    rdma_sq_complete(&qp->base, status);
}

static void fail(struct roce_qp *qp, enum nornic_wc_status status, uint64_t now_ns)
{
    finish(qp, status);
    roce_qp_enter_sqe(qp, ROCE_CAUSE_LOCAL_ERROR, now_ns);
}

bool roce_ud_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns)
{
    /* Of those that are there now: a poster could add too long ones for ever. */
    uint32_t posted = atomic_load_explicit(&qp->base.sq.posted, memory_order_acquire);
    while (roce_qp_state_now(qp) == NORNIC_QPS_RTS && qp->base.sq.done != posted) {
        const struct rdma_send_wqe *w = rdma_sq_wqe(&qp->base.sq, qp->base.sq.done);
        if (w->len_bytes > qp->pmtu_bytes) {
            finish(qp, NORNIC_WC_SUCCESS); /* ROCE-UD-2: nothing goes out, and that is no error */
            continue;
        }
        /* ROCE-AH-10; and an invalid P_Key is never on the wire (ROCE-HDR-5). */
        enum roce_route route;
        if (!roce_ah_route(roce_ah_of(w->ah), &route) || !pkey_of(qp, w)) {
            fail(qp, NORNIC_WC_LOC_QP_OP_ERR, now_ns);
            return false;
        }
        if (roce_cc_must_wait(qp, now_ns))
            return false;
        enum roce_built built = build(qp, w, route, run);
        if (built == ROCE_UNREADABLE)
            fail(qp, NORNIC_WC_LOC_PROT_ERR, now_ns);
        if (built != ROCE_BUILT)
            return false;
        roce_cc_sent(qp, run->pkt_bytes, now_ns);
        finish(qp, NORNIC_WC_SUCCESS);
        return true;
    }
    return false;
}
