/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking requests: the order of checks of ROCE section 8.1, the NAK rules of 8.2, execution as in 8.5.
 *
 * The responder has one place, the expected PSN. A packet before it is a duplicate and answered from
 * memory (dup.c), never executed; one at it is checked and executed; one after it shows a gap, which is
 * told by one NAK until the gap is filled (nak_state), and is kept if the QP has room for that
 * (reorder.h), else forgotten: the peer sends it again. epsn moves by one with each packet of a SEND or
 * WRITE, and by a whole answer with a READ, since its responses take their PSNs from the requests'
 * numbers.
 *
 * Execution and answer are apart. A request that is executed puts its answer into a queue in PSN order
 * (queue.c), and the transmit side builds it when it is this QP's turn: an ACK that still waits is
 * stretched over later packets, so a burst costs one. A READ's data is fetched only when its packet is
 * built. The queue has room for the answers to all requests that a peer may have outstanding
 * (max_dest_rd_atomic). A packet is treated as lost when its answer finds no room. */
#include "base/base.h"
#include "roce/responder/responder.h"

#include <errno.h>
#include <string.h>

#include "rdma/access.h"
#include "roce/responder/atomic.h"
#include "roce/dev/inner.h"
#include "roce/responder/reorder.h"
#include "roce/responder/sack.h"
#include "roce/qp/xrc.h"

int roce_responder_init(struct roce_qp *qp)
{
    struct roce_responder *resp = &qp->resp;
    uint32_t resources = qp->attr.max_dest_rd_atomic;
    /* Each READ or atomic may be waiting once as itself and once as a replay, with an ACK behind each.
     * The answers that wait now have room besides. */
    resp->queue_size = pow2_up(4 * resources + 8 + (resp->queue_tail - resp->queue_head));
    resp->queue_head = resp->queue_tail = 0;
    resp->resource_next = 0;
    resp->resources = roce_alloc(qp->dev, sizeof *resp->resources * (resources + 1));
    resp->queue = roce_alloc(qp->dev, sizeof *resp->queue * resp->queue_size);
    if (resp->resources && resp->queue)
        return 0;
    roce_responder_deinit(qp);
    return -ENOMEM;
}

void roce_responder_deinit(struct roce_qp *qp)
{
    roce_free(qp->dev, qp->resp.resources);
    roce_free(qp->dev, qp->resp.queue);
    qp->resp.resources = NULL;
    qp->resp.queue = NULL;
}

void roce_responder_reset(struct roce_qp *qp, uint32_t rq_psn)
{
    struct roce_responder *resp = &qp->resp;
    for (uint32_t i = 0; i < qp->attr.max_dest_rd_atomic; i++)
        resp->resources[i].is_used = false;
    *resp = (struct roce_responder){
        .epsn = rq_psn,
        .resources = resp->resources,
        .queue = resp->queue,
        .queue_size = resp->queue_size,
    };
}

static void push_nak(struct roce_qp *qp, uint8_t syndrome, uint32_t psn)
{
    struct roce_response nak = {
        .kind = ROCE_RESPONSE_NAK, .syndrome = syndrome, .psn = psn, .msn = qp->resp.msn};
    if (roce_response_push(qp, &nak))
        return;
    /* A NAK counts more than the newest thing in a full queue, which it makes the peer ask for again. */
    qp->resp.queue_tail--;
    roce_response_push(qp, &nak);
}

void roce_responder_fatal(struct roce_qp *qp, uint8_t syndrome, uint32_t psn,
                          enum nornic_wc_status recv_status, uint64_t now_ns)
{
    push_nak(qp, syndrome, psn);
    if (qp->base.recv.is_held) {
        struct nornic_wc wc = {.status = recv_status, .opcode = NORNIC_WC_RECV};
        rdma_recv_complete(&qp->base, &wc, false);
    } else if (syndrome == ROCE_SYNDROME_NAK_REM_ACC) {
        rdma_qp_event(&qp->base, NORNIC_EVENT_QP_ACCESS_ERR);
    } else {
        rdma_qp_event(&qp->base, NORNIC_EVENT_QP_REQ_ERR);
    }
    roce_qp_enter_error(qp, ROCE_CAUSE_REQUEST_ERROR, now_ns);
}

