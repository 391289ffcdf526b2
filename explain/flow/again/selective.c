/* SPDX-License-Identifier: BSD-2-Clause */
/* A receiver that keeps packets behind a gap tells again and again of the packets that it has. Its sender
 * sends again the packets before these that did not come. So a packet that comes again, and that one of these
 * acknowledgements since its copy before lacks, was sent for it, unless a timer fits better. It is shown if
 * packets before it were passed over that are there: no sender goes back to the middle. */
#include "explain/flow/again/selective.h"

#include <stdlib.h>
#include <string.h>

#include "explain/flow/again/run.h"
#include "explain/flow/again/timer.h"
#include "explain/flow/again/trouble.h"
#include "roce/psn.h"

static struct explain_selective *selective_of(struct explain_half *half)
{
    if (!half->selective)
        half->selective = calloc(1, sizeof *half->selective);
    return half->selective;
}

void explain_selective_probe(struct explain_half *half, const struct explain_packet *packet)
{
    struct explain_selective *s = half->asks.has_any ? selective_of(half) : NULL;
    if (!s)
        return;
    s->probe_number = packet->number;
    s->probe_stamp = packet->roce.sacketh.stamp;
    s->probe_end_psn = half->asks.next_psn;
    s->is_probe_answered = false;
}

/* --- the content of one --- */

static bool is_in(const struct explain_hole *h, uint32_t psn)
{
    return roce_psn_diff(psn, h->psn) >= 0 && roce_psn_diff(psn, h->end_psn) < 0;
}

/* The list of holes that replaces the one before. */
struct holes {
    struct explain_hole list[EXPLAIN_HOLES_MAX];
    unsigned count;
};

static void add(struct holes *holes, const struct explain_hole *hole)
{
    if (hole->psn != hole->end_psn && holes->count < EXPLAIN_HOLES_MAX)
        holes->list[holes->count++] = *hole;
}

/* How many bytes of the bitmap the capture holds. */
static uint32_t bitmap_bytes(const struct explain_packet *packet)
{
    const struct roce_pkt *pkt = &packet->roce;
    size_t offset = (size_t)(pkt->payload - packet->frame);
    return offset < packet->len_bytes ? min_u32(pkt->payload_bytes, packet->len_bytes - (uint32_t)offset) : 0;
}

/* The holes between the expected PSN and the last packet that is there; returns one past that. */
static uint32_t read_bitmap(const struct explain_packet *packet, struct holes *holes,
                            struct explain_sack *sack)
{
    const struct roce_pkt *pkt = &packet->roce;
    uint32_t end_psn = pkt->bth.psn;
    for (uint32_t i = 0; i < 8 * bitmap_bytes(packet); i++) {
        if (!(pkt->payload[i / 8] & 0x80 >> i % 8))
            continue;
        uint32_t psn = roce_psn_add(pkt->bth.psn, 1 + i);
        add(holes,
            &(struct explain_hole){.psn = end_psn, .end_psn = psn, .is_head = end_psn == pkt->bth.psn});
        sack->kept++;
        end_psn = roce_psn_add(psn, 1);
    }
    return end_psn;
}

/* Reads the answer to a probe: it lacks packets that were sent before the probe. Returns one past all that is
 * missing. */
static uint32_t read_echo(struct explain_selective *s, const struct explain_packet *packet, uint32_t end_psn,
                          struct holes *holes, struct explain_sack *sack)
{
    uint32_t echo = packet->roce.sacketh.echo;
    if (!s->probe_number || !echo || echo != s->probe_stamp)
        return end_psn;
    sack->probe_number = s->is_probe_answered ? 0 : s->probe_number;
    s->is_probe_answered = true;
    if (roce_psn_diff(s->probe_end_psn, end_psn) <= 0)
        return end_psn;
    add(holes, &(struct explain_hole){.psn = end_psn,
                                      .end_psn = s->probe_end_psn,
                                      .is_head = end_psn == packet->roce.bth.psn,
                                      .probe_number = s->probe_number});
    return s->probe_end_psn;
}

/* Judges packets that were missing at these PSNs and are there now. If they came before they were sent again,
 * or sooner than a round trip afterwards, they were the first copies, which others had overtaken. */
