/* SPDX-License-Identifier: BSD-2-Clause */
/* A NAK comes shortly before the packet that is sent for it, and names the PSN with which that begins. An
 * RNR NAK also says how long the sender waits. An answer behind a missing one makes the sender ask again
 * (ROCE-RC-34).
 *
 * A NAK or a skip explains one return, and only for as long as the sender needs to react: then it is over.
 * It is shown when two things agree: the PSN is the one that was asked for, and the answer alone told of
 * it, or the time excludes the timer. */
#include "explain/flow/again/trouble.h"

#include "explain/flow/again/timer.h"
#include "roce/psn.h"

#define SOON_NS (20 * NS_PER_MS) /* a reaction, if neither timeout nor round trip are known */
#define PROMPT  16               /* a reaction in so small a part of the silence is no chance */
#define AT_HAND 8                /* so small a part of the way to the other end and back */

void explain_note_trouble(struct explain_half *half, const struct explain_packet *packet,
                          struct explain_trouble trouble)
{
    struct explain_recovery *r = explain_half_recovery(half);
    if (!r)
        return;
    trouble.number = packet->number;
    trouble.time_ns = packet->time_ns;
    trouble.is_over = false;
    r->troubles[r->next_trouble++ % EXPLAIN_TROUBLES_MAX] = trouble;
}

bool explain_trouble_is_in_flight(const struct explain_half *half, const struct explain_trouble *t,
                                  uint64_t time_ns)
{
    return time_ns < t->time_ns + half->clock.react_ns - half->clock.react_ns / 8;
}

/* Returns whether `t` asks for the packet. */
static bool asks_for(const struct explain_case *c, const struct explain_trouble *t)
{
    bool is_answered = c->before && c->before->number > t->number &&
                       !explain_trouble_is_in_flight(c->half, t, c->before->time_ns);
    return t->number && !t->is_over && roce_psn_diff(c->psn, t->psn) >= 0 && !is_answered;
}

/* Returns whether `t` is a better reason than `best`. */
static bool is_better(const struct explain_case *c, const struct explain_trouble *t,
                      const struct explain_trouble *best)
{
    bool is_exact = t->psn == c->psn, is_best_exact = best->psn == c->psn;
    bool is_same_skip = t->kind == EXPLAIN_TROUBLE_SKIPPED && best->kind == t->kind && t->psn == best->psn;
    bool is_nearer = is_same_skip ? t->number < best->number /* the sender goes back at the first */
                                  : t->number > best->number;
    return (is_exact && !is_best_exact) || (is_exact == is_best_exact && is_nearer);
}

const struct explain_trouble *explain_trouble_of(const struct explain_case *c)
{
    const struct explain_trouble *best = NULL;
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++) {
        const struct explain_trouble *t = &c->half->recovery->troubles[i];
        if (asks_for(c, t) && (!best || is_better(c, t, best)))
            best = t;
    }
    return best;
}

uint64_t explain_trouble_nak(const struct explain_case *c)
{
    const struct explain_trouble *t = explain_trouble_of(c);
    return t && t->kind == EXPLAIN_TROUBLE_NAK && t->psn == c->psn ? t->number : 0;
}

/* Judges one trouble. The packet that a NAK asked for has arrived: before it was sent again, or sooner than a
 * round trip afterwards, that was the first copy, which others had overtaken. */
static void judge_one(struct explain_half *half, struct explain_trouble *t, uint64_t now_ns, uint32_t end_psn)
{
    if (!t->number || t->kind != EXPLAIN_TROUBLE_NAK || t->is_judged || roce_psn_diff(end_psn, t->psn) <= 0)
        return;
    t->is_judged = true;
    bool is_late = !t->is_over || now_ns - t->over_ns < half->clock.rtt_ns;
    if (is_late)
        half->weather->late++;
    else
        half->weather->lost++;
}

void explain_trouble_judge(struct explain_half *half, uint64_t now_ns, uint32_t end_psn)
{
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++)
        judge_one(half, &half->recovery->troubles[i], now_ns, end_psn);
}

