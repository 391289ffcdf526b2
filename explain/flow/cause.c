/* SPDX-License-Identifier: BSD-2-Clause */
/* How it is told why a packet comes again.
 *
 * A sender of RC sends again for four reasons, and each leaves traces of its own:
 *
 *   its timer      a silence before it, as long as all silences before which this sender did so. It counts
 *                  from the packet itself, or from the newest answer that went no further than it (what an
 *                  answer beyond it says, a sender that asks again has not heard). The length is learned:
 *                  silences that nothing else explains are kept by length, and two alike are a timeout.
 *                  Senders may double it while nothing comes (ROCE-RC-41).
 *   a NAK          comes shortly after it, and begins where it says. An RNR NAK also says how long it waits.
 *   a skip         an answer came behind one that is missing (ROCE-RC-34). Where the capture is taken behind
 *                  the place of the loss no answer is missing: there it shows by the READ that is asked for
 *                  again although it was answered, and sooner than a timer would.
 *   it went back   what follows a packet that was sent again, PSN by PSN, up to what is new, goes along
 *                  behind it (ROCE-RC-42).
 *
 * A NAK or a skip explains one return, and only for as long as the sender needs to react: then it is over. A
 * timeout that fits as well is named beside it, and the other way round. And a packet that comes again need
 * not have been sent again: the network copies and delays. Identifications tell (ids.c); so does a bit that
 * the sender set in one copy only. Without them a packet that nothing asked for, and that no silence
 * precedes, is most likely a copy, or was overtaken.
 *
 * "Shown" is said where two witnesses agree: the PSN is the one that was asked for and the answer alone told
 * of it, or the time excludes the timer; the silence is one of several alike. All else is "likely". */
#include "explain/flow/cause.h"

#include <stdlib.h>

#include "explain/flow/by_ids.h"
#include "explain/flow/flow.h"
#include "roce/psn.h"

#define SOON_NS (20 * NS_PER_MS) /* a reaction, where neither timeout nor round trip are known */
#define PROMPT  16               /* a reaction in so small a part of the silence is no chance */
#define AT_HAND 8                /* so small a part of the way to the other end and back */
#define COPY_NS NS_PER_US        /* sooner no answer can have come back */

struct explain_recovery *explain_recovery_of(struct explain_half *half)
{
    if (half->recovery)
        return half->recovery;
    half->recovery = calloc(1, sizeof *half->recovery);
    if (half->recovery)
        half->recovery->run.cursor = half->asks.next_psn;
    return half->recovery;
}

void explain_note_progress(struct explain_half *half, const struct explain_packet *packet, uint32_t end_psn)
{
    if (!half->acks.progress)
        half->acks.progress = calloc(EXPLAIN_PROGRESS_KEPT, sizeof *half->acks.progress);
    if (!half->acks.progress)
        return;
    half->acks.progress[half->acks.next_progress++ % EXPLAIN_PROGRESS_KEPT] =
        (struct explain_progress){packet->number, packet->time_ns, end_psn};
    if (half->selective)
        explain_selective_passed(half, packet->time_ns, end_psn);
    if (half->recovery) {
        half->recovery->silences.in_row = 0;
        explain_judge_troubles(half, packet->time_ns, end_psn);
    }
}

void explain_note_trouble(struct explain_half *half, const struct explain_packet *packet,
                          struct explain_trouble trouble)
{
    struct explain_recovery *r = explain_recovery_of(half);
    if (!r)
        return;
    trouble.number = packet->number;
    trouble.time_ns = packet->time_ns;
    trouble.is_over = false;
    r->troubles[r->next_trouble++ % EXPLAIN_TROUBLES_MAX] = trouble;
}

/* What comes sooner than the sender can react was on its way already. */
static bool is_in_flight(const struct explain_half *half, const struct explain_trouble *t, uint64_t time_ns)
{
    return time_ns < t->time_ns + half->clock.react_ns - half->clock.react_ns / 8;
}

/* A sender that has an answer goes back before it sends anything new, or has gone back already, and what it
 * sent again is missing here. */
