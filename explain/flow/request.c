/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of a connected QP: those that are new, and which of the others is what. */
#include "explain/flow/request.h"

#include <inttypes.h>

#include "explain/flow/again/again.h"
#include "explain/flow/again/notes.h"
#include "explain/flow/early.h"
#include "explain/flow/gap.h"
#include "explain/flow/message/describe.h"
#include "explain/flow/message/message.h"
#include "explain/flow/message/pmtu.h"
#include "explain/flow/pair/count.h"
#include "explain/packet/sender.h"
#include "roce/psn.h"

#define PMTU_GUESS 1024 /* until a packet tells */

/* Remembers a READ or an atomic; returns how many PSNs it takes. */
static uint32_t remember_read(struct explain_half *half, const struct explain_packet *packet,
                              uint32_t pmtu_bytes, uint64_t message)
{
    const struct roce_pkt *pkt = &packet->roce;
    bool is_read = pkt->op->flags & ROCE_PKT_READ;
    uint32_t bytes = is_read ? pkt->reth.dma_len : 8;
    uint32_t span = is_read ? explain_pieces_of(bytes, pmtu_bytes ? pmtu_bytes : PMTU_GUESS) : 1;
    struct explain_read *r = explain_read_add(&half->reads);
    if (r)
        *r = (struct explain_read){.number = packet->number,
                                   .message = message,
                                   .psn = pkt->bth.psn,
                                   .span = span,
                                   .bytes = bytes,
                                   .opcode = pkt->bth.opcode};
    return span;
}

static void remember(struct explain_half *half, const struct explain_packet *packet,
                     const struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_sent *s = explain_sent_slot(&half->history, pkt->bth.psn,
                                               half->recovery ? EXPLAIN_SENT_AGAIN : EXPLAIN_SENT_LEAST);
    if (!s)
        return;
    s->number = packet->number;
    s->first_ns = s->time_ns = packet->time_ns;
    s->message = m->message;
    s->bytes_done = m->bytes_done;
    s->piece = m->piece;
    s->ip_id = explain_ip_id(packet);
    s->opcode = pkt->bth.opcode;
    s->ack_req = pkt->bth.ack_req;
    s->is_answered = false;
    s->is_unchecked = packet->cut.is_end;
}

#define READ_OR_ATOMIC (ROCE_PKT_READ | ROCE_PKT_ATOMIC)

/* The packet is the next one, or comes after a gap. */
static void take_new(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                     struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t flags = pkt->op->flags, span = 1;
    half->asks.rounds += half->acks.is_known && half->acks.una_psn == pkt->bth.psn;
    explain_pmtu_learn(pair, half, pkt);
    explain_message_next(pair, direction, packet, m);
    half->asks.is_guessed = false;
    if (flags & READ_OR_ATOMIC) {
        half->asks.is_guessed = flags & ROCE_PKT_READ && explain_pmtu_is_guess(pair, direction);
        span = remember_read(half, packet, explain_pmtu_of(pair, half), m->message);
    }
    remember(half, packet, m);
    half->asks.next_psn = roce_psn_add(pkt->bth.psn, span);
    explain_note_new(half, &pair->ids[direction], packet);
    explain_describe(packet, m);
}

/* PSNs were left out: they are on their way, or were lost, or the capture missed them. `answer` has shown
 * already that they arrived; 0: none has. */
static void remark_gap(struct explain_half *half, const struct explain_packet *packet, uint32_t from_psn,
                       uint64_t answer, struct explain_meaning *m)
{
    struct explain_why why = {.cause = EXPLAIN_CAUSE_UNKNOWN};
    uint32_t psn = packet->roce.bth.psn, last = roce_psn_add(psn, ROCE_PSN_MASK);
    uint32_t count = (psn - from_psn) & ROCE_PSN_MASK;
    bool is_open = half->capture.gap.number && !half->capture.gap.is_covered;
    half->capture.gap = (struct explain_gap){.number = packet->number,
                                             .psn = is_open ? half->capture.gap.psn : from_psn,
                                             .end_psn = psn,
                                             .is_uncounted = true};
    if (answer)
        explain_gap_judge(half, answer, NULL, m);
    if (half->capture.is_unseen || half->capture.gap.is_covered)
        return;
    struct explain_finding *f =
        count == 1 ? explain_remark(m, EXPLAIN_FIND_PSN_GAP, "ROCE-RS-10", 0, 0,
                                    "one packet is missing before this: PSN 0x%06x", last)
                   : explain_remark(m, EXPLAIN_FIND_PSN_GAP, "ROCE-RS-10", 0, 0,
                                    "%u packets are missing before this: PSN 0x%06x to 0x%06x", count,
                                    from_psn, last);
    if (f)
        f->packets = count;
    explain_weather_tell(
        half->weather,
        &(struct explain_missing){.qpn = packet->roce.bth.dest_qpn, .psn = from_psn, .count = count}, &why);
    explain_because(f, &why);
}

/* A PSN before the newest that was not seen yet. */
static void take_left_out(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                          struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_read *read = explain_read_find(&half->reads, pkt->bth.psn);
    if (read && pkt->op->flags & ROCE_PKT_READ) {
        explain_again_rest(pair, direction, packet, read, m);
        return;
    }
    explain_pmtu_learn(pair, half, pkt);
    explain_message_fill(pair, direction, packet, m);
    explain_again_unseen(pair, direction, packet, m);
    if (pkt->op->flags & READ_OR_ATOMIC)
        remember_read(half, packet, explain_pmtu_of(pair, half), m->message);
    remember(half, packet, m);
    explain_message_join(half, pkt->bth.psn);
}

static void take(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                 struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    uint32_t psn = packet->roce.bth.psn, next = half->asks.next_psn;
    if (half->asks.is_guessed && psn != next)
        explain_pmtu_resolve(pair, half, psn);
    int32_t ahead = half->asks.has_any ? roce_psn_diff(psn, half->asks.next_psn) : 0;
    if (ahead < 0) {
        struct explain_sent *before = explain_sent_find(&half->history, psn);
        if (before)
            explain_again_seen(pair, direction, packet, before, m);
        else
            take_left_out(pair, direction, packet, m);
        return;
    }
    next = half->asks.next_psn;
    if (!half->asks.has_any)
        half->asks.first_psn = psn;
    half->asks.has_any = true;
    take_new(pair, direction, packet, m);
    uint64_t answer = explain_early_settle(pair, direction, packet, ahead > 0 ? next : psn, m);
    if (ahead > 0)
        remark_gap(half, packet, next, answer, m);
}

void explain_request(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                     struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    half->asks.first_ns = half->asks.first_ns ? half->asks.first_ns : packet->time_ns;
    half->asks.newest_ns = packet->time_ns;
    half->capture.is_headers_cut |= packet->cut.is_operand;
    take(pair, direction, packet, m);
    explain_pair_carry(pair, direction, packet, m);
    if (!m->is_copy)
        explain_ids_learn(&pair->ids[direction], explain_ip_id(packet));
}
