/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of a connected QP: where in which message, for the first time or again, and why. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "explain/flow/flow.h"
#include "roce/psn.h"

/* A copy that follows so soon, with the same IPv4 identification, was made by the network. */
#define SAME_COPY_NS UINT64_C(50000000)
/* What comes so soon after the packet that left it out was overtaken, where nothing else tells; no timer
 * fires so soon (ROCE-RC-41: the usual ones are 67 ms and more). */
#define TURMOIL_NS UINT64_C(20000000)

static const char *operation(uint32_t flags)
{
    if (flags & ROCE_PKT_SEND)
        return "SEND";
    if (flags & ROCE_PKT_WRITE)
        return "RDMA WRITE";
    return flags & ROCE_PKT_READ ? "RDMA READ" : "atomic";
}

static const char *place(uint32_t flags)
{
    if (flags & ROCE_PKT_FIRST)
        return "first";
    if (flags & ROCE_PKT_MIDDLE)
        return "middle";
    return flags & ROCE_PKT_LAST ? "last" : "only";
}

static uint32_t pieces_of(uint64_t bytes, uint32_t pmtu_bytes)
{
    return bytes && pmtu_bytes ? (uint32_t)((bytes - 1) / pmtu_bytes) + 1 : 1;
}

/* --- words --- */

static void add_words(struct explain_meaning *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void add_words(struct explain_meaning *m, const char *format, ...)
{
    size_t used = strlen(m->words);
    va_list args;
    va_start(args, format);
    vsnprintf(m->words + used, sizeof m->words - used, format, args);
    va_end(args);
}

/* What the operation is, with what it carries, and which packet of its message: "RDMA WRITE with immediate
 * last". A READ and an atomic are one packet each. */
static void put_name(const struct roce_pkt *pkt, char *words, size_t size)
{
    uint32_t flags = pkt->op->flags;
    if (flags & ROCE_PKT_READ)
        snprintf(words, size, "RDMA READ request");
    else if (flags & ROCE_PKT_ATOMIC)
        snprintf(words, size, "%s", pkt->op->name);
    else
        snprintf(words, size, "%s%s %s", operation(flags),
                 flags & ROCE_PKT_IMMDT  ? " with immediate"
                 : flags & ROCE_PKT_IETH ? " with invalidate"
                                         : "",
                 place(flags));
}

static void describe(const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t flags = pkt->op->flags;
    char of[24] = "", name[80];
    put_name(pkt, name, sizeof name);
    if (m->pieces)
        snprintf(of, sizeof of, "/%u", m->pieces);
    if (flags & ROCE_PKT_READ)
        snprintf(m->words, sizeof m->words, "%s, message %" PRIu64 ", %u bytes", name, m->message,
                 pkt->reth.dma_len);
    else if (flags & ROCE_PKT_ATOMIC)
        snprintf(m->words, sizeof m->words, "%s, message %" PRIu64 ", at 0x%" PRIx64, name, m->message,
                 pkt->atomiceth.va);
    else if (flags & ROCE_PKT_ONLY)
        snprintf(m->words, sizeof m->words, "%s, message %" PRIu64 ", %u bytes", name, m->message,
                 pkt->payload_bytes);
    else if (m->bytes_total)
        snprintf(m->words, sizeof m->words,
                 "%s %u%s of message %" PRIu64 ", %" PRIu64 " of %" PRIu64 " bytes", name, m->piece, of,
                 m->message, m->bytes_done, m->bytes_total);
    else
        snprintf(m->words, sizeof m->words, "%s %u%s of message %" PRIu64 ", %" PRIu64 " bytes", name,
                 m->piece, of, m->message, m->bytes_done);
}

/* The same of a packet that was seen before, of which less is known. */
static void describe_again(const struct explain_packet *packet, struct explain_meaning *m)
{
    char name[80];
    put_name(&packet->roce, name, sizeof name);
    if (!m->message) /* its first copy came behind a gap */
        snprintf(m->words, sizeof m->words, "%s", name);
    else if (packet->roce.op->flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE | ROCE_PKT_LAST))
        snprintf(m->words, sizeof m->words, "%s %u of message %" PRIu64, name, m->piece, m->message);
    else
        snprintf(m->words, sizeof m->words, "%s, message %" PRIu64, name, m->message);
}

