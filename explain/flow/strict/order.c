/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules about the order of packets: which opcode may follow which, the sum of the pieces of a message, which
 * answers fit, how the MSN counts. Nothing is judged that gaps of the capture could explain. */
#include "explain/flow/strict/order.h"

#include <inttypes.h>

#include "explain/flow/pair/fit.h"
#include "explain/packet/sender.h"
#include "roce/psn.h"

/* A QP keeps its UDP source port, so that its packets stay in order on their way (ROCE-FRM-44). The packet
 * does not name the QP that sent it (ROCE-RX-19), and somebody else may send to the same one: `is_its_own`
 * says that nobody but this QP could go on like that. A second port is told once; to come back from it is
 * right. */
static void judge_port(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                       bool is_its_own, struct explain_meaning *m)
{
    uint16_t port = packet->roce.src_port, first = pair->first_port[direction];
    if (!first) {
        pair->first_port[direction] = port;
        return;
    }
    if (port == first || port == pair->other_port[direction] || !is_its_own)
        return;
    pair->other_port[direction] = port;
    explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-FRM-44", 0, 0,
                   "the UDP source port of the QP was %u, and is %u", first, port);
}

/* The pieces of one end's requests, and of the answers to them, are all of one size, the path MTU: the first
 * of them tells it. */
static void judge_pmtu(const struct explain_half *half, const struct roce_pkt *pkt, struct explain_meaning *m)
{
    uint32_t pmtu_bytes = half->seen_pmtu_bytes, flags = pkt->op->flags;
    bool is_wrong = flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE) ? pkt->payload_bytes != pmtu_bytes
                                                               : pkt->payload_bytes > pmtu_bytes;
    if (pmtu_bytes && flags & ROCE_PKT_PAYLOAD && is_wrong)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-OPC-2", 0, 0,
                       "%u bytes of payload, where the path MTU is %u", pkt->payload_bytes, pmtu_bytes);
}

#define KINDS (ROCE_PKT_SEND | ROCE_PKT_WRITE)

/* A packet behind a first or middle packet goes on with its message; nothing else does. */
static void judge_opcode(const struct explain_sent *before, const struct roce_pkt *pkt,
                         struct explain_meaning *m)
{
    uint32_t flags = pkt->op->flags, flags_before = roce_opcodes[before->opcode].flags;
    bool goes_on = flags & (ROCE_PKT_MIDDLE | ROCE_PKT_LAST);
    bool is_open = flags_before & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE);
    const char *rule = explain_service(pkt) == ROCE_SERVICE_UC ? "ROCE-UC-3" : "ROCE-RS-2";
    if (is_open && !goes_on)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, rule, 0, before->number,
                       "a new request while the message of #%" PRIu64 " has not ended", before->number);
    else if (!is_open && goes_on)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, rule, 0, before->number,
                       "a middle or last packet of no message");
    else if (is_open && (flags_before & KINDS) != (flags & KINDS))
        explain_remark(m, EXPLAIN_FIND_VIOLATION, rule, 0, before->number,
                       "the message of #%" PRIu64 " goes on as another operation", before->number);
}

/* A packet that is sent again is the same (ROCE-RC-6), but a READ may begin anew behind the answers that have
 * come (ROCE-RC-44). Without ICRCs the first of the two may have been damaged, for which reason the second
 * came. */
static void judge_repeat(const struct explain_half *half, const struct roce_pkt *pkt,
                         struct explain_meaning *m)
{
    const struct explain_sent *before = explain_sent_find(&half->history, pkt->bth.psn);
    bool are_defined =
        before && roce_opcodes[before->opcode].name && pkt->op->name; /* others are ROCE-OPC-2's */
    if (are_defined && !before->is_unchecked && before->opcode != pkt->bth.opcode)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-RC-6", 0, before->number,
                       "%s at PSN 0x%06x, which #%" PRIu64 " used for %s", pkt->op->name, pkt->bth.psn,
                       before->number, roce_opcodes[before->opcode].name);
}

static void judge_length(const struct explain_half *half, const struct roce_pkt *pkt,
                         struct explain_meaning *m)
{
    uint64_t bytes = half->message.bytes + pkt->payload_bytes;
    if (!half->message.is_open || !half->message.total)
        return;
    if (bytes > half->message.total || (pkt->op->flags & ROCE_PKT_LAST && bytes != half->message.total))
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-OPC-4", 0, 0,
                       "%" PRIu64 " bytes so far, where DMALen says %" PRIu64, bytes, half->message.total);
}

void explain_strict_request(struct explain_pair *pair, unsigned direction,
                            const struct explain_packet *packet, struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    bool is_next = half->asks.has_any && !half->asks.is_guessed && pkt->bth.psn == half->asks.next_psn;
    judge_port(pair, direction, packet, is_next, m);
    judge_pmtu(half, pkt, m);
    if (half->asks.has_any && !is_next && explain_service(pkt) != ROCE_SERVICE_UC)
        judge_repeat(half, pkt, m);
    const struct explain_sent *before =
        explain_sent_find(&half->history, roce_psn_add(pkt->bth.psn, ROCE_PSN_MASK));
    if (before && !before->is_unchecked)
        judge_opcode(before, pkt, m);
    if (is_next && !half->capture.gap.number && !pair->shown.retransmissions[direction])
        judge_length(half, pkt, m);
}

#define MSN_PROOFS 4 /* ACKs that agree, without the beginning of the connection in the capture */

