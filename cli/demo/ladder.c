/* SPDX-License-Identifier: BSD-2-Clause */
/* Recording, and matching what one side sent with what the other received. Printing is in ladder_print.c. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "cli/demo/ladder.h"
#include "net/bytes.h"
#include "roce/psn.h"
#include "roce/roce.h"

/* A round of progress reads the clock once, before it looks for frames; a frame sent meanwhile by another
 * thread carries a later time than its reception. */
#define CLOCK_SLACK_NS 20000000u
/* How far back, in packets, a late (reordered) packet is looked for. */
#define REORDER_PKTS 64u

size_t ladder_log_bytes(uint32_t capacity)
{
    return sizeof(struct ladder_log) + capacity * sizeof(struct ladder_event);
}

void ladder_log_init(struct ladder_log *log, uint32_t capacity)
{
    log->capacity = capacity;
    log->count = 0;
    log->missed = 0;
}

static struct ladder_event *next_event(struct ladder_log *log)
{
    if (log->count == log->capacity) {
        log->missed++;
        return NULL;
    }
    return &log->events[log->count++];
}

static void copy_packet(struct ladder_event *e, const struct roce_pkt *pkt)
{
    uint8_t imm[4];

    e->opcode = pkt->bth.opcode;
    e->qpn = pkt->bth.dest_qpn;
    e->psn = pkt->bth.psn;
    e->ack_req = pkt->bth.ack_req;
    e->solicited = pkt->bth.se;
    e->ip_id = pkt->l3_kind == ROCE_L3_IPV4 ? get_be16(pkt->l3 + 4) : 0;
    e->payload_bytes = pkt->payload_bytes;
    e->syndrome = pkt->aeth.syndrome;
    e->msn = pkt->aeth.msn;
    e->original = pkt->atomicacketh.original;
    e->compare = pkt->atomiceth.compare;
    e->swap_add = pkt->atomiceth.swap_add;
    bool atomic = roce_opcodes[e->opcode].flags & ROCE_PKT_ATOMICETH;
    e->va = atomic ? pkt->atomiceth.va : pkt->reth.va;
    e->rkey = atomic ? pkt->atomiceth.rkey : pkt->reth.rkey;
    e->dma_len = pkt->reth.dma_len;
    memcpy(imm, pkt->immdt.imm_data, sizeof imm);
    e->imm = get_be32(imm);
    if (roce_opcodes[e->opcode].flags & ROCE_PKT_SACKETH) {
        e->is_probe = pkt->sacketh.probe;
        e->is_offer = !pkt->sacketh.known;
        for (uint32_t i = 0; i < pkt->payload_bytes; i++)
            e->kept_pkts += (uint32_t)__builtin_popcount(pkt->payload[i]);
    }
}

/* False: not a packet that a ladder can show (too short to have a BTH, or none of ours). */
static bool record_packet(struct ladder_log *log, const struct roce_trace *t)
{
    struct roce_pkt parsed;
    const struct roce_pkt *pkt = t->pkt;

    if (log->count == log->capacity) {
        log->missed++;
        return true;
    }
    if (!pkt) {
        enum roce_rx_verdict v =
            roce_pkt_parse(&parsed, t->frame, t->frame_bytes, ROCE_PARSE_SKIP_ICRC | ROCE_PARSE_V1);
        if (v != ROCE_RX_TAKEN)
            return false;
        pkt = &parsed;
    }
    if (!pkt->op)
        return false;
    struct ladder_event *e = next_event(log);
    *e = (struct ladder_event){.time_ns = t->now_ns,
                               .kind = t->kind == ROCE_TRACE_PKT_TX ? LADDER_TX : LADDER_RX,
                               .verdict = (uint8_t)t->verdict};
    copy_packet(e, pkt);
    return true;
}

void ladder_record(void *ctx, const struct roce_trace *t)
{
    struct ladder_log *log = ctx;
    enum ladder_kind kind = LADDER_QP_STATE;

    switch (t->kind) {
    case ROCE_TRACE_PKT_TX:
    case ROCE_TRACE_PKT_RX:
        record_packet(log, t);
        return;
    case ROCE_TRACE_QP_STATE:
        kind = LADDER_QP_STATE;
        break;
    case ROCE_TRACE_RETRANSMIT:
        kind = LADDER_RETRANSMIT;
        break;
    case ROCE_TRACE_RNR_WAIT:
        kind = LADDER_RNR_WAIT;
        break;
    }
    struct ladder_event *e = next_event(log);
    if (e)
        *e = (struct ladder_event){.time_ns = t->now_ns,
                                   .kind = (uint8_t)kind,
                                   .cause = (uint8_t)t->cause,
                                   .from_state = (uint8_t)t->from_state,
                                   .to_state = (uint8_t)t->to_state,
                                   .qpn = t->qpn,
                                   .psn = t->psn,
                                   .wait_ns = t->wait_ns};
}

