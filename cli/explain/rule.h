/* SPDX-License-Identifier: BSD-2-Clause */
/* nornic explain --rule: what the rules say. */
#ifndef NORNIC_CLI_EXPLAIN_RULE_H
#define NORNIC_CLI_EXPLAIN_RULE_H

#include <stdbool.h>

#include "explain/show/glossary.h"

/* Writes the rule with that id, or all whose ids begin so ("ROCE-RC", "SMCR"); "all" is every one. `columns`
 * bounds the lines of text. CLI_OK, or CLI_ERROR after a sentence. */
int cli_explain_rules(const char *id, bool as_json, unsigned columns);

/* Appends the rules that the output named. */
void cli_explain_named_rules(struct explain_text *out, const struct explain_glossary *named, bool is_json);

#endif
