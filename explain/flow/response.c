/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of a connected QP: to what, and what they say. */
#include <inttypes.h>
#include <stdio.h>

#include "explain/flow/flow.h"
#include "roce/psn.h"

/* A copy that follows so soon, with the same IPv4 identification, was made by the network. */
#define SAME_COPY_NS UINT64_C(50000000)

/* Everything up to `psn` is acknowledged; returns the newest packet among it that was seen, or 0. */
static uint64_t acknowledge(struct explain_half *half, uint32_t end_psn)
{
    uint64_t newest = 0;
    struct explain_sent *s = explain_sent_find(half, roce_psn_add(end_psn, ROCE_PSN_MASK));
    if (s)
        newest = s->number;
    uint32_t from =
        half->is_una_known ? half->una_psn : roce_psn_add(end_psn, ROCE_PSN_MASK + 1 - half->size);
    uint32_t count = (end_psn - from) & ROCE_PSN_MASK;
    if (count > half->size)
        from = roce_psn_add(end_psn, ROCE_PSN_MASK + 1 - half->size);
    for (uint32_t psn = from; psn != end_psn; psn = roce_psn_add(psn, 1)) {
        s = explain_sent_find(half, psn);
        if (s)
            s->is_answered = true;
    }
    if (!half->is_una_known || roce_psn_diff(end_psn, half->una_psn) > 0) {
        half->is_una_known = true;
        half->una_psn = end_psn;
    }
    return newest;
}

static void credits_words(uint8_t syndrome, char *text, size_t size)
{
    uint32_t credits = roce_credit_count(syndrome & 0x1f);
    if (credits == UINT32_MAX)
        text[0] = '\0';
    else
        snprintf(text, size, ", %u credits", credits);
}

/* A PSN that was never sent, where the capture shows the requests. */
static bool is_ghost(const struct explain_half *half, uint32_t psn)
{
    return half->has_requests && roce_psn_diff(psn, half->next_psn) >= 0;
}

static void take_ack(struct explain_half *half, const struct explain_packet *packet,
                     struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    char credits[32];
    uint32_t psn = pkt->bth.psn;
    bool again = half->is_una_known && roce_psn_diff(psn, half->una_psn) < 0;
    credits_words(pkt->aeth.syndrome, credits, sizeof credits);
    m->answers = acknowledge(half, roce_psn_add(psn, 1));
    snprintf(m->words, sizeof m->words, "ACK up to PSN 0x%06x, MSN %u%s%s", psn, pkt->aeth.msn, credits,
             again ? ", again" : "");
}

static void take_nak(struct explain_pair *pair, struct explain_half *half, unsigned direction,
                     const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t psn = pkt->bth.psn;
    uint8_t syndrome = pkt->aeth.syndrome;
    struct explain_sent *s = explain_sent_find(half, psn);
    m->answers = s ? s->number : 0;
    acknowledge(half, psn);
    if (s)
        s->is_answered = true;
    if (roce_syndrome_kind(syndrome) == ROCE_SYN_RNR) {
        half->trouble = (struct explain_trouble){packet->number, packet->time_ns, psn, EXPLAIN_TROUBLE_RNR};
        pair->shown.rnr_naks[direction]++;
        snprintf(m->words, sizeof m->words, "RNR NAK for PSN 0x%06x: wait %.2f ms", psn,
                 (double)roce_rnr_timer_ns(syndrome & 0x1f) / 1e6);
        explain_remark(m, EXPLAIN_FIND_RNR, "ROCE-RS-11", 0, m->answers,
                       "no receive was posted for PSN 0x%06x", psn);
        return;
    }
    pair->shown.naks[direction]++;
    if (syndrome == ROCE_SYNDROME_NAK_PSN_SEQ) {
        /* behind an RNR NAK with the same PSN it changes nothing: that one is waited for (ROCE-INT-12) */
        if (!half->trouble.number || half->trouble.kind != EXPLAIN_TROUBLE_RNR || half->trouble.psn != psn)
            half->trouble =
                (struct explain_trouble){packet->number, packet->time_ns, psn, EXPLAIN_TROUBLE_NAK};
        snprintf(m->words, sizeof m->words, "NAK: PSN sequence error, expects 0x%06x", psn);
        explain_remark(m, EXPLAIN_FIND_NAK_SEQUENCE, "ROCE-RS-10", 0, m->answers, "PSN 0x%06x did not arrive",
                       psn);
        return;
    }
    half->is_dead = true;
    snprintf(m->words, sizeof m->words, "%s, at PSN 0x%06x", roce_syndrome_name(syndrome), psn);
    explain_remark(m, EXPLAIN_FIND_NAK_FATAL, "ROCE-RS-12", 0, m->answers, "%s",
                   roce_syndrome_name(syndrome));
}

