/* SPDX-License-Identifier: BSD-2-Clause */
/* The rules that were named, so that they can be told once behind all that named them. */
#ifndef NORNIC_EXPLAIN_SHOW_GLOSSARY_H
#define NORNIC_EXPLAIN_SHOW_GLOSSARY_H

#include "explain/packet/rule_book.h"
#include "explain/show/text.h"

#define EXPLAIN_GLOSSARY_MAX 256 /* ids; a program of this project names fewer */

/* All zero: empty. */
struct explain_glossary {
    char ids[EXPLAIN_GLOSSARY_MAX][EXPLAIN_RULE_ID_SIZE]; /* in the order in which they were named first */
    unsigned count;
};

/* Remembers an id, once; an empty one is none. */
void explain_glossary_add(struct explain_glossary *glossary, const char *id);

/* Appends each rule that was named, a paragraph of lines of at most `columns` characters. */
void explain_glossary_text(struct explain_text *out, const struct explain_glossary *glossary,
                           unsigned columns);
/* Appends a line {"rule":...,"name":...,"text":...,"source":...} for each. */
void explain_glossary_json(struct explain_text *out, const struct explain_glossary *glossary);

/* One rule as a paragraph, and as a JSON object. */
void explain_rule_text_of(struct explain_text *out, const struct explain_rule *rule, unsigned columns);
void explain_rule_json(struct explain_text *out, const struct explain_rule *rule);

#endif
