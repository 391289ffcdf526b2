/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/explain/rule.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "cli/cli.h"
#include "cli/explain/output.h"
#include "explain/show/glossary.h"

static bool is_wanted(const struct explain_rule *rule, const char *id)
{
    size_t n = strlen(id);
    if (strcmp(id, "all") == 0)
        return true;
    return strncasecmp(rule->id, id, n) == 0 && (rule->id[n] == 0 || rule->id[n] == '-' || id[n - 1] == '-');
}

int cli_explain_rules(const char *id, bool as_json, unsigned columns)
{
    struct explain_text out = {0};
    struct explain_rule rule;
    int status = CLI_OK;
    for (const char *place = NULL; explain_rule_next(&place, &rule);) {
        if (!is_wanted(&rule, id))
            continue;
        if (as_json)
            explain_rule_json(&out, &rule);
        else
            explain_rule_text_of(&out, &rule, columns);
        if (as_json)
            explain_put(&out, "\n");
    }
    if (!out.len)
        status =
            cli_fail("--rule %s: there is no such rule; ROCE-RC-41 is one, ROCE-RC are all of that area, "
                     "all is every one",
                     id);
    else if (fwrite(out.bytes, 1, out.len, stdout) != out.len || fflush(stdout) != 0)
        status = cli_fail("cannot write the output: %s", strerror(errno));
    explain_text_free(&out);
    return status;
}

void cli_explain_named_rules(struct explain_text *out, const struct explain_glossary *named, bool is_json)
{
    if (is_json) {
        explain_glossary_json(out, named);
    } else if (named->count) {
        explain_put(out, "\n");
        explain_glossary_text(out, named, cli_output_columns());
        explain_put(out, "\n");
    }
}
