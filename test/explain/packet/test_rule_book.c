/* SPDX-License-Identifier: BSD-2-Clause */
#include <criterion/criterion.h>
#include <string.h>

#include "explain/packet/rule_book.h"
#include "explain/show/glossary.h"

/* Each entry of the file has all its parts, none of which was cut, and is found by its id. */
Test(rule_book, every_entry_is_whole)
{
    struct explain_rule rule, found;
    unsigned n = 0;
    for (const char *place = NULL; explain_rule_next(&place, &rule); n++) {
        cr_assert(*rule.id && *rule.name && *rule.source, "%s", rule.id);
        cr_assert(strlen(rule.id) + 1 < sizeof rule.id && strlen(rule.name) + 1 < sizeof rule.name);
        cr_assert(strlen(rule.text) + 1 < sizeof rule.text && strlen(rule.source) + 1 < sizeof rule.source);
        cr_assert_eq(rule.text[strlen(rule.text) - 1], '.', "%s: a sentence: %s", rule.id, rule.text);
        cr_assert(explain_rule_find(rule.id, &found));
        cr_assert_str_eq(found.text, rule.text, "%s stands twice", rule.id);
    }
    cr_assert_gt(n, 700);
}

Test(rule_book, lines_of_an_entry_are_joined_by_one_blank)
{
    struct explain_rule rule;
    cr_assert(explain_rule_find("ROCE-RS-11", &rule));
    cr_assert_str_eq(rule.name, "RNR NAK");
    cr_assert_str_eq(rule.text,
                     "Where no receive is posted, an RNR NAK (\"receiver not ready\") says how long to "
                     "wait; what follows is dropped without a NAK.");
    cr_assert_not(explain_rule_find("ROCE-RS-1111", &rule));
    cr_assert_not(explain_rule_find("ROCE-RS", &rule));
    cr_assert_not(explain_rule_find("", &rule));
}

Test(rule_book, a_glossary_names_each_once_in_lines_that_fit)
{
    struct explain_glossary named = {0};
    struct explain_text out = {0};
    explain_glossary_add(&named, "ROCE-GEN-2");
    explain_glossary_add(&named, "");
    explain_glossary_add(&named, "ROCE-GEN-2");
    explain_glossary_add(&named, "no such rule");
    explain_glossary_text(&out, &named, 60);
    cr_assert_str_eq(out.bytes, "ROCE-GEN-2  IPv4 and IPv6 together\n"
                                "    IPv4 and IPv6 work side by side on one port; a\n"
                                "    connection uses the one its addresses are of.\n"
                                "    [CA17-1]\n");
    explain_text_clear(&out);
    explain_glossary_json(&out, &named);
    cr_assert_str_eq(out.bytes,
                     "{\"rule\":\"ROCE-GEN-2\",\"name\":\"IPv4 and IPv6 together\",\"text\":\"IPv4 and "
                     "IPv6 work side by side on one port; a connection uses the one its addresses are "
                     "of.\",\"source\":\"CA17-1\"}\n");
    explain_text_free(&out);
}