static void doubt_answered(const struct explain_half *half, uint64_t now_ns)
{
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++) {
        struct explain_trouble *t = &half->recovery->troubles[i];
        t->is_doubtful |= t->number && !t->is_over && !is_in_flight(half, t, now_ns);
    }
}

void explain_note_new(struct explain_half *half, const struct explain_ids *ids,
                      const struct explain_packet *packet)
{
    struct explain_recovery *r = half->recovery;
    if (!r || explain_ids_order(ids, explain_ip_id(packet)) == EXPLAIN_ORDER_EARLIER)
        return;
    if (r->run.is_head_unseen && r->run.psn != roce_psn_add(half->asks.next_psn, ROCE_PSN_MASK - 1))
        half->weather->late++;
    doubt_answered(half, packet->time_ns);
    if (!r->run.cut.is_there && explain_is_next_id(ids, packet)) {
        r->run.cut.is_there = true;
        r->run.cut.psn = r->run.cursor;
    }
    r->run.is_head_unseen = false;
    r->run.is_going = false;
    r->run.cursor = half->asks.next_psn;
}

/* --- the timer --- */

/* Of the PSNs behind the one that was lost, the first that is in the capture tells when about it was sent. */
static uint64_t sent_about_ns(const struct explain_half *half, uint32_t psn)
{
    for (uint32_t i = 1; i <= 16; i++) {
        const struct explain_sent *s = explain_sent_find(half, roce_psn_add(psn, i));
        if (s)
            return s->first_ns;
    }
    return 0;
}

/* Since when the sender has heard nothing, as far as it still asks for `psn`. Names the packets. */
static uint64_t silence_ns(const struct explain_half *half, const struct explain_packet *packet,
                           const struct explain_sent *before, struct explain_why *why)
{
    uint32_t psn = packet->roce.bth.psn;
    uint64_t from_ns = before ? before->time_ns : sent_about_ns(half, psn);
    const struct explain_progress *newest = NULL;
    for (unsigned i = 0; half->acks.progress && i < EXPLAIN_PROGRESS_KEPT; i++) {
        const struct explain_progress *p = &half->acks.progress[i];
        if (p->number && roce_psn_diff(psn, p->end_psn) >= 0 && p->time_ns > from_ns) {
            from_ns = p->time_ns;
            newest = p;
        }
    }
    if (before)
        explain_why_prove(why, before->number, "the copy before");
    if (newest)
        explain_why_prove(why, newest->number, "the newest answer before that");
    return from_ns && packet->time_ns > from_ns ? packet->time_ns - from_ns : 0;
}

/* --- what was asked for --- */

/* The newest answer that asks for `psn`, or for one before it, since the copy before; of those that skip the
 * same, the oldest. */
static struct explain_trouble *asked_for(const struct explain_half *half, uint32_t psn,
                                         const struct explain_sent *before)
{
    struct explain_trouble *best = NULL;
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++) {
        struct explain_trouble *t = &half->recovery->troubles[i];
        if (!t->number || t->is_over || roce_psn_diff(psn, t->psn) < 0 ||
            (before && before->number > t->number && !is_in_flight(half, t, before->time_ns)))
            continue;
        bool is_exact = t->psn == psn, is_best_exact = best && best->psn == psn;
        bool is_better =
            best && t->kind == EXPLAIN_TROUBLE_SKIPPED && best->kind == t->kind && t->psn == best->psn
                ? t->number < best->number /* the sender goes back at the first */
                : best && t->number > best->number;
        if (!best || (is_exact && !is_best_exact) || (is_exact == is_best_exact && is_better))
            best = t;
    }
    return best;
}

/* So long after an answer its asker sends again at the latest, if nothing holds it up. */
static uint64_t trip_at_most_ns(const struct explain_half *half)
{
    return 2 * half->clock.react_ns + 4 * half->clock.rtt_ns;
}

