/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/half/recovery.h"

#include "base/base.h"
#include "explain/flow/half/timers.h"

const struct explain_silence *explain_silences_usual(const struct explain_silences *s)
{
    const struct explain_silence *best = &s->kept[0];
    for (unsigned i = 1; i < EXPLAIN_SILENCES_MAX; i++)
        if (s->kept[i].count > best->count)
            best = &s->kept[i];
    return best;
}

void explain_silences_learn(struct explain_silences *silences, uint64_t ns)
{
    struct explain_silence *least = &silences->kept[0];
    for (unsigned i = 0; i < EXPLAIN_SILENCES_MAX; i++) {
        struct explain_silence *s = &silences->kept[i];
        if (s->count && explain_is_alike(s->ns, ns)) {
            s->ns = min_u64(s->ns, ns);
            s->count++;
            return;
        }
        if (s->count < least->count)
            least = s;
    }
    *least = (struct explain_silence){ns, 1};
}
