/* SPDX-License-Identifier: BSD-2-Clause */
/* The responder. A request is checked when it comes; it is carried out when all before it are answered,
 * and READ data is fetched when its segment is made, its region looked up again each time: it may have
 * gone away (IWARP-SEC-05). */
#include "iwarp/answer.h"

#include "base/base.h"
#include "iwarp/atomic.h"
#include "iwarp/emit.h"
#include "iwarp/ring.h"
#include "rdma/access.h"

#define ATOMIC_BYTES 8

/* Returns the memory that a request names, or NULL and the error. */
static uint8_t *reach(const struct iwarp_qp *qp, uint32_t stag, uint64_t to, uint32_t len_bytes,
                      enum nornic_access access, uint16_t *code)
{
    const struct rdma_qp *base = &qp->base;
    uint8_t *at = rdma_mr_remote(base->domain, base->pd, base->qpn, stag, to, len_bytes, access);
    if (!at)
        *code = iwarp_fault_of_request(
            rdma_mr_remote_fault(base->domain, base->pd, base->qpn, stag, to, len_bytes, access));
    return at;
}

/* IWARP-FLOW-02, IWARP-AMB-11: as many as this side said it serves at once. */
static bool has_room(const struct iwarp_qp *qp)
{
    return iwarp_ring_count(&qp->sink.owed_at) < qp->session.ird;
}

static struct iwarp_owed *owe(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu, bool is_atomic)
{
    struct iwarp_owed *owed = iwarp_owed_add(&qp->sink);
    *owed = (struct iwarp_owed){.is_atomic = is_atomic};
    memcpy(owed->ddp, ulpdu->bytes, sizeof owed->ddp);
    return owed;
}

/* IWARP-RDMAP-11, -12. */
uint16_t iwarp_take_read_request(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu)
{
    struct iwarp_read_req req;
    uint16_t code;
    iwarp_read_req_get(&req, ulpdu->bytes + IWARP_DDP_UNTAGGED_BYTES);
    if (!has_room(qp))
        return IWARP_TERM_DDP_NO_BUFFER;
    if (req.size && !reach(qp, req.src_stag, req.src_to, req.size, NORNIC_ACCESS_REMOTE_READ, &code))
        return code;
    owe(qp, ulpdu, false)->read = req;
    return IWARP_TERM_NONE;
}

/* Returns the memory that an atomic names, or NULL and the error (IWARP-ATOM-01, -02). */
static uint64_t *reach_atomic(const struct iwarp_qp *qp, const struct iwarp_atomic_req *req, uint16_t *code)
{
    uint8_t *at = reach(qp, req->stag, req->to, ATOMIC_BYTES, NORNIC_ACCESS_REMOTE_ATOMIC, code);
    if (at && (uintptr_t)at % ATOMIC_BYTES) {
        *code = IWARP_TERM_RDMAP_CATASTROPHIC;
        return NULL;
    }
    return (uint64_t *)(void *)at;
}

struct atomic_access {
    uint64_t *at;
    const struct iwarp_atomic_req *req;
    uint64_t original;
};

static void execute(void *arg)
{
    struct atomic_access *a = arg;
    a->original = iwarp_atomic_execute(a->at, a->req);
}

/* Carries out an atomic that was checked. Returns IWARP_TERM_NONE, or the error: the memory is gone. */
static uint16_t execute_atomic(struct iwarp_qp *qp, uint64_t *at, struct iwarp_owed *owed)
{
    struct atomic_access a = {.at = at, .req = &owed->atomic};
    if (!rdma_access(qp->base.domain, at, ATOMIC_BYTES, execute, &a))
        return iwarp_fault_of_request(RDMA_FAULT_ACCESS);
    owed->original = a.original;
    owed->is_executed = true;
    return IWARP_TERM_NONE;
}

uint16_t iwarp_take_atomic_request(struct iwarp_qp *qp, const struct iwarp_ulpdu *ulpdu)
{
    struct iwarp_atomic_req req;
    uint16_t code;
    iwarp_atomic_req_get(&req, ulpdu->bytes + IWARP_DDP_UNTAGGED_BYTES);
    if (req.aopcode >= IWARP_ATOMIC_COUNT)
        return IWARP_TERM_RDMAP_OPCODE;
    if (!has_room(qp))
        return IWARP_TERM_DDP_NO_BUFFER;
    uint64_t *at = reach_atomic(qp, &req, &code);
    if (!at)
        return code;
    bool is_first = iwarp_ring_count(&qp->sink.owed_at) == 0;
    struct iwarp_owed *owed = owe(qp, ulpdu, true);
    owed->atomic = req;
    return is_first ? execute_atomic(qp, at, owed) : IWARP_TERM_NONE; /* IWARP-ATOM-05, -07: in order, once */
}

