/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/again/again.h"

#include <inttypes.h>

#include "explain/flow/again/way.h"
#include "explain/flow/again/weigh.h"
#include "explain/flow/message/describe.h"
#include "explain/flow/message/message.h"
#include "explain/flow/message/pmtu.h"
#include "explain/meaning/words.h"
#include "explain/packet/sender.h"
#include "roce/psn.h"

/* UC sends nothing again: the network copied the packet, or delivers it late. */
static enum explain_again tell_uc(const struct explain_ids *ids, const struct explain_packet *packet,
                                  const struct explain_sent *before, struct explain_why *why)
{
    bool is_copy = before && before->ip_id == explain_ip_id(packet);
    *why = (struct explain_why){.cause = is_copy ? EXPLAIN_CAUSE_COPIED : EXPLAIN_CAUSE_OVERTAKEN,
                                .sure = max_u32(explain_ids_count(ids), EXPLAIN_SURE_LIKELY)};
    explain_why_prove(why, before ? before->number : 0, "the same PSN");
    return is_copy ? EXPLAIN_AGAIN_COPY : EXPLAIN_AGAIN_OVERTAKEN;
}

static enum explain_again tell(struct explain_pair *pair, unsigned direction,
                               const struct explain_packet *packet, const struct explain_sent *before,
                               uint32_t end_psn, struct explain_why *why)
{
    struct explain_half *half = &pair->half[direction];
    const struct nornic_addr *addr = &pair->shown.addr[direction];
    const struct explain_host_timer *host = explain_timers_find(half->timers, addr, pair->index);
    half->timer.host_ns = host ? host->ns : 0;
    half->timer.host_number = host ? host->number : 0;
    enum explain_again again =
        pair->shown.service == ROCE_SERVICE_UC
            ? tell_uc(&pair->ids[direction], packet, before, why)
            : explain_tell_again(half, &pair->ids[direction], packet, before, end_psn, why);
    if (why->cause == EXPLAIN_CAUSE_TIMEOUT && why->timeout_samples >= EXPLAIN_SILENCES_SHOW)
        explain_timers_note(half->timers, &(struct explain_host_timer){.addr = *addr,
                                                                       .ns = why->timeout_ns,
                                                                       .number = packet->number,
                                                                       .flow = pair->index});
    half->weather->late += again == EXPLAIN_AGAIN_OVERTAKEN && why->sure == EXPLAIN_SURE_SHOWN;
    half->weather->maybe_late += again == EXPLAIN_AGAIN_OVERTAKEN;
    half->weather->copied += again == EXPLAIN_AGAIN_COPY && why->sure == EXPLAIN_SURE_SHOWN;
    return again;
}

/* The findings about a packet that its sender sent again. */
static void remark_again(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                         uint64_t before, const struct explain_why *why, struct explain_meaning *m)
{
    bool is_read = packet->roce.op->flags & ROCE_PKT_READ;
    char words[EXPLAIN_WHY_WORDS_SIZE];
    pair->shown.retransmissions[direction]++;
    explain_describe_again(m, why, before);
    if (why->cause == EXPLAIN_CAUSE_TIMEOUT)
        explain_because(explain_remark(m, EXPLAIN_FIND_TIMEOUT, "ROCE-RC-41", 0, before,
                                       "the sender's ack timer ran out: %.1f ms without progress",
                                       (double)why->silence_ns / 1e6),
                        why);
    /* nornic sends a lost packet again, and nothing behind it: that is no rule of the standard */
    const char *rule = is_read ? "ROCE-RC-44" : why->cause == EXPLAIN_CAUSE_SELECTIVE_ACK ? "" : "ROCE-RC-42";
    explain_because(explain_remark(m, is_read ? EXPLAIN_FIND_READ_REPLAY : EXPLAIN_FIND_RETRANSMISSION, rule,
                                   0, before, "PSN 0x%06x again: %s", packet->roce.bth.psn,
                                   explain_why_words(why, words, sizeof words)),
                    why);
}

static void remark_copy(uint64_t before, const struct explain_why *why, struct explain_meaning *m)
{
    bool is_told = why->cause == EXPLAIN_CAUSE_COPIED;
    m->is_copy = true;
    explain_add_words(m, is_told ? ", a second copy of #%" PRIu64 : ", the same as #%" PRIu64, before);
    if (!is_told)
        explain_because(explain_remark(m, EXPLAIN_FIND_DUPLICATE, "", 0, before,
                                       "the same as #%" PRIu64
                                       ": a copy that the network made, or sent again, which cannot be told",
                                       before),
                        why);
    else
        explain_because(explain_remark(m, EXPLAIN_FIND_DUPLICATE, "", 0, before,
                                       "%sthe network made a copy of #%" PRIu64,
                                       why->sure == EXPLAIN_SURE_SHOWN ? "" : "probably ", before),
                        why);
}

/* The answers to a READ are awaited again from `psn` on (ROCE-RC-44). */
static void ask_again(struct explain_half *half, uint32_t psn)
{
    struct explain_read *r = explain_read_find(&half->reads, psn);
    uint32_t k = r ? (psn - r->psn) & ROCE_PSN_MASK : 0;
    if (!r || k >= r->next)
        return;
    r->seen_mask = r->next - k < 64 ? r->seen_mask >> (r->next - k) : 0;
    r->next = k;
}

static uint32_t end_of(const struct explain_half *half, const struct roce_pkt *pkt)
{
    const struct explain_read *r =
        pkt->op->flags & ROCE_PKT_READ ? explain_read_find(&half->reads, pkt->bth.psn) : NULL;
    return r ? roce_psn_add(r->psn, r->span) : roce_psn_add(pkt->bth.psn, 1);
}