/* An answer with a later PSN is there before all answers of the READ or atomic: the requester takes those for
 * lost (ROCE-RC-34). */
static void note_skipped(struct explain_half *half, const struct explain_packet *packet)
{
    uint32_t psn = packet->roce.bth.psn;
    for (unsigned age = 1; age <= EXPLAIN_READS_MAX; age++) {
        struct explain_read *r = &half->reads[(half->next_read - age) % EXPLAIN_READS_MAX];
        if (!r->number)
            return;
        if (roce_psn_diff(psn, roce_psn_add(r->psn, r->span)) < 0)
            continue;
        if (!r->is_answered)
            half->trouble = (struct explain_trouble){packet->number, packet->time_ns,
                                                     roce_psn_add(r->psn, r->next), EXPLAIN_TROUBLE_SKIPPED};
        return;
    }
}

/* A READ's PSN range is known exactly only with the path MTU; its first answer tells it. */
static void correct_spans(struct explain_half *half, uint32_t pmtu_bytes)
{
    for (unsigned i = 0; i < EXPLAIN_READS_MAX && pmtu_bytes; i++) {
        struct explain_read *r = &half->reads[i];
        if (!r->number || r->bytes <= 8)
            continue;
        uint32_t span = (r->bytes - 1) / pmtu_bytes + 1;
        if (half->is_guessed && half->next_psn == roce_psn_add(r->psn, r->span))
            half->next_psn = roce_psn_add(r->psn, span);
        r->span = span;
    }
    half->is_guessed = false;
}

/* Which of the answers to the READ it is: the next, one after a gap, or one before. */
static void place_answer(struct explain_half *half, struct explain_read *read, uint32_t k,
                         const struct explain_packet *packet, struct explain_meaning *m)
{
    uint32_t psn = packet->roce.bth.psn;
    if (k >= read->next) {
        uint32_t missing = k - read->next;
        if (missing) {
            half->trouble =
                (struct explain_trouble){packet->number, packet->time_ns, roce_psn_add(read->psn, read->next),
                                         EXPLAIN_TROUBLE_SKIPPED};
            explain_remark(m, EXPLAIN_FIND_PSN_GAP, "ROCE-RC-34", 0, read->number,
                           "%u answers to #%" PRIu64 " before PSN 0x%06x are missing", missing, read->number,
                           psn);
        }
        read->seen_mask = (missing < 63 ? read->seen_mask << (missing + 1) : 0) | 1;
        read->next = k + 1;
        return;
    }
    uint32_t back = read->next - 1 - k;
    if (back < 64 && !(read->seen_mask >> back & 1)) {
        read->seen_mask |= UINT64_C(1) << back;
        explain_remark(m, EXPLAIN_FIND_REORDERED, "", 0, read->number,
                       "the answer with PSN 0x%06x comes after later ones", psn);
    } else {
        explain_remark(m, EXPLAIN_FIND_DUPLICATE, "", 0, read->number,
                       "the answer with PSN 0x%06x was given before", psn);
    }
}

