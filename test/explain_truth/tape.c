/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain_truth/tape.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "nornic/qp.h"
#include "roce/psn.h"

static void *grown(void *array, uint32_t count, uint32_t *cap, size_t item_bytes)
{
    if (count < *cap)
        return array;
    *cap = *cap ? 2 * *cap : 64;
    array = realloc(array, *cap * item_bytes);
    if (!array)
        abort();
    return array;
}

static uint8_t *copied(const uint8_t *bytes, uint32_t n)
{
    uint8_t *copy = malloc(n);
    if (!copy)
        abort();
    memcpy(copy, bytes, n);
    return copy;
}

void truth_tape_init(struct truth_tape *t)
{
    *t = (struct truth_tape){0};
}

void truth_tape_deinit(struct truth_tape *t)
{
    for (uint32_t i = 0; i < t->pass_count; i++) {
        free(t->passes[i].sent);
        free(t->passes[i].out);
    }
    for (uint32_t i = 0; i < t->end_count; i++)
        free(t->ends[i].slots);
    free(t->passes);
    free(t->ends);
    free(t->built);
}

void truth_tape_device(struct truth_tape *t, unsigned device, const uint8_t mac[6])
{
    memcpy(t->mac[device], mac, 6);
}

/* --- queue pairs --- */

/* The newest of that number: a number may be used again. */
static uint32_t find_end(const struct truth_tape *t, unsigned device, uint32_t qpn)
{
    for (uint32_t i = t->end_count; i-- > 0;)
        if (t->ends[i].device == device && t->ends[i].qpn == qpn)
            return i;
    return TRUTH_NONE;
}

static void add_end(struct truth_tape *t, unsigned device, uint32_t qpn)
{
    t->ends = grown(t->ends, t->end_count, &t->end_cap, sizeof *t->ends);
    t->ends[t->end_count++] = (struct truth_end){
        .device = device, .qpn = qpn, .partner = TRUTH_NONE, .pmtu_bytes = 1024, .trigger = TRUTH_NONE};
}

void truth_tape_pmtu(struct truth_tape *t, unsigned device, uint32_t qpn, uint32_t pmtu_bytes)
{
    uint32_t end = find_end(t, device, qpn);
    if (end != TRUTH_NONE)
        t->ends[end].pmtu_bytes = pmtu_bytes;
}

/* --- why a requester goes back --- */

static enum truth_why why_of(enum roce_cause cause)
{
    switch (cause) {
    case ROCE_CAUSE_TIMEOUT:
        return TRUTH_TIMEOUT;
    case ROCE_CAUSE_NAK_SEQ:
        return TRUTH_NAK;
    case ROCE_CAUSE_IMPLIED_NAK:
    case ROCE_CAUSE_READ_GAP:
        return TRUTH_IMPLIED_NAK;
    case ROCE_CAUSE_RNR_NAK:
        return TRUTH_RNR;
    case ROCE_CAUSE_GO_BACK:
        return TRUTH_GO_BACK;
    case ROCE_CAUSE_SELECTIVE_ACK:
        return TRUTH_SELECTIVE;
    case ROCE_CAUSE_MODIFY:
    case ROCE_CAUSE_NAK_FATAL:
    case ROCE_CAUSE_BAD_RESPONSE:
    case ROCE_CAUSE_RETRY_EXCEEDED:
    case ROCE_CAUSE_RNR_EXCEEDED:
    case ROCE_CAUSE_LOCAL_ERROR:
    case ROCE_CAUSE_REQUEST_ERROR:
    case ROCE_CAUSE_CQ_OVERFLOW:
    case ROCE_CAUSE_COUNT:
        break;
    }
    abort(); /* nothing goes back for these */
}

static void goes_back(struct truth_tape *t, unsigned device, const struct roce_trace *event)
{
    uint32_t i = find_end(t, device, event->qpn);
    if (i == TRUTH_NONE)
        return;
    struct truth_end *end = &t->ends[i];
    end->why = why_of(event->cause);
    end->batch++;
    end->trigger = TRUTH_NONE;
    end->wants_trigger = end->why != TRUTH_TIMEOUT;
    if (end->why == TRUTH_SELECTIVE || !end->has_begun)
        return; /* packets under way for an earlier return stay so */
    end->run_batch = end->batch;
    end->run_next = (event->psn - end->first_psn) & ROCE_PSN_MASK;
    end->run_end = end->slot_count;
}