/* Widens the READ as it is known, if a request asks for more behind its end: the first of its requests that
 * the capture has asked for a part. */
static void widen(struct explain_half *half, const struct roce_pkt *pkt, uint32_t pmtu_bytes,
                  struct explain_read *read)
{
    uint32_t before_psns = (pkt->bth.psn - read->psn) & ROCE_PSN_MASK;
    uint64_t bytes = (uint64_t)before_psns * pmtu_bytes + pkt->reth.dma_len;
    uint32_t end_psn = roce_psn_add(read->psn, read->span);
    if (!pmtu_bytes || bytes <= read->bytes || bytes > UINT32_MAX)
        return;
    bool is_newest = half->asks.next_psn == end_psn;
    half->reads.is_in_parts = true;
    read->bytes = (uint32_t)bytes;
    read->span = max_u32(read->span, explain_pieces_of(bytes, pmtu_bytes));
    read->is_answered = false;
    if (is_newest)
        half->asks.next_psn = roce_psn_add(read->psn, read->span);
}

static void note_copy(struct explain_half *half, const struct explain_packet *packet,
                      struct explain_sent *before)
{
    if (!half->acks.is_known || roce_psn_diff(packet->roce.bth.psn, half->acks.una_psn) >= 0)
        before->is_answered = false;
    before->number = packet->number;
    before->time_ns = packet->time_ns;
    before->ip_id = explain_ip_id(packet);
    before->ack_req = packet->roce.bth.ack_req;
}

/* Returns whether the packet asks for a part of a READ again that ends before it does, as between ends with
 * selective retransmission. */
static bool is_part(const struct explain_half *half, const struct roce_pkt *pkt,
                    const struct explain_read *read)
{
    uint32_t before_psns = (pkt->bth.psn - read->psn) & ROCE_PSN_MASK;
    uint64_t before_bytes = (uint64_t)before_psns * half->seen_pmtu_bytes;
    return (half->seen_pmtu_bytes || !before_psns) && before_bytes + pkt->reth.dma_len < read->bytes;
}

void explain_again_seen(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                        struct explain_sent *before, struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_why why;
    uint64_t number = before->number;
    bool was_here = explain_is_newest_here(half, pkt->bth.psn, before);
    struct explain_read *read =
        pkt->op->flags & ROCE_PKT_READ ? explain_read_find(&half->reads, pkt->bth.psn) : NULL;
    half->reads.is_in_parts |= read && is_part(half, pkt, read);
    if (read)
        widen(half, pkt, explain_pmtu_of(pair, half), read);
    explain_message_again(before, m);
    m->answers = number;
    explain_describe(packet, m);
    switch (tell(pair, direction, packet, before, end_of(half, pkt), &why)) {
    case EXPLAIN_AGAIN_COPY:
        remark_copy(number, &why, m);
        return;
    case EXPLAIN_AGAIN_OVERTAKEN:
        explain_add_words(m, ", which left before #%" PRIu64 ", and comes behind it", number);
        explain_because(explain_remark(m, EXPLAIN_FIND_REORDERED, "", 0, number,
                                       "#%" PRIu64 " is the later copy, which overtook this one", number),
                        &why);
        return;
    case EXPLAIN_AGAIN_SENT:
        break;
    }
    explain_tell_way(pair, direction, packet, before, was_here, &why);
    remark_again(pair, direction, packet, number, &why, m);
    if (pkt->op->flags & ROCE_PKT_READ)
        ask_again(half, pkt->bth.psn);
    note_copy(half, packet, before);
}

void explain_again_rest(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                        struct explain_read *read, struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_sent *before = explain_sent_find(&half->history, read->psn);
    bool was_here = explain_is_newest_here(half, pkt->bth.psn, before);
    struct explain_why why;
    m->message = read->message;
    m->piece = 1;
    m->answers = read->number;
    explain_describe(packet, m);
    half->reads.is_in_parts |= is_part(half, pkt, read);
    widen(half, pkt, explain_pmtu_of(pair, half), read);
    explain_add_words(
        m, is_part(half, pkt, read) ? ", the part from PSN 0x%06x on" : ", the rest from PSN 0x%06x on",
        pkt->bth.psn);
    if (tell(pair, direction, packet, before, end_of(half, pkt), &why) != EXPLAIN_AGAIN_SENT) {
        explain_add_words(m, why.cause == EXPLAIN_CAUSE_OVERTAKEN ? ", which others overtook"
                                                                  : ", behind later packets");
        explain_because(explain_remark(m, EXPLAIN_FIND_REORDERED, "", 0, read->number,
                                       "the request for PSN 0x%06x comes behind later packets", pkt->bth.psn),
                        &why);
        return;
    }
    explain_tell_way(pair, direction, packet, before, was_here, &why);
    remark_again(pair, direction, packet, read->number, &why, m);
    ask_again(half, pkt->bth.psn);
    if (before)
        note_copy(half, packet, before);
}

void explain_again_unseen(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                          struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_why why;
    explain_describe(packet, m);
    if (tell(pair, direction, packet, NULL, end_of(half, pkt), &why) != EXPLAIN_AGAIN_SENT) {
        explain_add_words(m, why.cause == EXPLAIN_CAUSE_OVERTAKEN
                                 ? ", which others overtook"
                                 : ", behind later ones: overtaken, or sent again, which cannot be told");
        explain_because(explain_remark(m, EXPLAIN_FIND_REORDERED, "", 0, half->capture.gap.number,
                                       "PSN 0x%06x comes behind later ones", pkt->bth.psn),
                        &why);
        return;
    }
    explain_tell_way(pair, direction, packet, NULL, false, &why);
    remark_again(pair, direction, packet, 0, &why, m);
}
