/* SPDX-License-Identifier: BSD-2-Clause */
/* The responder: it gets what the peer sent, and its answers are compared in their order. An ACK stands
 * for all before it, so that either side may send ACKs that the other leaves out (ROCE-RS-51). */
#include "explain/replay/responder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "explain/replay/diff.h"
#include "explain/replay/half.h"
#include "explain/replay/learn/messages.h"
#include "explain/replay/memory.h"
#include "explain/replay/outcome.h"
#include "explain/replay/tape.h"
#include "net/bytes.h"
#include "roce/psn.h"

/* --- receives --- */

/* Whether the recorded endpoint had no receive for the request at the PSN it expects: of what it
 * answered from now on, the first that is not about something older is an RNR NAK for it. */
static bool is_not_ready(const struct replay *r, const struct replay_qp *q, size_t i, uint32_t psn)
{
    const struct explain_learned *l = q->learned;
    for (size_t j = q->answer_at; j < l->answer_count; j++) {
        struct explain_packet answer;
        if (l->answers[j] < i)
            continue;
        explain_tape_packet(r->tape, l->answers[j], &answer);
        if (roce_psn_diff(answer.roce.bth.psn, psn) < 0)
            continue;
        return answer.roce.bth.psn == psn && answer.roce.op->flags & ROCE_PKT_AETH &&
               roce_syndrome_kind(answer.roce.aeth.syndrome) == ROCE_SYN_RNR;
    }
    return false;
}

static void post_receive(struct replay *r, struct replay_qp *q, uint32_t psn)
{
    const struct explain_learned *l = q->learned;
    struct replay_half *h = &q->responder;
    uint64_t bytes = l->longest_bytes + (l->service == ROCE_SERVICE_UD ? NORNIC_L3_AREA_BYTES : 0);
    if (l->limit.is_there && psn == l->limit.psn)
        bytes = l->limit.bytes;
    struct nornic_sge sge = {
        .addr = (uintptr_t)h->scratch, .len_bytes = (uint32_t)bytes, .lkey = h->mrs[h->mr_count - 1]->lkey};
    struct nornic_recv_wr wr = {.sg_list = &sge, .num_sge = bytes ? 1 : 0};
    r->result->receives += roce_post_recv(h->qp, &wr, NULL) == 0;
}

/* Posts what the request will take; RC: and moves on to the PSN that is expected next. */
static void serve(struct replay *r, struct replay_qp *q, size_t i, const struct roce_pkt *pkt)
{
    bool takes = pkt->op->flags & ROCE_PKT_TAKES_RECV;
    if (q->learned->service != ROCE_SERVICE_RC) {
        if (takes)
            post_receive(r, q, pkt->bth.psn);
        return;
    }
    if (!(pkt->op->flags & ROCE_PKT_DEFINED))
        return;
    if (takes) {
        if (is_not_ready(r, q, i, pkt->bth.psn))
            return;
        post_receive(r, q, pkt->bth.psn);
    }
    bool read = pkt->op->flags & ROCE_PKT_READ;
    q->expected_psn =
        roce_psn_add(pkt->bth.psn, read ? explain_read_psns(pkt->reth.dma_len, q->learned->pmtu_bytes) : 1);
}

/* --- keys --- */

/* The ICRC of a frame that was changed; `p` is the frame before, taken apart. PadCnt does not tell where the
 * ICRC is: behind a reserved opcode nothing is padding, whatever it says. */
static void seal(uint8_t *bytes, const struct explain_packet *p)
{
    size_t l3 = (size_t)(p->roce.l3 - p->frame);
    put_le32(bytes + p->icrc_offset, roce_icrc(bytes + l3, p->roce.l3_kind, p->icrc_offset - l3));
}

/* The headers that name memory. What SMC-R says of keys in its messages is data, and stays. */
static bool has_key(enum explain_layer_id layer)
{
    return layer == EXPLAIN_LAYER_RETH || layer == EXPLAIN_LAYER_ATOMICETH || layer == EXPLAIN_LAYER_IETH;
}

