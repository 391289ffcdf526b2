/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/explain_truth/facts.h"

#include <stdlib.h>

#include "base/base.h"
#include "roce/psn.h"

static unsigned run_of(const struct truth_facts *f, const struct truth_tape *tape)
{
    return (unsigned)(tape - f->scene->tape);
}

void truth_facts_init(struct truth_facts *f, const struct truth_scene *scene)
{
    *f = (struct truth_facts){.scene = scene};
    for (unsigned i = 0; i < scene->runs; i++) {
        f->seen[i] = calloc(scene->tape[i].pass_count + 1, sizeof *f->seen[i]);
        f->frame_seen[i] = calloc(scene->tape[i].frames + 1, sizeof *f->frame_seen[i]);
        if (!f->seen[i] || !f->frame_seen[i])
            abort();
    }
    for (uint32_t n = 1; n <= scene->capture.count; n++) {
        const struct truth_record *r = truth_record_of(f, n);
        uint32_t *first = &f->frame_seen[run_of(f, r->tape)][truth_pass_of(r)->frame];
        f->seen[run_of(f, r->tape)][r->pass] = n;
        if (!*first)
            *first = n;
    }
}

void truth_facts_deinit(struct truth_facts *f)
{
    for (unsigned i = 0; i < TRUTH_RUNS_MAX; i++) {
        free(f->seen[i]);
        free(f->frame_seen[i]);
    }
}

/* --- one pass --- */

static bool is_damaged(const struct truth_pass *p)
{
    return p->fate & SIM_FATE_CORRUPTED && !p->is_second;
}

/* Whole, before that moment in the order of the run. */
static bool arrived_by(const struct truth_pass *p, uint64_t order)
{
    return p->arrived_order && p->arrived_order < order && !is_damaged(p);
}

static bool is_seen(const struct truth_facts *f, const struct truth_tape *t, uint32_t pass)
{
    return f->seen[run_of(f, t)][pass] != 0;
}

/* It went by before the capture begins. */
static bool is_older(const struct truth_facts *f, const struct truth_tape *t, const struct truth_pass *p)
{
    const struct truth_record *first = truth_record_of(f, 1);
    return f->scene->tap.skip_ppm && first->tape == t && p->sent_ns <= truth_pass_of(first)->due_ns &&
           p->sent_order < truth_pass_of(first)->sent_order;
}

/* What happened to a pass, as a cause: as it was at `order`, and, of what was late then, afterwards. */
static enum truth_verdict way_of(const struct truth_facts *f, const struct truth_tape *t, uint32_t pass,
                                 uint64_t order, enum explain_cause way)
{
    const struct truth_pass *p = &t->passes[pass];
    bool seen = is_seen(f, t, pass), arrived = arrived_by(p, UINT64_MAX);
    switch (way) {
    case EXPLAIN_CAUSE_LOST_BEFORE:
        return !seen && !arrived;
    case EXPLAIN_CAUSE_LOST_AFTER: /* or dropped by a queue pair that was not ready, which tells of nothing */
        return seen && (!arrived || !p->is_judged);
    case EXPLAIN_CAUSE_ANSWER_LOST:
        return arrived_by(p, order) && (p->is_executed || t->ends[p->asker].is_selective);
    case EXPLAIN_CAUSE_OVERTAKEN:
        return arrived && (seen || p->arrived_order > order);
    case EXPLAIN_CAUSE_DAMAGED:
        return is_damaged(p);
    case EXPLAIN_CAUSE_CAPTURE_DROPPED:
        return !seen && arrived;
    case EXPLAIN_CAUSE_BEFORE_CAPTURE:
        return !seen && is_older(f, t, p);
    default:
        return TRUTH_WRONG;
    }
}

bool truth_is_copy(const struct truth_facts *f, uint64_t number)
{
    const struct truth_record *r = truth_record_of(f, number);
    return f->frame_seen[run_of(f, r->tape)][truth_pass_of(r)->frame] < number;
}

bool truth_is_again(const struct truth_facts *f, uint64_t number)
{
    const struct truth_pass *p = truth_pass_of(truth_record_of(f, number));
    return p->kind == TRUTH_REQUEST && p->is_again && !truth_is_copy(f, number);
}

bool truth_is_overtaken(const struct truth_facts *f, uint64_t number)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_pass *p = truth_pass_of(r);
    for (uint64_t n = number; --n > 0;) {
        const struct truth_record *earlier = truth_record_of(f, n);
        const struct truth_pass *q = truth_pass_of(earlier);
        if (earlier->tape == r->tape && q->end == p->end && q->frame > p->frame)
            return true;
    }
    return false;
}