void ladder_note(struct ladder_log *log, uint64_t now_ns, uint32_t note)
{
    struct ladder_event *e = next_event(log);
    if (e)
        *e = (struct ladder_event){.time_ns = now_ns, .kind = LADDER_NOTE, .note = note};
}

static bool same_packet(const struct ladder_event *a, const struct ladder_event *b)
{
    return a->psn == b->psn && a->opcode == b->opcode && a->ip_id == b->ip_id && a->qpn == b->qpn &&
           a->payload_bytes == b->payload_bytes && a->syndrome == b->syndrome && a->msn == b->msn;
}

static uint32_t next_tx(const struct ladder_log *log, uint32_t i)
{
    while (i < log->count && log->events[i].kind != LADDER_TX)
        i++;
    return i;
}

/* What was sent that `rx` is: of equal packets the last one sent before it arrived. Returns its index in
 * `tx`, or tx->count. */
static uint32_t find_sent(const struct ladder_log *tx, const uint32_t *match, uint32_t from,
                          const struct ladder_event *rx)
{
    uint32_t best = tx->count;

    for (uint32_t i = next_tx(tx, from); i < tx->count; i = next_tx(tx, i + 1)) {
        const struct ladder_event *e = &tx->events[i];
        if (e->time_ns > rx->time_ns + CLOCK_SLACK_NS || (e->time_ns > rx->time_ns && best < tx->count))
            break;
        if (match[i] == UINT32_MAX && same_packet(e, rx))
            best = i;
    }
    return best;
}

/* For each event of `tx` that was received the index of the reception in `rx`, else UINT32_MAX; and the same
 * the other way round. Returns the last event of `tx` that arrived, or UINT32_MAX. */
static uint32_t match_logs(const struct ladder_log *tx, const struct ladder_log *rx, uint32_t *match,
                           uint32_t *back)
{
    uint32_t from = 0, last = UINT32_MAX;

    for (uint32_t i = 0; i < tx->count; i++)
        if (tx->events[i].kind == LADDER_TX)
            match[i] = UINT32_MAX;
    for (uint32_t j = 0; j < rx->count; j++) {
        if (rx->events[j].kind != LADDER_RX)
            continue;
        uint32_t i = find_sent(tx, match, from, &rx->events[j]);
        back[j] = i < tx->count ? i : UINT32_MAX;
        if (i == tx->count)
            continue;
        match[i] = j;
        if (last == UINT32_MAX || i > last)
            last = i;
        from = last > REORDER_PKTS ? last - REORDER_PKTS : 0;
    }
    return last;
}

/* The newest PSN sent to each QP, of the few that a ladder is about. */
#define PSN_SLOTS 64u
struct newest_psn {
    uint32_t qpn, psn;
    bool known;
};

/* Whether `e` is a request that was sent before (ROCE-RC-42). */
static bool is_sent_again(struct newest_psn slots[PSN_SLOTS], const struct ladder_event *e)
{
    struct newest_psn *newest = &slots[e->qpn % PSN_SLOTS];

    if (!(roce_opcodes[e->opcode].flags & ROCE_PKT_REQUEST))
        return false;
    if (newest->known && newest->qpn == e->qpn && roce_psn_diff(e->psn, newest->psn) <= 0)
        return true;
    *newest = (struct newest_psn){e->qpn, e->psn, true};
    return false;
}

/* Rows for the events of one log. A reception that was matched is in the row of its sending. */
static void add_rows(struct ladder *ladder, const struct ladder_log *log, const struct ladder_log *peer,
                     const uint32_t *match, uint32_t last_arrived, bool is_left)
{
    struct newest_psn newest[PSN_SLOTS] = {{0}};

    for (uint32_t i = 0; i < log->count; i++) {
        const struct ladder_event *e = &log->events[i], *other = NULL;
        bool is_tx = e->kind == LADDER_TX;
        if (e->kind == LADDER_RX && match[i] != UINT32_MAX)
            continue;
        if (is_tx && match[i] != UINT32_MAX)
            other = &peer->events[match[i]];
        ladder->rows[ladder->count++] = (struct ladder_row){
            .time_ns = other && other->time_ns < e->time_ns ? other->time_ns : e->time_ns,
            .order = i,
            .left = is_left ? e : other,
            .right = is_left ? other : e,
            .to_right = is_tx == is_left,
            .lost = is_tx && !other && last_arrived != UINT32_MAX && i < last_arrived,
            .is_again = is_tx && is_sent_again(newest, e),
        };
    }
}