/* --- for the first time --- */

static void learn_pmtu(struct explain_flow *flow, const struct roce_pkt *pkt)
{
    if (pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE) && pkt->payload_bytes > flow->pmtu_bytes)
        flow->pmtu_bytes = pkt->payload_bytes;
}

static void begin_message(struct explain_half *half, struct explain_flow *flow, unsigned direction,
                          const struct roce_pkt *pkt)
{
    half->messages++;
    flow->messages[direction]++;
    half->is_open = true;
    half->open_opcode = pkt->bth.opcode;
    half->open_psn = pkt->bth.psn;
    half->open_bytes = 0;
    half->open_total = pkt->op->flags & ROCE_PKT_RETH ? pkt->reth.dma_len : 0;
}

static void remember_read(struct explain_half *half, const struct explain_packet *packet, uint32_t span)
{
    const struct roce_pkt *pkt = &packet->roce;
    half->reads[half->next_read] = (struct explain_read){
        .number = packet->number,
        .message = half->messages,
        .psn = pkt->bth.psn,
        .span = span,
        .bytes = pkt->op->flags & ROCE_PKT_READ ? pkt->reth.dma_len : 8,
        .opcode = pkt->bth.opcode,
    };
    half->next_read = (half->next_read + 1) % EXPLAIN_READS_MAX;
}

static void remember(struct explain_half *half, const struct explain_packet *packet,
                     const struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_sent *s = explain_sent_slot(half, pkt->bth.psn);
    if (!s)
        return;
    *s = (struct explain_sent){.number = packet->number,
                               .first_ns = packet->time_ns,
                               .time_ns = packet->time_ns,
                               .message = m->message,
                               .bytes_done = m->bytes_done,
                               .psn = pkt->bth.psn,
                               .piece = m->piece,
                               .ip_id = explain_ip_id(packet),
                               .opcode = pkt->bth.opcode,
                               .ack_req = pkt->bth.ack_req};
}

/* The packet is the next one, or comes after a gap. */
static void take_new(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                     struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    struct explain_flow *flow = &pair->shown;
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t flags = pkt->op->flags, span = 1;
    learn_pmtu(flow, pkt);
    if (flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY) || !half->is_open)
        begin_message(half, flow, direction, pkt);
    m->message = half->messages;
    m->piece = ((pkt->bth.psn - half->open_psn) & ROCE_PSN_MASK) + 1;
    if (flow->pmtu_bytes) /* right behind a gap too */
        half->open_bytes = (uint64_t)(m->piece - 1) * flow->pmtu_bytes;
    half->open_bytes += pkt->payload_bytes;
    m->bytes_done = half->open_bytes;
    if (flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY))
        m->pieces = m->piece;
    else if (half->open_total)
        m->pieces = pieces_of(half->open_total, flow->pmtu_bytes);
    m->bytes_total = half->open_total ? half->open_total : m->pieces == m->piece ? m->bytes_done : 0;
    if (flags & (ROCE_PKT_READ | ROCE_PKT_ATOMIC)) {
        uint32_t pmtu_bytes = flow->pmtu_bytes ? flow->pmtu_bytes : 1024;
        span = flags & ROCE_PKT_READ ? pieces_of(pkt->reth.dma_len, pmtu_bytes) : 1;
        half->is_guessed = flags & ROCE_PKT_READ && !flow->pmtu_bytes;
        remember_read(half, packet, span);
        m->bytes_done = 0;
    }
    if (flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY))
        half->is_open = false;
    remember(half, packet, m);
    half->next_psn = roce_psn_add(pkt->bth.psn, span);
}

/* --- again --- */

/* Is the packet sent for the newest trouble? Not if it was sent since (`before`); but in the turmoil of a
 * network that delays and reorders it was sent for this trouble or the one before, not by a timer. */
