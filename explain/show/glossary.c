/* SPDX-License-Identifier: BSD-2-Clause */
#include "explain/show/glossary.h"

#include <stdio.h>
#include <string.h>

#define INDENT "    "

void explain_glossary_add(struct explain_glossary *glossary, const char *id)
{
    if (!*id || glossary->count == EXPLAIN_GLOSSARY_MAX)
        return;
    for (unsigned i = 0; i < glossary->count; i++)
        if (strcmp(glossary->ids[i], id) == 0)
            return;
    snprintf(glossary->ids[glossary->count++], EXPLAIN_RULE_ID_SIZE, "%s", id);
}

void explain_rule_text_of(struct explain_text *out, const struct explain_rule *rule, unsigned columns)
{
    char source[sizeof rule->source + 2];
    explain_printf(out, "%s  %s\n", rule->id, rule->name);
    explain_put_wrapped(out, INDENT, rule->text, columns);
    snprintf(source, sizeof source, "[%s]", rule->source);
    explain_put_wrapped(out, INDENT, source, columns);
}

void explain_rule_json(struct explain_text *out, const struct explain_rule *rule)
{
    const char *const members[] = {"{\"rule\":", rule->id,   ",\"name\":",   rule->name,
                                   ",\"text\":", rule->text, ",\"source\":", rule->source};
    for (unsigned i = 0; i < sizeof members / sizeof *members; i += 2) {
        explain_put(out, members[i]);
        explain_put_quoted(out, members[i + 1]);
    }
    explain_put(out, "}");
}

void explain_glossary_text(struct explain_text *out, const struct explain_glossary *glossary,
                           unsigned columns)
{
    struct explain_rule rule;
    for (unsigned i = 0; i < glossary->count; i++)
        if (explain_rule_find(glossary->ids[i], &rule))
            explain_rule_text_of(out, &rule, columns);
}

void explain_glossary_json(struct explain_text *out, const struct explain_glossary *glossary)
{
    struct explain_rule rule;
    for (unsigned i = 0; i < glossary->count; i++)
        if (explain_rule_find(glossary->ids[i], &rule)) {
            explain_rule_json(out, &rule);
            explain_put(out, "\n");
        }
}