/* Whether the time that has passed since is what the sender needs to react. */
static enum explain_fit fit_of_trouble(const struct explain_half *half, const struct explain_trouble *t,
                                       uint64_t now_ns)
{
    uint64_t timeout_ns = explain_known_timeout(half);
    uint64_t delay_ns = now_ns > t->time_ns ? now_ns - t->time_ns : 0;
    if (t->kind == EXPLAIN_TROUBLE_RNR)
        return delay_ns < t->wait_ns - t->wait_ns / 8              ? EXPLAIN_FIT_NOT
               : delay_ns <= t->wait_ns + t->wait_ns / 2 + SOON_NS ? EXPLAIN_FIT_WELL
                                                                   : EXPLAIN_FIT_MAY;
    uint64_t trip_ns = trip_at_most_ns(half);
    uint64_t soon_ns = max_u64(timeout_ns ? timeout_ns / 2 : SOON_NS, trip_ns);
    uint64_t late_ns = timeout_ns ? max_u64(timeout_ns - timeout_ns / 8, trip_ns) : 2 * soon_ns;
    if (is_in_flight(half, t, now_ns))
        return EXPLAIN_FIT_NOT;
    return delay_ns < soon_ns ? EXPLAIN_FIT_WELL : delay_ns < late_ns ? EXPLAIN_FIT_MAY : EXPLAIN_FIT_NOT;
}

/* Whether the PSN itself shows that the sender had that answer: it begins where only that answer says. */
static bool is_known_by_it_alone(const struct explain_half *half, const struct explain_trouble *t,
                                 uint32_t psn)
{
    return t->psn == psn && t->is_fresh && !t->is_doubtful && half->acks.newest_number == t->number;
}

/* Whether other answers came behind the one that skips: for which of them the sender went back cannot be
 * told. */
static bool is_one_of_many(const struct explain_half *half, const struct explain_trouble *t)
{
    return t->kind == EXPLAIN_TROUBLE_SKIPPED && half->acks.newest_number != t->number;
}

/* So long after an answer its asker sends again at once: a lost answer, and a timer that runs out just then,
 * would be a coincidence. */
static uint64_t prompt_ns(const struct explain_half *half)
{
    return 4 * (half->clock.react_ns + half->clock.rtt_ns);
}

/* Whether the sender can have reacted in that time. How long it takes is known by what it did before; where
 * nothing of that is here, it is at hand if the other end is far. Of a sender that is far itself, something
 * else was on its way, unless identifications that count say that nothing was. */
static bool is_as_ever(const struct explain_half *half, uint64_t delay_ns)
{
    return half->clock.react_ns ||
           (half->clock.rtt_ns && (half->recovery->is_numbered || delay_ns <= half->clock.rtt_ns / AT_HAND));
}

static void blame_trouble(const struct explain_half *half, const struct explain_trouble *t, uint32_t psn,
                          uint64_t now_ns, enum explain_fit timer, bool is_proved, struct explain_why *why)
{
    static const enum explain_cause causes[] = {[EXPLAIN_TROUBLE_NAK] = EXPLAIN_CAUSE_NAK_SEQUENCE,
                                                [EXPLAIN_TROUBLE_RNR] = EXPLAIN_CAUSE_RNR,
                                                [EXPLAIN_TROUBLE_SKIPPED] = EXPLAIN_CAUSE_IMPLIED_NAK};
    static const char *const whats[] = {[EXPLAIN_TROUBLE_NAK] = "the NAK that asks for it",
                                        [EXPLAIN_TROUBLE_RNR] = "the RNR NAK",
                                        [EXPLAIN_TROUBLE_SKIPPED] = "the answer that skips another"};
    bool is_alone = is_as_ever(half, now_ns - t->time_ns) && is_known_by_it_alone(half, t, psn) &&
                    now_ns - t->time_ns <= t->wait_ns + t->wait_ns / 4 + prompt_ns(half);
    bool is_too_soon = explain_weather_is_calm(half->weather) && timer == EXPLAIN_FIT_NOT &&
                       now_ns - t->time_ns <= trip_at_most_ns(half) &&
                       explain_usual_silence(half)->count >= EXPLAIN_SILENCES_SHOW;
    why->cause = causes[t->kind];
    why->sure = is_proved && !half->recovery->is_mangled && t->psn == psn && !t->is_doubtful &&
                        (is_alone || is_too_soon) && !is_one_of_many(half, t)
                    ? EXPLAIN_SURE_SHOWN
                    : EXPLAIN_SURE_LIKELY;
    /* while a sender waits as an RNR NAK told it, its timer stands (ROCE-RC-48) */
    bool may_be_timer =
        timer != EXPLAIN_FIT_NOT && (t->kind != EXPLAIN_TROUBLE_RNR || timer == EXPLAIN_FIT_WELL);
    if (may_be_timer && !is_alone && (now_ns - t->time_ns) * PROMPT > why->silence_ns)
        why->or_cause = EXPLAIN_CAUSE_TIMEOUT;
    if (is_one_of_many(half, t) || (half->recovery->is_mangled && explain_has_rival(half, t, psn)))
        return;
    why->trigger = t->number;
    explain_why_prove(why, t->number, whats[t->kind]);
}

