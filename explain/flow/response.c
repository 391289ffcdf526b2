/* SPDX-License-Identifier: BSD-2-Clause */
/* Answers of a connected QP: the requests that they are for, and their content. */
#include "explain/flow/response.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "explain/flow/again/notes.h"
#include "explain/flow/again/selective.h"
#include "explain/flow/again/trouble.h"
#include "explain/flow/early.h"
#include "explain/flow/gap.h"
#include "explain/flow/message/message.h"
#include "explain/flow/message/pmtu.h"
#include "explain/flow/pair/count.h"
#include "explain/flow/pair/fit.h"
#include "explain/meaning/words.h"
#include "explain/packet/sender.h"
#include "roce/psn.h"

/* The request at `end_psn` - 1 has its answer: how long that took, if it was sent once. */
static void measure(struct explain_half *half, const struct explain_sent *s,
                    const struct explain_packet *packet)
{
    bool is_once = !s->is_answered && s->first_ns == s->time_ns;
    half->clock.is_at_once |= is_once && packet->time_ns == s->time_ns;
    if (!is_once || packet->time_ns <= s->time_ns)
        return;
    uint64_t ns = packet->time_ns - s->time_ns;
    half->clock.timely++;
    half->clock.hosts->timely++;
    half->clock.rtt_ns = half->clock.rtt_ns ? min_u64(half->clock.rtt_ns, ns) : ns;
}

/* Everything before `end_psn` is acknowledged; returns the newest packet among it that was seen, or 0. */
static uint64_t acknowledge(struct explain_half *half, const struct explain_packet *packet, uint32_t end_psn)
{
    uint64_t newest = 0;
    struct explain_sent *s = explain_sent_find(&half->history, roce_psn_add(end_psn, ROCE_PSN_MASK));
    if (s) {
        newest = s->number;
        measure(half, s, packet);
    }
    if (half->asks.has_any && !half->asks.is_guessed && roce_psn_diff(end_psn, half->asks.next_psn) > 0)
        return newest; /* it was not sent so far (ROCE-RC-30) */
    if (half->acks.is_known && roce_psn_diff(end_psn, half->acks.una_psn) <= 0)
        return newest; /* an answer that comes again takes nothing back, and adds nothing */
    uint32_t from = half->acks.is_known ? half->acks.una_psn : roce_psn_add(end_psn, ROCE_PSN_MASK / 2 + 1);
    explain_sent_answered(&half->history, from, end_psn);
    half->acks.is_known = true;
    half->acks.una_psn = end_psn;
    explain_note_progress(half, packet, end_psn);
    return newest;
}

static void put_credits(struct explain_words *w, uint8_t syndrome)
{
    uint32_t credits = roce_credit_count(syndrome & 0x1f);
    if (credits == UINT32_MAX)
        return;
    explain_words_put(w, ", ");
    explain_words_u64(w, credits);
    explain_words_put(w, " credits");
}

/* Returns whether the PSN was never sent, as far as the capture shows the requests. Of a READ that is older
 * than these the rest may have been asked for. */
static bool is_ghost(const struct explain_half *half, const struct roce_pkt *pkt)
{
    uint32_t psn = pkt->bth.psn;
    bool is_older = roce_psn_diff(psn, half->asks.first_psn) < 0;
    if (!half->asks.has_any || explain_is_asked(half, psn))
        return false;
    return is_older ? !(pkt->op->flags & ROCE_PKT_READ_RESP) && half->acks.is_known &&
                          roce_psn_diff(half->acks.una_psn, half->asks.first_psn) > 0
                    : roce_psn_diff(psn, half->asks.next_psn) >= 0;
}

static void take_ack(struct explain_half *half, const struct explain_packet *packet,
                     struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t psn = pkt->bth.psn;
    bool again = half->acks.is_known && roce_psn_diff(psn, half->acks.una_psn) < 0;
    if (again)
        explain_note_ack_again(half);
    m->answers = acknowledge(half, packet, roce_psn_add(psn, 1));
    struct explain_words w = explain_words_begin(m);
    explain_words_put(&w, "ACK up to PSN ");
    explain_words_psn(&w, psn);
    explain_words_put(&w, ", MSN ");
    explain_words_u64(&w, pkt->aeth.msn);
    put_credits(&w, pkt->aeth.syndrome);
    explain_words_put(&w, again ? ", again" : "");
}

