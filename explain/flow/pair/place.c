/* SPDX-License-Identifier: BSD-2-Clause */
/* At whose end a capture was taken is told by two things. What an end sent and the capture never saw, though
 * it was not the capture that missed it, was lost between that end and here: so it is not that end's. And the
 * end at which the capture was taken answers at once, where the other takes a round trip more: with requests
 * in both directions, the times from request to answer differ by it. */
#include "explain/flow/pair/place.h"

#define TIMES_LONGER 8                /* the time to the far end's answer against the near one's */
#define TRIP_NS      (20 * NS_PER_US) /* a shorter trip cannot be told from the time of answering */

void explain_note_lost_before(struct explain_pair *pair, unsigned direction)
{
    pair->is_not_at[direction] = true;
}

void explain_pair_skewed(struct explain_pair *pair, uint64_t skew_ns)
{
    skew_ns = max_u64(pair->shown.skew_ns, skew_ns);
    pair->half[0].clock.skew_ns = pair->half[1].clock.skew_ns = pair->shown.skew_ns = skew_ns;
}

static bool is_near(const struct explain_pair *p, unsigned end)
{
    uint64_t far_ns = p->half[end].clock.rtt_ns, near_ns = p->half[!end].clock.rtt_ns;
    return !p->half[end].clock.skew_ns && far_ns && near_ns && far_ns >= TRIP_NS &&
           far_ns / TIMES_LONGER >= near_ns;
}

static void tell_place(struct explain_pair *p)
{
    struct explain_flow *flow = &p->shown;
    for (unsigned end = 0; end < 2; end++)
        p->is_not_at[end] &= explain_weather_is_orderly(p->half[end].weather) && !p->half[end].clock.skew_ns;
    if (p->is_not_at[0] && p->is_not_at[1]) {
        flow->place = EXPLAIN_PLACE_BETWEEN;
        return;
    }
    for (unsigned end = 0; end < 2; end++)
        if (is_near(p, end) && !p->is_not_at[end])
            flow->place = end ? EXPLAIN_PLACE_END_1 : EXPLAIN_PLACE_END_0;
        else if (p->is_not_at[end] && flow->place == EXPLAIN_PLACE_UNKNOWN)
            flow->place = end ? EXPLAIN_PLACE_NOT_END_1 : EXPLAIN_PLACE_NOT_END_0;
}

void explain_pair_conclude(struct explain_pair *p)
{
    struct explain_flow *flow = &p->shown;
    tell_place(p);
    for (unsigned d = 0; d < 2; d++) {
        const struct explain_half *half = &p->half[d];
        flow->rtt_ns[d] = half->clock.skew_ns ? 0 : half->clock.rtt_ns;
        flow->messages_before[d] = half->msn.is_known && !half->capture.is_unseen ? half->msn.base : 0;
        flow->is_begun_before |=
            (half->message.is_begun_before && !half->capture.is_unseen) || flow->messages_before[d];
        if (half->recovery) {
            flow->timeout_ns[d] = explain_silences_usual(&half->recovery->silences)->ns;
            flow->timeout_samples[d] = explain_silences_usual(&half->recovery->silences)->count;
        }
    }
}