/* The stream ends because of a request that was taken. */
static void fail(struct iwarp_qp *qp, const uint8_t *segment, uint32_t len_bytes, uint16_t code)
{
    iwarp_terminate(qp, code, &(struct iwarp_ulpdu){segment, len_bytes});
}

/* Ends the stream; the Terminate has the request as if it were for the octets that are left
 * (IWARP-RDMAP-33). */
static void fail_read(struct iwarp_qp *qp, const struct iwarp_owed *owed, uint16_t code)
{
    uint8_t segment[sizeof owed->ddp + IWARP_READ_REQ_BYTES];
    struct iwarp_read_req left = owed->read;
    left.sink_to += owed->done_bytes;
    left.src_to += owed->done_bytes;
    left.size -= owed->done_bytes;
    memcpy(segment, owed->ddp, sizeof owed->ddp);
    iwarp_read_req_put(segment + sizeof owed->ddp, &left);
    fail(qp, segment, sizeof segment, code);
}

/* IWARP-RDMAP-10, -13: one segment of a Read Response. */
static bool emit_read_response(struct iwarp_qp *qp, struct iwarp_owed *owed)
{
    uint8_t head[IWARP_HEAD_BYTES];
    const struct iwarp_read_req *req = &owed->read;
    uint32_t left = req->size - owed->done_bytes, n = min_u32(left, iwarp_tagged_room(qp));
    struct iwarp_piece payload = {NULL, n};
    uint16_t code;
    if (n) {
        payload.bytes =
            reach(qp, req->src_stag, req->src_to + owed->done_bytes, left, NORNIC_ACCESS_REMOTE_READ, &code);
        if (!payload.bytes) {
            fail_read(qp, owed, code);
            return false;
        }
    }
    const uint8_t *end = iwarp_put_tagged(head, IWARP_OP_READ_RESPONSE, n == left, req->sink_stag,
                                          req->sink_to + owed->done_bytes);
    if (!iwarp_emit(qp, head, end, &payload, n ? 1 : 0)) {
        fail_read(qp, owed, iwarp_fault_of_request(RDMA_FAULT_ACCESS));
        return false;
    }
    owed->done_bytes += n;
    if (n == left)
        qp->sink.owed_at.head++;
    return true;
}

/* IWARP-ATOM-05, -06. */
static bool emit_atomic_response(struct iwarp_qp *qp, struct iwarp_owed *owed)
{
    uint8_t head[IWARP_HEAD_BYTES];
    if (!owed->is_executed) {
        uint16_t code;
        uint64_t *at = reach_atomic(qp, &owed->atomic, &code);
        if (at)
            code = execute_atomic(qp, at, owed);
        if (!at || code != IWARP_TERM_NONE) {
            fail(qp, owed->ddp, sizeof owed->ddp + IWARP_ATOMIC_REQ_BYTES, code);
            return false;
        }
    }
    const struct iwarp_atomic_rsp rsp = {owed->atomic.request_id, owed->original};
    const struct iwarp_untagged ddp = {.qn = IWARP_QN_ATOMIC_RSP,
                                       .msn = qp->source.msn[IWARP_QN_ATOMIC_RSP]++};
    uint8_t *p = iwarp_put_untagged(head, IWARP_OP_ATOMIC_RESPONSE, true, &ddp);
    qp->sink.owed_at.head++;
    iwarp_emit(qp, head, iwarp_atomic_rsp_put(p, &rsp), NULL, 0);
    return true;
}

bool iwarp_answer_emit(struct iwarp_qp *qp)
{
    if (iwarp_ring_count(&qp->sink.owed_at) == 0)
        return false;
    struct iwarp_owed *owed = iwarp_owed_oldest(&qp->sink);
    return owed->is_atomic ? emit_atomic_response(qp, owed) : emit_read_response(qp, owed);
}
