/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/again/notes.h"

#include "explain/flow/again/run.h"
#include "explain/flow/again/selective.h"
#include "explain/flow/again/timer.h"
#include "explain/flow/again/trouble.h"
#include "explain/packet/sender.h"
#include "roce/psn.h"

void explain_note_progress(struct explain_half *half, const struct explain_packet *packet, uint32_t end_psn)
{
    if (!explain_acks_note(&half->acks, &(struct explain_progress){packet->number, packet->time_ns, end_psn}))
        return;
    if (half->selective)
        explain_selective_passed(half, packet->time_ns, end_psn);
    if (!half->recovery)
        return;
    half->recovery->silences.in_row = 0;
    explain_trouble_judge(half, packet->time_ns, end_psn);
}

/* A receiver answers again what comes to it again. It had not got the packet that a NAK asked for: if it
 * gets that twice, the first copy was overtaken, even by the second. A timer sends packets that may have
 * arrived. */
void explain_note_ack_again(struct explain_half *half)
{
    const struct explain_recovery *r = half->recovery;
    if (!r || !r->run.number || r->run.cause == EXPLAIN_CAUSE_NAK_SEQUENCE ||
        r->run.cause == EXPLAIN_CAUSE_RNR)
        half->weather->late++;
}

/* A sender that has an answer goes back before it sends anything new, or has gone back already, and its
 * packets are missing here. */
static void doubt_answered(const struct explain_half *half, uint64_t now_ns)
{
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++) {
        struct explain_trouble *t = &half->recovery->troubles[i];
        t->is_doubtful |= t->number && !t->is_over && !explain_trouble_is_in_flight(half, t, now_ns);
    }
}

void explain_note_new(struct explain_half *half, const struct explain_ids *ids,
                      const struct explain_packet *packet)
{
    if (!half->recovery || explain_ids_order(ids, explain_ip_id(packet)) == EXPLAIN_ORDER_EARLIER)
        return;
    struct explain_run *run = &half->recovery->run;
    if (run->is_head_unseen && run->psn != roce_psn_add(half->asks.next_psn, ROCE_PSN_MASK - 1))
        half->weather->late++;
    doubt_answered(half, packet->time_ns);
    if (!run->end.is_there && explain_ids_is_next(ids, packet))
        run->end = (struct explain_run_end){.is_there = true, .psn = run->cursor};
    run->is_head_unseen = false;
    run->is_going = false;
    run->cursor = half->asks.next_psn;
}

void explain_note_mangled(const struct explain_case *c, struct explain_verdict *v)
{
    (void)v;
    c->half->recovery->is_mangled = true;
}

/* A packet that goes along behind an earlier return does so still. */
void explain_note_selected(const struct explain_case *c, struct explain_verdict *v)
{
    (void)v;
    struct explain_run *run = &c->half->recovery->run;
    run->newest_ns = c->now_ns;
    if (roce_psn_diff(c->end_psn, run->cursor) > 0)
        run->cursor = c->end_psn;
}

/* Reports the timer as it is known by now. */
static void tell_timer(const struct explain_case *c, struct explain_why *why)
{
    why->timeout_ns = explain_timer_usual(c->half)->ns;
    why->timeout_samples = explain_timer_usual(c->half)->count;
}

/* The packet may have left before the one that the run began with. */
static void move_head(const struct explain_case *c)
{
    struct explain_run *run = &c->half->recovery->run;
    if (roce_psn_diff(c->psn, run->psn) >= 0)
        return;
    run->psn = c->psn;
    run->ip_id = explain_ip_id(c->packet);
}

void explain_note_along(const struct explain_case *c, struct explain_verdict *v)
{
    struct explain_run *run = &c->half->recovery->run;
    move_head(c);
    if (run->is_head_unseen && roce_psn_diff(c->psn, run->psn) > 0) {
        run->is_head_unseen = false;
        c->half->weather->lost++;
    }
    run->is_broken |= c->psn != run->cursor || explain_had_time(c);
    run->newest_ns = c->now_ns;
    tell_timer(c, &v->why);
    if (!c->is_late && roce_psn_diff(c->end_psn, run->cursor) > 0)
        run->cursor = c->end_psn;
}

/* Closes the troubles that asked for that very PSN. If the sender went back to a later one, the first
 * packet of that return may be on its way still. */
static void close_troubles(struct explain_recovery *r, uint32_t psn, uint64_t now_ns)
{
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++) {
        struct explain_trouble *t = &r->troubles[i];
        if (psn == t->psn) {
            t->over_ns = t->is_over ? t->over_ns : now_ns;
            t->is_over = true;
        } else if (roce_psn_diff(psn, t->psn) > 0) {
            t->is_doubtful = true;
        }
    }
}

static void learn_timeout(const struct explain_case *c, const struct explain_why *why)
{
    struct explain_silences *silences = &c->half->recovery->silences;
    if (why->or_cause == EXPLAIN_CAUSE_NONE &&
        (!silences->in_row || explain_is_alike(why->silence_ns, explain_silences_usual(silences)->ns)))
        explain_silences_learn(silences, why->silence_ns);
    silences->in_row++;
}

static void begin_run(const struct explain_case *c, const struct explain_why *why)
{
    struct explain_run *run = &c->half->recovery->run;
    close_troubles(c->half->recovery, c->psn, c->now_ns);
    run->number = c->packet->number;
    run->psn = c->psn;
    run->ip_id = explain_ip_id(c->packet);
    run->cause = why->candidate[0] == EXPLAIN_CAUSE_NONE ? why->cause : why->candidate[0];
    run->sure = why->sure;
    run->is_going = true;
    run->is_broken = run->end.is_there = false;
    run->is_head_unseen = !c->before;
    if (why->cause == EXPLAIN_CAUSE_TIMEOUT)
        learn_timeout(c, why);
}

void explain_note_return(const struct explain_case *c, struct explain_verdict *v)
{
    struct explain_run *run = &c->half->recovery->run;
    if (v->why.cause == EXPLAIN_CAUSE_RESTART)
        move_head(c);
    else
        begin_run(c, &v->why);
    run->newest_ns = c->now_ns;
    tell_timer(c, &v->why);
    if (!c->is_late)
        run->cursor = c->end_psn;
}