static void take_rnr(struct explain_pair *pair, struct explain_half *half, unsigned direction,
                     const struct explain_packet *packet, bool is_fresh, struct explain_meaning *m)
{
    uint32_t psn = packet->roce.bth.psn;
    uint64_t wait_ns = roce_rnr_timer_ns(packet->roce.aeth.syndrome & 0x1f);
    struct explain_why why = {.cause = EXPLAIN_CAUSE_NO_RECEIVE, .sure = EXPLAIN_SURE_SHOWN};
    pair->shown.rnr_naks[direction]++;
    explain_note_trouble(
        half, packet,
        (struct explain_trouble){
            .kind = EXPLAIN_TROUBLE_RNR, .psn = psn, .wait_ns = wait_ns, .is_fresh = is_fresh});
    snprintf(m->words, sizeof m->words, "RNR NAK for PSN 0x%06x: wait %.2f ms", psn, (double)wait_ns / 1e6);
    explain_why_prove(&why, m->answers, "the packet that found no receive");
    explain_because(explain_remark(m, EXPLAIN_FIND_RNR, "ROCE-RS-11", 0, m->answers,
                                   "no receive was posted for PSN 0x%06x", psn),
                    &why);
}

/* The PSN did not come, or it came and was refused: then a NAK behind the RNR NAK tells of nothing new, as
 * Linux sends it for the packets behind (ROCE-INT-12). */
static void take_nak_sequence(struct explain_pair *pair, struct explain_half *half,
                              const struct explain_packet *packet, const struct explain_sent *s,
                              bool is_fresh, struct explain_meaning *m)
{
    uint32_t psn = packet->roce.bth.psn;
    const struct explain_trouble *rnr = explain_waits_for_receive(half, psn);
    bool is_here = s && (explain_is_newest_here(half, psn, s) || !explain_weather_is_calm(half->weather));
    struct explain_why why = {.cause = EXPLAIN_CAUSE_UNKNOWN};
    snprintf(m->words, sizeof m->words, "NAK: PSN sequence error, expects 0x%06x", psn);
    if (rnr) {
        why = (struct explain_why){.cause = EXPLAIN_CAUSE_NO_RECEIVE, .sure = EXPLAIN_SURE_SHOWN};
        explain_why_prove(&why, rnr->number, "the RNR NAK that refused it");
        explain_because(explain_remark(m, EXPLAIN_FIND_NAK_SEQUENCE, "ROCE-INT-12", 0, m->answers,
                                       "PSN 0x%06x was refused by RNR NAK #%" PRIu64
                                       ": what followed it is too",
                                       psn, rnr->number),
                        &why);
        return;
    }
    explain_note_trouble(
        half, packet,
        (struct explain_trouble){.kind = EXPLAIN_TROUBLE_NAK, .psn = psn, .is_fresh = is_fresh});
    explain_why_prove(&why, is_here ? s->number : half->capture.gap.number,
                      is_here ? "the packet that did not arrive" : "the packet behind it");
    explain_weather_tell(
        half->weather,
        &(struct explain_missing){
            .qpn = pair->shown.qpn[half == &pair->half[0]], .psn = psn, .count = 1, .is_here = is_here},
        &why);
    explain_because(explain_remark(m, EXPLAIN_FIND_NAK_SEQUENCE, "ROCE-RS-10", 0, m->answers,
                                   "PSN 0x%06x did not arrive before what follows it", psn),
                    &why);
}

