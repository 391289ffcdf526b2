/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/story/numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "roce/psn.h"

#define OPEN_MAX 64 /* operations of a direction that wait for their answers; the oldest makes room */

/* An operation that is under way: the requests from `low_psn` to before `end_psn`. Where its beginning is not
 * in the capture, it may still come. */
struct open_operation {
    struct explain_operation is;
    uint32_t low_psn, end_psn;
    bool has_first, has_last;
    bool is_numbered;  /* is.message stays */
    bool has_answer;   /* READ or atomic: an answer of its own completes it, an ACK does not */
    uint64_t answered; /* bytes of a READ that came */
};

struct way {
    struct open_operation open[OPEN_MAX]; /* the first `open_count`, in the order in which they began */
    unsigned open_count;
    uint64_t numbered; /* messages that have their number for good */
    bool is_uncounted; /* and yet nobody knows them: the capture cuts headers off */
    bool has_sent, has_acked;
    bool has_early; /* answers came before what they answer, up to before `early_psn` */
    uint32_t early_psn;
    uint32_t next_psn, una_psn;
};

struct flow_state {
    struct explain_flow_numbers shown;
    struct way way[2];
};

struct explain_numbers {
    struct flow_state *flows[EXPLAIN_NUMBERS_FLOWS];
};

struct explain_numbers *explain_numbers_create(void)
{
    return calloc(1, sizeof(struct explain_numbers));
}

void explain_numbers_destroy(struct explain_numbers *numbers)
{
    for (unsigned i = 0; numbers && i < EXPLAIN_NUMBERS_FLOWS; i++)
        free(numbers->flows[i]);
    free(numbers);
}

const struct explain_flow_numbers *explain_numbers_of(const struct explain_numbers *numbers, uint32_t flow)
{
    bool is_kept = flow && flow <= EXPLAIN_NUMBERS_FLOWS && numbers->flows[flow - 1];
    return is_kept ? &numbers->flows[flow - 1]->shown : NULL;
}

bool explain_is_timed(const struct explain_flow *flow)
{
    return !flow || !flow->skew_ns;
}

/* 0: there is none. */
static uint64_t first_of(uint64_t a_ns, uint64_t b_ns)
{
    return !a_ns || !b_ns ? max_u64(a_ns, b_ns) : min_u64(a_ns, b_ns);
}

double explain_goodput(const struct explain_flow_numbers *numbers, unsigned direction)
{
    const struct explain_way_numbers *way = numbers->way;
    uint64_t first_ns = first_of(way[0].first_ns, way[1].first_ns);
    uint64_t last_ns = max_u64(way[0].last_ns, way[1].last_ns);
    uint64_t ns = last_ns > first_ns ? last_ns - first_ns : 0;
    return ns ? (double)numbers->way[direction].bytes * 8 * 1e9 / (double)ns : 0;
}

static struct flow_state *state_of(struct explain_numbers *numbers, uint32_t flow)
{
    if (!flow || flow > EXPLAIN_NUMBERS_FLOWS)
        return NULL;
    if (!numbers->flows[flow - 1])
        numbers->flows[flow - 1] = calloc(1, sizeof(struct flow_state));
    return numbers->flows[flow - 1];
}

/* The finding that says why it was sent again; NULL: it was not. */
static const struct explain_finding *again_of(const struct explain_meaning *m)
{
    for (unsigned i = 0; i < m->remark_count; i++) {
        enum explain_finding_kind kind = m->remarks[i].kind;
        if (kind == EXPLAIN_FIND_RETRANSMISSION || kind == EXPLAIN_FIND_TIMEOUT ||
            kind == EXPLAIN_FIND_READ_REPLAY)
            return &m->remarks[i];
    }
    return NULL;
}

enum explain_cause explain_pause_of(const struct explain_meaning *m, uint64_t *silence_ns)
{
    for (unsigned i = 0; i < m->remark_count; i++) {
        const struct explain_why *why = &m->remarks[i].why;
        *silence_ns = why->silence_ns;
        if (why->silence_ns && (why->cause == EXPLAIN_CAUSE_TIMEOUT || why->cause == EXPLAIN_CAUSE_RNR) &&
            !why->behind)
            return why->cause;
    }
    return EXPLAIN_CAUSE_NONE;
}

/* --- requests --- */

static void forget(struct way *way, struct open_operation *op)
{
    unsigned behind = way->open_count - (unsigned)(op - way->open) - 1;
    memmove(op, op + 1, behind * sizeof *op);
    way->open_count--;
}