static void take_read_response(struct explain_pair *pair, struct explain_half *half,
                               const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE) && pkt->payload_bytes > pair->shown.pmtu_bytes) {
        pair->shown.pmtu_bytes = pkt->payload_bytes;
        correct_spans(half, pkt->payload_bytes);
    }
    struct explain_read *read = explain_read_find(half, pkt->bth.psn);
    if (!read) {
        snprintf(m->words, sizeof m->words, "RDMA READ response, PSN 0x%06x, to a request that was not seen",
                 pkt->bth.psn);
        return;
    }
    uint32_t k = (pkt->bth.psn - read->psn) & ROCE_PSN_MASK;
    bool last = pkt->op->flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY);
    place_answer(half, read, k, packet, m);
    read->is_answered |= last;
    m->message = read->message;
    m->answers = read->number;
    m->piece = k + 1;
    m->pieces = read->span;
    m->bytes_total = read->bytes;
    m->bytes_done = last ? read->bytes : (uint64_t)(k + 1) * pkt->payload_bytes;
    acknowledge(half, roce_psn_add(pkt->bth.psn, 1));
    snprintf(m->words, sizeof m->words,
             "RDMA READ response %u/%u to #%" PRIu64 ", %" PRIu64 " of %" PRIu64 " bytes", m->piece,
             m->pieces, read->number, m->bytes_done, m->bytes_total);
}

static void take_atomic_ack(struct explain_half *half, const struct explain_packet *packet,
                            struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_read *read = explain_read_find(half, pkt->bth.psn);
    if (read) {
        read->is_answered = true;
        m->message = read->message;
        m->answers = read->number;
    }
    acknowledge(half, roce_psn_add(pkt->bth.psn, 1));
    snprintf(m->words, sizeof m->words, "ATOMIC ACK of PSN 0x%06x, original value 0x%" PRIx64, pkt->bth.psn,
             pkt->atomicacketh.original);
}

/* The answer that this one is a copy of, made by the network: the same IPv4 identification. What is no copy
 * is remembered. */
static uint64_t copy_of(struct explain_half *half, const struct explain_packet *packet)
{
    uint16_t id = explain_ip_id(packet);
    const struct roce_bth *bth = &packet->roce.bth;
    for (unsigned i = 0; i < EXPLAIN_ANSWERS_MAX && id; i++) {
        struct explain_answer *a = &half->answers[i];
        if (a->number && a->ip_id == id && a->psn == bth->psn && a->opcode == bth->opcode &&
            packet->time_ns - a->time_ns < SAME_COPY_NS)
            return a->number;
    }
    half->answers[half->next_answer++ % EXPLAIN_ANSWERS_MAX] =
        (struct explain_answer){.number = packet->number,
                                .time_ns = packet->time_ns,
                                .psn = bth->psn,
                                .ip_id = id,
                                .opcode = bth->opcode};
    return 0;
}

void explain_response(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                      struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[!direction]; /* the requests are the other end's */
    const struct roce_pkt *pkt = &packet->roce;
    uint64_t original = copy_of(half, packet);
    if (original) {
        m->answers = original;
        snprintf(m->words, sizeof m->words, "%s, a second copy of #%" PRIu64, pkt->op->name, original);
        explain_remark(m, EXPLAIN_FIND_DUPLICATE, "", 0, original, "the network made a copy of #%" PRIu64,
                       original);
        return;
    }
    note_skipped(half, packet);
    if (pkt->op->flags & ROCE_PKT_READ_RESP)
        take_read_response(pair, half, packet, m);
    else if (pkt->op->flags & ROCE_PKT_ATOMICACKETH)
        take_atomic_ack(half, packet, m);
    else if (roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK)
        take_ack(half, packet, m);
    else if (roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_RESERVED)
        snprintf(m->words, sizeof m->words, "an answer with the reserved syndrome 0x%02x: it is ignored",
                 pkt->aeth.syndrome); /* ROCE-HDR-20 */
    else
        take_nak(pair, half, direction, packet, m);
    if (is_ghost(half, pkt->bth.psn))
        explain_remark(m, EXPLAIN_FIND_GHOST_ACK, "ROCE-RC-30", 0, 0,
                       "PSN 0x%06x is answered, and was not sent in this capture", pkt->bth.psn);
}