static void take_nak(struct explain_pair *pair, struct explain_half *half, unsigned direction,
                     const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t psn = pkt->bth.psn;
    uint8_t syndrome = pkt->aeth.syndrome;
    struct explain_sent *s = explain_sent_find(&half->history, psn);
    m->answers = s ? s->number : 0;
    bool is_fresh = roce_psn_diff(psn, half->acks.is_known ? half->acks.una_psn : half->asks.first_psn) > 0;
    acknowledge(half, packet, psn);
    if (s)
        s->is_answered = true;
    if (roce_syndrome_kind(syndrome) == ROCE_SYN_RNR) {
        take_rnr(pair, half, direction, packet, is_fresh, m);
        return;
    }
    pair->shown.naks[direction]++;
    if (syndrome == ROCE_SYNDROME_NAK_PSN_SEQ) {
        take_nak_sequence(pair, half, packet, s, is_fresh, m);
        return;
    }
    half->acks.is_dead = true;
    snprintf(m->words, sizeof m->words, "%s, at PSN 0x%06x", roce_syndrome_name(syndrome), psn);
    explain_remark(m, EXPLAIN_FIND_NAK_FATAL, "ROCE-RS-12", 0, m->answers, "%s",
                   roce_syndrome_name(syndrome));
}

/* An answer with a later PSN is there before all answers of the READ or atomic: the requester takes those for
 * lost (ROCE-RC-34). */
static void note_skipped(struct explain_half *half, const struct explain_packet *packet)
{
    uint32_t psn = packet->roce.bth.psn;
    struct explain_read *r;
    for (uint32_t age = 1; (r = explain_read_aged(&half->reads, age)); age++) {
        if (roce_psn_diff(psn, roce_psn_add(r->psn, r->span)) < 0)
            continue;
        if (!r->is_answered)
            explain_note_trouble(half, packet,
                                 (struct explain_trouble){.kind = EXPLAIN_TROUBLE_SKIPPED,
                                                          .psn = roce_psn_add(r->psn, r->next)});
        return;
    }
}

static void remark_missing(struct explain_half *half, const struct explain_read *read, uint32_t missing,
                           const struct explain_packet *packet, struct explain_meaning *m)
{
    uint32_t from = roce_psn_add(read->psn, read->next);
    struct explain_why why = {.cause = EXPLAIN_CAUSE_UNKNOWN};
    explain_weather_tell(
        half->weather,
        &(struct explain_missing){
            .qpn = packet->roce.bth.dest_qpn, .psn = from, .count = missing, .is_answer = true},
        &why);
    explain_note_trouble(half, packet,
                         (struct explain_trouble){.kind = EXPLAIN_TROUBLE_SKIPPED, .psn = from});
    explain_why_prove(&why, read->number, "the READ");
    explain_because(missing == 1
                        ? explain_remark(m, EXPLAIN_FIND_PSN_GAP, "ROCE-RC-34", 0, read->number,
                                         "one answer to #%" PRIu64 " is missing before this: PSN 0x%06x",
                                         read->number, from)
                        : explain_remark(m, EXPLAIN_FIND_PSN_GAP, "ROCE-RC-34", 0, read->number,
                                         "%u answers to #%" PRIu64
                                         " are missing before this, from PSN 0x%06x on",
                                         missing, read->number, from),
                    &why);
}

/* An answer behind later ones. By its identification it left before them, or it is another one; without that,
 * one that was not here before may be either. */
static struct explain_why why_behind(const struct explain_half *half, const struct explain_ids *ids,
                                     bool is_first, const struct explain_packet *packet)
{
    enum explain_order order = explain_ids_order(ids, explain_ip_id(packet));
    struct explain_why why = {.cause = EXPLAIN_CAUSE_ASKED_AGAIN, .sure = EXPLAIN_SURE_LIKELY};
    explain_why_prove(&why, half->acks.newest_number,
                      is_first ? "an answer that is behind it" : "the newest answer");
    if (is_first && order == EXPLAIN_ORDER_EARLIER) {
        why.cause = EXPLAIN_CAUSE_OVERTAKEN;
        why.sure = explain_ids_count(ids);
    } else if (is_first && order == EXPLAIN_ORDER_UNKNOWN) {
        explain_why_doubt(&why, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_ASKED_AGAIN, EXPLAIN_CAUSE_NONE);
    } else if (!is_first && order == EXPLAIN_ORDER_UNKNOWN) {
        why.or_cause = EXPLAIN_CAUSE_COPIED;
    }
    return why;
}

