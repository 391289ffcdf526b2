/* SPDX-License-Identifier: BSD-2-Clause */
/* Which copy of a packet arrived, and when, as far as the answers tell. */
#include "explain/flow/flow.h"
#include "roce/psn.h"

bool explain_has_rival(const struct explain_half *half, const struct explain_trouble *t, uint32_t psn)
{
    if (t->kind == EXPLAIN_TROUBLE_SKIPPED || t->psn == psn)
        return t->kind == EXPLAIN_TROUBLE_SKIPPED;
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++) {
        const struct explain_trouble *other = &half->recovery->troubles[i];
        if (other != t && other->number && roce_psn_diff(psn, other->psn) >= 0)
            return true;
    }
    return false;
}

bool explain_is_named(const struct explain_half *half, uint32_t psn)
{
    for (unsigned i = 0; half->recovery && i < EXPLAIN_TROUBLES_MAX; i++)
        if (half->recovery->troubles[i].number && half->recovery->troubles[i].kind == EXPLAIN_TROUBLE_NAK &&
            half->recovery->troubles[i].psn == psn)
            return true;
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

bool explain_was_refused(const struct explain_half *half, uint32_t psn, uint64_t number)
{
    for (unsigned i = 0; half->recovery && i < EXPLAIN_TROUBLES_MAX; i++) {
        const struct explain_trouble *t = &half->recovery->troubles[i];
        if (t->kind == EXPLAIN_TROUBLE_RNR && t->psn == psn && t->number > number)
            return true;
    }
    return false;
}

bool explain_was_answered_beyond(const struct explain_half *half, uint32_t psn)
{
    const struct explain_read *r = explain_read_find(half, psn);
    if (!r || !half->acks.is_known)
        return false;
    return roce_psn_diff(half->acks.una_psn, roce_psn_add(psn, 1)) > 0 &&
           (((psn - r->psn) & ROCE_PSN_MASK) < r->next || r->is_answered);
}

bool explain_is_passed_unseen(const struct explain_half *half, uint32_t psn, const struct explain_sent *s)
{
    const struct explain_recovery *r = half->recovery;
    if (!r || !r->run.number || (s && s->number >= r->run.number) || roce_psn_diff(psn, r->run.psn) < 0)
        return false;
    return roce_psn_diff(r->run.cursor, psn) > 0 &&
           !(r->run.cut.is_there && roce_psn_diff(psn, r->run.cut.psn) >= 0);
}

bool explain_is_newest_here(const struct explain_half *half, uint32_t psn, const struct explain_sent *s)
{
    return s && !explain_is_passed_unseen(half, psn, s);
}

bool explain_may_be_first(const struct explain_half *half, const struct roce_pkt *pkt,
                          const struct explain_sent *before, bool is_sent)
{
    struct explain_why missing = {.cause = EXPLAIN_CAUSE_UNKNOWN};
    if (before || is_sent)
        return false;
    explain_weather_tell(half->weather,
                         &(struct explain_missing){.qpn = pkt->bth.dest_qpn, .psn = pkt->bth.psn, .count = 1},
                         &missing);
    return missing.cause != EXPLAIN_CAUSE_DAMAGED;
}

bool explain_may_be_late(const struct explain_half *half, const struct explain_trouble *t,
                         const struct explain_packet *packet, enum explain_cause cause)
{
    if (cause != EXPLAIN_CAUSE_NAK_SEQUENCE)
        return !explain_weather_is_orderly(half->weather);
    bool is_prompt = half->clock.react_ns && packet->time_ns - t->time_ns <= 2 * half->clock.react_ns;
    return t->psn != packet->roce.bth.psn || !(is_prompt || explain_weather_is_lossy(half->weather));
}

/* A receiver answers again what comes to it again. What a NAK asked for it had not got: if it gets that
 * twice, the first copy was overtaken, even by the second. A timer sends what may have arrived. */
void explain_note_ack_again(struct explain_half *half)
{
    const struct explain_recovery *r = half->recovery;
    if (!r || !r->run.number || r->run.cause == EXPLAIN_CAUSE_NAK_SEQUENCE ||
        r->run.cause == EXPLAIN_CAUSE_RNR)
        half->weather->late++;
}

/* What a NAK asked for has arrived. Before it was sent again, or sooner than a round trip afterwards,
 * that was the first copy, which others had overtaken. */
void explain_judge_troubles(struct explain_half *half, uint64_t now_ns, uint32_t end_psn)
{
    for (unsigned i = 0; i < EXPLAIN_TROUBLES_MAX; i++) {
        struct explain_trouble *t = &half->recovery->troubles[i];
        if (!t->number || t->kind != EXPLAIN_TROUBLE_NAK || t->is_judged ||
            roce_psn_diff(end_psn, t->psn) <= 0)
            continue;
        t->is_judged = true;
        bool is_late = !t->is_over || now_ns - t->over_ns < half->clock.rtt_ns;
        if (is_late)
            half->weather->late++;
        else
            half->weather->lost++;
    }
}