/* The frame with the engine's keys instead of the recorded ones, its ICRC made anew; the caller frees it. */
static uint8_t *with_our_keys(const struct replay *r, const struct replay_qp *q,
                              const struct explain_packet *p)
{
    uint8_t *bytes = malloc(p->len_bytes);
    if (!bytes)
        return NULL;
    memcpy(bytes, p->frame, p->len_bytes);
    for (unsigned i = 0; i < p->layer_count; i++)
        if (has_key(p->layers[i].kind->id)) {
            const struct net_field *f = explain_header_field(p->layers[i].kind->header, "rkey", 4);
            uint32_t rkey = (uint32_t)explain_field_value(p, i, f);
            net_bits_put(bytes + p->layers[i].offset, f->first_bit, f->width_bits,
                         explain_replay_own_key(r, &q->responder, rkey));
        }
    seal(bytes, p);
    return bytes;
}

/* --- what comes in --- */

static void enqueue(struct replay *r, struct replay_qp *q, bool again)
{
    struct replay_frame *f;
    while ((f = explain_replay_half_pull(r, &q->responder))) {
        f->is_repeat = again;
        *q->last = f;
        q->last = &f->next;
    }
}

/* The rest of a message whose beginning the capture lacks, and what answers it. */
static bool is_before_all(const struct replay_qp *q, uint32_t psn)
{
    return q->learned->service == ROCE_SERVICE_RC && q->expected_psn == q->learned->rq_psn &&
           roce_psn_diff(psn, q->learned->rq_psn) < 0;
}

int explain_replay_request_got(struct replay *r, struct replay_qp *q, size_t i,
                               const struct explain_packet *p)
{
    const struct roce_pkt *pkt = &p->roce;
    bool connected = q->learned->service == ROCE_SERVICE_RC;
    if (is_before_all(q, pkt->bth.psn))
        return 0;
    bool due = !connected || pkt->bth.psn == q->expected_psn;
    bool again = connected && roce_psn_diff(pkt->bth.psn, q->expected_psn) < 0;
    q->has_got_repeat = again;
    if (pkt->op->flags & ROCE_PKT_READ || (due && pkt->op->flags & ROCE_PKT_ATOMIC))
        explain_replay_memory_prepare(r, q, i, p);
    if (due) {
        serve(r, q, i, pkt);
        if (pkt->op->flags & ROCE_PKT_WRITE)
            explain_replay_memory_written(r, q, p);
    }
    uint8_t *bytes = with_our_keys(r, q, p);
    if (!bytes)
        return -ENOMEM;
    explain_replay_half_feed(r, &q->responder, bytes, p->len_bytes);
    free(bytes);
    enqueue(r, q, again);
    return 0;
}

/* --- what goes out --- */

static bool is_plain_ack(const struct roce_pkt *pkt)
{
    return ROCE_OPCODE_OP(pkt->bth.opcode) == ROCE_OP_ACK &&
           roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK;
}

static bool is_of_kind(const struct roce_pkt *a, const struct roce_pkt *b)
{
    bool same = ((a->op->flags ^ b->op->flags) & (ROCE_PKT_READ_RESP | ROCE_PKT_ATOMICACKETH)) == 0;
    return same && a->bth.psn == b->bth.psn && is_plain_ack(a) == is_plain_ack(b);
}

/* One past what an answer acknowledges. */
static uint32_t acked_by(const struct roce_pkt *pkt)
{
    bool good = !(pkt->op->flags & ROCE_PKT_AETH) || roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK;
    return good ? roce_psn_add(pkt->bth.psn, 1) : pkt->bth.psn;
}