/* An answer came since that copy to a request which an answer that skips it would make the sender repeat. */
static bool may_be_skipped(const struct explain_half *half, uint32_t psn, const struct explain_sent *before)
{
    return explain_read_find(half, psn) && (!before || half->acks.newest_number > before->number);
}

static void blame_timer(const struct explain_half *half, enum explain_fit timer,
                        const struct explain_trouble *rival, bool is_measured, struct explain_why *why)
{
    bool is_usual = timer == EXPLAIN_FIT_WELL && explain_usual_silence(half)->count >= EXPLAIN_SILENCES_SHOW;
    bool is_orderly = !half->recovery->is_mangled && explain_weather_is_calm(half->weather);
    why->cause = EXPLAIN_CAUSE_TIMEOUT;
    explain_prove_timer(half, why->silence_ns, why);
    why->sure =
        is_usual && is_measured && is_orderly && !rival && half->acks.is_known && !half->capture.is_holey
            ? EXPLAIN_SURE_SHOWN
            : EXPLAIN_SURE_LIKELY;
    if (rival)
        why->or_cause = rival->kind == EXPLAIN_TROUBLE_NAK   ? EXPLAIN_CAUSE_NAK_SEQUENCE
                        : rival->kind == EXPLAIN_TROUBLE_RNR ? EXPLAIN_CAUSE_RNR
                                                             : EXPLAIN_CAUSE_IMPLIED_NAK;
}

/* The packet may as well go along behind the one before that the sender went back to. */
static bool may_go_along(const struct explain_half *half, uint32_t psn, const struct explain_sent *before)
{
    const struct explain_recovery *r = half->recovery;
    return r->run.is_going && roce_psn_diff(psn, r->run.psn) >= 0 &&
           (roce_psn_diff(psn, r->run.cursor) >= 0 || !before || before->number < r->run.number);
}

/* Nothing asked for it and no silence precedes it; what is left is a timer that ran on behind an answer. */
static void blame_stale_timer(struct explain_half *half, const struct explain_packet *packet, bool is_sent,
                              struct explain_why *why)
{
    uint64_t number = is_sent ? explain_stale_timer(half, packet->roce.bth.psn, packet->time_ns) : 0;
    why->cause = number ? EXPLAIN_CAUSE_STALE_TIMER : EXPLAIN_CAUSE_UNKNOWN;
    why->or_cause = number ? EXPLAIN_CAUSE_TIMEOUT : EXPLAIN_CAUSE_NONE; /* one of less than 1 ms */
    why->sure = number ? EXPLAIN_SURE_LIKELY : EXPLAIN_SURE_UNKNOWN;
    why->trigger = number;
    explain_why_prove(why, number, "the request before it, which was answered");
}

/* What the packet may be if its sender did not send it again; NONE: it did. */
static enum explain_cause if_not_sent(const struct explain_sent *before, bool is_sent)
{
    if (is_sent)
        return EXPLAIN_CAUSE_NONE;
    return before ? EXPLAIN_CAUSE_COPIED : EXPLAIN_CAUSE_OVERTAKEN;
}

/* A silence that may be a timeout, or not. */
static void doubt_timer(const struct explain_half *half, uint32_t psn, const struct explain_sent *before,
                        bool is_sent, struct explain_why *why)
{
    enum explain_cause other = if_not_sent(before, is_sent);
    if (is_sent)
        other = explain_was_answered_beyond(half, psn) || may_be_skipped(half, psn, before)
                    ? EXPLAIN_CAUSE_IMPLIED_NAK
                    : EXPLAIN_CAUSE_NAK_SEQUENCE;
    explain_why_doubt(why, EXPLAIN_CAUSE_TIMEOUT, other, EXPLAIN_CAUSE_RESTART);
}

