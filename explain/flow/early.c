/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/early.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "explain/flow/message/pmtu.h"
#include "explain/flow/pair/place.h"
#include "explain/meaning/words.h"
#include "roce/psn.h"

#define PMTU_LEAST  256
#define SWAPPED_NS  NS_PER_MS /* records that lie no farther apart change places; more is another clock */
#define SHORT_NS    (100 * NS_PER_US) /* less is told in microseconds */
#define LEADS       3                 /* answers before their questions that show one */
#define LEADS_SHARE 8                 /* if they are at least so great a part, 1/8, of all */

/* Returns the PSN that the sender uses next at the earliest, as far as that answer shows. A READ with a
 * guessed path MTU may take more than was thought, if the answer goes on with others. */
static uint32_t next_psn(const struct explain_half *half, const struct roce_pkt *pkt)
{
    const struct explain_read *r = explain_read_last(&half->reads, half->asks.next_psn);
    bool goes_on =
        !(pkt->op->flags & (ROCE_PKT_FIRST | ROCE_PKT_ONLY)) || !(pkt->op->flags & ROCE_PKT_READ_RESP);
    if (!half->asks.is_guessed || !r || !goes_on)
        return half->asks.next_psn;
    return roce_psn_add(r->psn, explain_pieces_of(r->bytes, PMTU_LEAST));
}

static bool is_ahead(const struct explain_half *half, const struct roce_pkt *pkt)
{
    return roce_psn_diff(pkt->bth.psn, next_psn(half, pkt)) >= 0 && !explain_is_asked(half, pkt->bth.psn);
}

static bool is_plain_answer(const struct roce_pkt *pkt)
{
    return pkt->op->flags & (ROCE_PKT_READ_RESP | ROCE_PKT_ATOMICACKETH) ||
           (pkt->op->flags & ROCE_PKT_AETH && roce_syndrome_kind(pkt->aeth.syndrome) == ROCE_SYN_ACK);
}

static void describe(const struct roce_pkt *pkt, struct explain_meaning *m)
{
    m->words[0] = '\0';
    if (pkt->op->flags & ROCE_PKT_READ_RESP)
        explain_add_words(m, "RDMA READ response, PSN 0x%06x, to a request that is not here so far",
                          pkt->bth.psn);
    else if (pkt->op->flags & ROCE_PKT_ATOMICACKETH)
        explain_add_words(m, "ATOMIC ACK of PSN 0x%06x, original value 0x%" PRIx64 ", not asked for so far",
                          pkt->bth.psn, pkt->atomicacketh.original);
    else
        explain_add_words(m, "ACK up to PSN 0x%06x, MSN %u, of what was not sent here so far", pkt->bth.psn,
                          pkt->aeth.msn);
}

void explain_early_keep(struct explain_half *half, const struct explain_packet *packet, bool is_ours)
{
    if (!half->early)
        half->early = calloc(1, sizeof *half->early);
    if (!half->early)
        return;
    /* also if it is met later: it was in doubt which end the answer was for */
    half->capture.has_ghosts = true;
    half->early->kept[half->early->next++ % EXPLAIN_EARLY_KEPT] =
        (struct explain_early_answer){.number = packet->number,
                                      .time_ns = packet->time_ns,
                                      .psn = packet->roce.bth.psn,
                                      .next_psn = half->asks.next_psn,
                                      .opcode = packet->roce.bth.opcode,
                                      .bytes = packet->roce.payload_bytes,
                                      .is_ours = is_ours,
                                      .is_nak = !is_plain_answer(&packet->roce)};
}

bool explain_early_take(struct explain_half *half, const struct explain_packet *packet, bool is_ours,
                        struct explain_meaning *m)
{
    const struct roce_pkt *pkt = &packet->roce;
    if (!half->asks.has_any) /* the capture may begin in the middle: whatever it answers is acknowledged */
        return false;
    if (!is_plain_answer(pkt) || !is_ahead(half, pkt))
        return false;
    explain_early_keep(half, packet, is_ours);
    m->is_early = true;
    describe(pkt, m);
    return true;
}