static bool is_for_trouble(const struct explain_half *half, const struct explain_packet *packet,
                           const struct explain_sent *before)
{
    const struct explain_trouble *t = &half->trouble;
    if (!t->number)
        return false;
    if (roce_psn_diff(packet->roce.bth.psn, t->psn) >= 0 && (!before || before->number < t->number))
        return true;
    return packet->time_ns - t->time_ns < TURMOIL_NS &&
           (!before || packet->time_ns - before->time_ns < TURMOIL_NS);
}

static void name_cause(const struct explain_half *half, const struct explain_packet *packet,
                       const struct explain_sent *before, struct explain_meaning *m)
{
    static const char *const causes[] = {[EXPLAIN_TROUBLE_NAK] = "after the NAK of",
                                         [EXPLAIN_TROUBLE_RNR] = "after the RNR NAK of",
                                         [EXPLAIN_TROUBLE_SKIPPED] = "as an answer is missing before"};
    const struct explain_trouble *t = &half->trouble;
    if (is_for_trouble(half, packet, before)) {
        add_words(m, " %s #%" PRIu64, causes[t->kind], t->number);
        return;
    }
    add_words(m, " after timeout");
    explain_remark(m, EXPLAIN_FIND_TIMEOUT, "ROCE-RC-41", 0, before ? before->number : 0,
                   "PSN 0x%06x was sent again after an ack timeout", packet->roce.bth.psn);
}

static bool is_copy(const struct explain_sent *before, const struct explain_packet *packet)
{
    return before->opcode == packet->roce.bth.opcode && packet->roce.l3_kind == ROCE_L3_IPV4 &&
           before->ip_id == explain_ip_id(packet) && packet->time_ns - before->time_ns < SAME_COPY_NS;
}

/* The answers to a READ are awaited again from `psn` on (ROCE-RC-44). */
static void ask_again(struct explain_half *half, uint32_t psn)
{
    struct explain_read *r = explain_read_find(half, psn);
    uint32_t k = r ? (psn - r->psn) & ROCE_PSN_MASK : 0;
    if (!r || k >= r->next)
        return;
    r->seen_mask = r->next - k < 64 ? r->seen_mask >> (r->next - k) : 0;
    r->next = k;
}

static void repeat(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                   struct explain_sent *before, struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    m->message = before->message;
    m->piece = before->piece;
    m->bytes_done = before->bytes_done;
    m->answers = before->number;
    describe_again(packet, m);
    if (is_copy(before, packet)) {
        add_words(m, ", a second copy of #%" PRIu64, before->number);
        explain_remark(m, EXPLAIN_FIND_DUPLICATE, "", 0, before->number,
                       "the network made a copy of #%" PRIu64, before->number);
        return;
    }
    pair->shown.retransmissions[direction]++;
    bool replay = pkt->op->flags & ROCE_PKT_READ;
    add_words(m, ", retransmission of #%" PRIu64, before->number);
    name_cause(half, packet, before, m);
    explain_remark(m, replay ? EXPLAIN_FIND_READ_REPLAY : EXPLAIN_FIND_RETRANSMISSION, "ROCE-RC-42", 0,
                   before->number, "PSN 0x%06x again, first seen in #%" PRIu64, pkt->bth.psn, before->number);
    if (replay)
        ask_again(half, pkt->bth.psn);
    if (!half->is_una_known || roce_psn_diff(pkt->bth.psn, half->una_psn) >= 0)
        before->is_answered = false;
    before->number = packet->number;
    before->time_ns = packet->time_ns;
    before->ip_id = explain_ip_id(packet);
}

/* A packet that others overtook was made before them: its IPv4 identification tells, where the sender counts
 * (ROCE-INT-2). Elsewhere the time does. */
static bool is_overtaken(const struct explain_half *half, const struct explain_packet *packet)
{
    uint16_t id = explain_ip_id(packet);
    if (!half->gap.number)
        return false;
    if (id && half->gap.ip_id && id != half->gap.ip_id)
        return (int16_t)(id - half->gap.ip_id) < 0;
    return !is_for_trouble(half, packet, NULL) && packet->time_ns - half->gap.time_ns < TURMOIL_NS;
}