/* The sender went back: why? `is_sent`: it did send the packet again; `is_proved`: and nothing before it in
 * this return is missing here. */
static void tell_return(struct explain_half *half, const struct explain_packet *packet,
                        const struct explain_sent *before, bool is_sent, bool is_proved,
                        struct explain_why *why)
{
    uint32_t psn = packet->roce.bth.psn;
    const struct explain_trouble *t = asked_for(half, psn, before);
    enum explain_fit timer = explain_fit_of_timer(half, why->silence_ns, packet->time_ns);
    enum explain_fit trouble = t ? fit_of_trouble(half, t, packet->time_ns) : EXPLAIN_FIT_NOT;
    if (trouble == EXPLAIN_FIT_WELL || (trouble == EXPLAIN_FIT_MAY && timer != EXPLAIN_FIT_WELL))
        blame_trouble(half, t, psn, packet->time_ns, timer, is_proved && trouble == EXPLAIN_FIT_WELL, why);
    else if (timer == EXPLAIN_FIT_DOUBT)
        doubt_timer(half, psn, before, is_sent, why);
    else if (timer != EXPLAIN_FIT_NOT)
        blame_timer(half, timer, trouble == EXPLAIN_FIT_MAY ? t : NULL,
                    explain_is_newest_here(half, psn, before) && !may_be_skipped(half, psn, before), why);
    else if (explain_was_answered_beyond(half, psn))
        *why = (struct explain_why){
            .cause = EXPLAIN_CAUSE_IMPLIED_NAK, .sure = EXPLAIN_SURE_LIKELY, .silence_ns = why->silence_ns};
    else if (!half->clock.skew_ns)
        blame_stale_timer(half, packet, before && is_proved, why);
    if (half->clock.skew_ns)
        *why = (struct explain_why){.cause = EXPLAIN_CAUSE_UNKNOWN};
    bool is_soon = before && packet->time_ns - before->time_ns < half->clock.react_ns + half->clock.rtt_ns;
    bool may_be_other =
        !why->trigger && !is_sent && (!before || is_soon || !explain_weather_is_calm(half->weather));
    if (why->cause == EXPLAIN_CAUSE_IMPLIED_NAK && (half->recovery->is_mangled || may_be_other))
        explain_why_doubt(why, EXPLAIN_CAUSE_IMPLIED_NAK, EXPLAIN_CAUSE_RESTART,
                          if_not_sent(before, is_sent));
    else if (why->cause != EXPLAIN_CAUSE_UNKNOWN &&
             explain_may_be_first(half, &packet->roce, before, is_sent) &&
             explain_may_be_late(half, t, packet, why->cause))
        explain_why_doubt(why, why->cause, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_NONE);
    if (why->cause != EXPLAIN_CAUSE_UNKNOWN && may_go_along(half, psn, before)) {
        why->sure = EXPLAIN_SURE_LIKELY;
        why->or_cause = why->or_cause == EXPLAIN_CAUSE_NONE ? EXPLAIN_CAUSE_RESTART : why->or_cause;
    }
}

/* --- went along, or went back --- */

/* Whether the packet that the sender went back to was itself overtaken by one that goes along behind it, and
 * comes only now. */
static bool is_late_head(const struct explain_recovery *r, uint32_t psn, uint16_t id)
{
    uint16_t before = (uint16_t)(r->run.ip_id - id);
    int32_t below = roce_psn_diff(r->run.psn, psn);
    return before > 0 && below > 0 && before <= below;
}

/* Whether the packet goes along behind the one that the sender went back to. `is_late`: others that left
 * after it are here already. */
