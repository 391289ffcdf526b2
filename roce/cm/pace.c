/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/cm/pace.h"

#include "base/base.h"

/* Takes `n` from `*count`, which stays 0 or more. */
static void take(unsigned *count, uint64_t n)
{
    *count -= (unsigned)min_u64(*count, n);
}

static void advance(struct roce_cm_pace *pace, uint64_t now_ns)
{
    const uint64_t ticks = now_ns > pace->tick_ns ? (now_ns - pace->tick_ns) / ROCE_CM_PACE_TICK_NS : 0;
    pace->tick_ns += ticks * ROCE_CM_PACE_TICK_NS;
    take(&pace->spent, ticks * ROCE_CM_PACE_PER_TICK);
    take(&pace->awaited, ticks * ROCE_CM_PACE_FORGET);
}

bool roce_cm_pace_allows(struct roce_cm_pace *pace, bool is_request, uint64_t now_ns)
{
    advance(pace, now_ns);
    return pace->spent < ROCE_CM_PACE_BURST && (!is_request || pace->awaited < ROCE_CM_PACE_AWAITED);
}

void roce_cm_pace_sent(struct roce_cm_pace *pace, bool is_request)
{
    pace->spent++;
    pace->awaited += is_request;
}

void roce_cm_pace_answered(struct roce_cm_pace *pace)
{
    take(&pace->awaited, 1);
}

uint64_t roce_cm_pace_next_ns(const struct roce_cm_pace *pace)
{
    return pace->tick_ns + ROCE_CM_PACE_TICK_NS;
}