/* Begins the count: before the capture it stood at one of strict_msn .. strict_msn + msn_room. */
static void begin_count(struct explain_half *half, uint32_t low, uint32_t high)
{
    half->strict.is_begun = true;
    half->strict.msn = low;
    half->strict.room = (high - low) & ROCE_PSN_MASK;
    half->strict.proofs = 0;
}

/* An ACK narrows that: nothing is left when it is wrong. Answers that are given again have all the newest
 * count, so that one with the count of that before proves nothing. */
static bool narrow(struct explain_half *half, uint32_t low, uint32_t high, bool is_newer)
{
    uint32_t old_high = roce_psn_add(half->strict.msn, half->strict.room);
    uint32_t from = roce_psn_diff(low, half->strict.msn) > 0 ? low : half->strict.msn;
    uint32_t to = roce_psn_diff(high, old_high) < 0 ? high : old_high;
    if (roce_psn_diff(to, from) < 0)
        return false;
    half->strict.msn = from;
    half->strict.room = (to - from) & ROCE_PSN_MASK;
    half->strict.proofs += is_newer;
    return true;
}

/* Returns whether the right count is known: from the beginning of the connection on, or as several ACKs
 * agree. In the middle of a connection the first requests that are seen may have been executed long
 * before, and others behind them: their answers have the newest count. */
static bool is_count_known(const struct explain_half *half)
{
    return half->strict.proofs >= MSN_PROOFS ||
           (roce_psn_diff(half->strict.msn, 0) <= 0 &&
            roce_psn_diff(roce_psn_add(half->strict.msn, half->strict.room), 0) >= 0);
}

/* An ACK counts the messages that were completed: at least those that it acknowledges, at most those that
 * were begun (ROCE-RS-50). Once anything was sent again or left out, the count may be wrong. */
static void judge_msn(struct explain_pair *pair, struct explain_half *half, unsigned direction,
                      const struct roce_pkt *pkt, struct explain_meaning *m)
{
    const struct explain_sent *s = explain_sent_find(&half->history, pkt->bth.psn);
    if (half->capture.gap.number || pair->shown.retransmissions[!direction] || !s || half->acks.is_dead ||
        half->recovery || half->capture.has_ghosts)
        return;
    bool ends = roce_opcodes[s->opcode].flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY);
    uint32_t completed = (uint32_t)(s->message - !ends) & ROCE_PSN_MASK;
    uint32_t high = (pkt->aeth.msn - completed) & ROCE_PSN_MASK;
    uint32_t begun = (uint32_t)(half->message.count - s->message) + !ends,
             low = (high - begun) & ROCE_PSN_MASK;
    if (!half->strict.is_begun) {
        begin_count(half, low, high);
        return;
    }
    uint32_t expected = roce_psn_add(half->strict.msn, completed);
    if (narrow(half, low, high, pkt->aeth.msn != half->msn.newest))
        return;
    if (is_count_known(half))
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-RS-50", 0, s->number,
                       "MSN %u, where %u messages were completed", pkt->aeth.msn, expected);
    else
        begin_count(half, low, high);
}

/* The answers to a READ are as many as its bytes need, and the last one says so (ROCE-OPC-3). */
static void judge_read_response(const struct explain_pair *pair, const struct explain_half *half,
                                const struct roce_pkt *pkt, struct explain_meaning *m)
{
    struct explain_read *read = explain_read_find(&half->reads, pkt->bth.psn);
    uint32_t pmtu_bytes = half->seen_pmtu_bytes, flags = pkt->op->flags;
    if (!pmtu_bytes && flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE))
        pmtu_bytes = pkt->payload_bytes;
    if (!read || !pmtu_bytes)
        return;
    uint32_t k = (pkt->bth.psn - read->psn) & ROCE_PSN_MASK;
    uint32_t count = read->bytes ? (read->bytes - 1) / pmtu_bytes + 1 : 1;
    if (k >= count || count != read->span) /* it was found by a span that was guessed */
        return;
    bool is_last = flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY);
    if (is_last && explain_read_may_end_early(pair, read, k))
        return;
    if (is_last != (k + 1 == count))
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-OPC-3", 0, read->number,
                       "answer %u of %u to a READ of %u bytes, as %s", k + 1, count, read->bytes,
                       is_last ? "the last" : "one before the last");
    else if (is_last && read->bytes - k * pmtu_bytes != pkt->payload_bytes)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-OPC-4", 0, read->number,
                       "the last answer has %u bytes, and %u are left", pkt->payload_bytes,
                       read->bytes - k * pmtu_bytes);
}

/* Whether the pair's answers are answers to its requests, as far as can be seen. */
static bool is_answered_here(const struct explain_pair *pair)
{
    return pair->pairing.is_shown && !pair->pairing.misfits;
}

void explain_strict_response(struct explain_pair *pair, unsigned direction,
                             const struct explain_packet *packet, struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[!direction];
    const struct roce_pkt *pkt = &packet->roce;
    judge_port(pair, direction, packet, explain_sent_find(&half->history, pkt->bth.psn) != NULL, m);
    if (!is_answered_here(pair))
        return;
    if (pkt->op->flags & ROCE_PKT_READ_RESP && pair->pairing.hits > 1) { /* others fit before this one */
        judge_pmtu(half, pkt, m);
        judge_read_response(pair, half, pkt, m);
    }
    if (pkt->op->flags & ROCE_PKT_AETH && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK)
        judge_msn(pair, half, direction, pkt, m);
}