static void remark_behind(const struct explain_half *half, const struct explain_ids *ids,
                          const struct explain_read *read, bool is_first, const struct explain_packet *packet,
                          struct explain_meaning *m)
{
    struct explain_why why = why_behind(half, ids, is_first, packet);
    bool is_again = why.cause == EXPLAIN_CAUSE_ASKED_AGAIN;
    explain_because(
        explain_remark(m, is_again ? EXPLAIN_FIND_DUPLICATE : EXPLAIN_FIND_REORDERED, "", 0, read->number,
                       !is_again ? "the answer with PSN 0x%06x comes behind later ones"
                       : is_first
                           ? "the answer with PSN 0x%06x is given again: the one before did not come here"
                           : "the answer with PSN 0x%06x was given before",
                       packet->roce.bth.psn),
        &why);
}

/* Which of the answers to the READ it is: the next, one after a gap, or one before. */
static void place_answer(struct explain_half *half, const struct explain_ids *ids, struct explain_read *read,
                         uint32_t k, const struct explain_packet *packet, struct explain_meaning *m)
{
    if (k >= read->next) {
        uint32_t missing = k - read->next;
        if (missing)
            remark_missing(half, read, missing, packet, m);
        read->seen_mask = (missing < 63 ? read->seen_mask << (missing + 1) : 0) | 1;
        read->next = k + 1;
        return;
    }
    uint32_t back = read->next - 1 - k;
    bool is_first = back < 64 && !(read->seen_mask >> back & 1);
    if (is_first)
        read->seen_mask |= UINT64_C(1) << back;
    remark_behind(half, ids, read, is_first, packet, m);
}

/* Extends a READ. An answer goes on right behind the assumed end of the READ, and no other request has its
 * PSN: the READ takes more PSNs, as the path MTU is smaller than was thought. NULL: there is no such READ. */
static struct explain_read *extend_read(struct explain_half *half, const struct roce_pkt *pkt)
{
    uint32_t psn = pkt->bth.psn;
    struct explain_read *r = NULL;
    if (pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY) || explain_sent_find(&half->history, psn))
        return NULL;
    for (uint32_t age = 1; (r = explain_read_aged(&half->reads, age)); age++)
        if (roce_psn_add(r->psn, r->span) == psn && roce_opcodes[r->opcode].flags & ROCE_PKT_READ)
            break;
    if (!r || r->span * 256 >= r->bytes)
        return NULL;
    r->span++;
    if (half->asks.next_psn == psn)
        half->asks.next_psn = roce_psn_add(psn, 1);
    return r;
}

static void describe_read_response(struct explain_meaning *m)
{
    struct explain_words w = explain_words_begin(m);
    explain_words_put(&w, "RDMA READ response ");
    explain_words_u64(&w, m->piece);
    explain_words_put(&w, "/");
    explain_words_u64(&w, m->pieces);
    explain_words_put(&w, " to #");
    explain_words_u64(&w, m->answers);
    explain_words_put(&w, ", ");
    explain_words_u64(&w, m->bytes_done);
    explain_words_put(&w, " of ");
    explain_words_u64(&w, m->bytes_total);
    explain_words_put(&w, m->bytes_total == 1 ? " byte" : " bytes");
}

static void take_read_response(struct explain_pair *pair, struct explain_half *half,
                               const struct explain_ids *ids, const struct explain_packet *packet,
                               struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    explain_pmtu_learn(pair, half, pkt);
    struct explain_read *read = explain_read_find(&half->reads, pkt->bth.psn);
    if (!read)
        read = extend_read(half, pkt);
    if (!read) {
        snprintf(m->words, sizeof m->words, "RDMA READ response, PSN 0x%06x, to a request that was not seen",
                 pkt->bth.psn);
        return;
    }
    uint32_t k = (pkt->bth.psn - read->psn) & ROCE_PSN_MASK;
    bool last =
        pkt->op->flags & (ROCE_PKT_LAST | ROCE_PKT_ONLY) && !explain_read_may_end_early(pair, read, k);
    place_answer(half, ids, read, k, packet, m);
    if (last)
        explain_pmtu_read_ends(half, read, k, pkt->payload_bytes);
    read->is_answered |= last;
    m->message = read->message;
    m->answers = read->number;
    m->piece = k + 1;
    m->pieces = read->span;
    m->bytes_total = read->bytes;
    m->bytes_done = last ? read->bytes : (uint64_t)(k + 1) * pkt->payload_bytes;
    acknowledge(half, packet, roce_psn_add(pkt->bth.psn, 1));
    describe_read_response(m);
}

