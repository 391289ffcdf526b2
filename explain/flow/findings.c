/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/analysis.h"

static const struct finding_kind {
    const char *key;
    int severity;
    const char *words;
} kinds[EXPLAIN_FINDING_COUNT] = {
#define ROW(id, key, severity, words) [EXPLAIN_FIND_##id] = {key, severity, words},
    EXPLAIN_FINDINGS(ROW)
#undef ROW
};

const char *explain_finding_key(enum explain_finding_kind kind)
{
    return kinds[kind].key;
}

const char *explain_finding_words(enum explain_finding_kind kind)
{
    return kinds[kind].words;
}

int explain_finding_severity(enum explain_finding_kind kind)
{
    return kinds[kind].severity;
}
