/* SPDX-License-Identifier: BSD-2-Clause */
/* Building responses: ACKs, NAKs, READ responses, ATOMIC ACKs. ROCE sections 8.2, 8.5, 8.6. */
#include "base/base.h"
#include "net/bytes.h"
#include "rdma/access.h"
#include "roce/dev/av.h"
#include "roce/cc/cc.h"
#include "roce/dev/inner.h"
#include "roce/dev/path.h"
#include "roce/responder/sack.h"
#include "roce/qp/transport.h"
#include "roce/qp/xrc.h"

static uint8_t read_op(const struct roce_response *r, bool last)
{
    if (!r->has_begun)
        return last ? ROCE_OP_READ_RESP_ONLY : ROCE_OP_READ_RESP_FIRST;
    return last ? ROCE_OP_READ_RESP_LAST : ROCE_OP_READ_RESP_MIDDLE;
}

/* Builds a response packet with `len_bytes` of payload. */
static enum roce_built build(struct roce_qp *qp, const struct roce_response *r, uint8_t op_code,
                             uint8_t syndrome, const uint8_t *payload, uint32_t len_bytes,
                             struct roce_run *run)
{
    uint8_t opcode = ROCE_OPCODE(qp->transport->service, op_code);
    const struct roce_opcode *op = &roce_opcodes[opcode];
    uint8_t pad = (uint8_t)(-len_bytes & 3);
    uint32_t transport_bytes = ROCE_BTH_BYTES + op->ext_bytes + len_bytes + pad;
    struct roce_dest dest = roce_dest_of_peer(qp);
    uint8_t *p = roce_run_begin(run, &qp->tmpl, &dest, transport_bytes);
    if (!p)
        return ROCE_RUN_ENDS;
    p = roce_bth_put(p, &(struct roce_bth){.opcode = opcode,
                                           .mig_req = qp->attr.path_mig_state == ROCE_PATH_MIGRATED,
                                           .pad_count = pad,
                                           .pkey = roce_qp_pkey(qp),
                                           .dest_qpn = qp->attr.dest_qpn,
                                           .psn = r->psn});
    if (op->flags & ROCE_PKT_AETH)
        p = roce_aeth_put(p, &(struct roce_aeth){.syndrome = syndrome, .msn = r->msn});
    if (op->flags & ROCE_PKT_ATOMICACKETH)
        p = put_be64(p, r->original);
    if (!rdma_load(qp->dev->domain, p, payload, len_bytes))
        return ROCE_UNREADABLE;
    memset(p + len_bytes, 0, pad);
    roce_run_seal(run);
    run->is_response = true;
    return ROCE_BUILT;
}

static void count_nak(struct roce_qp *qp, uint8_t syndrome)
{
    switch (syndrome) {
    case ROCE_SYNDROME_NAK_PSN_SEQ:
        roce_count(qp, nak_seq_sent);
        return;
    case ROCE_SYNDROME_NAK_INV_REQ:
        roce_count(qp, nak_inv_req_sent);
        return;
    case ROCE_SYNDROME_NAK_REM_ACC:
        roce_count(qp, nak_rem_acc_sent);
        return;
    case ROCE_SYNDROME_NAK_REM_OP:
        roce_count(qp, nak_rem_op_sent);
        return;
    }
    roce_count(qp, rnr_nak_sent);
}

/* The next `n_bytes` that a READ asked for. NULL: they may not be read, or no more. */
static const uint8_t *remote_data(const struct roce_qp *qp, const struct roce_response *r, uint32_t n_bytes)
{
    return rdma_mr_remote(qp->dev->domain, roce_remote_pd(qp, r->srqn), qp->base.qpn, r->rkey, r->va, n_bytes,
                          NORNIC_ACCESS_REMOTE_READ);
}

/* `pkts` of a READ's answer, with `bytes` in all. */
static void sent(struct roce_response *r, uint32_t pkts, uint32_t bytes)
{
    r->psn = roce_psn_add(r->psn, pkts);
    r->va += bytes;
    r->left_bytes -= bytes;
}

/* Behind a MIDDLE packet of a READ's answer: those that fit the run, without the LAST. Nothing paces them
 * or wants to see each. */