static void replay_rest(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                        const struct explain_read *read, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    pair->shown.retransmissions[direction]++;
    m->message = read->message;
    m->answers = read->number;
    snprintf(m->words, sizeof m->words, "RDMA READ asked for again from PSN 0x%06x on, %u bytes",
             pkt->bth.psn, pkt->reth.dma_len);
    name_cause(&pair->half[direction], packet, NULL, m);
    explain_remark(m, EXPLAIN_FIND_READ_REPLAY, "ROCE-RC-44", 0, read->number,
                   "the rest of the READ of #%" PRIu64 " is asked for again", read->number);
    ask_again(&pair->half[direction], pkt->bth.psn);
}

/* A PSN before the newest that was not seen yet: it was overtaken, or its first copy was lost before the
 * capture. */
static void fill_gap(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                     struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_read *read = explain_read_find(half, pkt->bth.psn);
    if (read && pkt->op->flags & ROCE_PKT_READ) {
        replay_rest(pair, direction, packet, read, m);
        return;
    }
    bool overtaken = is_overtaken(half, packet);
    put_name(pkt, m->words, sizeof m->words);
    add_words(m, ", PSN 0x%06x, %s", pkt->bth.psn,
              overtaken ? "which others overtook" : "its first copy is not in this capture, sent again");
    if (overtaken) {
        explain_remark(m, EXPLAIN_FIND_REORDERED, "", 0, half->gap.number,
                       "PSN 0x%06x comes after later ones", pkt->bth.psn);
    } else {
        pair->shown.retransmissions[direction]++;
        name_cause(half, packet, NULL, m);
        explain_remark(m, EXPLAIN_FIND_RETRANSMISSION, "ROCE-RC-42", 0, half->gap.number,
                       "PSN 0x%06x again; its first copy is not in this capture", pkt->bth.psn);
    }
    if (pkt->op->flags & (ROCE_PKT_READ | ROCE_PKT_ATOMIC)) {
        uint32_t pmtu_bytes = pair->shown.pmtu_bytes ? pair->shown.pmtu_bytes : 1024;
        remember_read(half, packet,
                      pkt->op->flags & ROCE_PKT_READ ? pieces_of(pkt->reth.dma_len, pmtu_bytes) : 1);
    }
    remember(half, packet, m);
}

/* The request behind a READ tells how many PSNs the READ took, and so the path MTU. */
static void resolve_guess(struct explain_pair *pair, struct explain_half *half, uint32_t psn)
{
    struct explain_read *r = &half->reads[(half->next_read - 1) % EXPLAIN_READS_MAX];
    half->is_guessed = false;
    for (uint32_t pmtu_bytes = 256; pmtu_bytes <= ROCE_PMTU_MAX_BYTES; pmtu_bytes *= 2)
        if (roce_psn_add(r->psn, pieces_of(r->bytes, pmtu_bytes)) == psn) {
            r->span = pieces_of(r->bytes, pmtu_bytes);
            pair->shown.pmtu_bytes = pmtu_bytes;
            half->next_psn = psn;
            return;
        }
}

void explain_request(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                     struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    uint32_t psn = packet->roce.bth.psn;
    if (half->is_guessed && psn != half->next_psn)
        resolve_guess(pair, half, psn);
    int32_t ahead = half->has_requests ? roce_psn_diff(psn, half->next_psn) : 0;
    if (ahead < 0) {
        struct explain_sent *before = explain_sent_find(half, psn);
        if (before)
            repeat(pair, direction, packet, before, m);
        else
            fill_gap(pair, direction, packet, m);
        return;
    }
    half->has_requests = true;
    take_new(pair, direction, packet, m);
    describe(packet, m);
    if (ahead > 0) {
        half->gap = (struct explain_gap){packet->number, packet->time_ns, explain_ip_id(packet)};
        explain_remark(m, EXPLAIN_FIND_PSN_GAP, "ROCE-RS-10", 0, 0, "%d PSNs before 0x%06x are missing",
                       ahead, psn);
    }
}