static bool goes_along(const struct explain_half *half, const struct explain_packet *packet,
                       const struct explain_sent *before, bool is_late)
{
    const struct explain_recovery *r = half->recovery;
    uint32_t psn = packet->roce.bth.psn;
    if (r->run.number && is_late && is_late_head(r, psn, explain_ip_id(packet)))
        return true;
    if (!r->run.number || roce_psn_diff(psn, r->run.psn) < 0)
        return false;
    if (is_late)
        return (int16_t)(uint16_t)(explain_ip_id(packet) - r->run.ip_id) > 0;
    const struct explain_trouble *t = asked_for(half, psn, before);
    if (!r->run.is_going ||
        (t && t->psn == psn && t->number > r->run.number && !is_in_flight(half, t, packet->time_ns)))
        return false;
    if (roce_psn_diff(psn, r->run.cursor) >= 0)
        return true;
    return before && before->number < r->run.number; /* it was left out, and comes late */
}

/* Whether nothing of this return came for so long that the timer may have run out: what comes begins another
 * one, as nobody pauses in the middle. */
static bool is_timer_due(const struct explain_half *half, const struct explain_packet *packet,
                         const struct explain_why *why)
{
    uint64_t still_ns = min_u64(why->silence_ns, packet->time_ns - half->recovery->run.newest_ns);
    return explain_fit_of_timer(half, still_ns, packet->time_ns) != EXPLAIN_FIT_NOT;
}

/* Whether the sender, since the newest packet of this return, had time for an answer that is missing here. */
static bool had_time(const struct explain_half *half, const struct explain_packet *packet)
{
    uint64_t trip_ns = max_u64(half->clock.react_ns, half->clock.rtt_ns);
    return trip_ns && packet->time_ns - half->recovery->run.newest_ns >= trip_ns - trip_ns / 8;
}

/* Whether the sender may have gone back once more meanwhile: packets of this return are missing, or the
 * capture lacks others, so that it may lack what asked, or something has asked for another since, or has been
 * answered that ends the return of a sender which sends only what a NAK names, or there was time for an
 * answer that is missing here. */
static bool may_be_of_another(const struct explain_half *half, const struct explain_packet *packet)
{
    const struct explain_recovery *r = half->recovery;
    uint32_t psn = packet->roce.bth.psn;
    if (psn != r->run.cursor || r->run.is_broken || half->capture.is_holey || had_time(half, packet) ||
        (half->selective && half->selective->number > r->run.number) ||
        (roce_psn_diff(half->acks.una_psn, psn) >= 0 && half->acks.newest_number > r->run.number))
        return true;
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++)
        if (r->troubles[i].number > r->run.number ||
            (r->troubles[i].psn == psn && r->troubles[i].number && !r->troubles[i].is_over))
            return true;
    return false;
}

static enum explain_cause root_of(const struct explain_recovery *r)
{
    return r->run.sure == EXPLAIN_SURE_UNKNOWN ? EXPLAIN_CAUSE_UNKNOWN : r->run.cause;
}

static void tell_along(const struct explain_half *half, const struct explain_packet *packet,
                       const struct explain_sent *before, bool is_proved, struct explain_why *why)
{
    const struct explain_recovery *r = half->recovery;
    why->cause = EXPLAIN_CAUSE_RESTART;
    why->root = root_of(r);
    why->behind = r->run.number;
    bool is_certain = is_proved && !may_be_of_another(half, packet);
    why->sure = is_certain && r->run.sure == EXPLAIN_SURE_SHOWN ? EXPLAIN_SURE_SHOWN : EXPLAIN_SURE_LIKELY;
    if ((r->is_mangled && !is_certain) || r->run.sure == EXPLAIN_SURE_UNKNOWN)
        why->behind = 0; /* which of several returns it belongs to nobody can say */
    explain_why_prove(why, why->behind, "the packet that it goes along behind");
    if ((r->is_mangled || !explain_weather_is_orderly(half->weather)) &&
        explain_may_be_first(half, &packet->roce, before, is_proved))
        explain_why_doubt(why, EXPLAIN_CAUSE_SENT_AGAIN, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_NONE);
}

/* What asked for that very PSN has been answered now. If the sender went back to a later one, the first of
 * what it sent may be on its way still. */
