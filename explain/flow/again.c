/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/again.h"

#include <inttypes.h>

#include "explain/flow/describe.h"
#include "explain/flow/message.h"
#include "explain/flow/place.h"
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
    if (pair->shown.service == ROCE_SERVICE_UC)
        return tell_uc(&pair->ids[direction], packet, before, why);
    return explain_tell_again(&pair->half[direction], &pair->ids[direction], packet, before, end_psn, why);
}

/* What happened to the copy before, or to its answer, as far as that shows. */
static void tell_way(struct explain_pair *pair, unsigned direction, uint32_t psn,
                     const struct explain_sent *before, struct explain_why *why)
{
    const struct explain_half *half = &pair->half[direction];
    bool is_answered = half->is_una_known && roce_psn_diff(half->una_psn, psn) > 0;
    why->way_sure = EXPLAIN_SURE_LIKELY;
    if (why->cause == EXPLAIN_CAUSE_RNR)
        why->way = EXPLAIN_CAUSE_NO_RECEIVE;
    else if (why->cause == EXPLAIN_CAUSE_IMPLIED_NAK)
        why->way = EXPLAIN_CAUSE_ANSWER_LOST;
    else if (why->cause == EXPLAIN_CAUSE_NAK_SEQUENCE)
        why->way = !before                                        ? EXPLAIN_CAUSE_LOST_BEFORE
                   : half->recovery && half->recovery->is_mangled ? EXPLAIN_CAUSE_UNKNOWN
                                                                  : EXPLAIN_CAUSE_LOST_AFTER;
    else if (why->cause == EXPLAIN_CAUSE_TIMEOUT)
        why->way = is_answered ? EXPLAIN_CAUSE_ANSWER_LOST
                   : before    ? EXPLAIN_CAUSE_UNKNOWN
                               : EXPLAIN_CAUSE_LOST_BEFORE;
    if (why->way == EXPLAIN_CAUSE_LOST_BEFORE)
        explain_note_lost_before(pair, direction);
    else if (why->cause == EXPLAIN_CAUSE_IMPLIED_NAK && why->evidence_count)
        explain_note_lost_before(pair, !direction); /* the answer is not here */
    if (why->way == EXPLAIN_CAUSE_UNKNOWN || why->way == EXPLAIN_CAUSE_NONE)
        why->way_sure = EXPLAIN_SURE_UNKNOWN;
}

/* The findings about a packet that its sender sent again. */
static void remark_again(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                         uint64_t before, const struct explain_why *why, struct explain_meaning *m)
{
    bool is_read = packet->roce.op->flags & ROCE_PKT_READ;
    pair->shown.retransmissions[direction]++;
    explain_describe_again(m, why, before);
    if (why->cause == EXPLAIN_CAUSE_TIMEOUT)
        explain_because(explain_remark(m, EXPLAIN_FIND_TIMEOUT, "ROCE-RC-41", 0, before,
                                       "the sender's ack timer ran out: %.1f ms without progress",
                                       (double)why->silence_ns / 1e6),
                        why);
    explain_because(explain_remark(m, is_read ? EXPLAIN_FIND_READ_REPLAY : EXPLAIN_FIND_RETRANSMISSION,
                                   is_read ? "ROCE-RC-44" : "ROCE-RC-42", 0, before, "PSN 0x%06x again: %s",
                                   packet->roce.bth.psn, explain_cause_words(why->cause)),
                    why);
}

static void remark_copy(uint64_t before, const struct explain_why *why, struct explain_meaning *m)
{
    m->is_copy = true;
    explain_add_words(m, ", a second copy of #%" PRIu64, before);
    explain_because(explain_remark(m, EXPLAIN_FIND_DUPLICATE, "", 0, before,
                                   "%sthe network made a copy of #%" PRIu64,
                                   why->sure == EXPLAIN_SURE_SHOWN ? "" : "probably ", before),
                    why);
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

static uint32_t end_of(const struct explain_half *half, const struct roce_pkt *pkt)
{
    const struct explain_read *r =
        pkt->op->flags & ROCE_PKT_READ ? explain_read_find(half, pkt->bth.psn) : NULL;
    return r ? roce_psn_add(r->psn, r->span) : roce_psn_add(pkt->bth.psn, 1);
}

static void note_copy(struct explain_half *half, const struct explain_packet *packet,
                      struct explain_sent *before)
{
    if (!half->is_una_known || roce_psn_diff(packet->roce.bth.psn, half->una_psn) >= 0)
        before->is_answered = false;
    before->number = packet->number;
    before->time_ns = packet->time_ns;
    before->ip_id = explain_ip_id(packet);
    before->ack_req = packet->roce.bth.ack_req;
}

void explain_again_seen(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                        struct explain_sent *before, struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_why why;
    uint64_t number = before->number;
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
    tell_way(pair, direction, pkt->bth.psn, before, &why);
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
    struct explain_sent *before = explain_sent_find(half, read->psn);
    struct explain_why why;
    m->message = read->message;
    m->piece = 1;
    m->answers = read->number;
    explain_describe(packet, m);
    explain_add_words(m, ", the rest from PSN 0x%06x on", pkt->bth.psn);
    if (tell(pair, direction, packet, before, end_of(half, pkt), &why) != EXPLAIN_AGAIN_SENT) {
        explain_add_words(m, ", which others overtook");
        explain_because(explain_remark(m, EXPLAIN_FIND_REORDERED, "", 0, read->number,
                                       "the request for PSN 0x%06x comes behind later packets", pkt->bth.psn),
                        &why);
        return;
    }
    tell_way(pair, direction, pkt->bth.psn, before, &why);
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
        explain_add_words(m, ", which others overtook");
        explain_because(explain_remark(m, EXPLAIN_FIND_REORDERED, "", 0, half->gap.number,
                                       "PSN 0x%06x comes behind later ones", pkt->bth.psn),
                        &why);
        return;
    }
    tell_way(pair, direction, pkt->bth.psn, NULL, &why);
    remark_again(pair, direction, packet, 0, &why, m);
}