static void take_atomic_ack(struct explain_half *half, const struct explain_packet *packet,
                            struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_read *read = explain_read_find(&half->reads, pkt->bth.psn);
    if (read) {
        read->is_answered = true;
        m->message = read->message;
        m->answers = read->number;
    }
    acknowledge(half, packet, roce_psn_add(pkt->bth.psn, 1));
    snprintf(m->words, sizeof m->words, "ATOMIC ACK of PSN 0x%06x, original value 0x%" PRIx64, pkt->bth.psn,
             pkt->atomicacketh.original);
}

/* The answer that this one is a copy of, made by the network: the same identification, from a sender that
 * counts. An answer that is no copy is remembered. */
static uint64_t copy_of(struct explain_half *half, const struct explain_ids *ids,
                        const struct explain_packet *packet)
{
    uint16_t id = explain_ip_id(packet);
    const struct roce_bth *bth = &packet->roce.bth;
    if (packet->roce.l3_kind != ROCE_L3_IPV4 ||
        (ids->count > 1 && explain_ids_count(ids) == EXPLAIN_SURE_UNKNOWN))
        return 0; /* it does not count */
    for (unsigned i = 0; half->answers.kept && i < EXPLAIN_ANSWERS_MAX; i++) {
        const struct explain_answer *a = &half->answers.kept[i];
        if (a->number && a->ip_id == id && a->psn == bth->psn && a->opcode == bth->opcode)
            return explain_ids_count(ids) == EXPLAIN_SURE_UNKNOWN ? 0 : a->number;
    }
    struct explain_answer *kept = explain_answer_add(&half->answers);
    if (kept)
        *kept = (struct explain_answer){
            .number = packet->number, .psn = bth->psn, .ip_id = id, .opcode = bth->opcode};
    return 0;
}

static void remark_copy(const struct explain_packet *packet, const struct explain_ids *ids, uint64_t original,
                        struct explain_meaning *m)
{
    struct explain_why why = {.cause = EXPLAIN_CAUSE_COPIED, .sure = explain_ids_count(ids)};
    why.has_ip_id = true;
    why.ip_id[0] = why.ip_id[1] = explain_ip_id(packet);
    explain_why_prove(&why, original, "the same identification");
    m->answers = original;
    snprintf(m->words, sizeof m->words, "%s, a second copy of #%" PRIu64, packet->roce.op->name, original);
    explain_because(explain_remark(m, EXPLAIN_FIND_DUPLICATE, "", 0, original,
                                   "the network made a copy of #%" PRIu64, original),
                    &why);
}

/* Whether an answer that fits no request is one to this pair, as far as others and the UDP ports tell. */
static bool is_one_of_ours(const struct explain_pair *pair, unsigned direction, const struct roce_pkt *pkt)
{
    return pair->pairing.is_shown || (pair->pairing.tries <= 1 && explain_is_own_port(pkt->src_port) &&
                                      pair->src_port[!direction] == pkt->src_port);
}

/* Of a PSN before the first that was sent here. */
static void remark_ghost(struct explain_half *half, const struct roce_pkt *pkt, struct explain_meaning *m)
{
    struct explain_why why = {.cause = EXPLAIN_CAUSE_UNKNOWN};
    half->message.is_begun_before = true;
    half->capture.has_ghosts = true;
    explain_why_doubt(&why, EXPLAIN_CAUSE_CAPTURE_DROPPED, EXPLAIN_CAUSE_BEFORE_CAPTURE, EXPLAIN_CAUSE_NONE);
    explain_because(explain_remark(m, EXPLAIN_FIND_GHOST_ACK, "ROCE-RC-30", 0, 0,
                                   "PSN 0x%06x is answered, and was not sent in this capture", pkt->bth.psn),
                    &why);
}

