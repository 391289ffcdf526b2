/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/base.h"
#include "roce/counters.h"

#include <stddef.h>

static const char *const counter_names[] = {
#define ROCE_COUNTER_NAME_(name) #name,
    ROCE_COUNTERS(ROCE_COUNTER_NAME_)
#undef ROCE_COUNTER_NAME_
};
#define COUNTER_COUNT array_len(counter_names)
_Static_assert(COUNTER_COUNT * sizeof(uint64_t) == sizeof(struct roce_counters), "every counter has a name");

static const char *const verdict_counters[ROCE_RX_VERDICT_COUNT] = {
#define ROCE_RX_COUNTER_(id, counter, words) [ROCE_RX_##id] = #counter,
    ROCE_RX_VERDICTS(ROCE_RX_COUNTER_)
#undef ROCE_RX_COUNTER_
};

const char *roce_counter_name(unsigned i)
{
    return i < COUNTER_COUNT ? counter_names[i] : NULL;
}

const char *roce_verdict_counter_name(enum roce_rx_verdict verdict)
{
    return verdict_counters[verdict];
}
