/* SPDX-License-Identifier: BSD-2-Clause */
/* A sender of RC sends a packet again for four reasons:
 * - its timer ran out (timer.c);
 * - an answer names the packet (trouble.c, selective.c);
 * - an answer skips another packet (trouble.c, skip.c);
 * - the sender went back to an earlier packet, and sends all later ones again (run.c).
 * A repeated packet may also be a copy by the network, or late (by_ids.c, copy.c).
 *
 * A witness is a function that looks for the traces of one reason. Some witnesses decide alone: the first
 * that finds its traces. Otherwise answers and the timer contend. The better fit wins, and the other is named
 * beside it if it fits as well. Only then the request itself counts, and the timer of an earlier request. A
 * cause is shown if the evidence leaves no other; all else is likely. */
#include "explain/flow/again/weigh.h"

#include "explain/flow/again/by_ids.h"
#include "explain/flow/again/case.h"
#include "explain/flow/again/copy.h"
#include "explain/flow/again/notes.h"
#include "explain/flow/again/run.h"
#include "explain/flow/again/selective.h"
#include "explain/flow/again/skip.h"
#include "explain/flow/again/timer.h"
#include "explain/flow/again/trouble.h"
#include "roce/psn.h"

/* The witnesses that decide alone, in the order of their calls, and the notes about their verdicts. */
static const struct {
    explain_witness *hear;
    void (*note)(const struct explain_case *c, struct explain_verdict *v);
} alone[] = {
    {explain_witness_ids, explain_note_mangled},
    {explain_witness_selective, explain_note_selected},
    {explain_witness_run, explain_note_along},
};

/* The witnesses that are called if neither an answer nor the timer fits. */
static explain_witness *const last[] = {explain_witness_skip, explain_witness_stale_timer};

/* Weighs the statements of two witnesses that see different facts. Returns the better fit; of equals, the
 * first. */
static struct explain_verdict weigh_two(const struct explain_verdict *first,
                                        const struct explain_verdict *second)
{
    bool is_first = first->fit >= second->fit;
    struct explain_verdict best = is_first ? *first : *second;
    const struct explain_verdict *rival = is_first ? second : first;
    bool is_shown = best.strength == EXPLAIN_STRENGTH_SHOWN ||
                    (best.strength == EXPLAIN_STRENGTH_UNRIVALLED && rival->is_excluded);
    best.why.sure = is_shown ? EXPLAIN_SURE_SHOWN : EXPLAIN_SURE_LIKELY;
    if (rival->fit >= best.rival_least)
        best.why.or_cause = rival->why.cause;
    return best;
}

/* Sets the candidates besides the timeout, for a silence that may have other causes. */
static void doubt_timer(const struct explain_case *c, struct explain_why *why)
{
    enum explain_cause other = explain_case_unless_sent(c);
    if (c->is_proved)
        other = explain_was_answered_beyond(c) || explain_may_be_skipped(c) ? EXPLAIN_CAUSE_IMPLIED_NAK
                                                                            : EXPLAIN_CAUSE_NAK_SEQUENCE;
    explain_why_doubt(why, EXPLAIN_CAUSE_TIMEOUT, other, EXPLAIN_CAUSE_RESTART);
}

/* Finds the reason for a return to an earlier packet that fits best. */
static void find_reason(const struct explain_case *c, struct explain_verdict *v)
{
    struct explain_verdict answer = {.why = v->why}, timer = {.why = v->why};
    explain_witness_trouble(c, &answer);
    explain_witness_timer(c, &timer);
    if (timer.fit == EXPLAIN_FIT_DOUBT && answer.fit == EXPLAIN_FIT_NOT) {
        doubt_timer(c, &v->why);
        return;
    }
    if (answer.fit != EXPLAIN_FIT_NOT || timer.fit != EXPLAIN_FIT_NOT) {
        *v = weigh_two(&answer, &timer);
        return;
    }
    for (unsigned i = 0; i < array_len(last); i++)
        if (last[i](c, v)) {
            v->why.sure = EXPLAIN_SURE_LIKELY;
            return;
        }
}

