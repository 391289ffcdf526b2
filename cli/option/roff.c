/* SPDX-License-Identifier: BSD-2-Clause */
/* The commands as the man page has them: docs/nornic.1 holds what this prints (test/tools/manual). */
#include <string.h>

#include "cli/option/option.h"

/* Text in which nothing is meant for troff: dashes that can be copied, no request at the front of a line. */
static void put_text(FILE *out, const char *text, size_t len)
{
    bool at_front = true;
    for (size_t i = 0; i < len; i++) {
        if (at_front && (text[i] == '.' || text[i] == '\''))
            fputs("\\&", out);
        at_front = text[i] == '\n';
        if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] == '\\')
            fputs("\\e", out);
        else
            putc(text[i], out);
    }
}

static void put_line(FILE *out, const char *text)
{
    put_text(out, text, strlen(text));
    putc('\n', out);
}

/* Paragraphs of a command's prose. */
static void put_paragraphs(FILE *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        size_t len = end ? (size_t)(end - text) : strlen(text);
        put_text(out, text, len);
        fputs(end ? "\n.PP\n" : "\n", out);
        text += len + (end ? 2 : 0);
    }
}

/* Lines that stay as they are. */
static void put_lines(FILE *out, const char *text)
{
    fputs(".PP\n.nf\n", out);
    put_text(out, text, strlen(text));
    fputs(".fi\n", out);
}

static void put_name(FILE *out, const char *dashes, const char *name, const char *behind)
{
    fputs("\\fB", out);
    put_text(out, dashes, strlen(dashes));
    put_text(out, name, strlen(name));
    fprintf(out, "\\fR%s", behind);
}

static void put_row(FILE *out, const struct cli_option *row)
{
    char sentence[CLI_SENTENCE_BYTES];
    if (row->is_hidden)
        return;
    fputs(".TP\n", out);
    if (row->letter)
        put_name(out, "-", (char[2]){row->letter}, ", ");
    put_name(out, "--", row->name, "");
    if (row->argument)
        fprintf(out, row->is_optional ? "[=\\fI%s\\fR]" : "=\\fI%s\\fR", row->argument);
    putc('\n', out);
    put_line(out, cli_option_sentence(row, sentence));
}

static void put_rows(FILE *out, const struct cli_group *group)
{
    for (const struct cli_option *row = group->rows; row->name; row++)
        put_row(out, row);
}

/* The forms of a command line, the command in bold. */
static void put_usage(FILE *out, const struct cli_command *command)
{
    const char *usage = command->usage;
    while (*usage) {
        size_t len = strcspn(usage, "\n"), name = strlen(command->name);
        fputs("\\fBnornic ", out);
        put_text(out, usage, name < len ? name : len);
        fputs("\\fR", out);
        put_text(out, usage + name, len > name ? len - name : 0);
        usage += len + (usage[len] == '\n');
        fputs(*usage ? "\n.br\n" : "\n.PP\n", out);
    }
}

static void put_status(FILE *out, const char *const status[3])
{
    fputs(".PP\nExit status:", out);
    for (unsigned i = 0; i < 3; i++)
        if (status[i]) {
            fprintf(out, "%s %u ", i ? "," : "", i);
            put_text(out, status[i], strlen(status[i]));
        }
    fputs(".\n", out);
}

static void put_command(FILE *out, const struct cli_command *command)
{
    fputs(".SS ", out);
    put_line(out, command->name);
    put_usage(out, command);
    put_paragraphs(out, command->about);
    for (const struct cli_group *g = command->groups; g < command->groups + CLI_GROUPS_MAX && g->rows; g++) {
        if (g->is_shared)
            fprintf(out, ".PP\nIt takes the options under\n.I %s\nbelow as well.\n", g->title);
        else
            put_rows(out, g);
    }
    if (command->notes)
        put_lines(out, command->notes);
    if (command->examples)
        put_lines(out, command->examples);
    if (command->status[0])
        put_status(out, command->status);
}

/* Groups that several commands have, each the first time that one of them names it. */
struct shared {
    const struct cli_option *seen[8];
    unsigned count;
};

static void put_shared(FILE *out, struct shared *shared, const struct cli_command *command)
{
    for (const struct cli_group *g = command->groups; g < command->groups + CLI_GROUPS_MAX && g->rows; g++) {
        bool is_new = g->is_shared;
        for (unsigned i = 0; i < shared->count; i++)
            is_new &= shared->seen[i] != g->rows;
        if (!is_new || shared->count == sizeof shared->seen / sizeof shared->seen[0])
            continue;
        shared->seen[shared->count++] = g->rows;
        fprintf(out, ".SS %s\n", g->title);
        put_rows(out, g);
    }
}

void cli_roff_print(FILE *out, const struct cli_command *const *commands)
{
    struct shared shared = {.count = 0};
    fputs(".SH COMMANDS\n", out);
    for (const struct cli_command *const *one = commands; *one; one++) {
        put_command(out, *one);
        for (const struct cli_command *const *inner = (*one)->commands; inner && *inner; inner++)
            put_command(out, *inner);
    }
    fputs(".SH OPTIONS OF SEVERAL COMMANDS\n", out);
    for (const struct cli_command *const *one = commands; *one; one++) {
        put_shared(out, &shared, *one);
        for (const struct cli_command *const *inner = (*one)->commands; inner && *inner; inner++)
            put_shared(out, &shared, *inner);
    }
}