/* The READ or atomic that began with that packet, or at that PSN. */
static struct open_operation *find_asked(struct way *way, uint64_t number, uint32_t psn)
{
    for (unsigned i = 0; i < way->open_count; i++) {
        struct open_operation *op = &way->open[i];
        if (op->has_answer && (op->is.first_number == number || op->low_psn == psn))
            return op;
    }
    return NULL;
}

/* The operation of which a packet with that PSN is a part, or that it goes on with. */
static struct open_operation *find_psn(struct way *way, uint32_t psn, bool has_before)
{
    for (unsigned i = 0; i < way->open_count; i++) {
        struct open_operation *op = &way->open[i];
        bool is_behind = roce_psn_diff(psn, op->low_psn) >= 0;
        if (!op->has_answer && is_behind &&
            (roce_psn_diff(psn, op->end_psn) < 0 || (psn == op->end_psn && has_before && !op->has_last)))
            return op;
    }
    return NULL;
}

static struct open_operation *begin(struct way *way, const struct explain_packet *packet,
                                    const struct explain_meaning *m)
{
    if (way->open_count == OPEN_MAX) {
        way->numbered += !way->open->is_numbered;
        forget(way, way->open);
    }
    struct open_operation *op = &way->open[way->open_count++];
    *op = (struct open_operation){.low_psn = packet->roce.bth.psn,
                                  .end_psn = packet->roce.bth.psn,
                                  .is = {.flow = m->flow,
                                         .direction = m->direction,
                                         .opcode = packet->roce.bth.opcode,
                                         .first_number = packet->number,
                                         .begin_ns = packet->time_ns}};
    return op;
}

/* The operation that a packet belongs to, begun if need be. NULL: it was answered before. */
static struct open_operation *operation_of(struct way *way, const struct explain_packet *packet,
                                           const struct explain_meaning *m)
{
    uint32_t psn = packet->roce.bth.psn, flags = packet->roce.op->flags;
    struct open_operation *op = flags & (ROCE_PKT_READ | ROCE_PKT_ATOMIC)
                                    ? find_asked(way, m->answers, psn)
                                    : find_psn(way, psn, flags & (ROCE_PKT_MIDDLE | ROCE_PKT_LAST));
    if (op || (way->has_acked && roce_psn_diff(psn, way->una_psn) < 0))
        return op;
    return begin(way, packet, m);
}

/* What came before a gap was filled is the rest of `op`. */
static void join(struct way *way, struct open_operation *op)
{
    for (unsigned i = 0; !op->has_last && !op->has_answer && i < way->open_count; i++) {
        struct open_operation *rest = &way->open[i];
        if (rest->low_psn != op->end_psn || rest->has_first || rest->has_answer)
            continue;
        op->end_psn = rest->end_psn;
        op->has_last = rest->has_last;
        op->is.last_opcode = rest->is.last_opcode;
        op->is.bytes += rest->is.bytes;
        op->is.packets += rest->is.packets;
        op->is.again += rest->is.again;
        op->is.first_number = min_u64(op->is.first_number, rest->is.first_number);
        op->is.begin_ns = min_u64(op->is.begin_ns, rest->is.begin_ns);
        forget(way, rest);
        return;
    }
}

/* Messages that were left out came to light: those behind count on. */
static void renumber(struct way *way, const struct explain_meaning *m)
{
    for (unsigned i = 0; m->more_messages && i < way->open_count; i++)
        if (!way->open[i].is_numbered && roce_psn_diff(way->open[i].low_psn, m->more_psn) >= 0)
            way->open[i].is.message = explain_message_moved(way->open[i].is.message, m->more_messages);
}

static void take_part(struct way *way, const struct explain_packet *packet, const struct explain_meaning *m,
                      bool is_again)
{
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t flags = pkt->op->flags;
    struct open_operation *op = operation_of(way, packet, m);
    if (!op)
        return;
    op->is.packets++;
    op->is.again += is_again;
    if (m->message && !op->is_numbered)
        op->is.message = m->message;
    op->has_answer = flags & (ROCE_PKT_READ | ROCE_PKT_ATOMIC);
    op->has_first |= !(flags & (ROCE_PKT_MIDDLE | ROCE_PKT_LAST));
    if (op->has_answer)
        op->is.bytes = max_u64(op->is.bytes, flags & ROCE_PKT_READ ? m->bytes_total : 8);
    else
        op->is.bytes += m->new_bytes;
    if (roce_psn_diff(pkt->bth.psn, op->end_psn) >= 0) {
        op->end_psn = roce_psn_add(pkt->bth.psn, 1);
        op->is.last_opcode = pkt->bth.opcode;
        op->has_last = flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY | ROCE_PKT_READ | ROCE_PKT_ATOMIC);
    }
    join(way, op);
}

