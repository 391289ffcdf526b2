/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/again/way.h"

#include "explain/flow/again/selective.h"
#include "explain/flow/again/trouble.h"
#include "explain/flow/pair/place.h"
#include "roce/psn.h"

/* Tells of a packet that an answer asked for: the copy before did not come in time. */
static void tell_missing_way(const struct explain_half *half, const struct explain_packet *packet,
                             bool was_here, struct explain_why *why)
{
    struct explain_why missing = {.cause = EXPLAIN_CAUSE_UNKNOWN};
    explain_weather_tell(
        half->weather,
        &(struct explain_missing){
            .qpn = packet->roce.bth.dest_qpn, .psn = packet->roce.bth.psn, .count = 1, .is_here = was_here},
        &missing);
    if (missing.cause != EXPLAIN_CAUSE_UNKNOWN && why->or_cause != EXPLAIN_CAUSE_NONE)
        explain_why_doubt(&missing, missing.cause, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_NONE);
    if (missing.cause == EXPLAIN_CAUSE_UNKNOWN) {
        explain_why_doubt_way(why, missing.candidate[0], missing.candidate[1], missing.candidate[2]);
        return;
    }
    why->way = missing.cause;
    why->way_sure = missing.sure;
    for (unsigned i = 0; i < missing.evidence_count; i++)
        explain_why_prove(why, missing.evidence[i].number, missing.evidence[i].what);
}

/* Tells of a packet that arrived without an answer: the answer was lost, or is late if others are. Any of
 * several copies may have arrived. */
static void tell_answer_way(const struct explain_half *half, const struct explain_sent *before,
                            struct explain_why *why)
{
    bool is_one_of_many =
        why->cause == EXPLAIN_CAUSE_TIMEOUT && (!before || before->first_ns != before->time_ns);
    if (is_one_of_many) {
        explain_why_doubt_way(why, EXPLAIN_CAUSE_ANSWER_LOST, EXPLAIN_CAUSE_LOST_AFTER,
                              EXPLAIN_CAUSE_LOST_BEFORE);
        return;
    }
    if (!explain_weather_is_calm(half->weather)) {
        explain_why_doubt_way(why, EXPLAIN_CAUSE_ANSWER_LOST, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_NONE);
        return;
    }
    why->way = EXPLAIN_CAUSE_ANSWER_LOST;
    why->way_sure = EXPLAIN_SURE_LIKELY;
}

void explain_tell_way(struct explain_pair *pair, unsigned direction, const struct explain_packet *packet,
                      const struct explain_sent *before, bool was_here, struct explain_why *why)
{
    const struct explain_half *half = &pair->half[direction];
    bool is_answered = half->acks.is_known && roce_psn_diff(half->acks.una_psn, packet->roce.bth.psn) > 0;
    if (why->cause == EXPLAIN_CAUSE_RNR) {
        why->way = EXPLAIN_CAUSE_NO_RECEIVE;
        why->way_sure = EXPLAIN_SURE_LIKELY;
    } else if ((why->cause == EXPLAIN_CAUSE_NAK_SEQUENCE && !explain_is_named(half, packet->roce.bth.psn)) ||
               (why->cause == EXPLAIN_CAUSE_SELECTIVE_ACK &&
                !explain_selective_names(half, packet->roce.bth.psn))) {
        why->way = EXPLAIN_CAUSE_UNKNOWN; /* one before it is missing */
    } else if (why->cause == EXPLAIN_CAUSE_NAK_SEQUENCE || why->cause == EXPLAIN_CAUSE_SELECTIVE_ACK) {
        bool was_refused = before && explain_was_refused(half, packet->roce.bth.psn, before->number);
        tell_missing_way(half, packet, was_here && !was_refused, why);
    } else if (why->cause == EXPLAIN_CAUSE_IMPLIED_NAK ||
               (why->cause == EXPLAIN_CAUSE_TIMEOUT && is_answered)) {
        tell_answer_way(half, before, why);
    } else if (why->cause == EXPLAIN_CAUSE_TIMEOUT) {
        explain_why_doubt_way(why, was_here ? EXPLAIN_CAUSE_LOST_AFTER : EXPLAIN_CAUSE_LOST_BEFORE,
                              EXPLAIN_CAUSE_ANSWER_LOST, EXPLAIN_CAUSE_NONE);
    }
    bool is_asked = why->cause == EXPLAIN_CAUSE_NAK_SEQUENCE || why->cause == EXPLAIN_CAUSE_SELECTIVE_ACK ||
                    why->cause == EXPLAIN_CAUSE_TIMEOUT;
    if (is_asked && !was_here && !is_answered)
        explain_note_lost_before(pair, direction);
    else if (why->cause == EXPLAIN_CAUSE_IMPLIED_NAK && why->evidence_count)
        explain_note_lost_before(pair, !direction); /* the answer is not here */
}