/* ROCE-RS-2. */
bool roce_responder_check_sequence(const struct roce_responder *resp, uint32_t flags)
{
    bool continues = flags & (ROCE_PKT_MIDDLE | ROCE_PKT_LAST);
    return resp->message ? continues && flags & resp->message : !continues;
}

/* ROCE-RS-3: a reserved opcode, or an operation that is not enabled. */
bool roce_responder_check_enabled(const struct roce_qp *qp, uint32_t flags)
{
    uint32_t access = qp->attr.access_flags;
    return flags & ROCE_PKT_DEFINED && (!(flags & ROCE_PKT_WRITE) || access & NORNIC_ACCESS_REMOTE_WRITE) &&
           (!(flags & ROCE_PKT_READ) || access & NORNIC_ACCESS_REMOTE_READ) &&
           (!(flags & ROCE_PKT_ATOMIC) || access & NORNIC_ACCESS_REMOTE_ATOMIC);
}

/* ROCE-RS-35. */
static bool has_resource(const struct roce_qp *qp)
{
    return roce_response_pending_rd_atomic(qp) < qp->attr.max_dest_rd_atomic;
}

/* ROCE-RS-5, RS-8, RS-48. The whole of a WRITE is checked with each of its packets: its region may have
 * gone away since the one before. */
bool roce_responder_check_keys(const struct roce_qp *qp, const struct roce_pkt *pkt,
                               struct roce_target *target)
{
    const struct roce_responder *resp = &qp->resp;
    uint32_t flags = pkt->op->flags, access = NORNIC_ACCESS_REMOTE_WRITE, rkey = resp->write_rkey;
    uint64_t va = resp->write_va, len_bytes = resp->write_len_bytes;
    target->at = NULL;
    if (flags & ROCE_PKT_ATOMIC) {
        access = NORNIC_ACCESS_REMOTE_ATOMIC;
        rkey = pkt->atomiceth.rkey;
        va = pkt->atomiceth.va;
        len_bytes = 8;
    } else if (flags & ROCE_PKT_RETH) {
        if (!pkt->reth.dma_len)
            return true;
        access = flags & ROCE_PKT_READ ? NORNIC_ACCESS_REMOTE_READ : NORNIC_ACCESS_REMOTE_WRITE;
        rkey = pkt->reth.rkey;
        va = pkt->reth.va;
        len_bytes = pkt->reth.dma_len;
    } else if (!(flags & ROCE_PKT_WRITE)) {
        return true;
    }
    target->at = rdma_mr_remote(qp->dev->domain, target->pd, qp->base.qpn, rkey, va, len_bytes, access);
    return target->at != NULL;
}

/* ROCE-RS-6: the packet's own length. */
static bool payload_length_ok(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    uint32_t flags = pkt->op->flags, n = pkt->payload_bytes;
    if (!(flags & ROCE_PKT_PAYLOAD))
        return n == 0;
    if (flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE))
        return n == qp->pmtu_bytes && pkt->bth.pad_count == 0;
    return n <= qp->pmtu_bytes && (n > 0 || flags & ROCE_PKT_ONLY);
}

/* ROCE-RS-6: the running total of a WRITE. */
static bool write_total_ok(const struct roce_responder *resp, const struct roce_pkt *pkt)
{
    bool begins = pkt->op->flags & ROCE_PKT_RETH;
    uint64_t want = begins ? pkt->reth.dma_len : resp->write_len_bytes;
    uint64_t total = (begins ? 0 : (uint64_t)resp->received_bytes) + pkt->payload_bytes;
    if (want > NORNIC_MAX_MSG_BYTES)
        return false;
    return pkt->op->flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY) ? total == want : total < want;
}

/* ROCE-RS-6. */
struct roce_fault roce_responder_check_length(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    const struct roce_responder *resp = &qp->resp;
    uint32_t flags = pkt->op->flags;
    if (!payload_length_ok(qp, pkt))
        return ROCE_BAD_REQUEST;
    if (flags & ROCE_PKT_WRITE && !write_total_ok(resp, pkt))
        return ROCE_BAD_REQUEST;
    if (flags & ROCE_PKT_READ && pkt->reth.dma_len > NORNIC_MAX_MSG_BYTES)
        return ROCE_BAD_REQUEST;
    if (flags & ROCE_PKT_SEND) {
        uint64_t total = (flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY) ? 0 : (uint64_t)resp->received_bytes) +
                         pkt->payload_bytes;
        if (total > rdma_recv_bytes(&qp->base.recv))
            return ROCE_BUFFER_TOO_SMALL;
    }
    return ROCE_FINE;
}