static void count_on(struct roce_qp *qp, struct roce_response *r, struct roce_run *run)
{
    uint32_t n = min_u32((r->left_bytes - 1) / qp->pmtu_bytes, roce_run_room(run));
    uint32_t bytes = n * qp->pmtu_bytes;
    const uint8_t *data = n ? remote_data(qp, r, bytes) : NULL;
    if (!data)
        return;
    n = roce_run_count_on(run, qp->dev->domain, n, data);
    sent(r, n, n * qp->pmtu_bytes);
}

/* The next packet of a READ's answer; its data is fetched only now (ROCE-RS-49). */
static enum roce_built build_read(struct roce_qp *qp, struct roce_response *r, const uint8_t *data,
                                  uint32_t len_bytes, struct roce_run *run)
{
    bool last = len_bytes == r->left_bytes, is_middle = r->has_begun && !last;
    enum roce_built built =
        build(qp, r, read_op(r, last), roce_response_ack_syndrome(qp), data, len_bytes, run);
    if (built != ROCE_BUILT)
        return built;
    r->has_begun = true;
    sent(r, 1, len_bytes);
    qp->resp.queue_head += last;
    if (is_middle && !qp->cc && !qp->dev->config.trace)
        count_on(qp, r, run);
    return ROCE_BUILT;
}

/* Any other answer: one packet. False: it does not continue the run. */
static bool build_other(struct roce_qp *qp, const struct roce_response *r, struct roce_run *run)
{
    bool is_nak = r->kind == ROCE_RESPONSE_NAK;
    uint8_t op = r->kind == ROCE_RESPONSE_ATOMIC ? ROCE_OP_ATOMIC_ACK : ROCE_OP_ACK;
    if (build(qp, r, op, is_nak ? r->syndrome : roce_response_ack_syndrome(qp), NULL, 0, run) != ROCE_BUILT)
        return false;
    qp->resp.queue_head++;
    if (is_nak)
        count_nak(qp, r->syndrome);
    if (r->kind == ROCE_RESPONSE_ACK)
        roce_count(qp, acks_sent);
    return true;
}

/* The answer of a READ whose region or memory went away (ROCE-MR-5) ends here. A replay just ends: no NAK
 * for it (ROCE-RS-24). */
static void give_up_read(struct roce_qp *qp, const struct roce_response *r, uint64_t now_ns)
{
    uint32_t psn = r->psn;
    qp->resp.queue_head++;
    if (r->is_replay || roce_qp_state_now(qp) == NORNIC_QPS_ERR)
        return;
    roce_response_clear(qp);
    roce_responder_fatal(qp, ROCE_SYNDROME_NAK_REM_ACC, psn, NORNIC_WC_LOC_QP_OP_ERR, now_ns);
}

/* False: it does not continue the run. */
static bool build_sack(struct roce_qp *qp, const struct roce_response *r, struct roce_run *run)
{
    if (!roce_sack_build(qp, r, run))
        return false;
    run->is_response = true;
    qp->resp.queue_head++;
    return true;
}

bool roce_responder_tx(struct roce_qp *qp, struct roce_run *run, uint64_t now_ns)
{
    while (roce_response_pending(qp)) {
        struct roce_response *r = &qp->resp.queue[qp->resp.queue_head & (qp->resp.queue_size - 1)];
        if (r->kind == ROCE_RESPONSE_SACK && !roce_sack_is_wanted(qp, r)) {
            qp->resp.queue_head++;
            continue;
        }
        if (r->kind == ROCE_RESPONSE_SACK)
            return build_sack(qp, r, run);
        if (r->kind != ROCE_RESPONSE_READ)
            return build_other(qp, r, run);
        uint32_t n = min_u32(r->left_bytes, qp->pmtu_bytes);
        const uint8_t *data = n ? remote_data(qp, r, n) : NULL;
        if (n && !data) {
            give_up_read(qp, r, now_ns);
            continue;
        }
        if (roce_cc_must_wait(qp, now_ns)) /* ROCE-CC-7 */
            return false;
        enum roce_built built = build_read(qp, r, data, n, run);
        if (built == ROCE_UNREADABLE) {
            give_up_read(qp, r, now_ns);
            continue;
        }
        if (built != ROCE_BUILT)
            return false;
        roce_cc_sent(qp, run->pkt_bytes, now_ns);
        return true;
    }
    return false;
}
