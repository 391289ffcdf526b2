/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/meaning/why.h"

#include <stdio.h>

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

const char *explain_why_words(const struct explain_why *why, char *words, size_t size)
{
    const enum explain_cause *c = why->candidate;
    if (c[0] == EXPLAIN_CAUSE_NONE)
        snprintf(words, size, "%s", explain_cause_words(why->cause));
    else
        snprintf(words, size, "%s, or %s%s%s: cannot be told", explain_cause_words(c[0]),
                 explain_cause_words(c[1]), c[2] == EXPLAIN_CAUSE_NONE ? "" : ", or ",
                 explain_cause_words(c[2]));
    return words;
}

void explain_why_doubt(struct explain_why *why, enum explain_cause one, enum explain_cause other,
                       enum explain_cause third)
{
    why->cause = EXPLAIN_CAUSE_UNKNOWN;
    why->or_cause = EXPLAIN_CAUSE_NONE;
    why->sure = EXPLAIN_SURE_UNKNOWN;
    why->candidate[0] = one;
    why->candidate[1] = other;
    why->candidate[2] = third;
}

void explain_why_doubt_way(struct explain_why *why, enum explain_cause one, enum explain_cause other,
                           enum explain_cause third)
{
    why->way = EXPLAIN_CAUSE_UNKNOWN;
    why->way_sure = EXPLAIN_SURE_UNKNOWN;
    why->way_candidate[0] = one;
    why->way_candidate[1] = other;
    why->way_candidate[2] = third;
}
