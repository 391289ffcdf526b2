/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/again/run.h"

#include "explain/flow/again/case.h"
#include "explain/flow/again/timer.h"
#include "explain/flow/again/trouble.h"
#include "explain/packet/sender.h"
#include "roce/psn.h"

enum explain_cause explain_run_root(const struct explain_run *run)
{
    return run->sure == EXPLAIN_SURE_UNKNOWN ? EXPLAIN_CAUSE_UNKNOWN : run->cause;
}

bool explain_may_go_along(const struct explain_case *c)
{
    const struct explain_run *run = &c->half->recovery->run;
    return run->is_going && roce_psn_diff(c->psn, run->psn) >= 0 &&
           (roce_psn_diff(c->psn, run->cursor) >= 0 || !c->before || c->before->number < run->number);
}

/* Returns whether the packet that the sender went back to was itself overtaken by one that goes along
 * behind it, and comes only now. */
static bool is_late_head(const struct explain_run *run, uint32_t psn, uint16_t id)
{
    uint16_t before = (uint16_t)(run->ip_id - id);
    int32_t below = roce_psn_diff(run->psn, psn);
    return before > 0 && below > 0 && before <= below;
}

/* Returns whether an answer asks for this very packet since the sender went back. */
static bool is_asked_since(const struct explain_case *c)
{
    const struct explain_trouble *t = explain_trouble_of(c);
    return t && t->psn == c->psn && t->number > c->half->recovery->run.number &&
           !explain_trouble_is_in_flight(c->half, t, c->now_ns);
}

static bool is_behind_head(const struct explain_case *c)
{
    const struct explain_run *run = &c->half->recovery->run;
    uint16_t id = explain_ip_id(c->packet);
    if (run->number && c->is_late && is_late_head(run, c->psn, id))
        return true;
    if (!run->number || roce_psn_diff(c->psn, run->psn) < 0)
        return false;
    if (c->is_late)
        return (int16_t)(uint16_t)(id - run->ip_id) > 0;
    if (!run->is_going || is_asked_since(c))
        return false;
    if (roce_psn_diff(c->psn, run->cursor) >= 0)
        return true;
    return c->before && c->before->number < run->number; /* it was left out, and comes late */
}

/* Returns whether nothing of this return came for so long that the timer may have run out: the packet
 * begins another return then. */
static bool is_timer_due(const struct explain_case *c)
{
    uint64_t still_ns = min_u64(c->silence_ns, c->now_ns - c->half->recovery->run.newest_ns);
    return explain_timer_fit(c->half, still_ns, c->now_ns) != EXPLAIN_FIT_NOT;
}

bool explain_goes_along(const struct explain_case *c)
{
    return is_behind_head(c) && !is_timer_due(c);
}

bool explain_had_time(const struct explain_case *c)
{
    uint64_t trip_ns = max_u64(c->half->clock.react_ns, c->half->clock.rtt_ns);
    return trip_ns && c->now_ns - c->half->recovery->run.newest_ns >= trip_ns - trip_ns / 8;
}

/* Returns whether the sender may have gone back once more meanwhile. Packets of this return are missing, or
 * the capture lacks others, so that it may lack the reason. Or an answer has asked for another since. Or an
 * answer ends the return of a sender which sends only what a NAK names. Or there was time for an answer
 * that is missing here. */
static bool may_be_of_another(const struct explain_case *c)
{
    const struct explain_half *half = c->half;
    const struct explain_run *run = &half->recovery->run;
    if (c->psn != run->cursor || run->is_broken || half->capture.is_holey || explain_had_time(c) ||
        (half->selective && half->selective->number > run->number) ||
        (roce_psn_diff(half->acks.una_psn, c->psn) >= 0 && half->acks.newest_number > run->number))
        return true;
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++) {
        const struct explain_trouble *t = &half->recovery->troubles[i];
        if (t->number > run->number || (t->psn == c->psn && t->number && !t->is_over))
            return true;
    }
    return false;
}

bool explain_witness_run(const struct explain_case *c, struct explain_verdict *v)
{
    const struct explain_recovery *r = c->half->recovery;
    if (!explain_goes_along(c))
        return false;
    struct explain_why *why = &v->why;
    why->cause = EXPLAIN_CAUSE_RESTART;
    why->root = explain_run_root(&r->run);
    why->behind = r->run.number;
    bool is_certain = c->is_proved && !may_be_of_another(c);
    why->sure = is_certain && r->run.sure == EXPLAIN_SURE_SHOWN ? EXPLAIN_SURE_SHOWN : EXPLAIN_SURE_LIKELY;
    if ((r->is_mangled && !is_certain) || r->run.sure == EXPLAIN_SURE_UNKNOWN)
        why->behind = 0; /* it may belong to any of several returns */
    explain_why_prove(why, why->behind, "the packet that it goes along behind");
    if ((r->is_mangled || !explain_weather_is_orderly(c->half->weather)) &&
        explain_case_may_be_first(c, c->is_proved))
        explain_why_doubt(why, EXPLAIN_CAUSE_SENT_AGAIN, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_NONE);
    return true;
}