/* --- the question comes --- */

static void move_edge(struct explain_half *half, uint32_t end_psn)
{
    if (half->acks.is_known && roce_psn_diff(end_psn, half->acks.una_psn) <= 0)
        return;
    explain_sent_answered(&half->history, half->acks.is_known ? half->acks.una_psn : half->asks.first_psn,
                          end_psn);
    half->acks.is_known = true;
    half->acks.una_psn = end_psn;
}

/* A READ has its answers one by one, an atomic its own. */
static void answer_read(struct explain_half *half, const struct explain_early_answer *e)
{
    struct explain_read *r = explain_read_find(&half->reads, e->psn);
    uint32_t flags = roce_opcodes[e->opcode].flags;
    if (!r || !(flags & (ROCE_PKT_READ_RESP | ROCE_PKT_ATOMICACKETH)))
        return;
    uint32_t k = (e->psn - r->psn) & ROCE_PSN_MASK;
    if (k >= r->next) {
        uint32_t missing = k - r->next;
        r->seen_mask = (missing < 63 ? r->seen_mask << (missing + 1) : 0) | 1;
        r->next = k + 1;
    }
    if (flags & (ROCE_PKT_FIRST | ROCE_PKT_MIDDLE))
        return;
    r->is_answered = true;
    if (flags & ROCE_PKT_READ_RESP)
        explain_pmtu_read_ends(half, r, k, e->bytes);
}

/* Reports that the clocks of the two directions differ, or that records which lie close have changed places.
 * Once for two hosts. */
static void tell_clocks(struct explain_half *half, const struct explain_early_answer *e, uint64_t lead_ns,
                        struct explain_meaning *m)
{
    struct explain_clocks *c = half->clock.hosts;
    char lead[32];
    snprintf(lead, sizeof lead, lead_ns < SHORT_NS ? "%.1f us" : "%.1f ms",
             (double)lead_ns / (lead_ns < SHORT_NS ? 1e3 : 1e6));
    if (half->clock.skew_ns && lead_ns && !c->is_skew_told)
        explain_remark(m, EXPLAIN_FIND_CLOCKS, "", 0, e->number,
                       "answers stand before what they answer, #%" PRIu64
                       " by %s: the clocks of the two directions differ, and times between them tell nothing",
                       e->number, lead);
    else if (!half->clock.skew_ns && lead_ns < SWAPPED_NS && half->clock.timely > LEADS * LEADS_SHARE &&
             !c->is_skew_told && !c->is_swap_told)
        explain_remark(m, EXPLAIN_FIND_CLOCKS, "", 0, e->number,
                       "#%" PRIu64 ", which answers this, stands %s before it: records are out of order",
                       e->number, lead_ns ? lead : "at the same time");
    else
        return;
    c->is_skew_told |= half->clock.skew_ns != 0;
    c->is_swap_told = true;
}

/* Returns one past the PSN that the answer acknowledges; of a NAK the PSN that it names. */
static uint32_t end_of(const struct explain_early_answer *e)
{
    return e->is_nak ? e->psn : roce_psn_add(e->psn, 1);
}

/* The clocks differ: so many answers of this half, or of all, stand before their questions. */
static bool are_many(uint64_t leads, uint64_t timely)
{
    return leads >= LEADS && leads * LEADS_SHARE >= timely;
}

static void meet(struct explain_half *half, const struct explain_early_answer *e)
{
    if (!e->is_nak)
        answer_read(half, e);
    move_edge(half, end_of(e));
}

/* A request came behind its answer. At the same time, that is the order of two records, and no clock.
 * Other flows between these hosts count for this one too, if it is more than two records that changed
 * places. */
