/* SPDX-License-Identifier: BSD-2-Clause */
/* Messages are counted as they begin. If packets are missing, the count behind them may be wrong, and a
 * packet that seems to begin a message may go on with one: a LAST without its FIRST is a piece of an unknown
 * message. Two things put it right: the missing packets, if they come after all, and the MSN of the next
 * answer to everything, which counts the messages that the receiver has completed (ROCE-RS-50). */
#include "explain/flow/message/message.h"

#include "explain/flow/message/pmtu.h"
#include "roce/psn.h"

#define WALK_MAX 1024 /* packets behind a gap that get another message */
#define GAP_MAX  4096 /* messages that a gap may hold: more is another count */
#define KINDS    (ROCE_PKT_SEND | ROCE_PKT_WRITE)

/* A packet with a reserved opcode, or one of a manufacturer, takes a PSN as any request, and Linux answers it
 * with a NAK (ROCE-INT-17). It counts as a message of its own, since its message is not known. */
static bool begins(uint32_t flags)
{
    return flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY) || !(flags & ROCE_PKT_DEFINED);
}

static bool ends(uint32_t flags)
{
    return flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY) || !(flags & ROCE_PKT_DEFINED);
}

static bool goes_on(uint32_t flags)
{
    return flags & (ROCE_PKT_MIDDLE | ROCE_PKT_LAST);
}

static void begin(struct explain_half *half, struct explain_flow *flow, unsigned direction,
                  const struct roce_pkt *pkt)
{
    half->message.is_begun_before |= half->message.count == 0 && !begins(pkt->op->flags);
    half->message.count++;
    flow->messages[direction]++;
    half->message.is_open = true;
    half->message.is_headless = !begins(pkt->op->flags);
    half->message.opcode = pkt->bth.opcode;
    half->message.psn = pkt->bth.psn;
    half->message.bytes = 0;
    half->message.total = pkt->op->flags & ROCE_PKT_RETH ? pkt->reth.dma_len : 0;
}

static uint32_t piece_of(const struct explain_half *half, uint32_t psn)
{
    return ((psn - half->message.psn) & ROCE_PSN_MASK) + 1;
}

/* Whether a packet that goes on with a message can go on with the one in progress. */
static bool continues(const struct explain_half *half, const struct roce_pkt *pkt, uint32_t pmtu_bytes)
{
    if (!half->message.is_open ||
        (roce_opcodes[half->message.opcode].flags & KINDS) != (pkt->op->flags & KINDS))
        return false;
    return half->message.is_headless || !half->message.total ||
           piece_of(half, pkt->bth.psn) <= explain_pieces_of(half->message.total, pmtu_bytes);
}

/* The place in the message in progress. */
static void put_place(struct explain_half *half, const struct roce_pkt *pkt, uint32_t pmtu_bytes,
                      struct explain_meaning *m)
{
    uint32_t flags = pkt->op->flags, piece = piece_of(half, pkt->bth.psn);
    m->message = half->message.count;
    if (pmtu_bytes) /* right behind a gap too */
        half->message.bytes = (uint64_t)(piece - 1) * pmtu_bytes;
    half->message.bytes += pkt->payload_bytes;
    m->bytes_done = half->message.bytes;
    if (half->message.is_headless)
        return;
    m->piece = piece;
    if (ends(flags))
        m->pieces = piece;
    else if (half->message.total)
        m->pieces = explain_pieces_of(half->message.total, pmtu_bytes);
    m->bytes_total = half->message.total ? half->message.total : m->pieces == piece ? m->bytes_done : 0;
}

void explain_message_next(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                          struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t pmtu_bytes = explain_pmtu_of(pair, half);
    if (!goes_on(pkt->op->flags) || !continues(half, pkt, pmtu_bytes))
        begin(half, &pair->shown, direction, pkt);
    put_place(half, pkt, pmtu_bytes, m);
    if (pkt->op->flags & (ROCE_PKT_READ | ROCE_PKT_ATOMIC))
        m->bytes_done = 0;
    if (ends(pkt->op->flags))
        half->message.is_open = false;
}

void explain_message_again(const struct explain_sent *before, struct explain_meaning *m)
{
    m->message = before->message;
    m->piece = before->piece;
    m->bytes_done = before->bytes_done;
}

/* --- packets that come into a gap --- */

void explain_message_join(struct explain_half *half, uint32_t psn)
{
    const struct explain_sent *head = explain_sent_find(&half->history, psn);
    if (!head || !head->piece || roce_opcodes[head->opcode].flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY))
        return;
    uint64_t message = head->message, bytes = head->bytes_done;
    uint32_t piece = head->piece;
    for (uint32_t i = 1; i <= WALK_MAX; i++) {
        struct explain_sent *next = explain_sent_find(&half->history, roce_psn_add(psn, i));
        if (!next || next->piece || !goes_on(roce_opcodes[next->opcode].flags))
            return;
        next->message = message;
        next->piece = piece + i;
        next->bytes_done += bytes;
        if (half->message.is_open && half->message.is_headless &&
            half->asks.next_psn == roce_psn_add(next->psn, 1)) {
            half->message.is_headless = false;
            half->message.psn = roce_psn_add(psn, (ROCE_PSN_MASK + 2 - piece) & ROCE_PSN_MASK);
            half->message.bytes = next->bytes_done;
        }
    }
}