bool explain_was_refused(const struct explain_half *half, uint32_t psn, uint64_t number)
{
    for (unsigned i = 0; half->recovery && i < EXPLAIN_TROUBLES_MAX; i++) {
        const struct explain_trouble *t = &half->recovery->troubles[i];
        if (t->kind == EXPLAIN_TROUBLE_RNR && t->psn == psn && t->number > number)
            return true;
    }
    return false;
}

bool explain_is_named(const struct explain_half *half, uint32_t psn)
{
    for (unsigned i = 0; half->recovery && i < EXPLAIN_TROUBLES_MAX; i++) {
        const struct explain_trouble *t = &half->recovery->troubles[i];
        if (t->number && t->kind == EXPLAIN_TROUBLE_NAK && t->psn == psn)
            return true;
    }
    return false;
}

const struct explain_trouble *explain_waits_for_receive(const struct explain_half *half, uint32_t psn)
{
    for (unsigned i = 0; half->recovery && i < EXPLAIN_TROUBLES_MAX; i++) {
        const struct explain_trouble *t = &half->recovery->troubles[i];
        if (t->number && !t->is_over && t->kind == EXPLAIN_TROUBLE_RNR && t->psn == psn)
            return t;
    }
    return NULL;
}

/* --- the witness --- */

/* Returns how long after an answer its asker sends again at the latest, if nothing holds it up. */
static uint64_t trip_at_most_ns(const struct explain_half_clock *clock)
{
    return 2 * clock->react_ns + 4 * clock->rtt_ns;
}

/* Returns how long after an answer its asker sends again at once: a lost answer, and a timer that runs out
 * just then, would be a coincidence. */
static uint64_t prompt_ns(const struct explain_half_clock *clock)
{
    return 4 * (clock->react_ns + clock->rtt_ns);
}

static enum explain_fit fit_of_rnr(const struct explain_trouble *t, uint64_t delay_ns)
{
    if (delay_ns < t->wait_ns - t->wait_ns / 8)
        return EXPLAIN_FIT_NOT;
    return delay_ns <= t->wait_ns + t->wait_ns / 2 + SOON_NS ? EXPLAIN_FIT_WELL : EXPLAIN_FIT_MAY;
}

/* Returns how well the time that has passed since fits the reaction of the sender. */
static enum explain_fit fit_of(const struct explain_case *c, const struct explain_trouble *t)
{
    uint64_t timeout_ns = explain_timer_known(c->half);
    uint64_t delay_ns = c->now_ns > t->time_ns ? c->now_ns - t->time_ns : 0;
    if (t->kind == EXPLAIN_TROUBLE_RNR)
        return fit_of_rnr(t, delay_ns);
    uint64_t trip_ns = trip_at_most_ns(&c->half->clock);
    uint64_t soon_ns = max_u64(timeout_ns ? timeout_ns / 2 : SOON_NS, trip_ns);
    uint64_t late_ns = timeout_ns ? max_u64(timeout_ns - timeout_ns / 8, trip_ns) : 2 * soon_ns;
    if (explain_trouble_is_in_flight(c->half, t, c->now_ns))
        return EXPLAIN_FIT_NOT;
    return delay_ns < soon_ns ? EXPLAIN_FIT_WELL : delay_ns < late_ns ? EXPLAIN_FIT_MAY : EXPLAIN_FIT_NOT;
}

/* Returns whether the PSN itself shows that the sender had that answer: it begins at the PSN that only that
 * answer names. */
static bool is_known_by_it_alone(const struct explain_case *c, const struct explain_trouble *t)
{
    return t->psn == c->psn && t->is_fresh && !t->is_doubtful && c->half->acks.newest_number == t->number;
}

/* Returns whether other answers came behind the one that skips: the sender may have gone back for any of
 * them. */
static bool is_one_of_many(const struct explain_case *c, const struct explain_trouble *t)
{
    return t->kind == EXPLAIN_TROUBLE_SKIPPED && c->half->acks.newest_number != t->number;
}

/* Returns whether another answer than `t` may be the reason just as well, while the network shuffles the
 * packets that are sent for them. */