static void close_troubles(struct explain_recovery *r, uint32_t psn, uint64_t now_ns)
{
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++)
        if (psn == r->troubles[i].psn) {
            r->troubles[i].over_ns = r->troubles[i].is_over ? r->troubles[i].over_ns : now_ns;
            r->troubles[i].is_over = true;
        } else if (roce_psn_diff(psn, r->troubles[i].psn) > 0)
            r->troubles[i].is_doubtful = true;
}

static void note_return(struct explain_half *half, const struct explain_packet *packet,
                        const struct explain_sent *before, const struct explain_why *why)
{
    struct explain_recovery *r = half->recovery;
    close_troubles(r, packet->roce.bth.psn, packet->time_ns);
    r->run.number = packet->number;
    r->run.psn = packet->roce.bth.psn;
    r->run.ip_id = explain_ip_id(packet);
    r->run.cause = why->candidate[0] == EXPLAIN_CAUSE_NONE ? why->cause : why->candidate[0];
    r->run.sure = why->sure;
    r->run.is_going = true;
    r->run.is_broken = r->run.cut.is_there = false;
    r->run.is_head_unseen = !before;
    if (why->cause != EXPLAIN_CAUSE_TIMEOUT)
        return;
    if (why->or_cause == EXPLAIN_CAUSE_NONE &&
        (!r->silences.in_row || explain_is_alike(why->silence_ns, explain_usual_silence(half)->ns)))
        explain_learn_silence(half, why->silence_ns);
    r->silences.in_row++;
}

/* --- sent at all? --- */

/* Nothing asked for it, and no silence precedes it. A copy of what is in flight comes soon; while the sender
 * sends again, what comes later belongs to that. */
static enum explain_again tell_unasked(const struct explain_half *half, const struct explain_packet *packet,
                                       const struct explain_sent *before, bool is_proved,
                                       struct explain_why *why)
{
    const struct explain_recovery *r = half->recovery;
    bool is_late =
        before && half->clock.react_ns && packet->time_ns - before->time_ns > half->clock.react_ns / 2;
    if (is_late && r->run.number && packet->time_ns - r->run.newest_ns < half->clock.react_ns) {
        why->cause = EXPLAIN_CAUSE_RESTART;
        why->root = root_of(r);
        why->behind = r->run.number;
        why->or_cause = EXPLAIN_CAUSE_COPIED;
        why->sure = min_u32(r->run.sure, EXPLAIN_SURE_LIKELY);
        return EXPLAIN_AGAIN_SENT;
    }
    bool is_counted = before && half->weather->counts_each;
    if ((is_late || is_counted) && !is_proved)
        explain_why_doubt(why, EXPLAIN_CAUSE_SENT_AGAIN, EXPLAIN_CAUSE_COPIED, EXPLAIN_CAUSE_NONE);
    if (is_proved || is_late || is_counted)
        return EXPLAIN_AGAIN_SENT;
    const struct explain_weather *w = half->weather;
    why->cause = before ? EXPLAIN_CAUSE_COPIED : EXPLAIN_CAUSE_OVERTAKEN;
    why->sure = EXPLAIN_SURE_LIKELY;
    if (before && w->lost && w->late) {
        explain_why_doubt(why, EXPLAIN_CAUSE_RESTART, EXPLAIN_CAUSE_COPIED, r->run.cause);
        return EXPLAIN_AGAIN_SENT;
    }
    uint64_t from_ns = before ? before->time_ns : sent_about_ns(half, packet->roce.bth.psn);
    bool is_soon = packet->time_ns - from_ns < (half->clock.rtt_ns ? half->clock.rtt_ns / 4 : COPY_NS);
    bool is_usual = before ? !r->run.number && !w->lost && !w->late : w->late > w->lost || !w->lost;
    if (!is_soon || !is_usual)
        explain_why_doubt(why, why->cause, EXPLAIN_CAUSE_SENT_AGAIN, EXPLAIN_CAUSE_NONE);
    return before ? EXPLAIN_AGAIN_COPY : EXPLAIN_AGAIN_OVERTAKEN;
}

/* Whether nothing of what this end has sent just before is missing here: what is could be the packet with
 * which it went back, and this one goes along behind it. Where identifications do not count, what the sender
 * went back to before, and is not here, may come only now. */