static void rnr_nak(struct roce_qp *qp)
{
    push_nak(qp, ROCE_SYNDROME_RNR | qp->attr.min_rnr_timer, qp->resp.epsn);
    qp->resp.nak_state = ROCE_NAK_RNR_SENT;
}

struct placing {
    uint8_t *to;
    const uint8_t *from;
    uint32_t len_bytes;
    bool is_last;
};

/* Stores a WRITE's bytes. The last ones of a message go last, for applications that poll memory
 * (ROCE-RS-62). */
static void place(void *arg)
{
    const struct placing *p = arg;
    uint32_t tail = p->is_last ? min_u32(p->len_bytes, 8) : 0;
    memcpy(p->to, p->from, p->len_bytes - tail);
    for (uint32_t i = p->len_bytes - tail; i < p->len_bytes; i++)
        atomic_store_explicit((_Atomic uint8_t *)(p->to + i), p->from[i], memory_order_release);
}

static void finish_message(struct roce_qp *qp, const struct roce_pkt *pkt)
{
    struct roce_responder *resp = &qp->resp;
    uint32_t flags = pkt->op->flags;
    resp->message = 0;
    resp->msn = roce_psn_add(resp->msn, 1); /* ROCE-RS-50 */
    if (!(flags & ROCE_PKT_COMPLETES_RECV))
        return;
    struct nornic_wc wc = {
        .opcode = flags & ROCE_PKT_WRITE ? NORNIC_WC_RECV_RDMA_WITH_IMM : NORNIC_WC_RECV,
        .byte_len = resp->received_bytes,
    };
    if (flags & ROCE_PKT_IMMDT) {
        wc.wc_flags = NORNIC_WC_WITH_IMM;
        memcpy(&wc.imm_data, pkt->immdt.imm_data, sizeof wc.imm_data);
    }
    if (flags & ROCE_PKT_IETH) {
        wc.wc_flags = NORNIC_WC_WITH_INV;
        wc.invalidated_rkey = pkt->ieth.rkey;
    }
    rdma_recv_complete(&qp->base, &wc, pkt->bth.se);
}

/* ROCE-RS-41..45. */
struct roce_fault roce_responder_execute(struct roce_qp *qp, const struct roce_pkt *pkt,
                                         const struct roce_target *target)
{
    struct roce_responder *resp = &qp->resp;
    uint32_t flags = pkt->op->flags, n = pkt->payload_bytes;
    bool last = flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY);
    if (flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY)) {
        resp->message = flags & (ROCE_PKT_SEND | ROCE_PKT_WRITE);
        resp->received_bytes = 0;
        resp->write_va = pkt->reth.va;
        resp->write_rkey = pkt->reth.rkey;
        resp->write_len_bytes = pkt->reth.dma_len;
    }
    if (flags & ROCE_PKT_SEND && n) {
        if (!rdma_recv_scatter(&qp->base, resp->received_bytes, pkt->payload, n))
            return ROCE_BAD_SCATTER;
    } else if (n) {
        struct placing p = {target->at + resp->received_bytes, pkt->payload, n, last};
        if (!rdma_access(qp->dev->domain, p.to, n, place, &p))
            return ROCE_BAD_ACCESS;
    }
    resp->received_bytes += n;
    if (flags & ROCE_PKT_COMPLETES_RECV && !rdma_cq_has_room(rdma_recv_cq(&qp->base), 1))
        return ROCE_CQ_FULL;
    /* ROCE-RS-44, RS-45: after the data was placed, before the completion. */
    if (flags & ROCE_PKT_IETH &&
        rdma_invalidate_remote(qp->dev->domain, target->pd, qp->base.qpn, pkt->ieth.rkey))
        return ROCE_BAD_INVALIDATE;
    if (last)
        finish_message(qp, pkt);
    resp->epsn = roce_psn_add(resp->epsn, 1);
    return ROCE_FINE;
}

