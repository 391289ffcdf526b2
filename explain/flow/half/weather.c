/* SPDX-License-Identifier: BSD-2-Clause */
/* A packet that is missing was lost or is late, and when it is missed nothing in it says which. A network
 * that has lost packets and never delayed one behind others has most likely lost this one too; where
 * packets were seen to overtake each other, or where nothing is known yet, both are possible; so they are
 * of a packet that is in the capture, as nobody sees there what overtakes what behind it. Which it was the
 * packet tells that comes later, if one does. */
#include "explain/flow/half/weather.h"

#include <stddef.h>

#include "roce/packet.h"
#include "roce/psn.h"

#define LOST_ENOUGH 8 /* losses before the next one is taken for another */

bool explain_weather_is_calm(const struct explain_weather *w)
{
    return !w->late && !w->copied;
}

bool explain_weather_is_orderly(const struct explain_weather *w)
{
    return explain_weather_is_calm(w) && !w->maybe_late;
}

bool explain_weather_is_lossy(const struct explain_weather *w)
{
    return explain_weather_is_orderly(w) && w->lost >= LOST_ENOUGH;
}

bool explain_weather_is_quiet(const struct explain_weather *w)
{
    return explain_weather_is_calm(w) && !w->lost;
}

void explain_weather_damaged(struct explain_weather *w, uint64_t number, const struct roce_pkt *pkt)
{
    bool is_answer = pkt->op && pkt->op->flags & ROCE_PKT_RESPONSE;
    w->damaged[w->next_damaged++ % EXPLAIN_DAMAGED_KEPT] =
        (struct explain_damaged){number, pkt->bth.psn, pkt->bth.dest_qpn, is_answer};
}

static const struct explain_damaged *find_damaged(const struct explain_weather *w,
                                                  const struct explain_missing *missing)
{
    for (unsigned i = 0; i < EXPLAIN_DAMAGED_KEPT; i++)
        if (w->damaged[i].number && w->damaged[i].qpn == missing->qpn &&
            w->damaged[i].is_answer == missing->is_answer &&
            ((w->damaged[i].psn - missing->psn) & ROCE_PSN_MASK) < missing->count)
            return &w->damaged[i];
    return NULL;
}

void explain_weather_tell(const struct explain_weather *w, const struct explain_missing *missing,
                          struct explain_why *why)
{
    const struct explain_damaged *damaged = missing->is_here ? NULL : find_damaged(w, missing);
    enum explain_cause lost = missing->is_here ? EXPLAIN_CAUSE_LOST_AFTER : EXPLAIN_CAUSE_LOST_BEFORE;
    if (damaged) {
        why->cause = EXPLAIN_CAUSE_DAMAGED;
        why->sure = EXPLAIN_SURE_LIKELY;
        explain_why_prove(why, damaged->number, "it came, and its ICRC is wrong");
    } else if (w->next_damaged && !missing->is_here) {
        explain_why_doubt(why, lost, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_DAMAGED);
    } else if (explain_weather_is_calm(w) && w->lost >= LOST_ENOUGH && !missing->is_here) {
        why->cause = lost;
        why->or_cause = EXPLAIN_CAUSE_OVERTAKEN;
        why->sure = EXPLAIN_SURE_LIKELY;
    } else {
        explain_why_doubt(why, lost, EXPLAIN_CAUSE_OVERTAKEN, EXPLAIN_CAUSE_NONE);
    }
}