/* Records the receiver's verdict on a request. A request ahead of its turn is told as taken when it is
 * NAKed. */
static void judge_request(struct truth_tape *t, uint32_t receiver, const struct roce_trace *event)
{
    uint32_t p = t->pass_count;
    const struct roce_bth *bth = &event->pkt->bth;
    while (p-- > 0) {
        const struct truth_pass *pass = &t->passes[p];
        if (pass->kind == TRUTH_REQUEST && pass->arrived_order && !pass->is_judged && pass->psn == bth->psn &&
            pass->opcode == bth->opcode && t->ends[pass->end].partner == receiver)
            break;
    }
    if (p == UINT32_MAX)
        return;
    struct truth_end *asker = &t->ends[t->passes[p].asker];
    uint32_t offset = (bth->psn - asker->first_psn) & ROCE_PSN_MASK;
    t->passes[p].is_judged = true;
    t->passes[p].is_executed = event->verdict == ROCE_RX_TAKEN && offset <= asker->expected;
    if (!t->passes[p].is_executed || offset < asker->expected)
        return;
    do
        asker->expected++;
    while (asker->expected < asker->slot_count && asker->slots[asker->expected].is_inner);
}

/* The packet that was received is the newest one on its way to this end that fits. */
static void take_received(struct truth_tape *t, unsigned device, const struct roce_trace *event)
{
    uint32_t i = find_end(t, device, event->qpn);
    if (i == TRUTH_NONE || !event->pkt || !event->pkt->op)
        return;
    if (!(event->pkt->op->flags & (ROCE_PKT_RESPONSE | ROCE_PKT_CNP)))
        judge_request(t, i, event);
    if (!t->ends[i].wants_trigger)
        return;
    t->ends[i].wants_trigger = false;
    for (uint32_t p = t->pass_count; p-- > 0;) {
        const struct truth_pass *pass = &t->passes[p];
        if (pass->arrived_order && pass->asker == i && pass->kind == TRUTH_ANSWER &&
            pass->psn == event->pkt->bth.psn && pass->opcode == event->pkt->bth.opcode) {
            t->ends[i].trigger = p;
            return;
        }
    }
}

static void take_built(struct truth_tape *t, unsigned device, const struct roce_trace *event)
{
    if (!event->pkt)
        return;
    t->built = grown(t->built, t->built_count, &t->built_cap, sizeof *t->built);
    t->built[t->built_count++] = (struct truth_built){.device = device,
                                                      .end = find_end(t, device, event->qpn),
                                                      .psn = event->pkt->bth.psn,
                                                      .dest_qpn = event->pkt->bth.dest_qpn,
                                                      .opcode = event->pkt->bth.opcode};
}

void truth_tape_trace(struct truth_tape *t, unsigned device, const struct roce_trace *event)
{
    switch (event->kind) {
    case ROCE_TRACE_PKT_TX:
        return take_built(t, device, event);
    case ROCE_TRACE_PKT_RX:
        return take_received(t, device, event);
    case ROCE_TRACE_QP_STATE:
        if (event->to_state == NORNIC_QPS_RTR)
            add_end(t, device, event->qpn);
        return;
    case ROCE_TRACE_RETRANSMIT:
    case ROCE_TRACE_RNR_WAIT:
        return goes_back(t, device, event);
    }
}

/* --- requests --- */

static struct truth_slot *slot_at(struct truth_end *end, uint32_t offset)
{
    while (offset >= end->slot_cap) {
        uint32_t before = end->slot_cap;
        end->slots = grown(end->slots, before, &end->slot_cap, sizeof *end->slots);
        memset(end->slots + before, 0, (end->slot_cap - before) * sizeof *end->slots);
    }
    return &end->slots[offset];
}