static bool has_rival(const struct explain_case *c, const struct explain_trouble *t)
{
    if (t->kind == EXPLAIN_TROUBLE_SKIPPED || t->psn == c->psn)
        return t->kind == EXPLAIN_TROUBLE_SKIPPED;
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++) {
        const struct explain_trouble *other = &c->half->recovery->troubles[i];
        if (other != t && other->number && roce_psn_diff(c->psn, other->psn) >= 0)
            return true;
    }
    return false;
}

/* Returns whether the sender can have reacted in that time. Its reactions before tell how long it takes.
 * Without any here, a sender is at hand if the other end is far. Of a sender that is far itself, another
 * packet was on its way, unless identifications that count say that none was. */
static bool is_as_ever(const struct explain_half *half, uint64_t delay_ns)
{
    return half->clock.react_ns ||
           (half->clock.rtt_ns && (half->recovery->is_numbered || delay_ns <= half->clock.rtt_ns / AT_HAND));
}

static bool is_alone(const struct explain_case *c, const struct explain_trouble *t)
{
    uint64_t delay_ns = c->now_ns - t->time_ns;
    return is_as_ever(c->half, delay_ns) && is_known_by_it_alone(c, t) &&
           delay_ns <= t->wait_ns + t->wait_ns / 4 + prompt_ns(&c->half->clock);
}

static enum explain_strength strength_of(const struct explain_case *c, const struct explain_trouble *t,
                                         enum explain_fit fit)
{
    bool is_exact = c->is_direct && fit == EXPLAIN_FIT_WELL && !c->half->recovery->is_mangled &&
                    t->psn == c->psn && !t->is_doubtful && !is_one_of_many(c, t);
    if (is_exact && is_alone(c, t))
        return EXPLAIN_STRENGTH_SHOWN;
    bool is_soon = c->now_ns - t->time_ns <= trip_at_most_ns(&c->half->clock);
    return is_exact && is_soon ? EXPLAIN_STRENGTH_UNRIVALLED : EXPLAIN_STRENGTH_LIKELY;
}

/* Returns how well the timer has to fit to be named beside the answer. While a sender waits as an RNR NAK
 * told it, its timer stands (ROCE-RC-48). */
static enum explain_fit rival_least(const struct explain_case *c, const struct explain_trouble *t)
{
    if (is_alone(c, t) || (c->now_ns - t->time_ns) * PROMPT <= c->silence_ns)
        return EXPLAIN_FIT_NEVER;
    return t->kind == EXPLAIN_TROUBLE_RNR ? EXPLAIN_FIT_WELL : EXPLAIN_FIT_DOUBT;
}

bool explain_witness_trouble(const struct explain_case *c, struct explain_verdict *v)
{
    static const enum explain_cause causes[] = {[EXPLAIN_TROUBLE_NAK] = EXPLAIN_CAUSE_NAK_SEQUENCE,
                                                [EXPLAIN_TROUBLE_RNR] = EXPLAIN_CAUSE_RNR,
                                                [EXPLAIN_TROUBLE_SKIPPED] = EXPLAIN_CAUSE_IMPLIED_NAK};
    static const char *const whats[] = {[EXPLAIN_TROUBLE_NAK] = "the NAK that asks for it",
                                        [EXPLAIN_TROUBLE_RNR] = "the RNR NAK",
                                        [EXPLAIN_TROUBLE_SKIPPED] = "the answer that skips another"};
    const struct explain_trouble *t = explain_trouble_of(c);
    v->fit = t ? fit_of(c, t) : EXPLAIN_FIT_NOT;
    v->is_excluded = v->fit == EXPLAIN_FIT_NOT;
    if (v->is_excluded)
        return false;
    v->strength = strength_of(c, t, v->fit);
    v->rival_least = rival_least(c, t);
    v->why.cause = causes[t->kind];
    if (is_one_of_many(c, t) || (c->half->recovery->is_mangled && has_rival(c, t)))
        return true;
    v->why.trigger = t->number;
    explain_why_prove(&v->why, t->number, whats[t->kind]);
    return true;
}
