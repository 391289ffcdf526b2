/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/meaning/meaning.h"

#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

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

const char *explain_place_key(enum explain_place place)
{
    static const char *const keys[] = {"unknown", "end_0", "end_1", "not_end_0", "not_end_1", "between"};
    return keys[place];
}

const char *explain_crc_key(enum explain_crc crc)
{
    static const char *const keys[] = {"good", "bad", "off", "unseen"};
    return keys[crc];
}

uint64_t explain_message_moved(uint64_t message, int32_t by)
{
    uint64_t less = by < 0 ? (uint64_t) - (int64_t)by : 0;
    if (less)
        return message > less ? message - less : 1;
    return message + (uint32_t)by;
}

void explain_meaning_clear(struct explain_meaning *m)
{
    memset(m, 0, offsetof(struct explain_meaning, words));
    m->words[0] = '\0';
}

struct explain_finding *explain_remark(struct explain_meaning *m, enum explain_finding_kind kind,
                                       const char *rule, uint64_t number, uint64_t related,
                                       const char *format, ...)
{
    if (m->remark_count == EXPLAIN_REMARKS_MAX)
        return NULL;
    struct explain_finding *f = &m->remarks[m->remark_count++];
    *f = (struct explain_finding){.kind = kind, .number = number, .related = related};
    snprintf(f->rule, sizeof f->rule, "%s", rule);
    va_list args;
    va_start(args, format);
    vsnprintf(f->words, sizeof f->words, format, args);
    va_end(args);
    return f;
}

/* Findings whose words say what is missing, and not why. */
static bool is_about_missing(enum explain_finding_kind kind)
{
    return kind == EXPLAIN_FIND_PSN_GAP || kind == EXPLAIN_FIND_NAK_SEQUENCE ||
           kind == EXPLAIN_FIND_SELECTIVE_ACK || kind == EXPLAIN_FIND_MISSING_ACK ||
           kind == EXPLAIN_FIND_GHOST_ACK;
}

void explain_because(struct explain_finding *f, const struct explain_why *why)
{
    char words[EXPLAIN_WHY_WORDS_SIZE];
    if (!f)
        return;
    f->why = *why;
    size_t used = strlen(f->words);
    if (why->candidate[0] != EXPLAIN_CAUSE_NONE && is_about_missing(f->kind))
        snprintf(f->words + used, sizeof f->words - used, "; %s",
                 explain_why_words(why, words, sizeof words));
}