/* The next packet of the send queue: which of which message. */
static void place_new(struct truth_end *end, uint32_t offset, const struct roce_pkt *pkt)
{
    uint32_t flags = pkt->op->flags, span = 1;
    if (flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY | ROCE_PKT_READ | ROCE_PKT_ATOMIC)) {
        end->messages++;
        end->open_piece = 0;
        end->open_bytes = 0;
    }
    if (flags & ROCE_PKT_READ && pkt->reth.dma_len)
        span = (pkt->reth.dma_len - 1) / end->pmtu_bytes + 1;
    end->open_piece++;
    for (uint32_t i = 0; i < span; i++)
        *slot_at(end, offset + i) = (struct truth_slot){.message = end->messages,
                                                        .piece = end->open_piece,
                                                        .bytes_before = end->open_bytes,
                                                        .is_inner = i > 0,
                                                        .newest = TRUTH_NONE};
    end->open_bytes += pkt->payload_bytes;
    end->slot_count = offset + span;
}

static void place_request(struct truth_tape *t, struct truth_pass *pass, const struct roce_pkt *pkt)
{
    struct truth_end *end = &t->ends[pass->end];
    if (!end->has_begun) {
        end->has_begun = true;
        end->first_psn = pkt->bth.psn;
    }
    uint32_t offset = (pkt->bth.psn - end->first_psn) & ROCE_PSN_MASK;
    pass->asker = pass->end;
    pass->is_again = offset < end->slot_count;
    if (!pass->is_again)
        place_new(end, offset, pkt);
    struct truth_slot *slot = slot_at(end, offset);
    pass->why = pass->is_again ? end->why : TRUTH_FIRST_TIME;
    pass->trigger = pass->is_again ? end->trigger : TRUTH_NONE;
    pass->batch = end->batch;
    pass->is_first_of_batch = end->batch != end->last_batch;
    end->last_batch = end->batch;
    if (pass->is_again && offset >= end->run_next && offset < end->run_end) {
        pass->along_batch = end->run_batch;
        end->run_next = offset + 1;
    }
    pass->before = slot->newest;
    pass->message = slot->message;
    pass->piece = slot->piece;
    pass->bytes_before = slot->bytes_before;
    slot->newest = (uint32_t)(pass - t->passes);
}

/* --- wires --- */

static uint32_t device_of(const struct truth_tape *t, const uint8_t mac[6])
{
    for (uint32_t d = 0; d < TRUTH_DEVICES_MAX; d++)
        if (memcmp(t->mac[d], mac, 6) == 0)
            return d;
    return TRUTH_NONE;
}

/* Which queue pair built this frame: those that are told before it stayed inside the device. */
static uint32_t built_by(struct truth_tape *t, unsigned device, const struct roce_pkt *pkt)
{
    for (uint32_t i = 0; i < t->built_count; i++) {
        struct truth_built b = t->built[i];
        if (b.device != device || b.psn != pkt->bth.psn || b.dest_qpn != pkt->bth.dest_qpn ||
            b.opcode != pkt->bth.opcode)
            continue;
        memmove(t->built + i, t->built + i + 1, (t->built_count - i - 1) * sizeof *t->built);
        t->built_count--;
        return b.end;
    }
    return TRUTH_NONE;
}

/* A NAK says that its PSN, though taken from the wire, was not executed. */
static void take_back(struct truth_tape *t, const struct truth_pass *nak)
{
    struct truth_end *asker = &t->ends[nak->asker];
    if (nak->opcode == ROCE_OPCODE_SACK) {
        asker->is_selective = true;
        return;
    }
    if (roce_syndrome_kind(nak->syndrome) == ROCE_SYN_ACK)
        return;
    asker->expected = min_u32(asker->expected, (nak->psn - asker->first_psn) & ROCE_PSN_MASK);
    for (uint32_t p = t->pass_count; p-- > 0;) {
        struct truth_pass *pass = &t->passes[p];
        if (pass->kind != TRUTH_REQUEST || pass->asker != nak->asker || pass->psn != nak->psn ||
            !pass->is_judged)
            continue;
        pass->is_executed = false;
        return;
    }
}