/* A pass of the same kind, for the same requester, at the same PSN. */
static bool is_same(const struct truth_pass *p, const struct truth_pass *q)
{
    return p->kind == q->kind && p->asker == q->asker && p->psn == q->psn;
}

bool truth_is_answered_again(const struct truth_facts *f, uint64_t number)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_pass *p = truth_pass_of(r);
    for (uint32_t i = 0; i < r->pass && p->kind == TRUTH_ANSWER; i++)
        if (is_same(p, &r->tape->passes[i]) && r->tape->passes[i].frame != p->frame)
            return true;
    return false;
}

/* --- PSNs of a requester, counted from its first --- */

static uint32_t offset_of(const struct truth_tape *t, const struct truth_pass *p)
{
    return (p->psn - t->ends[p->asker].first_psn) & ROCE_PSN_MASK;
}

/* The first PSN of the message piece that covers this one: of a READ, its request's. */
static uint32_t outer_of(const struct truth_end *asker, uint32_t offset)
{
    while (offset > 0 && offset < asker->slot_count && asker->slots[offset].is_inner)
        offset--;
    return offset;
}

/* A request for that PSN, or for a READ that covers it, stands in the capture before `number`. */
static bool is_offset_seen(const struct truth_facts *f, const struct truth_tape *t, uint32_t asker,
                           uint32_t offset, uint64_t number)
{
    for (uint64_t n = 1; n < number; n++) {
        const struct truth_record *r = truth_record_of(f, n);
        const struct truth_pass *p = truth_pass_of(r);
        if (r->tape == t && p->kind == TRUTH_REQUEST && p->asker == asker && !is_damaged(p) &&
            outer_of(&t->ends[asker], offset_of(t, p)) == outer_of(&t->ends[asker], offset))
            return true;
    }
    return false;
}

/* One past the newest PSN of the requester that the capture has before `number`; 0: none. */
static uint32_t newest_before(const struct truth_facts *f, const struct truth_tape *t, uint32_t asker,
                              uint64_t number)
{
    uint32_t newest = 0;
    for (uint64_t n = 1; n < number; n++) {
        const struct truth_record *r = truth_record_of(f, n);
        const struct truth_pass *p = truth_pass_of(r);
        if (r->tape != t || p->kind != TRUTH_REQUEST || p->asker != asker || is_damaged(p))
            continue;
        uint32_t past = offset_of(t, p) + 1;
        while (past < t->ends[asker].slot_count && t->ends[asker].slots[past].is_inner)
            past++;
        newest = max_u32(newest, past);
    }
    return newest;
}

uint32_t truth_missing_before(const struct truth_facts *f, uint64_t number)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_pass *p = truth_pass_of(r);
    if (p->kind != TRUTH_REQUEST)
        return 0;
    uint32_t from = newest_before(f, r->tape, p->asker, number), to = offset_of(r->tape, p);
    return from && to > from ? to - from : 0;
}

bool truth_has_request(const struct truth_facts *f, uint64_t number)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_pass *p = truth_pass_of(r);
    return p->asker != TRUTH_NONE && is_offset_seen(f, r->tape, p->asker, offset_of(r->tape, p), number);
}

bool truth_has_answer(const struct truth_facts *f, uint64_t number)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_pass *p = truth_pass_of(r);
    for (uint64_t n = number + 1; n <= f->scene->capture.count; n++) {
        const struct truth_record *later = truth_record_of(f, n);
        const struct truth_pass *q = truth_pass_of(later);
        if (later->tape == r->tape && q->kind == TRUTH_ANSWER && q->asker == p->asker && !is_damaged(q) &&
            roce_psn_diff(q->psn, p->psn) >= 0)
            return true;
    }
    return false;
}

/* --- causes --- */

/* The answer that made the sender go back; NULL: none did. */
static const struct truth_pass *trigger_of(const struct truth_facts *f, uint64_t number)
{
    const struct truth_record *r = truth_record_of(f, number);
    uint32_t trigger = truth_pass_of(r)->trigger;
    return trigger == TRUTH_NONE ? NULL : &r->tape->passes[trigger];
}

static bool is_selective_ack(const struct truth_pass *p)
{
    return p && p->kind == TRUTH_ANSWER && p->opcode == ROCE_OPCODE_SACK;
}

