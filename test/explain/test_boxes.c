/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "explain/boxes.h"
#include "explain/registry.h"
#include "roce/wire.h"

Test(boxes, a_header_is_drawn_as_the_standard_draws_it)
{
    static const char *const want = "   0                   1                   2                   3\n"
                                    "   0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1\n"
                                    "  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"
                                    "  |                              va                               |\n"
                                    "  +                                                               +\n"
                                    "  |                                                               |\n"
                                    "  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"
                                    "  |                             rkey                              |\n"
                                    "  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n"
                                    "  |                            dma_len                            |\n"
                                    "  +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+\n";
    struct explain_text text = {0};
    explain_box(&text, &roce_reth_header);
    cr_assert_str_eq(text.bytes, want);
    explain_text_free(&text);
}

/* Whatever the header, every line of its box is as wide as the others, and ends with a bar or a corner. */
Test(boxes, every_header_has_a_box)
{
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++) {
        struct explain_text text = {0};
        explain_box(&text, k->header);
        unsigned n = 0;
        for (char *line = strtok(text.bytes, "\n"); line; line = strtok(NULL, "\n"), n++)
            if (n >= 2)
                cr_assert(strchr("|+", line[strlen(line) - 1]), "%s: %s", k->key, line);
        cr_assert_eq(n, 3u + 2 * ((k->header->len_bytes + 3u) / 4), "%s", k->key);
        explain_text_free(&text);
    }
}

static bool is_listed(const char *rule)
{
    char line[200];
    size_t n = strlen(rule);
    FILE *list = fopen("docs/roce-requirements.txt", "r");
    cr_assert_not_null(list);
    bool found = false;
    while (!found && fgets(line, sizeof line, list))
        found = strncmp(line, rule, n) == 0 && line[n] == ' ';
    fclose(list);
    return found;
}

static bool is_of_smc(const char *key)
{
    return strncmp(key, "tcp", 3) == 0 || strncmp(key, "smc_", 4) == 0 || strncmp(key, "clc", 3) == 0 ||
           strncmp(key, "llc_", 4) == 0 || strcmp(key, "cdc") == 0;
}

/* Each field of the transport's headers is governed by a rule that the list has. */
Test(boxes, rules_are_those_of_the_list)
{
    for (const struct explain_layer_kind *k = explain_layer_kinds; k->key; k++)
        for (unsigned i = 0; i < k->header->field_count; i++) {
            const char *rule = explain_field_rule(k->key, &k->header->fields[i]);
            if (rule)
                cr_assert(is_listed(rule), "%s.%s: %s", k->key, k->header->fields[i].name, rule);
            else
                cr_assert(is_of_smc(k->key) || strcmp(k->key, "mad") == 0 || strcmp(k->key, "masketh") == 0 ||
                              strcmp(k->key, "rdeth") == 0,
                          "%s.%s has no rule", k->key, k->header->fields[i].name);
        }
}
