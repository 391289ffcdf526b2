/* SPDX-License-Identifier: BSD-2-Clause */
/* The timer leaves a silence before the packet, as long as all silences before which this sender sent
 * again. It counts from the packet itself, or from the newest answer that went no further than it: an
 * answer beyond it has not reached a sender that asks again. A silence alone does not show that it was the
 * timer's. These do:
 *
 *   earlier silences   of the same length, before which the sender went back without another reason
 *   the REQ            it names the timeout of the connection: the timer runs out not before it, and at
 *                      most four times as late (ROCE-RC-41). It is the timeout of the end that is asked. The
 *                      end that asks takes the delay of the other instead of its own (ROCE-CM-33)
 *   the host           its other flows showed the length of theirs
 *   no answer          for most of it: then nothing else can have prompted the sender
 *
 * Silences that were seen more than once count for more than the REQ: programs may set another timeout. */
#include "explain/flow/again/timer.h"

#include "explain/flow/again/skip.h"
#include "roce/psn.h"

#define SILENCE_RTT 8 /* of so few round trips is no timeout */
#define LATEST      4 /* times the timeout of the REQ */
#define CODE_LEAST  8 /* 4.096 us * 2^8: 1 ms */
#define CODE_MOST   31

const struct explain_silence *explain_timer_usual(const struct explain_half *half)
{
    return explain_silences_usual(&half->recovery->silences);
}

uint64_t explain_timer_known(const struct explain_half *half)
{
    const struct explain_silence *usual = explain_timer_usual(half);
    if (usual->count)
        return usual->ns;
    return half->timer.agreed_ns ? half->timer.agreed_ns : half->timer.host_ns;
}

/* Senders may double the timeout while nothing comes (ROCE-RC-41). */
static bool is_multiple(uint64_t ns, uint64_t timeout_ns, bool is_in_row)
{
    for (unsigned times = 1; times <= (is_in_row ? 4u : 1u); times *= 2)
        if (timeout_ns && explain_is_alike(ns, times * timeout_ns))
            return true;
    return false;
}

static bool is_agreed(const struct explain_timer_terms *terms, uint64_t ns)
{
    uint64_t agreed_ns = terms->agreed_ns;
    return agreed_ns && ns >= agreed_ns - agreed_ns / 16 && ns <= LATEST * agreed_ns + agreed_ns / 16;
}

/* Returns whether no answer came for most of the silence. */
static bool is_still(const struct explain_acks *acks, uint64_t ns, uint64_t now_ns)
{
    return acks->newest_ns <= now_ns && now_ns - acks->newest_ns >= ns - ns / 4;
}

enum explain_fit explain_timer_fit(const struct explain_half *half, uint64_t ns, uint64_t now_ns)
{
    const struct explain_silence *usual = explain_timer_usual(half);
    const struct explain_timer_terms *terms = &half->timer;
    uint64_t least_ns = max_u64(EXPLAIN_SILENCE_NS, SILENCE_RTT * half->clock.rtt_ns);
    bool is_in_row = half->recovery->silences.in_row;
    if (ns < EXPLAIN_SILENCE_NS && !terms->agreed_ns)
        return EXPLAIN_FIT_NOT; /* of silences that are alike each may be shorter than the one before */
    if (usual->count && is_multiple(ns, usual->ns, is_in_row))
        return EXPLAIN_FIT_WELL;
    if (usual->count >= EXPLAIN_SILENCES_SHOW)
        least_ns = usual->ns;
    else if (terms->agreed_ns)
        least_ns = terms->agreed_ns - terms->agreed_ns / 16;
    if (ns < least_ns)
        return EXPLAIN_FIT_NOT;
    if (usual->count < EXPLAIN_SILENCES_SHOW &&
        (is_agreed(terms, ns) || is_multiple(ns, terms->host_ns, is_in_row)))
        return EXPLAIN_FIT_WELL;
    return is_still(&half->acks, ns, now_ns) ? EXPLAIN_FIT_MAY : EXPLAIN_FIT_DOUBT;
}