static void note_acked(uint32_t *acked_psn, const struct roce_pkt *pkt)
{
    uint32_t acked = acked_by(pkt);
    if (roce_psn_diff(acked, *acked_psn) > 0)
        *acked_psn = acked;
}

static void pop(struct replay_qp *q)
{
    struct replay_frame *f = q->first;
    struct explain_packet p;
    explain_replay_frame_packet(f, &p);
    note_acked(&q->acked_psn, &p.roce);
    q->first = f->next;
    if (!q->first)
        q->last = &q->first;
    free(f);
}

/* ROCE-INT-19, ROCE-INT-15: where Linux is known to answer otherwise. */
static enum explain_replay_outcome outcome_of_pair(const struct replay_qp *q, const struct roce_pkt *recorded,
                                                   const struct roce_pkt *engine)
{
    bool suffix = recorded->op->flags & ROCE_PKT_READ_RESP && recorded->bth.opcode != engine->bth.opcode &&
                  recorded->payload_bytes == engine->payload_bytes &&
                  memcmp(recorded->payload, engine->payload, engine->payload_bytes) == 0;
    if (suffix && q->first->is_repeat)
        return EXPLAIN_REPLAY_READ_SUFFIX;
    if (q->learned->limit.is_there && recorded->op->flags & ROCE_PKT_AETH &&
        recorded->aeth.syndrome == ROCE_SYNDROME_NAK_REM_OP &&
        engine->aeth.syndrome == ROCE_SYNDROME_NAK_INV_REQ && recorded->aeth.msn == engine->aeth.msn)
        return EXPLAIN_REPLAY_NAK_CODE;
    return EXPLAIN_REPLAY_DIFFERENT;
}

/* The responder counts messages from the beginning of its connection. Where the capture begins later,
 * the first answer tells how many there were before. */
static void count_from_the_beginning(struct replay *r, struct replay_qp *q, const struct explain_packet *p)
{
    struct replay_frame *f = q->first;
    struct explain_packet engine;
    struct roce_aeth aeth;
    explain_replay_frame_packet(f, &engine);
    if (!(engine.roce.op->flags & p->roce.op->flags & ROCE_PKT_AETH))
        return;
    aeth = engine.roce.aeth;
    int32_t earlier = roce_psn_diff(p->roce.aeth.msn, aeth.msn);
    if (!q->is_msn_known && aeth.syndrome == p->roce.aeth.syndrome) {
        q->earlier_messages = earlier > 0 ? (uint32_t)earlier : 0;
        q->is_msn_known = true;
        r->result->late_qps += earlier > 0;
    }
    if (q->earlier_messages == 0)
        return;
    aeth.msn = roce_psn_add(aeth.msn, q->earlier_messages);
    for (unsigned i = 0; i < engine.layer_count; i++)
        if (engine.layers[i].kind->id == EXPLAIN_LAYER_AETH)
            roce_aeth_put(f->bytes + engine.layers[i].offset, &aeth);
    seal(f->bytes, &engine);
}

static void compare_first(struct replay *r, struct replay_qp *q, const struct explain_packet *p)
{
    struct explain_packet engine;
    struct explain_compared c = {0};
    count_from_the_beginning(r, q, p);
    explain_replay_frame_packet(q->first, &engine);
    c.diff_count = explain_replay_diff(p, &engine, c.diffs);
    explain_replay_tell(r, q,
                        c.diff_count ? outcome_of_pair(q, &p->roce, &engine.roce) : EXPLAIN_REPLAY_EQUAL, p,
                        q->first, &c);
    pop(q);
}