/* It says that this PSN is not there. */
static bool lacks(const struct truth_pass *ack, uint32_t psn)
{
    struct roce_pkt pkt;
    if (roce_pkt_parse(&pkt, ack->sent, ack->sent_bytes, 0) != ROCE_RX_TAKEN)
        return false;
    uint32_t behind = (psn - pkt.bth.psn - 1) & ROCE_PSN_MASK;
    return psn == pkt.bth.psn ||
           (roce_psn_diff(psn, pkt.bth.psn) > 0 &&
            (behind >= 8 * pkt.payload_bytes || !(pkt.payload[behind / 8] & 0x80 >> behind % 8)));
}

/* An answer to something behind it, or a selective acknowledgement that has it while its answer did not come,
 * made the sender look for what it lacks, and send no more than that. */
static bool was_skipped(const struct truth_facts *f, uint64_t number)
{
    const struct truth_pass *p = truth_pass_of(truth_record_of(f, number)), *trigger = trigger_of(f, number);
    return p->why == TRUTH_SELECTIVE && trigger && trigger->kind == TRUTH_ANSWER &&
           roce_psn_diff(trigger->psn, p->psn) > 0;
}

bool truth_says_missing(const struct truth_facts *f, uint64_t number, uint64_t about)
{
    const struct truth_record *r = truth_record_of(f, number), *a = truth_record_of(f, about);
    const struct truth_pass *p = truth_pass_of(r), *q = truth_pass_of(a);
    return is_selective_ack(p) && r->tape == a->tape && p->asker == q->asker && lacks(p, q->psn);
}

enum truth_verdict truth_why_again(const struct truth_facts *f, uint64_t number, enum explain_cause cause)
{
    const struct truth_pass *p = truth_pass_of(truth_record_of(f, number));
    if (cause == EXPLAIN_CAUSE_COPIED)
        return truth_is_copy(f, number);
    if (cause == EXPLAIN_CAUSE_OVERTAKEN)
        return truth_is_overtaken(f, number);
    if (!truth_is_again(f, number))
        return TRUTH_WRONG;
    switch (cause) {
    case EXPLAIN_CAUSE_TIMEOUT:
        return p->why == TRUTH_TIMEOUT;
    case EXPLAIN_CAUSE_NAK_SEQUENCE:
        return p->why == TRUTH_NAK || p->why == TRUTH_GO_BACK;
    case EXPLAIN_CAUSE_RNR:
        return p->why == TRUTH_RNR;
    case EXPLAIN_CAUSE_IMPLIED_NAK:
        return p->why == TRUTH_IMPLIED_NAK || p->why == TRUTH_GO_BACK || was_skipped(f, number);
    case EXPLAIN_CAUSE_SELECTIVE_ACK: /* without memory for its table the sender takes one for a NAK */
        return p->why == TRUTH_SELECTIVE || (p->why == TRUTH_NAK && is_selective_ack(trigger_of(f, number)));
    case EXPLAIN_CAUSE_RESTART:
        return p->why == TRUTH_SELECTIVE ? p->along_batch != 0 : !p->is_first_of_batch;
    case EXPLAIN_CAUSE_SENT_AGAIN:
        return TRUTH_RIGHT;
    default:
        return TRUTH_WRONG;
    }
}

enum truth_verdict truth_way_of_before(const struct truth_facts *f, uint64_t number, enum explain_cause way)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_pass *p = truth_pass_of(r);
    if (!truth_is_again(f, number))
        return TRUTH_WRONG;
    if (way == EXPLAIN_CAUSE_UNKNOWN || p->before == TRUTH_NONE)
        return TRUTH_OPEN;
    if (way == EXPLAIN_CAUSE_NO_RECEIVE)
        return p->why == TRUTH_RNR;
    return way_of(f, r->tape, p->before, p->sent_order, way);
}

/* What happened to any packet for that PSN that was sent before `order`. */
static enum truth_verdict way_of_psn(const struct truth_facts *f, const struct truth_tape *t,
                                     enum truth_kind kind, uint32_t asker, uint32_t psn, uint64_t order,
                                     enum explain_cause cause)
{
    enum truth_verdict verdict = TRUTH_OPEN;
    for (uint32_t i = 0; i < t->pass_count; i++) {
        const struct truth_pass *p = &t->passes[i];
        if (p->kind != kind || p->asker != asker || p->psn != psn || p->sent_order > order || p->is_second)
            continue;
        verdict = way_of(f, t, i, order, cause);
        if (verdict == TRUTH_RIGHT)
            return verdict;
    }
    return verdict;
}