/* Returns whether a packet that the capture has once may be late although a cause fits. A packet that a
 * NAK names by its PSN is not late, if it follows the NAK as fast as its sender answers NAKs. It is not
 * late either if packets of this flow are lost and never late. With another cause it may be late if
 * others were. */
static bool may_be_late(const struct explain_case *c, enum explain_cause cause)
{
    const struct explain_half *half = c->half;
    if (cause != EXPLAIN_CAUSE_NAK_SEQUENCE)
        return !explain_weather_is_orderly(half->weather);
    const struct explain_trouble *t = explain_trouble_of(c);
    bool is_prompt = half->clock.react_ns && c->now_ns - t->time_ns <= 2 * half->clock.react_ns;
    return t->psn != c->psn || !(is_prompt || explain_weather_is_lossy(half->weather));
}

/* Returns whether the evidence leaves another cause than an implied NAK. */
static bool may_be_no_skip(const struct explain_case *c, const struct explain_why *why)
{
    const struct explain_half *half = c->half;
    bool is_soon = c->before && c->now_ns - c->before->time_ns < half->clock.react_ns + half->clock.rtt_ns;
    return half->recovery->is_mangled || (!why->trigger && !c->is_proved &&
                                          (!c->before || is_soon || !explain_weather_is_calm(half->weather)));
}

/* Doubts a cause if another cause fits as well. */
static void doubt_reason(const struct explain_case *c, struct explain_why *why)
{
    if (why->cause == EXPLAIN_CAUSE_IMPLIED_NAK && may_be_no_skip(c, why))
        explain_why_doubt(why, EXPLAIN_CAUSE_IMPLIED_NAK, EXPLAIN_CAUSE_RESTART, explain_case_unless_sent(c));
    else if (why->cause != EXPLAIN_CAUSE_UNKNOWN && explain_case_may_be_first(c, c->is_proved) &&
             may_be_late(c, why->cause))
        explain_why_doubt(why, why->cause, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_NONE);
    if (why->cause == EXPLAIN_CAUSE_UNKNOWN || !explain_may_go_along(c))
        return;
    why->sure = EXPLAIN_SURE_LIKELY;
    why->or_cause = why->or_cause == EXPLAIN_CAUSE_NONE ? EXPLAIN_CAUSE_RESTART : why->or_cause;
}

/* Sets the cause of the repetition: a return of the sender, or none. */
static void tell_return(const struct explain_case *c, struct explain_verdict *v)
{
    if (c->half->clock.skew_ns) {
        v->why = (struct explain_why){.cause = EXPLAIN_CAUSE_UNKNOWN}; /* times tell nothing */
    } else {
        find_reason(c, v);
        doubt_reason(c, &v->why);
    }
    bool is_unasked = v->why.cause == EXPLAIN_CAUSE_UNKNOWN && v->why.candidate[0] == EXPLAIN_CAUSE_NONE;
    if (is_unasked && explain_witness_copy(c, v))
        explain_note_mangled(c, v);
    else
        explain_note_return(c, v);
}

enum explain_again explain_tell_again(struct explain_half *half, const struct explain_ids *ids,
                                      const struct explain_packet *packet, const struct explain_sent *before,
                                      uint32_t end_psn, struct explain_why *why)
{
    struct explain_recovery *r = explain_half_recovery(half);
    *why = (struct explain_why){.cause = EXPLAIN_CAUSE_UNKNOWN};
    if (!r)
        return EXPLAIN_AGAIN_SENT;
    r->is_numbered = packet->roce.l3_kind == ROCE_L3_IPV4 && explain_ids_count(ids) != EXPLAIN_SURE_UNKNOWN;
    struct explain_case c = explain_case_of(half, ids, packet, before, end_psn);
    struct explain_verdict v = {.again = EXPLAIN_AGAIN_SENT, .why = explain_case_why(&c)};
    unsigned i = 0;
    while (i < array_len(alone) && !alone[i].hear(&c, &v))
        i++;
    if (i < array_len(alone))
        alone[i].note(&c, &v);
    else
        tell_return(&c, &v);
    *why = v.why;
    return v.again;
}