static void save_resource(struct roce_qp *qp, const struct roce_resource *r)
{
    struct roce_responder *resp = &qp->resp;
    resp->resources[resp->resource_next] = *r;
    resp->resource_next = (resp->resource_next + 1) % qp->attr.max_dest_rd_atomic;
}

void roce_responder_carry_over(struct roce_qp *qp, const struct roce_responder *old, uint32_t old_resources)
{
    for (uint32_t i = 0; i < old_resources && qp->attr.max_dest_rd_atomic; i++) {
        const struct roce_resource *r = &old->resources[(old->resource_next + i) % old_resources];
        if (r->is_used)
            save_resource(qp, r);
    }
    for (uint32_t i = old->queue_head; i != old->queue_tail; i++)
        roce_response_push(qp, &old->queue[i & (old->queue_size - 1)]);
}

struct atomic_access {
    uint64_t *at;
    const struct roce_pkt *pkt;
    uint64_t original;
};

static void execute_atomic(void *arg)
{
    struct atomic_access *a = arg;
    a->original = roce_atomic_execute(a->at, a->pkt);
}

/* READs and atomics: accepted, remembered (ROCE-RS-30), and their answers queued. */
static enum roce_rx_verdict execute_rd_atomic(struct roce_qp *qp, const struct roce_pkt *pkt,
                                              const struct roce_target *target, uint64_t now_ns)
{
    struct roce_responder *resp = &qp->resp;
    bool read = pkt->op->flags & ROCE_PKT_READ;
    struct roce_resource r = {
        .is_used = true, .opcode = pkt->bth.opcode, .first_psn = pkt->bth.psn, .psn_count = 1};
    struct roce_response answer = {
        .kind = read ? ROCE_RESPONSE_READ : ROCE_RESPONSE_ATOMIC,
        .psn = pkt->bth.psn,
        .msn = roce_psn_add(resp->msn, 1),
    };
    if (read) {
        r.va = answer.va = pkt->reth.va;
        r.rkey = answer.rkey = pkt->reth.rkey;
        r.srqn = answer.srqn = resp->srqn;
        r.len_bytes = answer.left_bytes = pkt->reth.dma_len;
        r.psn_count = r.len_bytes ? (r.len_bytes - 1) / qp->pmtu_bytes + 1 : 1;
    }
    answer.end_psn = roce_psn_add(r.first_psn, r.psn_count);
    if (!read && (uintptr_t)target->at & 7) { /* the region itself does not begin at a multiple of 8 */
        roce_responder_fatal(qp, ROCE_SYNDROME_NAK_INV_REQ, pkt->bth.psn, NORNIC_WC_LOC_QP_OP_ERR, now_ns);
        return ROCE_RX_TAKEN;
    }
    if (!roce_response_has_room(qp))
        return ROCE_RX_DROP_BUSY;
    if (!read) {
        struct atomic_access a = {.at = (uint64_t *)(void *)target->at, .pkt = pkt};
        if (!rdma_access(qp->dev->domain, a.at, sizeof *a.at, execute_atomic, &a)) {
            roce_responder_fatal(qp, ROCE_SYNDROME_NAK_REM_ACC, pkt->bth.psn, NORNIC_WC_LOC_ACCESS_ERR,
                                 now_ns);
            return ROCE_RX_TAKEN;
        }
        r.original = answer.original = a.original;
    }
    roce_response_push(qp, &answer);
    save_resource(qp, &r);
    resp->msn = answer.msn;
    resp->epsn = answer.end_psn;
    return ROCE_RX_TAKEN;
}

/* ROCE-RS-46: no such operation, whatever its key allows; adapters say so too before they look at the
 * key. */
static bool is_misaligned(const struct roce_pkt *pkt)
{
    return pkt->op->flags & ROCE_PKT_ATOMIC && pkt->atomiceth.va & 7;
}