static void judge(struct explain_half *half, const struct explain_hole *hole, uint32_t psn, uint32_t end_psn,
                  uint64_t now_ns)
{
    struct explain_hole *filled =
        &half->selective->filled[half->selective->next_filled++ % EXPLAIN_FILLED_MAX];
    *filled = *hole;
    filled->psn = psn;
    filled->end_psn = end_psn;
    filled->filled_ns = now_ns;
    for (; psn != end_psn; psn = roce_psn_add(psn, 1)) {
        const struct explain_sent *s = explain_sent_find(&half->history, psn);
        if (!s)
            continue;
        bool is_late = s->number < hole->first_number || now_ns - s->time_ns < half->clock.rtt_ns;
        if (is_late)
            half->weather->late++;
        else
            half->weather->lost++;
    }
}

/* The hole among the old ones that this one is, or is a part of; NULL: none is. */
static const struct explain_hole *find_old(const struct explain_selective *s, const struct explain_hole *hole)
{
    for (unsigned i = 0; i < s->count; i++)
        if (roce_psn_diff(hole->psn, s->holes[i].psn) >= 0 &&
            roce_psn_diff(s->holes[i].end_psn, hole->end_psn) >= 0)
            return &s->holes[i];
    return NULL;
}

static void date(const struct explain_selective *s, const struct explain_packet *packet,
                 struct explain_hole *hole, struct explain_sack *sack)
{
    const struct explain_hole *old = find_old(s, hole);
    hole->is_fresh = old ? old->is_fresh : hole->is_fresh;
    hole->first_number = old ? old->first_number : packet->number;
    hole->first_ns = old ? old->first_ns : packet->time_ns;
    hole->second_ns = !old ? 0 : old->second_ns ? old->second_ns : packet->time_ns;
    hole->newest_number = packet->number;
    hole->newest_ns = packet->time_ns;
    hole->echo_number = sack->probe_number ? packet->number : old ? old->echo_number : 0;
    hole->asked_number = sack->probe_number ? sack->probe_number : old ? old->asked_number : 0;
    sack->lacking += (hole->end_psn - hole->psn) & ROCE_PSN_MASK;
    if (old || sack->psn != sack->end_psn)
        return;
    sack->psn = hole->psn;
    sack->end_psn = hole->end_psn;
}

/* Judges the packets that the old holes named between these PSNs, and that are there now. */
static void judge_between(struct explain_half *half, uint32_t psn, uint32_t end_psn, uint64_t now_ns)
{
    const struct explain_selective *s = half->selective;
    for (unsigned i = 0; i < s->count; i++) {
        const struct explain_hole *h = &s->holes[i];
        uint32_t from = roce_psn_diff(h->psn, psn) > 0 ? h->psn : psn;
        uint32_t to = roce_psn_diff(end_psn, h->end_psn) > 0 ? h->end_psn : end_psn;
        if (roce_psn_diff(to, from) > 0)
            judge(half, h, from, to, now_ns);
    }
}

struct explain_sack explain_selective_take(struct explain_half *half, const struct explain_packet *packet,
                                           bool is_further)
{
    const struct roce_pkt *pkt = &packet->roce;
    struct explain_selective *s = selective_of(half);
    struct explain_sack sack = {0};
    struct holes holes = {.count = 0};
    uint32_t end_psn = read_bitmap(packet, &holes, &sack);
    if (holes.count)
        holes.list[0].is_fresh = is_further;
    if (!s || (half->acks.is_known && roce_psn_diff(half->acks.una_psn, pkt->bth.psn) > 0))
        return sack; /* a newer answer went further */
    s->psn = pkt->bth.psn;
    s->end_psn = end_psn;
    end_psn = read_echo(s, packet, end_psn, &holes, &sack);
    uint32_t there = pkt->bth.psn;
    for (unsigned i = 0; i < holes.count; i++) {
        judge_between(half, there, holes.list[i].psn, packet->time_ns);
        there = holes.list[i].end_psn;
        date(s, packet, &holes.list[i], &sack);
    }
    judge_between(half, there, end_psn, packet->time_ns);
    for (unsigned i = 0; i < s->count; i++) { /* behind all that it tells of */
        struct explain_hole *h = &s->holes[i];
        if (roce_psn_diff(end_psn, h->psn) > 0)
            h->psn = roce_psn_diff(end_psn, h->end_psn) > 0 ? h->end_psn : end_psn;
        add(&holes, h);
    }
    memcpy(s->holes, holes.list, holes.count * sizeof *holes.list);
    s->count = holes.count;
    s->number = packet->number;
    return sack;
}

bool explain_selective_names(const struct explain_half *half, uint32_t psn)
{
    const struct explain_selective *s = half->selective;
    return s && (psn == s->psn || roce_psn_diff(s->end_psn, psn) > 0);
}

