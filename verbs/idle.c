/* SPDX-License-Identifier: BSD-2-Clause */
#include "verbs/idle.h"

#define LATE_ANSWERS 4u  /* make hasty */
#define TRY_AGAIN    64u /* make patient for one answer */

static unsigned patience(unsigned late)
{
    return late < LATE_ANSWERS ? VERBS_IDLE_PATIENT : VERBS_IDLE_HASTY;
}

bool verbs_idle_count(struct verbs_idle *idle, bool found)
{
    unsigned polls = atomic_load_explicit(&idle->polls, memory_order_relaxed);
    unsigned late = atomic_load_explicit(&idle->late, memory_order_relaxed);
    unsigned wanted = patience(late);
    if (!found) {
        atomic_store_explicit(&idle->polls, polls + 1, memory_order_relaxed);
        return (polls + 1) % wanted == 0;
    }
    if (polls >= wanted)
        late = late < TRY_AGAIN ? late + 1 : LATE_ANSWERS - 1;
    else if (polls > 0)
        late /= 2;
    atomic_store_explicit(&idle->late, late, memory_order_relaxed);
    atomic_store_explicit(&idle->polls, 0, memory_order_relaxed);
    return false;
}