static bool is_directly_behind(const struct explain_half *half, const struct explain_ids *ids,
                               const struct explain_packet *packet, const struct explain_sent *before)
{
    if (explain_ids_count(ids) == EXPLAIN_SURE_UNKNOWN || packet->roce.l3_kind != ROCE_L3_IPV4)
        return !explain_is_passed_unseen(half, packet->roce.bth.psn, before);
    return explain_is_next_id(ids, packet);
}

/* It was sent for a selective acknowledgement. What goes along behind an earlier return does so still. */
static enum explain_again note_selected(struct explain_recovery *r, const struct explain_packet *packet,
                                        uint32_t end_psn)
{
    r->run.newest_ns = packet->time_ns;
    if (roce_psn_diff(end_psn, r->run.cursor) > 0)
        r->run.cursor = end_psn;
    return EXPLAIN_AGAIN_SENT;
}

enum explain_again explain_tell_again(struct explain_half *half, const struct explain_ids *ids,
                                      const struct explain_packet *packet, const struct explain_sent *before,
                                      uint32_t end_psn, struct explain_why *why)
{
    uint32_t psn = packet->roce.bth.psn;
    enum explain_again again;
    struct explain_recovery *r = explain_recovery_of(half);
    *why = (struct explain_why){.cause = EXPLAIN_CAUSE_UNKNOWN};
    if (!r)
        return EXPLAIN_AGAIN_SENT;
    if (explain_tell_by_ids(half, ids, packet, before, &again, why)) {
        r->is_mangled = true;
        return again;
    }
    bool is_proved = explain_is_sent_for_sure(ids, packet, before);
    r->is_numbered = packet->roce.l3_kind == ROCE_L3_IPV4 && explain_ids_count(ids) != EXPLAIN_SURE_UNKNOWN;
    bool is_late = packet->roce.l3_kind == ROCE_L3_IPV4 &&
                   explain_ids_order(ids, explain_ip_id(packet)) == EXPLAIN_ORDER_EARLIER;
    why->silence_ns = silence_ns(half, packet, before, why);
    bool is_along = goes_along(half, packet, before, is_late) && !is_timer_due(half, packet, why);
    const struct explain_trouble *t = asked_for(half, psn, before);
    bool is_named = t && t->kind == EXPLAIN_TROUBLE_NAK && t->psn == psn;
    if (explain_selective_tell(
            half, packet,
            &(struct explain_comeback){.before = before,
                                       .nak_number = is_named ? t->number : 0,
                                       .is_turn = is_along && psn == r->run.cursor,
                                       .is_proved = is_proved,
                                       .is_behind = is_proved && explain_is_next_id(ids, packet)},
            why))
        return note_selected(r, packet, end_psn);
    if (is_along)
        tell_along(half, packet, before, is_proved, why);
    else
        tell_return(half, packet, before, is_proved,
                    is_proved && is_directly_behind(half, ids, packet, before), why);
    if (why->cause == EXPLAIN_CAUSE_UNKNOWN && why->candidate[0] == EXPLAIN_CAUSE_NONE &&
        (again = tell_unasked(half, packet, before, is_proved, why)) != EXPLAIN_AGAIN_SENT) {
        r->is_mangled = true;
        return again;
    }
    if (!is_along && why->cause != EXPLAIN_CAUSE_RESTART) {
        note_return(half, packet, before, why);
    } else if (roce_psn_diff(psn, r->run.psn) < 0) {
        r->run.psn = psn;
        r->run.ip_id = explain_ip_id(packet);
    }
    if (is_along && r->run.is_head_unseen && roce_psn_diff(psn, r->run.psn) > 0) {
        r->run.is_head_unseen = false;
        half->weather->lost++;
    }
    r->run.is_broken |= is_along && (psn != r->run.cursor || had_time(half, packet));
    r->run.newest_ns = packet->time_ns;
    why->timeout_ns = explain_usual_silence(half)->ns;
    why->timeout_samples = explain_usual_silence(half)->count;
    if (!is_late && (!is_along || roce_psn_diff(end_psn, r->run.cursor) > 0))
        r->run.cursor = end_psn;
    return EXPLAIN_AGAIN_SENT;
}