bool explain_selective_has(const struct explain_half *half, uint32_t psn)
{
    const struct explain_selective *s = half->selective;
    if (!s || roce_psn_diff(psn, s->psn) <= 0 || roce_psn_diff(psn, s->end_psn) >= 0)
        return false;
    for (unsigned i = 0; i < s->count; i++)
        if (is_in(&s->holes[i], psn))
            return false;
    return true;
}

void explain_selective_passed(struct explain_half *half, uint64_t now_ns, uint32_t end_psn)
{
    struct explain_selective *s = half->selective;
    unsigned kept = 0;
    for (unsigned i = 0; i < s->count; i++) {
        struct explain_hole h = s->holes[i];
        uint32_t to = roce_psn_diff(end_psn, h.end_psn) > 0 ? h.end_psn : end_psn;
        if (roce_psn_diff(to, h.psn) > 0) {
            judge(half, &h, h.psn, to, now_ns);
            h.psn = to;
        }
        if (h.psn != h.end_psn)
            s->holes[kept++] = h;
    }
    s->count = kept;
}

/* --- why a packet comes again --- */

static bool is_in_flight(const struct explain_half *half, uint64_t asked_ns, uint64_t now_ns)
{
    return now_ns < asked_ns + half->clock.react_ns - half->clock.react_ns / 8;
}

/* Returns the hole that the packet fills, as an acknowledgement says that came to the sender since the copy
 * before. */
static const struct explain_hole *open_hole(const struct explain_case *c)
{
    const struct explain_selective *s = c->half->selective;
    for (unsigned i = 0; i < s->count; i++) {
        const struct explain_hole *h = &s->holes[i];
        if (!is_in(h, c->psn))
            continue;
        uint64_t said = h->probe_number ? h->probe_number : h->newest_number;
        bool is_sent_since = c->before && c->before->number > said;
        return is_sent_since || is_in_flight(c->half, h->first_ns, c->now_ns) ? NULL : h;
    }
    return NULL;
}

/* Returns a hole that was filled before this packet could come, by a copy that others had overtaken. A
 * packet that was sent for it meanwhile comes a round trip later. */
static const struct explain_hole *filled_hole(const struct explain_case *c)
{
    const struct explain_half_clock *clock = &c->half->clock;
    uint64_t trip_ns = clock->react_ns + max_u64(clock->react_ns, clock->rtt_ns);
    for (unsigned i = 0; c->before && c->is_proved && i < EXPLAIN_FILLED_MAX; i++) {
        const struct explain_hole *h = &c->half->selective->filled[i];
        bool is_first = c->before->first_ns == c->before->time_ns;
        if (h->first_number && is_in(h, c->psn) && (is_first || c->before->number < h->first_number) &&
            !is_in_flight(c->half, h->first_ns, c->now_ns) && c->now_ns - h->filled_ns <= trip_ns)
            return h;
    }
    return NULL;
}

/* Returns the hole that the packet was sent for; NULL: none, or its sender goes back, and it would be next
 * all the same. */
static const struct explain_hole *hole_of(const struct explain_case *c)
{
    if (!c->half->selective || (c->psn == c->half->recovery->run.cursor && explain_goes_along(c)))
        return NULL;
    const struct explain_hole *h = open_hole(c);
    return h ? h : filled_hole(c);
}

/* Returns whether nothing else asks for this packet: packets before it that are there were passed over, or
 * the packet before it was sent for such an acknowledgement for sure. A packet that is there and was sent
 * again all the same was not passed over. */
static bool is_out_of_turn(const struct explain_case *c, const struct explain_hole *hole)
{
    const struct explain_half *half = c->half;
    const struct explain_selective *s = half->selective;
    const struct explain_sent *last = explain_sent_find(&half->history, roce_psn_add(c->psn, ROCE_PSN_MASK));
    bool is_ahead = half->acks.is_known && roce_psn_diff(c->psn, half->acks.una_psn) > 0;
    bool is_passed_over = c->psn == hole->psn && !(last && last->number > hole->first_number);
    return is_ahead && !hole->is_head && (is_passed_over || (s->has_chosen && s->chosen_psn == c->psn));
}

/* Returns whether a sender needs so short a time to react. */
static bool is_at_once(const struct explain_half_clock *clock, uint64_t ns)
{
    return ns <= max_u64(EXPLAIN_SILENCE_NS, 4 * (clock->react_ns + clock->rtt_ns));
}

/* Returns whether the answer alone told the sender its place and its only copy, and the sender sent that
 * again at once. */