/* Adds the evidence for the length besides silences of this flow. */
static void prove(const struct explain_timer_terms *terms, uint64_t ns, struct explain_why *why)
{
    if (is_agreed(terms, ns))
        explain_why_prove(why, terms->agreed_number, "the REQ, which names the ack timeout");
    else if (terms->host_ns && explain_is_alike(ns, terms->host_ns))
        explain_why_prove(why, terms->host_number, "a timeout of another flow of this host");
}

/* Returns whether the length of the silence is certain, and nothing else can have been the reason. */
static bool is_measured(const struct explain_case *c)
{
    const struct explain_half *half = c->half;
    return explain_is_newest_here(half, c->psn, c->before) && !explain_may_be_skipped(c) &&
           !half->recovery->is_mangled && explain_weather_is_calm(half->weather) && half->acks.is_known &&
           !half->capture.is_holey;
}

bool explain_witness_timer(const struct explain_case *c, struct explain_verdict *v)
{
    bool is_usual = explain_timer_usual(c->half)->count >= EXPLAIN_SILENCES_SHOW;
    v->fit = explain_timer_fit(c->half, c->silence_ns, c->now_ns);
    v->is_excluded = v->fit == EXPLAIN_FIT_NOT && is_usual && explain_weather_is_calm(c->half->weather);
    if (v->fit == EXPLAIN_FIT_NOT)
        return false;
    v->rival_least = EXPLAIN_FIT_DOUBT;
    v->strength = v->fit == EXPLAIN_FIT_WELL && is_usual && is_measured(c) ? EXPLAIN_STRENGTH_UNRIVALLED
                                                                           : EXPLAIN_STRENGTH_LIKELY;
    v->why.cause = EXPLAIN_CAUSE_TIMEOUT;
    prove(&c->half->timer, c->silence_ns, &v->why);
    return true;
}

/* --- the timer of the request before --- */

/* Returns whether it is one of the lengths that the standard knows, and a little more, as timers of systems
 * are late. */
static bool is_code(uint64_t ns)
{
    for (unsigned code = CODE_LEAST; code <= CODE_MOST; code++) {
        uint64_t code_ns = explain_timeout_of_code(code);
        if (ns >= code_ns && explain_is_alike(ns, code_ns))
            return true;
    }
    return false;
}

/* Returns whether packets are lost, late or acknowledged selectively: then other reasons are as good. */
static bool is_unquiet(const struct explain_half *half)
{
    return !explain_weather_is_quiet(half->weather) || half->capture.is_holey || half->selective;
}

/* The timer was started by the request before, and not stopped by its answer, if as much time has passed as
 * it takes, or as has passed before. */
bool explain_witness_stale_timer(const struct explain_case *c, struct explain_verdict *v)
{
    const struct explain_half *half = c->half;
    struct explain_silences *silences = &half->recovery->silences;
    const struct explain_sent *started =
        explain_sent_find(&half->history, roce_psn_add(c->psn, ROCE_PSN_MASK));
    if (!c->before || !c->is_direct || is_unquiet(half) || !started || !started->is_answered ||
        c->now_ns <= started->time_ns)
        return false;
    uint64_t ns = c->now_ns - started->time_ns, known_ns = explain_timer_known(half);
    bool is_known = (known_ns && explain_is_alike(ns, known_ns)) ||
                    (silences->stale_ns && explain_is_alike(ns, silences->stale_ns));
    if (is_known || is_code(ns))
        silences->stale_ns = ns;
    if (!is_known)
        return false;
    v->fit = EXPLAIN_FIT_MAY;
    v->why.cause = EXPLAIN_CAUSE_STALE_TIMER;
    v->why.or_cause = EXPLAIN_CAUSE_TIMEOUT; /* one of less than 1 ms */
    v->why.trigger = started->number;
    explain_why_prove(&v->why, started->number, "the request before it, which was answered");
    return true;
}