static void take_request(struct flow_state *state, const struct explain_packet *packet,
                         const struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct way *way = &state->way[m->direction];
    struct explain_way_numbers *shown = &state->shown.way[m->direction];
    uint32_t end_psn = roce_psn_add(pkt->bth.psn, 1);
    uint64_t silence_ns;
    const struct explain_finding *again = again_of(m);
    bool is_again = again != NULL;
    shown->requests++;
    shown->again += is_again;
    shown->selected += is_again && again->why.cause == EXPLAIN_CAUSE_SELECTIVE_ACK;
    shown->bytes += m->new_bytes;
    if (explain_pause_of(m, &silence_ns) != EXPLAIN_CAUSE_NONE) {
        shown->pauses++;
        shown->paused_ns += silence_ns;
    }
    if (!way->has_sent || roce_psn_diff(end_psn, way->next_psn) > 0)
        way->next_psn = end_psn;
    way->has_sent = true;
    if (way->has_acked && roce_psn_diff(way->next_psn, way->una_psn) > (int32_t)shown->most_psns)
        shown->most_psns = (uint32_t)roce_psn_diff(way->next_psn, way->una_psn);
    way->is_uncounted |= m->is_uncounted;
    renumber(way, m);
    take_part(way, packet, m, is_again);
}

/* --- answers --- */

/* The first operation that has no number for good. */
static struct open_operation *next_of(struct way *way)
{
    struct open_operation *next = NULL;
    for (unsigned i = 0; i < way->open_count; i++) {
        struct open_operation *op = &way->open[i];
        if (!op->is_numbered && (!next || roce_psn_diff(op->low_psn, next->low_psn) < 0))
            next = op;
    }
    return next;
}

/* Whatever was lost on the way, all before `op` is known when it is answered, and can be counted; but what
 * the capture misses, of which the analysis knows better. */
static void number(struct flow_state *state, struct open_operation *op, unsigned direction)
{
    struct way *way = &state->way[direction];
    while (!op->is_numbered) {
        struct open_operation *next = next_of(way);
        next->is_numbered = true;
        way->numbered++;
        if (state->shown.is_holey)
            way->numbered = max_u64(way->numbered, next->is.message);
        next->is.message = way->is_uncounted ? 0 : way->numbered;
    }
}

static unsigned complete(struct flow_state *state, struct open_operation *op, unsigned direction,
                         const struct explain_packet *packet, struct explain_operation *done, unsigned max)
{
    struct way *way = &state->way[direction];
    struct explain_way_numbers *shown = &state->shown.way[direction];
    number(state, op, direction);
    op->is.end_number = packet->number;
    op->is.is_untimed = way->has_early && roce_psn_diff(op->end_psn, way->early_psn) <= 0;
    if (!op->is.is_untimed)
        op->is.latency_ns = packet->time_ns > op->is.begin_ns ? packet->time_ns - op->is.begin_ns : 0;
    if (op->is.is_untimed)
        shown->untimed++;
    else
        explain_latency_add(&shown->latency, op->is.latency_ns, op->is.is_with_later);
    if (max)
        *done = op->is;
    forget(way, op);
    return max ? 1 : 0;
}

/* All that was sent whole before `end_psn`, but for what has an answer of its own. What is acknowledged and
 * has no beginning here began where the capture does not show it: how long it took cannot be told. */
static unsigned acknowledge(struct flow_state *state, unsigned direction, uint32_t end_psn,
                            const struct explain_packet *packet, struct explain_operation *done, unsigned max)
{
    struct way *way = &state->way[direction];
    unsigned n = 0;
    if (!way->has_acked || roce_psn_diff(end_psn, way->una_psn) > 0)
        way->una_psn = end_psn;
    way->has_acked = true;
    for (unsigned i = 0; i < way->open_count;) {
        struct open_operation *op = &way->open[i];
        if (!op->has_last || op->has_answer || roce_psn_diff(op->end_psn, end_psn) > 0) {
            i++;
            continue;
        }
        op->is.is_with_later = op->end_psn != end_psn;
        if (op->has_first) {
            n += complete(state, op, direction, packet, done + n, max - n);
        } else {
            number(state, op, direction);
            forget(way, op);
        }
    }
    return n;
}

