/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/message/pmtu.h"

#include "roce/psn.h"

uint32_t explain_pieces_of(uint64_t bytes, uint32_t pmtu_bytes)
{
    return bytes && pmtu_bytes ? (uint32_t)((bytes - 1) / pmtu_bytes) + 1 : 1;
}

/* Notes a gap: the packet behind the READ came while the READ was thought to take more PSNs, which are
 * missing. */
static void note_gap(struct explain_half *half, const struct explain_read *read, uint32_t span)
{
    uint32_t end_psn = roce_psn_add(read->psn, read->span);
    const struct explain_sent *behind = explain_sent_find(&half->history, end_psn);
    bool is_open = half->capture.gap.number && !half->capture.gap.is_covered;
    if (span < read->span && behind && !is_open)
        half->capture.gap = (struct explain_gap){.number = behind->number,
                                                 .psn = roce_psn_add(read->psn, span),
                                                 .end_psn = end_psn,
                                                 .is_uncounted = true};
}

static void correct_reads(struct explain_half *half, uint32_t pmtu_bytes)
{
    struct explain_read *r;
    for (uint32_t age = 1; (r = explain_read_aged(&half->reads, age)); age++) {
        if (!(roce_opcodes[r->opcode].flags & ROCE_PKT_READ))
            continue;
        uint32_t span = explain_pieces_of(r->bytes, pmtu_bytes);
        if (half->asks.is_guessed && half->asks.next_psn == roce_psn_add(r->psn, r->span))
            half->asks.next_psn = roce_psn_add(r->psn, span);
        else
            note_gap(half, r, span);
        r->span = span;
    }
    half->asks.is_guessed = false;
    if (half->recovery && !half->recovery->run.is_going)
        half->recovery->run.cursor = half->asks.next_psn;
}

/* No other size is one (ROCE-OPC-2): the packet is wrong, or damaged, with its ICRC cut off. */
static bool is_pmtu(uint32_t bytes)
{
    return bytes >= 256 && bytes <= ROCE_PMTU_MAX_BYTES && (bytes & (bytes - 1)) == 0;
}

void explain_pmtu_learn(struct explain_pair *pair, struct explain_half *half, const struct roce_pkt *pkt)
{
    uint32_t bytes = pkt->payload_bytes;
    if (!(pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE)) || !is_pmtu(bytes))
        return;
    bool is_known = half->seen_pmtu_bytes != 0;
    struct explain_half *other;
    half->seen_pmtu_bytes = is_known ? half->seen_pmtu_bytes : bytes;
    if (bytes >= pair->shown.pmtu_bytes || pair->is_pmtu_guessed) {
        pair->is_pmtu_guessed = false;
        pair->shown.pmtu_bytes = bytes;
    }
    if (is_known)
        return;
    correct_reads(half, bytes);
    other = half == &pair->half[0] ? &pair->half[1] : &pair->half[0];
    if (!other->seen_pmtu_bytes)
        correct_reads(other, bytes);
}

bool explain_pmtu_is_guess(const struct explain_pair *pair, unsigned direction)
{
    return !pair->half[direction].seen_pmtu_bytes &&
           (!pair->shown.pmtu_bytes || pair->is_pmtu_guessed || explain_is_behind_other(pair, direction));
}

void explain_pmtu_resolve(struct explain_pair *pair, struct explain_half *half, uint32_t psn)
{
    struct explain_read *r = explain_read_last(&half->reads, half->asks.next_psn);
    if (r && roce_psn_diff(psn, r->psn) <= 0)
        return;
    half->asks.is_guessed = false;
    for (uint32_t pmtu_bytes = 256; r && pmtu_bytes <= ROCE_PMTU_MAX_BYTES; pmtu_bytes *= 2)
        if (roce_psn_add(r->psn, explain_pieces_of(r->bytes, pmtu_bytes)) == psn) {
            r->span = explain_pieces_of(r->bytes, pmtu_bytes);
            half->asks.next_psn = psn;
            if (pair->shown.pmtu_bytes && !pair->is_pmtu_guessed)
                return;
            pair->shown.pmtu_bytes = pmtu_bytes;
            pair->is_pmtu_guessed = true;
            return;
        }
}

void explain_pmtu_read_ends(struct explain_half *half, struct explain_read *read, uint32_t index,
                            uint32_t bytes)
{
    uint32_t before = read->bytes - bytes, piece = index ? before / index : 0;
    bool fits = bytes <= read->bytes && (index ? before % index == 0 && bytes <= piece : before == 0);
    if (!fits)
        return;
    const struct explain_sent *newest =
        explain_sent_find(&half->history, roce_psn_add(half->asks.next_psn, ROCE_PSN_MASK));
    bool is_newest = !newest || newest->psn == read->psn;
    if (is_newest && half->asks.next_psn == roce_psn_add(read->psn, read->span)) {
        half->asks.next_psn = roce_psn_add(read->psn, index + 1);
        half->asks.is_guessed = false;
        if (half->recovery && !half->recovery->run.is_going)
            half->recovery->run.cursor = half->asks.next_psn;
    } else {
        note_gap(half, read, index + 1);
    }
    read->span = index + 1;
}