static bool is_alone(const struct explain_case *c, const struct explain_hole *hole)
{
    const struct explain_half_clock *clock = &c->half->clock;
    const struct explain_acks *acks = &c->half->acks;
    bool is_known = clock->rtt_ns || clock->react_ns || clock->is_at_once;
    bool is_only_copy = c->before && c->before->first_ns == c->before->time_ns;
    return is_known && hole->is_head && hole->is_fresh && c->psn == hole->psn && !hole->second_ns &&
           is_only_copy && acks->is_known && acks->una_psn == c->psn &&
           is_at_once(clock, c->now_ns - hole->first_ns);
}

/* Returns whether it may be the first copy, which comes late: nothing says that it was sent again, nor how
 * soon its sender does so. Or the copy before, which came when it was missing already, is the one that was
 * sent for the acknowledgement, and this one came behind both. */
static bool may_be_late(const struct explain_case *c, const struct explain_hole *hole)
{
    const struct explain_half *half = c->half;
    bool is_punctual = half->clock.rtt_ns && explain_weather_is_calm(half->weather);
    return c->before ? hole->filled_ns && c->before->number > hole->first_number
                     : !c->is_proved && !half->clock.react_ns && !is_punctual;
}

/* Returns whether the timer, or a NAK, explains the packet better. A receiver sends NAKs to senders that do
 * not read its selective acknowledgements. */
static bool has_better(const struct explain_case *c, const struct explain_hole *hole, bool is_prompt,
                       enum explain_fit timer)
{
    return hole->is_head &&
           ((!is_prompt && timer == EXPLAIN_FIT_WELL) || explain_trouble_nak(c) > hole->first_number);
}

static enum explain_sure sure_of(const struct explain_case *c, const struct explain_hole *hole,
                                 enum explain_fit timer)
{
    bool is_certain = timer == EXPLAIN_FIT_NOT && is_alone(c, hole);
    return c->is_next && !hole->filled_ns && (is_certain || is_out_of_turn(c, hole)) &&
                   !c->half->recovery->is_mangled
               ? EXPLAIN_SURE_SHOWN
               : EXPLAIN_SURE_LIKELY;
}

/* Names the acknowledgement that the packet was sent for, if it is known, and the evidence. */
static void prove(const struct explain_case *c, const struct explain_hole *hole, struct explain_why *why)
{
    const struct explain_sent *before = c->before;
    bool is_first_new = !before || hole->first_number > before->number;
    bool is_asked = before && hole->echo_number > before->number && hole->asked_number > before->number &&
                    hole->echo_number == hole->newest_number && !is_first_new;
    bool is_only = is_first_new && (!hole->second_ns || is_in_flight(c->half, hole->second_ns, c->now_ns));
    why->trigger = is_asked                                                           ? hole->echo_number
                   : is_only && (why->sure != EXPLAIN_SURE_SHOWN || !hole->second_ns) ? hole->first_number
                                                                                      : 0;
    why->evidence_count = 0;
    explain_why_prove(why, is_first_new ? hole->first_number : hole->newest_number, EXPLAIN_SACK_LACKS);
    explain_why_prove(why, is_asked ? hole->asked_number : hole->probe_number, "the probe that it answers");
    explain_why_prove(why, before ? before->number : 0, "the copy before");
}

bool explain_witness_selective(const struct explain_case *c, struct explain_verdict *v)
{
    const struct explain_half *half = c->half;
    const struct explain_hole *hole = hole_of(c);
    struct explain_why *why = &v->why;
    if (!hole)
        return false;
    uint64_t since_ns = is_in_flight(half, hole->newest_ns, c->now_ns) ? hole->first_ns : hole->newest_ns;
    bool is_prompt = is_at_once(&half->clock, c->now_ns - since_ns);
    enum explain_fit timer = explain_timer_fit(half, c->silence_ns, c->now_ns);
    if (has_better(c, hole, is_prompt, timer))
        return false;
    why->cause = EXPLAIN_CAUSE_SELECTIVE_ACK;
    why->sure = sure_of(c, hole, timer);
    if (hole->is_head && !is_prompt && timer != EXPLAIN_FIT_NOT)
        why->or_cause = EXPLAIN_CAUSE_TIMEOUT;
    prove(c, hole, why);
    half->selective->has_chosen = why->sure == EXPLAIN_SURE_SHOWN;
    half->selective->chosen_psn = roce_psn_add(c->psn, 1);
    if (may_be_late(c, hole))
        explain_why_doubt(why, EXPLAIN_CAUSE_SELECTIVE_ACK, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_NONE);
    return true;
}
