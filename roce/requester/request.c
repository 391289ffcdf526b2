/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/requester/request.h"

#include "base/base.h"
#include "net/bytes.h"
#include "roce/dev/av.h"
#include "roce/dev/inner.h"
#include "roce/dev/path.h"
#include "roce/qp/transport.h"

uint32_t roce_request_psns(const struct roce_qp *qp, const struct rdma_send_wqe *w)
{
    if (rdma_wqe_flags(w) & RDMA_OP_ATOMIC)
        return 1;
    return w->len_bytes ? (w->len_bytes - 1) / qp->pmtu_bytes + 1 : 1;
}

uint32_t roce_read_psns(const struct roce_qp *qp, const struct rdma_send_wqe *w, uint32_t part)
{
    uint32_t left = w->seq_count - part;
    return qp->read_pkts ? min_u32(qp->read_pkts - part % qp->read_pkts, left) : left;
}

/* The packets that each kind of request is made of: ROCE section 5. A READ or atomic is one packet. */
static const struct {
    uint8_t first, middle, last, only; /* enum roce_op */
} packets[RDMA_WR_OPCODES] = {
    [NORNIC_WR_SEND] = {ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST, ROCE_OP_SEND_ONLY},
    [NORNIC_WR_SEND_WITH_IMM] = {ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST_IMM,
                                 ROCE_OP_SEND_ONLY_IMM},
    [NORNIC_WR_SEND_WITH_INV] = {ROCE_OP_SEND_FIRST, ROCE_OP_SEND_MIDDLE, ROCE_OP_SEND_LAST_INV,
                                 ROCE_OP_SEND_ONLY_INV},
    [NORNIC_WR_RDMA_WRITE] = {ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, ROCE_OP_WRITE_LAST,
                              ROCE_OP_WRITE_ONLY},
    [NORNIC_WR_RDMA_WRITE_WITH_IMM] = {ROCE_OP_WRITE_FIRST, ROCE_OP_WRITE_MIDDLE, ROCE_OP_WRITE_LAST_IMM,
                                       ROCE_OP_WRITE_ONLY_IMM},
    [NORNIC_WR_RDMA_READ] = {.only = ROCE_OP_READ_REQUEST},
    [NORNIC_WR_ATOMIC_CMP_AND_SWP] = {.only = ROCE_OP_CMP_SWAP},
    [NORNIC_WR_ATOMIC_FETCH_AND_ADD] = {.only = ROCE_OP_FETCH_ADD},
    [NORNIC_WR_MASKED_ATOMIC_CMP_AND_SWP] = {.only = ROCE_OP_CMP_SWAP},
    [NORNIC_WR_MASKED_ATOMIC_FETCH_AND_ADD] = {.only = ROCE_OP_FETCH_ADD},
};

static uint8_t request_op(const struct roce_request *r)
{
    enum nornic_wr_opcode opcode = r->w->opcode;
    if (r->is_last)
        return r->is_first ? packets[opcode].only : packets[opcode].last;
    return r->is_first ? packets[opcode].first : packets[opcode].middle;
}

struct roce_request roce_request_next(const struct roce_qp *qp)
{
    const struct rdma_sq *sq = &qp->base.sq;
    struct roce_request r = {
        .index = sq->cur, .w = rdma_sq_wqe(sq, sq->cur), .pkt = sq->cur_part, .psn_count = 1};
    uint32_t flags = rdma_wqe_flags(r.w);
    if (flags & RDMA_OP_RD_ATOMIC) {
        /* A request is one packet however long the answer; a reissued one asks for the missing suffix:
         * ROCE-RC-44. */
        if (flags & RDMA_OP_READ)
            r.psn_count = roce_read_psns(qp, r.w, r.pkt);
        /* Of what has arrived from a peer that allows it nothing is asked for again:
         * roce/requester/answers.h. Only what has arrived ends a gap, as it shows that the peer had the
         * request. One that it never had must stay whole, wherever the board ends: parts would be requests
         * of their own to it. */
        uint32_t psn = roce_psn_add(r.w->first_seq, r.pkt);
        r.psn_count = max_u32(1, roce_board_missing_row(&qp->req.board, psn, r.psn_count));
        r.is_first = true;
        r.is_last = r.pkt + r.psn_count == r.w->seq_count;
        r.offset = flags & RDMA_OP_READ ? r.pkt * qp->pmtu_bytes : 0;
        r.op = packets[r.w->opcode].only;
        return r;
    }
    r.is_first = r.pkt == 0;
    r.is_last = r.pkt == r.w->seq_count - 1;
    r.offset = r.pkt * qp->pmtu_bytes;
    r.len_bytes = r.is_last ? r.w->len_bytes - r.offset : qp->pmtu_bytes;
    r.op = request_op(&r);
    return r;
}