/* Within one round of progress, which has one time: what came, what was decided, what was sent. */
static int stage(const struct ladder_row *row)
{
    const struct ladder_event *sender = row->to_right ? row->left : row->right;
    const struct ladder_event *e = row->left ? row->left : row->right;

    if (e->kind != LADDER_TX && e->kind != LADDER_RX)
        return 1;
    return sender && sender->kind == LADDER_TX && sender->time_ns == row->time_ns ? 2 : 0;
}

static int by_time(const void *a, const void *b)
{
    const struct ladder_row *x = a, *y = b;
    if (x->time_ns != y->time_ns)
        return x->time_ns < y->time_ns ? -1 : 1;
    if (stage(x) != stage(y))
        return stage(x) - stage(y);
    return x->order < y->order ? -1 : x->order > y->order;
}

struct ladder *ladder_merge(const struct ladder_log *left, const struct ladder_log *right)
{
    static const struct ladder_log nobody;
    const struct ladder_log *b = right ? right : &nobody;
    size_t total = (size_t)left->count + b->count;
    struct ladder *ladder = malloc(sizeof *ladder + total * sizeof ladder->rows[0]);
    uint32_t *match = malloc((total + 1) * sizeof *match);

    if (ladder && match) {
        memset(match, 0xff, (total + 1) * sizeof *match);
        uint32_t *match_b = match + left->count;
        uint32_t last_left = match_logs(left, b, match, match_b);
        uint32_t last_right = match_logs(b, left, match_b, match);
        ladder->count = 0;
        add_rows(ladder, left, b, match, last_left, true);
        add_rows(ladder, b, left, match_b, last_right, false);
        qsort(ladder->rows, ladder->count, sizeof ladder->rows[0], by_time);
    } else {
        free(ladder);
        ladder = NULL;
    }
    free(match);
    return ladder;
}

static const struct ladder_event *row_event(const struct ladder_row *row)
{
    return row->left ? row->left : row->right;
}

/* Whether `row` is the copy of the lost packet `gone` that was taken. */
static bool is_resent_copy(const struct ladder_row *row, const struct ladder_row *gone)
{
    const struct ladder_event *sent = row->to_right ? row->left : row->right;
    const struct ladder_event *got = row->to_right ? row->right : row->left;
    return sent && got && sent->kind == LADDER_TX && row->to_right == gone->to_right &&
           sent->psn == row_event(gone)->psn && got->verdict == ROCE_RX_TAKEN;
}

/* The row in which the loss at row `lost` is mended, or ladder->count; `*causes`: a bit for each cause for
 * which its sender sent again meanwhile. */
static uint32_t find_mended(const struct ladder *ladder, uint32_t lost, uint32_t *causes)
{
    static_assert(ROCE_CAUSE_COUNT <= 32, "a bit for each");
    *causes = 0;
    for (uint32_t i = lost + 1; i < ladder->count; i++) {
        const struct ladder_row *row = &ladder->rows[i];
        const struct ladder_event *e = row_event(row);
        if (e->kind == LADDER_RETRANSMIT)
            *causes |= UINT32_C(1) << e->cause;
        if (*causes && is_resent_copy(row, &ladder->rows[lost]))
            return i;
    }
    return ladder->count;
}

bool ladder_find_recovery(const struct ladder *ladder, enum roce_cause cause, uint32_t *first,
                          uint32_t *count)
{
    const uint32_t before = 2, after = 3, tries = 64;

    *count = UINT32_MAX;
    for (uint32_t i = 0, tried = 0; i < ladder->count && tried < tries; i++) {
        if (!ladder->rows[i].lost)
            continue;
        tried++;
        uint32_t causes;
        uint32_t end = find_mended(ladder, i, &causes);
        if (end == ladder->count || (cause < ROCE_CAUSE_COUNT && !(causes >> cause & 1)))
            continue;
        uint32_t from = i > before ? i - before : 0;
        end = end + after < ladder->count ? end + after : ladder->count - 1;
        if (end - from + 1 < *count) {
            *first = from;
            *count = end - from + 1;
        }
    }
    return *count < UINT32_MAX;
}