/* So many messages more lie before `psn`: those behind count on. */
static void renumber(struct explain_half *half, uint32_t psn, int32_t by, struct explain_meaning *m)
{
    m->more_messages = by;
    m->more_psn = psn;
    uint32_t count = min_u32((half->asks.next_psn - psn) & ROCE_PSN_MASK, WALK_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct explain_sent *s = explain_sent_find(&half->history, roce_psn_add(psn, i));
        struct explain_read *r = s ? explain_read_find(&half->reads, s->psn) : NULL;
        if (s && s->message)
            s->message = explain_message_moved(s->message, by);
        if (r && r->psn == s->psn)
            r->message = explain_message_moved(r->message, by);
    }
    half->message.count = explain_message_moved(half->message.count, by);
}

static const struct explain_sent *before_of(const struct explain_half *half, uint32_t psn)
{
    const struct explain_read *r = explain_read_find(&half->reads, roce_psn_add(psn, ROCE_PSN_MASK));
    return explain_sent_find(&half->history, r ? r->psn : roce_psn_add(psn, ROCE_PSN_MASK));
}

/* The number of the message that begins at `psn`, which was left out. */
static uint64_t number_at(const struct explain_half *half, uint32_t psn, const struct explain_sent *behind)
{
    const struct explain_sent *before = before_of(half, psn);
    if (before && before->message)
        return before->message + 1;
    return behind && behind->message ? behind->message : half->message.count;
}

void explain_message_fill(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                          struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t psn = pkt->bth.psn, flags = pkt->op->flags, pmtu_bytes = explain_pmtu_of(pair, half);
    const struct explain_sent *before = before_of(half, psn),
                              *behind = explain_sent_find(&half->history, roce_psn_add(psn, 1));
    if (flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY | ROCE_PKT_READ | ROCE_PKT_ATOMIC)) {
        bool has_rest = flags & ROCE_PKT_FIRST && behind && goes_on(roce_opcodes[behind->opcode].flags);
        m->message = has_rest ? behind->message : number_at(half, psn, behind);
        if (!has_rest) {
            renumber(half, roce_psn_add(psn, 1), 1, m);
            pair->shown.messages[direction]++;
        }
        half->message.is_begun_before &= m->message != 1; /* its beginning was late */
        m->piece = 1;
        m->bytes_done = flags & (ROCE_PKT_READ | ROCE_PKT_ATOMIC) ? 0 : pkt->payload_bytes;
        m->bytes_total = flags & ROCE_PKT_RETH   ? pkt->reth.dma_len
                         : flags & ROCE_PKT_ONLY ? m->bytes_done
                                                 : 0;
    } else if (before && before->piece &&
               !(roce_opcodes[before->opcode].flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY))) {
        m->message = before->message;
        m->piece = before->piece + 1;
        m->bytes_done = before->bytes_done + pkt->payload_bytes;
    }
    m->pieces = flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY) ? m->piece
                : m->bytes_total && m->piece            ? explain_pieces_of(m->bytes_total, pmtu_bytes)
                                                        : 0;
}

/* The count before the first message is not known yet. More messages than the MSN says were counted since:
 * pieces on both sides of the gap are of one. */
static bool is_overcounted(const struct explain_half *half, int32_t base)
{
    return half->capture.gap.is_uncounted && base < 0 && base > -GAP_MAX &&
           half->message.count + (uint64_t)(int64_t)base >= 1;
}

int32_t explain_message_recount(struct explain_pair *pair, unsigned direction, uint32_t msn,
                                struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    uint32_t begun = (uint32_t)half->message.count & ROCE_PSN_MASK;
    int32_t more = half->msn.is_known ? roce_psn_diff(msn, roce_psn_add(half->msn.base, begun)) : 0;
    bool is_asked = half->capture.gap.is_uncounted;
    int32_t base = roce_psn_diff(msn, begun);
    if (!half->msn.is_known && is_overcounted(half, base)) {
        half->msn.is_known = true;
        half->msn.base = 0;
        more = base;
    } else if (!half->msn.is_known ||
               (is_asked && (more > GAP_MAX || more < -GAP_MAX || half->message.count + more < 1))) {
        half->msn.is_known = true;
        half->msn.base = (msn - begun) & ROCE_PSN_MASK;
        more = 0;
    }
    half->capture.gap.is_uncounted = false;
    if (!is_asked || !more)
        return 0;
    renumber(half, half->capture.gap.end_psn, more, m);
    pair->shown.messages[direction] = explain_message_moved(pair->shown.messages[direction], more);
    return more;
}