/* Everything that was seen is acknowledged: the MSN counts the messages (ROCE-RS-50). */
static void judge_count(struct explain_pair *pair, unsigned direction, const struct roce_pkt *pkt,
                        struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    bool is_ack = pkt->op->flags & ROCE_PKT_AETH && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK;
    if (!is_ack || !half->asks.has_any || half->message.is_open || half->asks.is_guessed ||
        half->acks.una_psn != half->asks.next_psn)
        return;
    int32_t more = explain_message_recount(pair, direction, pkt->aeth.msn, m);
    if (more && !m->is_uncounted)
        explain_add_words(m, "; %d message%s %s than were counted before #%" PRIu64, abs(more),
                          abs(more) == 1 ? "" : "s", more < 0 ? "fewer" : "more", half->capture.gap.number);
}

/* A responder's MSN never goes back: it is another, behind the same QPN, and the facts about the first are of
 * no use for it. */
static void judge_age(struct explain_pair *pair, struct explain_half *half, const struct roce_pkt *pkt)
{
    bool is_further = !half->acks.is_known || roce_psn_diff(pkt->bth.psn, half->acks.una_psn) >= 0;
    if (!(pkt->op->flags & ROCE_PKT_AETH) || !is_further)
        return;
    if (half->acks.is_known && roce_psn_diff(pkt->aeth.msn, half->msn.newest) < 0) {
        pair->shown.earlier = pair->index;
        pair->ids[0] = pair->ids[1] = (struct explain_ids){0};
        half->msn.is_known = false;
        half->capture.gap.is_covered = true;
        free(half->recovery);
        half->recovery = NULL;
        free(half->selective);
        half->selective = NULL;
    }
    half->msn.newest = pkt->aeth.msn;
}

static void describe_sack(const struct roce_pkt *pkt, const struct explain_sack *sack,
                          struct explain_meaning *m)
{
    static const char *const kinds[2][2] = {{", an offer", ""}, {", a probe and an offer", ", a probe"}};
    snprintf(m->words, sizeof m->words, "selective ACK%s: expects 0x%06x, has %u behind it",
             kinds[pkt->sacketh.probe][pkt->sacketh.known], pkt->bth.psn, sack->kept);
    if (sack->lacking)
        explain_add_words(m, ", lacks %u", sack->lacking);
    if (sack->probe_number)
        explain_add_words(m, "; answers probe #%" PRIu64, sack->probe_number);
}

/* It tells of PSNs that none before it told of. */
static void remark_lacking(struct explain_pair *pair, struct explain_half *half,
                           const struct explain_sack *sack, struct explain_meaning *m)
{
    const struct explain_sent *s = explain_sent_find(&half->history, sack->psn);
    bool is_here =
        s && (explain_is_newest_here(half, sack->psn, s) || !explain_weather_is_calm(half->weather));
    uint64_t sent_number = s ? s->number : 0;
    uint32_t count = (sack->end_psn - sack->psn) & ROCE_PSN_MASK;
    struct explain_why why = {.cause = EXPLAIN_CAUSE_UNKNOWN};
    explain_why_prove(&why, is_here ? sent_number : half->capture.gap.number,
                      is_here ? "the packet that did not arrive" : "the packet behind it");
    explain_weather_tell(half->weather,
                         &(struct explain_missing){.qpn = pair->shown.qpn[half == &pair->half[0]],
                                                   .psn = sack->psn,
                                                   .count = count,
                                                   .is_here = is_here},
                         &why);
    explain_because(count == 1 ? explain_remark(m, EXPLAIN_FIND_SELECTIVE_ACK, "", 0, sent_number,
                                                "PSN 0x%06x had not come; %u behind what is expected had",
                                                sack->psn, sack->kept)
                               : explain_remark(m, EXPLAIN_FIND_SELECTIVE_ACK, "", 0, sent_number,
                                                "PSN 0x%06x and %u behind it had not come; %u behind what is "
                                                "expected had",
                                                sack->psn, count - 1, sack->kept),
                    &why);
}