/* What is behind this, up to that answer, has its answer already: another one says nothing of its time. */
static void note_early(struct way *way, uint32_t end_psn)
{
    if (!way->has_early || roce_psn_diff(end_psn, way->early_psn) > 0)
        way->early_psn = end_psn;
    way->has_early = true;
}

static unsigned take_answer(struct flow_state *state, const struct explain_packet *packet,
                            const struct explain_meaning *m, struct explain_operation *done, unsigned max)
{
    const struct roce_pkt *pkt = &packet->roce;
    unsigned direction = 1 - m->direction;
    bool is_nak = pkt->op->flags & ROCE_PKT_AETH && (pkt->aeth.syndrome >> 5) != 0;
    bool is_data = pkt->op->flags & (ROCE_PKT_READ_RESP | ROCE_PKT_ATOMICACKETH);
    uint32_t end_psn = is_nak ? pkt->bth.psn : roce_psn_add(pkt->bth.psn, 1);
    if (m->is_early) {
        note_early(&state->way[direction], end_psn);
        state->shown.way[direction].bytes += m->new_bytes;
        return 0;
    }
    renumber(&state->way[direction], m);
    unsigned n = acknowledge(state, direction, end_psn, packet, done, max);
    state->shown.way[direction].bytes += m->new_bytes;
    struct open_operation *op =
        is_data && m->answers ? find_asked(&state->way[direction], m->answers, pkt->bth.psn) : NULL;
    if (!op)
        return n;
    op->answered += m->new_bytes;
    bool is_end = !(pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE));
    if (is_end && (pkt->op->flags & ROCE_PKT_ATOMICACKETH || op->answered >= op->is.bytes))
        n += complete(state, op, direction, packet, done + n, max - n);
    return n;
}

static void note_holes(struct explain_flow_numbers *shown, const struct explain_meaning *m)
{
    for (unsigned i = 0; i < m->remark_count; i++)
        shown->is_holey |= m->remarks[i].why.cause == EXPLAIN_CAUSE_CAPTURE_DROPPED;
}

static void move_operations(struct way *way, uint32_t flow, unsigned direction)
{
    for (unsigned i = 0; i < way->open_count; i++) {
        way->open[i].is.flow = flow;
        way->open[i].is.direction = direction;
    }
}

/* What was reckoned of two directions goes with them. A flow beyond those that have numbers gives none. */
static void exchange(struct explain_numbers *numbers, const struct explain_exchange *e)
{
    struct flow_state *a = state_of(numbers, e->flow[0]), *b = state_of(numbers, e->flow[1]);
    if (a && b) {
        swap_values(a->way[e->way[0]], b->way[e->way[1]]);
        swap_values(a->shown.way[e->way[0]], b->shown.way[e->way[1]]);
        move_operations(&a->way[e->way[0]], e->flow[0], e->way[0]);
        move_operations(&b->way[e->way[1]], e->flow[1], e->way[1]);
        a->shown.is_holey = b->shown.is_holey = a->shown.is_holey || b->shown.is_holey;
    } else if (a || b) {
        struct flow_state *s = a ? a : b;
        unsigned way = e->way[a ? 0 : 1];
        s->way[way] = (struct way){0};
        s->shown.way[way] = (struct explain_way_numbers){0};
    }
}

unsigned explain_numbers_take(struct explain_numbers *numbers, const struct explain_packet *packet,
                              const struct explain_meaning *m, struct explain_operation *done, unsigned max)
{
    if (m->exchanged.flow[0])
        exchange(numbers, &m->exchanged);
    struct flow_state *state = state_of(numbers, m->flow);
    const struct roce_pkt *pkt = &packet->roce;
    if (!state || m->is_copy || packet->verdict != ROCE_RX_TAKEN || !(pkt->op->flags & ROCE_PKT_DEFINED) ||
        pkt->op->flags & ROCE_PKT_CNP || packet->kind == EXPLAIN_CM)
        return 0;
    struct explain_way_numbers *sender = &state->shown.way[m->direction];
    if (!sender->first_ns)
        sender->first_ns = packet->time_ns;
    sender->last_ns = max_u64(sender->last_ns, packet->time_ns);
    note_holes(&state->shown, m);
    if (pkt->op->flags & ROCE_PKT_DETH) { /* it is not answered */
        state->shown.way[m->direction].requests++;
        state->shown.way[m->direction].bytes += m->new_bytes;
        return 0;
    }
    if (pkt->op->flags & ROCE_PKT_RESPONSE)
        return take_answer(state, packet, m, done, max);
    take_request(state, packet, m);
    return 0;
}