static void note_lead(struct explain_pair *pair, struct explain_half *half, struct explain_early *early,
                      const struct explain_packet *packet, const struct explain_early_answer *e,
                      struct explain_meaning *m)
{
    uint64_t lead_ns = packet->time_ns > e->time_ns ? packet->time_ns - e->time_ns : 0;
    early->leads += lead_ns != 0;
    early->most_ns = max_u64(early->most_ns, lead_ns);
    half->clock.hosts->leads += lead_ns != 0;
    bool is_shown_elsewhere =
        lead_ns >= SWAPPED_NS && are_many(half->clock.hosts->leads, half->clock.hosts->timely);
    if (lead_ns && (are_many(early->leads, half->clock.timely) || is_shown_elsewhere))
        explain_pair_skewed(pair, early->most_ns);
    tell_clocks(half, e, lead_ns, m);
}

uint64_t explain_early_settle(struct explain_pair *pair, unsigned direction,
                              const struct explain_packet *packet, uint32_t from_psn,
                              struct explain_meaning *m)
{
    struct explain_half *half = &pair->half[direction];
    struct explain_early *early = half->early;
    if (!early)
        return 0;
    uint32_t psn = packet->roce.bth.psn, left_out = (psn - from_psn) & ROCE_PSN_MASK;
    struct explain_early_answer lead = {0};
    uint64_t covers = 0;
    for (uint32_t i = 0; i < EXPLAIN_EARLY_KEPT; i++) { /* the oldest first */
        struct explain_early_answer *e = &early->kept[(early->next + i) % EXPLAIN_EARLY_KEPT];
        if (!e->number)
            continue;
        bool is_met = ((e->psn - psn) & ROCE_PSN_MASK) < ((half->asks.next_psn - psn) & ROCE_PSN_MASK);
        if (is_met)
            meet(half, e);
        else if (((e->psn - from_psn) & ROCE_PSN_MASK) < left_out)
            move_edge(half, end_of(e));
        else
            continue;
        lead = is_met && !lead.number ? *e : lead;
        covers = !is_met && end_of(e) == psn ? e->number : covers;
        e->number = 0;
    }
    if (lead.number)
        note_lead(pair, half, early, packet, &lead, m);
    return covers;
}

/* --- it never came --- */

/* Tells why an answer has no request. If the packets that were sent behind the answer have lower PSNs, it was
 * an answer to nothing. Otherwise the capture may have missed the request, or it was overtaken on its way. */
static struct explain_why why_left(const struct explain_half *half, const struct explain_early_answer *e)
{
    struct explain_why why = {.cause = EXPLAIN_CAUSE_CAPTURE_DROPPED, .sure = EXPLAIN_SURE_LIKELY};
    if (half->asks.next_psn != e->next_psn)
        why = (struct explain_why){.cause = EXPLAIN_CAUSE_UNKNOWN};
    else if (!explain_weather_is_calm(half->weather))
        explain_why_doubt(&why, EXPLAIN_CAUSE_CAPTURE_DROPPED, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_NONE);
    return why;
}

bool explain_early_left(const struct explain_half *half, unsigned *at, struct explain_finding *f)
{
    while (half->early && !half->clock.skew_ns && !half->capture.is_unseen && *at < EXPLAIN_EARLY_KEPT) {
        const struct explain_early_answer *e = &half->early->kept[(*at)++];
        /* of a READ that took more PSNs than was thought then */
        if (!e->number || !e->is_ours || !explain_was_not_asked(half, e->psn))
            continue;
        struct explain_why why = why_left(half, e);
        *f = (struct explain_finding){
            .kind = EXPLAIN_FIND_GHOST_ACK, .rule = "ROCE-RC-30", .number = e->number};
        snprintf(f->words, sizeof f->words, "PSN 0x%06x is answered, and was not sent in this capture",
                 e->psn);
        explain_because(f, &why);
        return true;
    }
    return false;
}
