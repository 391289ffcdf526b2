/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/pair/fit.h"

#include "roce/psn.h"

#define LEAP_PAUSED_PSNS 64 /* behind a silence of PAUSE_NS */
#define PAUSE_NS         (100 * NS_PER_MS)
#define PACE_LEAST       16 /* PSNs by which a sender's pace is known */
#define PACE_TIMES       4  /* it may go on by so much faster, or more slowly */

bool explain_is_nak(const struct roce_pkt *pkt)
{
    return pkt->op->flags & ROCE_PKT_AETH && roce_syndrome_kind(pkt->aeth.syndrome) != ROCE_SYN_ACK;
}

/* A NAK for a PSN that is missing among those that were seen, or is the next one. */
static bool is_nak_in_gap(const struct explain_half *half, const struct roce_pkt *pkt)
{
    uint32_t psn = pkt->bth.psn;
    return explain_is_nak(pkt) && half->asks.has_any && roce_psn_diff(psn, half->asks.first_psn) >= 0 &&
           roce_psn_diff(psn, half->asks.next_psn) <= 0;
}

bool explain_is_answer_to(const struct explain_half *half, const struct roce_pkt *pkt)
{
    const struct explain_sent *s = explain_sent_find(&half->history, pkt->bth.psn);
    uint32_t kind = pkt->op->flags & ROCE_PKT_READ_RESP      ? ROCE_PKT_READ
                    : pkt->op->flags & ROCE_PKT_ATOMICACKETH ? ROCE_PKT_ATOMIC
                                                             : 0;
    if (!s)
        return (kind == ROCE_PKT_READ && explain_read_find(&half->reads, pkt->bth.psn)) ||
               is_nak_in_gap(half, pkt);
    uint32_t asked = roce_opcodes[s->opcode].flags & (ROCE_PKT_READ | ROCE_PKT_ATOMIC);
    return asked == kind || explain_is_nak(pkt);
}

bool explain_is_msn_right(const struct explain_half *half, const struct roce_pkt *pkt)
{
    const struct explain_sent *s = explain_sent_find(&half->history, pkt->bth.psn);
    if (!s || !(pkt->op->flags & ROCE_PKT_AETH))
        return false;
    bool is_end = !(roce_opcodes[s->opcode].flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE));
    uint64_t msn = s->message - !is_end + (half->msn.is_known ? half->msn.base : 0);
    return pkt->aeth.msn == (msn & ROCE_PSN_MASK);
}

bool explain_is_size_right(const struct explain_half *half, const struct roce_pkt *pkt)
{
    const struct explain_read *r = explain_read_find(&half->reads, pkt->bth.psn);
    bool is_whole = pkt->op->flags & ROCE_PKT_READ_RESP && pkt->op->flags & ROCE_PKT_ONLY;
    return !is_whole || !r || r->psn != pkt->bth.psn || pkt->payload_bytes == r->bytes;
}

/* Whether the sender, if it went on as before, came about so far in a silence. */
static bool is_at_its_pace(const struct explain_half *half, int32_t ahead, uint64_t silence_ns)
{
    int32_t psns = roce_psn_diff(half->asks.next_psn, half->asks.first_psn);
    uint64_t took_ns = half->asks.newest_ns - half->asks.first_ns;
    if (psns < PACE_LEAST || !took_ns)
        return false;
    double expected = (double)psns * (double)silence_ns / (double)took_ns;
    return expected <= (double)ahead * PACE_TIMES && expected * PACE_TIMES >= (double)ahead;
}

bool explain_is_leap(const struct explain_half *half, const struct explain_packet *packet, int32_t ahead)
{
    const struct roce_pkt *pkt = &packet->roce;
    bool is_silent = packet->time_ns > half->asks.newest_ns + PAUSE_NS &&
                     !is_at_its_pace(half, ahead, packet->time_ns - half->asks.newest_ns);
    return ahead >= (is_silent ? LEAP_PAUSED_PSNS : EXPLAIN_LEAP_PSNS) && !half->asks.is_guessed &&
           pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY) && half->acks.is_known &&
           half->acks.una_psn == half->asks.next_psn;
}

bool explain_read_may_end_early(const struct explain_pair *pair, const struct explain_read *read,
                                uint32_t index)
{
    const struct explain_half *half = pair->half;
    return index + 1 < read->span && (pair->shown.selective_acks[0] || pair->shown.selective_acks[1] ||
                                      half[0].reads.is_in_parts || half[1].reads.is_in_parts);
}