/* A selective acknowledgement of nornic's: everything before its PSN has come, and a bitmap tells of the
 * packets behind it. Without one it asks, or answers. */
static void take_sack(struct explain_pair *pair, struct explain_half *half, unsigned direction,
                      const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (pkt->sacketh.version) {
        snprintf(m->words, sizeof m->words, "selective ACK of version %u, which is not known: it is dropped",
                 pkt->sacketh.version);
        return;
    }
    pair->shown.selective_acks[direction]++;
    bool is_further = !half->acks.is_known || roce_psn_diff(pkt->bth.psn, half->acks.una_psn) > 0;
    acknowledge(half, packet, pkt->bth.psn);
    const struct explain_sent *s = explain_sent_find(&half->history, pkt->bth.psn);
    struct explain_sack sack = explain_selective_take(half, packet, is_further);
    m->answers = s ? s->number : 0;
    describe_sack(pkt, &sack, m);
    if (sack.psn != sack.end_psn)
        remark_lacking(pair, half, &sack, m);
    if (!pkt->sacketh.probe)
        return;
    pair->shown.probes[direction]++;
    explain_selective_probe(&pair->half[direction], packet);
    explain_remark(m, EXPLAIN_FIND_PROBE, "", 0, 0, "%s",
                   pkt->sacketh.known ? "its sender has had no answer for a while, and asks what has come"
                                      : "its sender's timer ran out: it asks what has come, and offers to "
                                        "send again only what has not");
}

static void take(struct explain_pair *pair, struct explain_half *half, unsigned direction,
                 const struct explain_packet *packet, struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (pkt->op->flags & ROCE_PKT_READ_RESP)
        take_read_response(pair, half, &pair->ids[direction], packet, m);
    else if (pkt->op->flags & ROCE_PKT_ATOMICACKETH)
        take_atomic_ack(half, packet, m);
    else if (roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK)
        take_ack(half, packet, m);
    else if (roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_RESERVED)
        snprintf(m->words, sizeof m->words, "an answer with the reserved syndrome 0x%02x: it is ignored",
                 pkt->aeth.syndrome); /* ROCE-HDR-20 */
    else
        take_nak(pair, half, direction, packet, m);
}

void explain_response(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                      struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[!direction]; /* the requests are the other end's */
    struct explain_ids *ids = &pair->ids[direction];
    const struct roce_pkt *pkt = &packet->roce;
    uint64_t original = copy_of(half, ids, packet);
    if (original) {
        remark_copy(packet, ids, original, m);
        return;
    }
    if (pkt->op->flags & ROCE_PKT_SACKETH) {
        note_skipped(half, packet);
        take_sack(pair, half, direction, packet, m);
        explain_ids_learn(ids, explain_ip_id(packet));
        return;
    }
    bool is_ours = is_one_of_ours(pair, direction, pkt);
    if (explain_early_take(half, packet, is_ours, m)) {
        explain_pmtu_learn(pair, half, pkt);
        explain_pair_carry(pair, !direction, packet, m);
        explain_ids_learn(ids, explain_ip_id(packet));
        return;
    }
    judge_age(pair, half, pkt);
    note_skipped(half, packet);
    take(pair, half, direction, packet, m);
    explain_pair_carry(pair, !direction, packet, m);
    if (is_ghost(half, pkt)) {
        if (is_ours && roce_psn_diff(pkt->bth.psn, half->asks.next_psn) >= 0)
            explain_early_keep(half, packet, true);
        else if (is_ours && !half->capture.is_unseen && !half->clock.skew_ns)
            remark_ghost(half, pkt, m);
    } else {
        explain_gap_judge(half, packet->number, pkt, m);
        judge_count(pair, !direction, pkt, m);
    }
    explain_ids_learn(ids, explain_ip_id(packet));
    half->acks.newest_number = packet->number;
    half->acks.newest_ns = packet->time_ns;
    pair->half[direction].clock.react_ns = half->clock.is_at_once ? 0 : half->clock.rtt_ns;
}