static void place(struct truth_tape *t, struct truth_pass *pass, unsigned device)
{
    struct roce_pkt pkt;
    if (roce_pkt_parse(&pkt, pass->sent, pass->sent_bytes, 0) != ROCE_RX_TAKEN || !pkt.op)
        return;
    pass->opcode = pkt.bth.opcode;
    pass->psn = pkt.bth.psn;
    pass->payload_bytes = pkt.payload_bytes;
    pass->end = built_by(t, device, &pkt);
    uint32_t partner = find_end(t, device_of(t, pass->sent), pkt.bth.dest_qpn);
    if (pass->end == TRUTH_NONE)
        return;
    if (partner != TRUTH_NONE && t->ends[pass->end].partner == TRUTH_NONE) {
        t->ends[pass->end].partner = partner;
        t->ends[partner].partner = pass->end;
    }
    if (pkt.op->flags & ROCE_PKT_CNP) {
        pass->kind = TRUTH_CNP;
    } else if (pkt.op->flags & ROCE_PKT_RESPONSE) {
        pass->kind = TRUTH_ANSWER;
        pass->asker = partner;
        pass->syndrome = pkt.op->flags & ROCE_PKT_AETH ? pkt.aeth.syndrome : 0;
        if (partner != TRUTH_NONE)
            take_back(t, pass);
    } else {
        pass->kind = TRUTH_REQUEST;
        place_request(t, pass, &pkt);
    }
}

static struct truth_pass *add_pass(struct truth_tape *t)
{
    t->passes = grown(t->passes, t->pass_count, &t->pass_cap, sizeof *t->passes);
    struct truth_pass *pass = &t->passes[t->pass_count++];
    *pass = (struct truth_pass){.end = TRUTH_NONE,
                                .asker = TRUTH_NONE,
                                .before = TRUTH_NONE,
                                .trigger = TRUTH_NONE,
                                .due_ns = NET_TIME_NONE,
                                .sent_order = ++t->order};
    return pass;
}

static uint64_t record_pass(void *ctx, const struct sim_link_pass *on)
{
    const struct truth_wire *wire = ctx;
    struct truth_tape *t = wire->tape;
    struct truth_pass *pass = add_pass(t);
    if (on->is_second) { /* follows the first at once */
        struct truth_pass first = pass[-1];
        first.sent_order = pass->sent_order;
        *pass = first;
    } else {
        pass->node = truth_node(wire->device);
        pass->frame = t->frames++;
    }
    pass->is_second = on->is_second;
    pass->fate = on->fate;
    pass->sent_ns = on->sent_ns;
    pass->due_ns = on->due_ns;
    pass->way_ns = on->way_ns;
    pass->sent = copied(on->sent, on->sent_bytes);
    pass->sent_bytes = on->sent_bytes;
    pass->out = on->out ? copied(on->out, on->out_bytes) : NULL;
    pass->out_bytes = on->out_bytes;
    pass->arrived_order = 0;
    if (!on->is_second)
        place(t, pass, wire->device);
    return (uint64_t)(pass - t->passes);
}

static void record_arrival(void *ctx, uint64_t name)
{
    struct truth_tape *t = ((const struct truth_wire *)ctx)->tape;
    t->passes[name].arrived_order = ++t->order;
}

void truth_tape_watch(struct truth_tape *tape, unsigned device, struct sim_link *link,
                      struct truth_wire *wire)
{
    *wire = (struct truth_wire){tape, device};
    sim_link_observe(link, &(struct sim_link_watch){record_pass, record_arrival, wire});
}

void truth_tape_other(struct truth_tape *t, unsigned node, const uint8_t *frame, uint32_t len_bytes,
                      uint64_t now_ns)
{
    struct truth_pass *pass = add_pass(t);
    pass->node = node;
    pass->frame = t->frames++;
    pass->sent_ns = pass->due_ns = now_ns;
    pass->arrived_order = pass->sent_order;
    pass->sent = copied(frame, len_bytes);
    pass->out = copied(frame, len_bytes);
    pass->sent_bytes = pass->out_bytes = len_bytes;
}
