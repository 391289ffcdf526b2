/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/flow/why.h"

static const struct cause {
    const char *key, *words;
} causes[EXPLAIN_CAUSE_COUNT] = {
#define ROW(id, key, words) [EXPLAIN_CAUSE_##id] = {key, words},
    EXPLAIN_CAUSES(ROW)
#undef ROW
};

const char *explain_cause_key(enum explain_cause cause)
{
    return causes[cause].key;
}

const char *explain_cause_words(enum explain_cause cause)
{
    return causes[cause].words;
}

const char *explain_sure_key(enum explain_sure sure)
{
    static const char *const keys[] = {"unknown", "likely", "shown"};
    return keys[sure];
}

void explain_why_prove(struct explain_why *why, uint64_t number, const char *what)
{
    if (number && why->evidence_count < EXPLAIN_EVIDENCE_MAX)
        why->evidence[why->evidence_count++] = (struct explain_evidence){number, what};
}
