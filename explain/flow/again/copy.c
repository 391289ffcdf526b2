/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that comes again need not have been sent again: the network copies and delays. Identifications
 * tell, or a bit that the sender set in one copy only. Without them a packet that nothing asked for, and
 * that no silence precedes, is most likely a copy, or was overtaken. A copy of a packet in flight comes
 * soon; while the sender sends again, a later one belongs to that. */
#include "explain/flow/again/copy.h"

#include "explain/flow/again/run.h"
#include "roce/psn.h"

#define COPY_NS NS_PER_US /* sooner no answer can have come back */

/* Returns whether the packet belongs to the newest return: the sender sends again, and this comes late. */
static bool is_of_run(const struct explain_case *c, bool is_late)
{
    const struct explain_run *run = &c->half->recovery->run;
    return is_late && run->number && c->now_ns - run->newest_ns < c->half->clock.react_ns;
}

static void tell_run(const struct explain_run *run, struct explain_why *why)
{
    why->cause = EXPLAIN_CAUSE_RESTART;
    why->root = explain_run_root(run);
    why->behind = run->number;
    why->or_cause = EXPLAIN_CAUSE_COPIED;
    why->sure = min_u32(run->sure, EXPLAIN_SURE_LIKELY);
}

/* Returns whether a copy, or an overtaken packet, comes so soon, and is usual here. */
static bool is_plain(const struct explain_case *c)
{
    const struct explain_weather *w = c->half->weather;
    uint64_t rtt_ns = c->half->clock.rtt_ns;
    uint64_t from_ns = c->before ? c->before->time_ns : explain_sent_about_ns(&c->half->history, c->psn);
    bool is_soon = c->now_ns - from_ns < (rtt_ns ? rtt_ns / 4 : COPY_NS);
    bool is_usual =
        c->before ? !c->half->recovery->run.number && !w->lost && !w->late : w->late > w->lost || !w->lost;
    return is_soon && is_usual;
}

bool explain_witness_copy(const struct explain_case *c, struct explain_verdict *v)
{
    const struct explain_weather *w = c->half->weather;
    const struct explain_run *run = &c->half->recovery->run;
    uint64_t react_ns = c->half->clock.react_ns;
    bool is_late = c->before && react_ns && c->now_ns - c->before->time_ns > react_ns / 2;
    bool is_counted = c->before && w->counts_each;
    if (is_of_run(c, is_late)) {
        tell_run(run, &v->why);
        return false;
    }
    if ((is_late || is_counted) && !c->is_proved)
        explain_why_doubt(&v->why, EXPLAIN_CAUSE_SENT_AGAIN, EXPLAIN_CAUSE_COPIED, EXPLAIN_CAUSE_NONE);
    if (c->is_proved || is_late || is_counted)
        return false;
    if (c->before && w->lost && w->late) {
        explain_why_doubt(&v->why, EXPLAIN_CAUSE_RESTART, EXPLAIN_CAUSE_COPIED, run->cause);
        return false;
    }
    v->again = c->before ? EXPLAIN_AGAIN_COPY : EXPLAIN_AGAIN_OVERTAKEN;
    v->why.cause = c->before ? EXPLAIN_CAUSE_COPIED : EXPLAIN_CAUSE_OVERTAKEN;
    v->why.sure = EXPLAIN_SURE_LIKELY;
    if (!is_plain(c))
        explain_why_doubt(&v->why, v->why.cause, EXPLAIN_CAUSE_SENT_AGAIN, EXPLAIN_CAUSE_NONE);
    return true;
}
