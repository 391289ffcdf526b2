/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/pmtu.h"

#include "explain/flow/message.h"
#include "roce/psn.h"

static void correct_reads(struct explain_half *half, uint32_t pmtu_bytes)
{
    struct explain_read *r;
    for (uint32_t age = 1; (r = explain_read_aged(half, age)); age++) {
        if (!(roce_opcodes[r->opcode].flags & ROCE_PKT_READ))
            continue;
        uint32_t span = explain_pieces_of(r->bytes, pmtu_bytes);
        if (half->is_guessed && half->next_psn == roce_psn_add(r->psn, r->span))
            half->next_psn = roce_psn_add(r->psn, span);
        r->span = span;
    }
    half->is_guessed = false;
    if (half->recovery && !half->recovery->is_running)
        half->recovery->cursor = half->next_psn;
}

void explain_pmtu_learn(struct explain_pair *pair, const struct roce_pkt *pkt)
{
    if (!(pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE)) ||
        pkt->payload_bytes <= pair->shown.pmtu_bytes)
        return;
    pair->shown.pmtu_bytes = pkt->payload_bytes;
    correct_reads(&pair->half[0], pkt->payload_bytes);
    correct_reads(&pair->half[1], pkt->payload_bytes);
}

void explain_pmtu_resolve(struct explain_pair *pair, struct explain_half *half, uint32_t psn)
{
    struct explain_read *r = explain_read_aged(half, 1);
    half->is_guessed = false;
    for (uint32_t pmtu_bytes = 256; r && pmtu_bytes <= ROCE_PMTU_MAX_BYTES; pmtu_bytes *= 2)
        if (roce_psn_add(r->psn, explain_pieces_of(r->bytes, pmtu_bytes)) == psn) {
            r->span = explain_pieces_of(r->bytes, pmtu_bytes);
            pair->shown.pmtu_bytes = pmtu_bytes;
            half->next_psn = psn;
            return;
        }
}