/* What the RETH says: the rest of the message, or of what this request of a READ asks for. */
static uint32_t dma_len(const struct roce_qp *qp, const struct roce_request *r)
{
    uint32_t rest_bytes = r->w->len_bytes - r->offset;
    return r->op == ROCE_OP_READ_REQUEST && !r->is_last ? r->psn_count * qp->pmtu_bytes : rest_bytes;
}

static uint8_t *put_ext(const struct roce_qp *qp, uint8_t *p, const struct roce_request *r, uint32_t flags)
{
    const struct rdma_send_wqe *w = r->w;
    if (flags & ROCE_PKT_XRCETH) /* ROCE-XRC-2: in every packet of the message */
        p = roce_xrceth_put(p, &(struct roce_xrceth){.xrc_srqn = w->remote_srqn});
    if (flags & ROCE_PKT_RETH)
        p = roce_reth_put(p, &(struct roce_reth){.va = w->remote_addr + r->offset,
                                                 .rkey = w->rkey,
                                                 .dma_len = dma_len(qp, r)});
    if (flags & ROCE_PKT_ATOMICETH) {
        bool add = r->op == ROCE_OP_FETCH_ADD; /* ROCE-HDR-11 */
        p = roce_atomiceth_put(p, &(struct roce_atomiceth){.va = w->remote_addr,
                                                           .rkey = w->rkey,
                                                           .swap_add = add ? w->compare_add : w->swap,
                                                           .compare = add ? 0 : w->compare_add});
    }
    if (flags & ROCE_PKT_MASKETH) {
        bool add = r->op == ROCE_OP_FETCH_ADD; /* each mask goes with its operand */
        p = roce_masketh_put(p, &(struct roce_masketh){.swap_add_mask = add ? w->compare_mask : w->swap_mask,
                                                       .compare_mask = add ? 0 : w->compare_mask});
    }
    if (flags & ROCE_PKT_IMMDT)
        p = put_bytes(p, &w->imm_data, sizeof w->imm_data);
    if (flags & ROCE_PKT_IETH)
        p = roce_ieth_put(p, &(struct roce_ieth){.rkey = w->invalidate_rkey});
    return p;
}

enum roce_built roce_request_build(struct roce_qp *qp, const struct roce_request *r, uint32_t psn,
                                   bool ack_req, struct roce_run *run)
{
    uint8_t service = rdma_wqe_flags(r->w) & RDMA_OP_MASKED ? ROCE_SERVICE_VENDOR : qp->transport->service;
    uint8_t opcode = ROCE_OPCODE(service, r->op);
    const struct roce_opcode *op = &roce_opcodes[opcode];
    uint8_t pad = (uint8_t)(-r->len_bytes & 3);
    uint32_t transport_bytes = ROCE_BTH_BYTES + op->ext_bytes + r->len_bytes + pad;
    bool notifies = op->flags & ROCE_PKT_COMPLETES_RECV;
    struct roce_bth bth = {
        .opcode = opcode,
        .se = notifies && r->w->send_flags & NORNIC_SEND_SOLICITED, /* ROCE-RC-11 */
        .mig_req = qp->attr.path_mig_state == ROCE_PATH_MIGRATED,   /* ROCE-HDR-2 */
        .pad_count = pad,
        .pkey = roce_qp_pkey(qp),
        .dest_qpn = qp->attr.dest_qpn,
        .ack_req = ack_req,
        .psn = psn,
    };
    struct roce_dest dest = roce_dest_of_peer(qp);
    uint8_t *p = roce_run_begin(run, &qp->tmpl, &dest, transport_bytes);
    if (!p)
        return ROCE_RUN_ENDS;
    p = roce_bth_put(p, &bth);
    p = put_ext(qp, p, r, op->flags);
    if (r->len_bytes && !rdma_sq_gather(&qp->base, r->index, r->offset, p, r->len_bytes))
        return ROCE_UNREADABLE;
    memset(p + r->len_bytes, 0, pad);
    roce_run_seal(run);
    return ROCE_BUILT;
}
