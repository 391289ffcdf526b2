/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/story/numbers.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "roce/psn.h"

#define OPEN_MAX 64 /* operations of a direction that wait for their answers; the oldest makes room */

/* An operation that is under way. It is known by the PSN of its first packet: numbers of messages are put
 * right by what comes later. */
struct open_operation {
    struct explain_operation is;
    uint32_t first_psn;
    bool is_sent_whole; /* its last packet was seen, */
    uint32_t last_psn;  /* with this PSN */
    bool has_answer;    /* READ or atomic: an answer of its own completes it, an ACK does not */
};

struct way {
    struct open_operation open[OPEN_MAX]; /* the first `open_count`, in the order in which they began */
    unsigned open_count;
    bool has_sent, has_acked;
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

double explain_goodput(const struct explain_flow_numbers *numbers, unsigned direction)
{
    uint64_t ns = numbers->last_ns - numbers->first_ns;
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

static bool is_sent_again(const struct explain_meaning *m)
{
    for (unsigned i = 0; i < m->remark_count; i++) {
        enum explain_finding_kind kind = m->remarks[i].kind;
        if (kind == EXPLAIN_FIND_RETRANSMISSION || kind == EXPLAIN_FIND_TIMEOUT ||
            kind == EXPLAIN_FIND_READ_REPLAY)
            return true;
    }
    return false;
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

static struct open_operation *find(struct way *way, uint32_t first_psn)
{
    for (unsigned i = 0; i < way->open_count; i++)
        if (way->open[i].first_psn == first_psn)
            return &way->open[i];
    return NULL;
}

static void forget(struct way *way, struct open_operation *op)
{
    unsigned behind = way->open_count - (unsigned)(op - way->open) - 1;
    memmove(op, op + 1, behind * sizeof *op);
    way->open_count--;
}

/* The operation that a packet belongs to, begun if need be. NULL: it was answered before. */
static struct open_operation *begin(struct way *way, const struct explain_packet *packet,
                                    const struct explain_meaning *m)
{
    uint32_t first_psn = (packet->roce.bth.psn - (m->piece ? m->piece - 1 : 0)) & ROCE_PSN_MASK;
    struct open_operation *op = find(way, first_psn);
    if (op)
        return op;
    if (way->has_acked && roce_psn_diff(packet->roce.bth.psn, way->una_psn) < 0)
        return NULL;
    if (way->open_count == OPEN_MAX)
        forget(way, way->open);
    op = &way->open[way->open_count++];
    *op = (struct open_operation){.first_psn = first_psn,
                                  .is = {.flow = m->flow,
                                         .direction = m->direction,
                                         .message = m->message,
                                         .opcode = packet->roce.bth.opcode,
                                         .first_number = packet->number,
                                         .begin_ns = packet->time_ns}};
    return op;
}

static void take_request(struct flow_state *state, const struct explain_packet *packet,
                         const struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct way *way = &state->way[m->direction];
    struct explain_way_numbers *shown = &state->shown.way[m->direction];
    uint32_t flags = pkt->op->flags, end_psn = roce_psn_add(pkt->bth.psn, 1);
    uint64_t silence_ns;
    bool is_again = is_sent_again(m);
    shown->requests++;
    shown->again += is_again;
    shown->bytes += is_again ? 0 : pkt->payload_bytes;
    if (explain_pause_of(m, &silence_ns) != EXPLAIN_CAUSE_NONE) {
        shown->pauses++;
        shown->paused_ns += silence_ns;
    }
    if (!way->has_sent || roce_psn_diff(end_psn, way->next_psn) > 0)
        way->next_psn = end_psn;
    way->has_sent = true;
    if (way->has_acked && roce_psn_diff(way->next_psn, way->una_psn) > (int32_t)shown->most_psns)
        shown->most_psns = (uint32_t)roce_psn_diff(way->next_psn, way->una_psn);
    if (!m->message)
        return;
    struct open_operation *op = begin(way, packet, m);
    if (!op)
        return;
    op->is.packets++;
    op->is.again += is_again;
    op->has_answer = flags & (ROCE_PKT_READ | ROCE_PKT_ATOMIC);
    op->is.bytes = max_u64(op->is.bytes, op->has_answer ? flags & ROCE_PKT_READ ? m->bytes_total : 8
                                                        : max_u64(m->bytes_done, m->bytes_total));
    if (flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY | ROCE_PKT_READ | ROCE_PKT_ATOMIC)) {
        op->is_sent_whole = true;
        op->last_psn = pkt->bth.psn;
    }
}

/* --- answers --- */

static unsigned complete(struct flow_state *state, struct open_operation *op, unsigned direction,
                         const struct explain_packet *packet, struct explain_operation *done, unsigned max)
{
    op->is.end_number = packet->number;
    op->is.latency_ns = packet->time_ns > op->is.begin_ns ? packet->time_ns - op->is.begin_ns : 0;
    histogram_add(&state->shown.way[direction].latency_ns, op->is.latency_ns);
    if (max)
        *done = op->is;
    forget(&state->way[direction], op);
    return max ? 1 : 0;
}

/* All that was sent whole before `end_psn`, but for what has an answer of its own. */
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
        if (op->is_sent_whole && !op->has_answer && roce_psn_diff(op->last_psn, end_psn) < 0)
            n += complete(state, op, direction, packet, done + n, max - n);
        else
            i++;
    }
    return n;
}

static unsigned take_answer(struct flow_state *state, const struct explain_packet *packet,
                            const struct explain_meaning *m, struct explain_operation *done, unsigned max)
{
    const struct roce_pkt *pkt = &packet->roce;
    unsigned direction = 1 - m->direction;
    struct explain_way_numbers *shown = &state->shown.way[direction];
    bool is_nak = pkt->op->flags & ROCE_PKT_AETH && (pkt->aeth.syndrome >> 5) != 0;
    bool is_data = pkt->op->flags & (ROCE_PKT_READ_RESP | ROCE_PKT_ATOMICACKETH);
    uint32_t end_psn = is_nak ? pkt->bth.psn : roce_psn_add(pkt->bth.psn, 1);
    unsigned n = acknowledge(state, direction, end_psn, packet, done, max);
    if (is_data && !is_sent_again(m))
        shown->bytes += pkt->payload_bytes;
    uint32_t first_psn = (pkt->bth.psn - (m->piece ? m->piece - 1 : 0)) & ROCE_PSN_MASK;
    struct open_operation *op = is_data ? find(&state->way[direction], first_psn) : NULL;
    if (op && op->has_answer && m->piece >= m->pieces)
        n += complete(state, op, direction, packet, done + n, max - n);
    return n;
}

unsigned explain_numbers_take(struct explain_numbers *numbers, const struct explain_packet *packet,
                              const struct explain_meaning *m, struct explain_operation *done, unsigned max)
{
    struct flow_state *state = state_of(numbers, m->flow);
    const struct roce_pkt *pkt = &packet->roce;
    if (!state || m->is_copy || packet->verdict != ROCE_RX_TAKEN || !(pkt->op->flags & ROCE_PKT_DEFINED) ||
        pkt->op->flags & (ROCE_PKT_CNP | ROCE_PKT_DETH))
        return 0;
    if (!state->shown.first_ns)
        state->shown.first_ns = packet->time_ns;
    state->shown.last_ns = max_u64(state->shown.last_ns, packet->time_ns);
    if (pkt->op->flags & ROCE_PKT_RESPONSE)
        return take_answer(state, packet, m, done, max);
    take_request(state, packet, m);
    return 0;
}
