/* SPDX-License-Identifier: BSD-2-Clause */
/* docs/rules.txt: an entry is a line "ID  name", lines of text behind four blanks, and a last one of these in
 * brackets that names the source; lines that begin with # are for those who read the file. */
#include "explain/packet/rule_book.h"

#include <stdio.h>
#include <string.h>

__asm__(".pushsection .rodata\n"
        ".globl explain_rule_text\n.hidden explain_rule_text\nexplain_rule_text:\n"
        ".incbin \"docs/rules.txt\"\n.byte 0\n.popsection\n");
extern const char explain_rule_text[];

static const char *line_after(const char *line)
{
    const char *end = strchr(line, '\n');
    return end ? end + 1 : line + strlen(line);
}

/* Appends the bytes from..to to what stands in `text`, as far as there is room. */
static void append(char *text, size_t size, const char *from, const char *to)
{
    size_t used = strlen(text);
    snprintf(text + used, size - used, "%.*s", (int)(to - from), from);
}

/* The entry that begins at `at`; returns where it ends. */
static const char *read_entry(const char *at, struct explain_rule *rule)
{
    const char *end = strchr(at, '\n'), *gap = at + strcspn(at, " \n");
    *rule = (struct explain_rule){0};
    append(rule->id, sizeof rule->id, at, gap);
    append(rule->name, sizeof rule->name, gap + strspn(gap, " "), end);
    for (at = end + 1; strncmp(at, "    ", 4) == 0; at = line_after(at)) {
        end = strchr(at, '\n');
        if (at[4] == '[') {
            append(rule->source, sizeof rule->source, at + 5, end - 1);
            continue;
        }
        append(rule->text, sizeof rule->text, at + (*rule->text ? 3 : 4), end);
    }
    return at;
}

bool explain_rule_next(const char **place, struct explain_rule *rule)
{
    const char *at = *place ? *place : explain_rule_text;
    while (*at == '#' || *at == '\n')
        at = line_after(at);
    *place = at;
    if (!*at)
        return false;
    *place = read_entry(at, rule);
    return true;
}

bool explain_rule_find(const char *id, struct explain_rule *rule)
{
    char head[EXPLAIN_RULE_ID_SIZE + 3];
    int n = snprintf(head, sizeof head, "\n%s  ", id);
    const char *at = *id && (size_t)n < sizeof head ? strstr(explain_rule_text, head) : NULL;
    if (at)
        read_entry(at + 1, rule);
    return at;
}