/* The packet at the expected PSN. */
static enum roce_rx_verdict take_in_order(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    uint32_t flags = pkt->op->flags;
    bool rd_atomic = flags & (ROCE_PKT_READ | ROCE_PKT_ATOMIC);
    struct roce_target target;
    struct roce_fault fault;
    qp->resp.nak_state = ROCE_NAK_NONE;
    if (!roce_responder_check_sequence(&qp->resp, flags) || !roce_responder_check_enabled(qp, flags) ||
        is_misaligned(pkt) || (rd_atomic && !has_resource(qp)) || !roce_xrc_select(qp, pkt, &target.pd)) {
        fault = ROCE_BAD_REQUEST;
    } else if (flags & ROCE_PKT_TAKES_RECV && !rdma_recv_take(&qp->base)) {
        rnr_nak(qp);
        return ROCE_RX_TAKEN;
    } else if (!roce_responder_check_keys(qp, pkt, &target)) {
        fault = ROCE_BAD_ACCESS;
    } else {
        fault = roce_responder_check_length(qp, pkt);
    }
    if (!fault.syndrome && rd_atomic)
        return execute_rd_atomic(qp, pkt, &target, now_ns);
    if (!fault.syndrome)
        fault = roce_responder_execute(qp, pkt, &target);
    if (!fault.syndrome && pkt->bth.ack_req)
        roce_response_push_ack(qp, pkt->bth.psn);
    if (fault.syndrome)
        roce_responder_fatal(qp, fault.syndrome, pkt->bth.psn, fault.recv_status, now_ns);
    return ROCE_RX_TAKEN;
}

static void tell_gap(struct roce_qp *qp)
{
    if (roce_sack_gap(qp))
        return;
    push_nak(qp, ROCE_SYNDROME_NAK_PSN_SEQ, qp->resp.epsn);
    qp->resp.nak_state = ROCE_NAK_SEQ_SENT;
}

/* Neither a NAK nor an error stands in the way of the next packet. */
static bool goes_on(const struct roce_qp *qp)
{
    return qp->resp.nak_state == ROCE_NAK_NONE && roce_qp_state_now(qp) != NORNIC_QPS_ERR;
}

/* Goes on with the packets that were kept behind the gap that has just been filled, and asks for the next
 * gap at once. An ACK of the packet that filled it is stretched over the kept packets: alone it would
 * tell the peer that none was kept. The answer of a READ or atomic, or a NAK, says as much (ROCE-RS-13,
 * RS-52). */
static void take_kept(struct roce_qp *qp, uint64_t now_ns)
{
    struct roce_pkt pkt;
    bool owes_ack = false;
    while (goes_on(qp) && roce_reorder_take(qp, &pkt)) {
        bool answers = pkt.op->flags & (ROCE_PKT_READ | ROCE_PKT_ATOMIC);
        owes_ack = (roce_response_drop_ack(qp) || owes_ack) && !answers;
        take_in_order(qp, &pkt, now_ns);
    }
    if (!goes_on(qp))
        return;
    if (roce_reorder_has_gap(qp)) {
        roce_response_drop_ack(qp);
        tell_gap(qp);
    } else if (owes_ack) {
        roce_response_push_ack(qp, roce_psn_add(qp->resp.epsn, ROCE_PSN_MASK));
    }
}

enum roce_rx_verdict roce_responder_rx(struct roce_qp *qp, const struct roce_pkt *pkt, uint64_t now_ns)
{
    int32_t ahead = roce_psn_diff(pkt->bth.psn, qp->resp.epsn);
    if (ahead < 0) {
        roce_count(qp, duplicate_request);
        return roce_responder_duplicate(qp, pkt);
    }
    if (ahead == 0) {
        enum roce_rx_verdict verdict = take_in_order(qp, pkt, now_ns);
        take_kept(qp, now_ns);
        return verdict;
    }
    roce_count(qp, out_of_sequence);
    bool kept = qp->resp.nak_state != ROCE_NAK_RNR_SENT && roce_reorder_keep(qp, pkt);
    if (kept)
        roce_count(qp, kept_pkts);
    if (qp->resp.nak_state != ROCE_NAK_NONE)
        return kept ? ROCE_RX_TAKEN : ROCE_RX_DROP_PSN; /* ROCE-RS-10, RS-11: once a gap */
    tell_gap(qp);
    return ROCE_RX_TAKEN;
}