/* The recorded answer has no equal. */
static enum explain_replay_outcome why_only_recorded(const struct replay_qp *q, const struct roce_pkt *pkt)
{
    bool later = false;
    for (const struct replay_frame *f = q->first; f && !later; f = f->next) {
        struct explain_packet engine;
        explain_replay_frame_packet(f, &engine);
        later = roce_psn_diff(acked_by(&engine.roce), acked_by(pkt)) >= 0;
    }
    /* Behind a duplicate an ACK of all that was taken is right, asked for or not (ROCE-INT-9). */
    bool unasked = q->has_got_repeat && roce_psn_diff(acked_by(pkt), q->expected_psn) <= 0;
    if (is_plain_ack(pkt) && (later || unasked || roce_psn_diff(acked_by(pkt), q->acked_psn) <= 0))
        return EXPLAIN_REPLAY_ACK_RECORD;
    if (pkt->op->flags & ROCE_PKT_AETH && pkt->aeth.syndrome == ROCE_SYNDROME_NAK_PSN_SEQ &&
        q->has_told_rnr && q->rnr_psn == pkt->bth.psn)
        return EXPLAIN_REPLAY_NAK_BEHIND_RNR;
    return EXPLAIN_REPLAY_ONLY_RECORD;
}

/* The engine's answers that the recorded endpoint did not give before this one. */
static void skip_older(struct replay *r, struct replay_qp *q, const struct roce_pkt *pkt)
{
    while (q->first) {
        struct explain_packet engine;
        explain_replay_frame_packet(q->first, &engine);
        if (is_of_kind(pkt, &engine.roce) || roce_psn_diff(engine.roce.bth.psn, pkt->bth.psn) > 0)
            return;
        bool free_to_go =
            is_plain_ack(&engine.roce) && (roce_psn_diff(acked_by(&engine.roce), acked_by(pkt)) <= 0 ||
                                           roce_psn_diff(acked_by(&engine.roce), q->recorded_psn) <= 0);
        if (!free_to_go && engine.roce.bth.psn == pkt->bth.psn)
            return;
        explain_replay_tell(r, q, free_to_go ? EXPLAIN_REPLAY_ACK_ENGINE : EXPLAIN_REPLAY_ONLY_ENGINE, NULL,
                            q->first, NULL);
        pop(q);
    }
}

void explain_replay_response_sent(struct replay *r, struct replay_qp *q, const struct explain_packet *p)
{
    const struct roce_pkt *pkt = &p->roce;
    struct explain_packet engine;
    if (is_before_all(q, pkt->bth.psn)) {
        explain_replay_tell(r, q, EXPLAIN_REPLAY_UNKNOWN, p, NULL, NULL);
        q->answer_at++;
        return;
    }
    if (why_only_recorded(q, pkt) != EXPLAIN_REPLAY_NAK_BEHIND_RNR)
        skip_older(r, q, pkt);
    if (q->first)
        explain_replay_frame_packet(q->first, &engine);
    /* Another kind of answer to the same PSN is a difference to be shown, but for an ACK that others
     * imply. */
    bool pair = q->first &&
                (is_of_kind(pkt, &engine.roce) || (engine.roce.bth.psn == pkt->bth.psn &&
                                                   why_only_recorded(q, pkt) == EXPLAIN_REPLAY_ONLY_RECORD));
    if (pair)
        compare_first(r, q, p);
    else
        explain_replay_tell(r, q, why_only_recorded(q, pkt), p, NULL, NULL);
    note_acked(&q->recorded_psn, pkt);
    q->has_told_rnr =
        pkt->op->flags & ROCE_PKT_AETH && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_RNR;
    q->rnr_psn = pkt->bth.psn;
    q->answer_at++;
}

void explain_replay_responder_end(struct replay *r, struct replay_qp *q)
{
    while (q->first) {
        struct explain_packet engine;
        explain_replay_frame_packet(q->first, &engine);
        bool implied =
            is_plain_ack(&engine.roce) && roce_psn_diff(acked_by(&engine.roce), q->recorded_psn) <= 0;
        explain_replay_tell(r, q, implied ? EXPLAIN_REPLAY_ACK_ENGINE : EXPLAIN_REPLAY_ONLY_ENGINE, NULL,
                            q->first, NULL);
        pop(q);
    }
}
