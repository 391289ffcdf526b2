/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules about the order of packets: which opcode may follow which, what the pieces of a message add up
 * to, which answers fit, how the MSN counts. Where the capture has gaps nothing is judged that they
 * could explain. */
#include <inttypes.h>

#include "explain/flow/strict.h"
#include "roce/psn.h"

/* UDP ports keep packets of one QP in order on their way (ROCE-FRM-44). */
static void judge_port(const struct explain_pair *pair, unsigned direction,
                       const struct explain_packet *packet, struct explain_meaning *m)
{
    uint16_t before = pair->src_port[direction];
    if (before && packet->roce.src_port != before)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-FRM-44", 0, 0,
                       "the UDP source port of the QP was %u, and is %u", before, packet->roce.src_port);
}

/* The pieces of a flow's messages are all of one size, its path MTU. */
static void judge_pmtu(const struct explain_pair *pair, const struct roce_pkt *pkt, struct explain_meaning *m)
{
    uint32_t pmtu_bytes = pair->shown.pmtu_bytes, flags = pkt->op->flags;
    bool is_wrong = flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE) ? pkt->payload_bytes != pmtu_bytes
                                                               : pkt->payload_bytes > pmtu_bytes;
    if (pmtu_bytes && flags & ROCE_PKT_PAYLOAD && is_wrong)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-OPC-2", 0, 0,
                       "%u bytes of payload, where the path MTU is %u", pkt->payload_bytes, pmtu_bytes);
}

#define KINDS (ROCE_PKT_SEND | ROCE_PKT_WRITE)

/* What follows a first or middle packet goes on with its message; nothing else does. */
static void judge_opcode(const struct explain_half *half, const struct roce_pkt *pkt,
                         struct explain_meaning *m)
{
    uint32_t flags = pkt->op->flags;
    bool goes_on = flags & (ROCE_PKT_MIDDLE | ROCE_PKT_LAST);
    const char *rule = explain_service(pkt) == ROCE_SERVICE_UC ? "ROCE-UC-3" : "ROCE-RS-2";
    if (half->is_open && !goes_on)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, rule, 0, 0,
                       "a new request while message %" PRIu64 " has not ended", half->messages);
    else if (!half->is_open && goes_on && half->messages)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, rule, 0, 0, "a middle or last packet of no message");
    else if (half->is_open && (roce_opcodes[half->open_opcode].flags & KINDS) != (flags & KINDS))
        explain_remark(m, EXPLAIN_FIND_VIOLATION, rule, 0, 0,
                       "message %" PRIu64 " goes on as another operation than it began", half->messages);
}

static void judge_length(const struct explain_half *half, const struct roce_pkt *pkt,
                         struct explain_meaning *m)
{
    uint64_t bytes = half->open_bytes + pkt->payload_bytes;
    if (!half->is_open || !half->open_total)
        return;
    if (bytes > half->open_total || (pkt->op->flags & ROCE_PKT_LAST && bytes != half->open_total))
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-OPC-4", 0, 0,
                       "%" PRIu64 " bytes so far, where DMALen says %" PRIu64, bytes, half->open_total);
}

void explain_strict_request(struct explain_pair *pair, unsigned direction,
                            const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    judge_port(pair, direction, packet, m);
    judge_pmtu(pair, pkt, m);
    if (!half->has_requests || half->gap.number || half->is_guessed || pkt->bth.psn != half->next_psn)
        return;
    judge_opcode(half, pkt, m);
    judge_length(half, pkt, m);
}

/* An ACK counts the messages that were completed: at least those that it acknowledges, at most those that
 * were begun (ROCE-RS-50). The first ACK of a flow tells where its count stood. */
static void judge_msn(struct explain_pair *pair, struct explain_half *half, unsigned direction,
                      const struct roce_pkt *pkt, struct explain_meaning *m)
{
    const struct explain_sent *s = explain_sent_find(half, pkt->bth.psn);
    if (half->gap.number || pair->shown.retransmissions[!direction] || !s || half->is_dead)
        return;
    bool ends = roce_opcodes[s->opcode].flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY);
    uint32_t completed = (uint32_t)(s->message - !ends) & ROCE_PSN_MASK;
    if (!half->is_msn_known) {
        half->is_msn_known = true;
        half->msn_base = (pkt->aeth.msn - completed) & ROCE_PSN_MASK;
    }
    int32_t above = roce_psn_diff(pkt->aeth.msn, roce_psn_add(half->msn_base, completed));
    int64_t begun = (int64_t)(half->messages - s->message) + !ends;
    if (above < 0 || above > begun)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-RS-50", 0, s->number,
                       "MSN %u, where %u messages were completed", pkt->aeth.msn,
                       roce_psn_add(half->msn_base, completed));
}

/* The answers to a READ are as many as its bytes need, and the last one says so (ROCE-OPC-3). */
static void judge_read_response(struct explain_pair *pair, struct explain_half *half,
                                const struct roce_pkt *pkt, struct explain_meaning *m)
{
    struct explain_read *read = explain_read_find(half, pkt->bth.psn);
    uint32_t pmtu_bytes = pair->shown.pmtu_bytes, flags = pkt->op->flags;
    if (!read || !pmtu_bytes)
        return;
    uint32_t k = (pkt->bth.psn - read->psn) & ROCE_PSN_MASK;
    uint32_t count = read->bytes ? (read->bytes - 1) / pmtu_bytes + 1 : 1;
    bool is_last = flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY);
    if (is_last != (k + 1 == count))
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-OPC-3", 0, read->number,
                       "answer %u of %u to a READ of %u bytes, as %s", k + 1, count, read->bytes,
                       is_last ? "the last" : "one before the last");
    else if (is_last && read->bytes - k * pmtu_bytes != pkt->payload_bytes)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-OPC-4", 0, read->number,
                       "the last answer has %u bytes, and %u are left", pkt->payload_bytes,
                       read->bytes - k * pmtu_bytes);
}

/* While nothing is sent again, answers leave in the order of their requests (ROCE-RS-40). */
static void judge_answer_order(struct explain_pair *pair, struct explain_half *half, unsigned direction,
                               const struct roce_pkt *pkt, struct explain_meaning *m)
{
    bool is_calm = !half->gap.number && !pair->shown.retransmissions[!direction] && !half->trouble.number;
    if (is_calm && half->is_una_known && roce_psn_diff(pkt->bth.psn, roce_psn_add(half->una_psn, -1)) < 0)
        explain_remark(m, EXPLAIN_FIND_VIOLATION, "ROCE-RS-40", 0, 0,
                       "PSN 0x%06x is answered after a later one", pkt->bth.psn);
}

void explain_strict_response(struct explain_pair *pair, unsigned direction,
                             const struct explain_packet *packet, struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[!direction];
    const struct roce_pkt *pkt = &packet->roce;
    judge_port(pair, direction, packet, m);
    if (pkt->op->flags & ROCE_PKT_READ_RESP) {
        judge_pmtu(pair, pkt, m);
        judge_read_response(pair, half, pkt, m);
    }
    judge_answer_order(pair, half, direction, pkt, m);
    if (pkt->op->flags & ROCE_PKT_AETH && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK)
        judge_msn(pair, half, direction, pkt, m);
}