/* Answers of which a later one came first. */
static enum truth_verdict why_answer_missing(const struct truth_facts *f, uint64_t number,
                                             enum explain_cause cause)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_pass *p = truth_pass_of(r);
    enum truth_verdict verdict = TRUTH_WRONG;
    for (uint32_t i = 0; i < r->tape->pass_count && verdict != TRUTH_RIGHT; i++) {
        const struct truth_pass *q = &r->tape->passes[i];
        uint32_t at = f->seen[run_of(f, r->tape)][i];
        if (q->kind != TRUTH_ANSWER || q->asker != p->asker || roce_psn_diff(q->psn, p->psn) >= 0 ||
            q->sent_order > p->sent_order || (at && at < number && cause != EXPLAIN_CAUSE_DAMAGED))
            continue;
        verdict = way_of(f, r->tape, i, p->sent_order, cause);
    }
    return verdict;
}

enum truth_verdict truth_why_missing(const struct truth_facts *f, uint64_t number, enum explain_cause cause)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_pass *p = truth_pass_of(r);
    if (p->kind == TRUTH_ANSWER)
        return why_answer_missing(f, number, cause);
    uint32_t to = offset_of(r->tape, p), missing = truth_missing_before(f, number);
    enum truth_verdict verdict = TRUTH_WRONG;
    for (uint32_t offset = to - missing; offset < to && verdict != TRUTH_RIGHT; offset++)
        verdict = way_of_psn(
            f, r->tape, TRUTH_REQUEST, p->asker,
            roce_psn_add(r->tape->ends[p->asker].first_psn, outer_of(&r->tape->ends[p->asker], offset)),
            p->sent_order, cause);
    return missing ? verdict : TRUTH_WRONG;
}

/* ... to any of those that a selective acknowledgement lacks. */
static enum truth_verdict why_lacking(const struct truth_facts *f, const struct truth_tape *t,
                                      const struct truth_pass *p, enum explain_cause cause)
{
    const struct truth_end *asker = &t->ends[p->asker];
    enum truth_verdict verdict = TRUTH_OPEN;
    for (uint32_t i = offset_of(t, p); i < asker->slot_count && verdict != TRUTH_RIGHT; i++)
        if (lacks(p, roce_psn_add(asker->first_psn, i)))
            verdict = way_of_psn(f, t, TRUTH_REQUEST, p->asker,
                                 roce_psn_add(asker->first_psn, outer_of(asker, i)), p->sent_order, cause);
    return verdict;
}

enum truth_verdict truth_why_naked(const struct truth_facts *f, uint64_t number, enum explain_cause cause)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_pass *p = truth_pass_of(r);
    if (cause == EXPLAIN_CAUSE_UNKNOWN || p->asker == TRUTH_NONE)
        return TRUTH_OPEN;
    if (cause == EXPLAIN_CAUSE_NO_RECEIVE)
        return p->kind == TRUTH_ANSWER;
    if (is_selective_ack(p))
        return why_lacking(f, r->tape, p, cause);
    uint32_t outer = outer_of(&r->tape->ends[p->asker], offset_of(r->tape, p));
    return way_of_psn(f, r->tape, TRUTH_REQUEST, p->asker,
                      roce_psn_add(r->tape->ends[p->asker].first_psn, outer), p->sent_order, cause);
}

enum truth_verdict truth_why_unanswered(const struct truth_facts *f, uint64_t number,
                                        enum explain_cause cause)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_tap *tap = &f->scene->tap;
    if (truth_has_answer(f, number))
        return TRUTH_WRONG;
    if (cause == EXPLAIN_CAUSE_CAPTURE_ENDS)
        return tap->end_ppm ? TRUTH_RIGHT : TRUTH_OPEN;
    if (cause == EXPLAIN_CAUSE_PEER_GONE || cause == EXPLAIN_CAUSE_UNKNOWN)
        return TRUTH_OPEN;
    return way_of(f, r->tape, r->pass, UINT64_MAX, cause);
}

enum truth_verdict truth_why_ghost(const struct truth_facts *f, uint64_t number, enum explain_cause cause)
{
    const struct truth_record *r = truth_record_of(f, number);
    const struct truth_pass *p = truth_pass_of(r);
    if (p->kind != TRUTH_ANSWER || truth_has_request(f, number))
        return TRUTH_WRONG;
    if (p->asker == TRUTH_NONE || cause == EXPLAIN_CAUSE_UNKNOWN)
        return TRUTH_OPEN;
    if (cause == EXPLAIN_CAUSE_BEFORE_CAPTURE)
        return f->scene->tap.skip_ppm ? TRUTH_RIGHT : TRUTH_WRONG;
    return way_of_psn(f, r->tape, TRUTH_REQUEST, p->asker, p->psn, p->sent_order, cause);
}
