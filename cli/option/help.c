/* SPDX-License-Identifier: BSD-2-Clause */
/* What --help prints of a command's rows, and the pieces of it that the man page has as well. */
#include <inttypes.h>
#include <string.h>

#include "cli/option/option.h"

#define HEAD_COLUMNS 27 /* where the sentences begin */
#define NS_PER_MIN   60000000000u

const struct cli_option cli_help_row = {"help", 'h', NULL, "this text", .kind = CLI_FLAG};

/* --- numbers as users write them --- */

/* The greatest unit that leaves a whole number. */
static void put_duration(char *text, size_t size, uint64_t ns)
{
    static const struct {
        uint64_t ns;
        const char *name;
    } units[] = {{NS_PER_MIN, "m"}, {1000000000, "s"}, {1000000, "ms"}, {1000, "us"}, {1, "ns"}};
    unsigned i = 0;
    while (ns % units[i].ns != 0)
        i++;
    snprintf(text, size, "%" PRIu64 "%s", ns / units[i].ns, units[i].name);
}

static void put_size(char *text, size_t size, uint64_t bytes)
{
    static const char letters[] = "GMK";
    for (unsigned i = 0; i < 3; i++) {
        unsigned shift = 10 * (3 - i);
        if (bytes && bytes % (UINT64_C(1) << shift) == 0) {
            snprintf(text, size, "%" PRIu64 "%c", bytes >> shift, letters[i]);
            return;
        }
    }
    snprintf(text, size, "%" PRIu64, bytes);
}

static void put_limit(char *text, size_t size, const struct cli_option *row, uint64_t value)
{
    if (row->kind == CLI_DURATION)
        put_duration(text, size, value);
    else if (row->kind == CLI_SIZE)
        put_size(text, size, value);
    else
        snprintf(text, size, "%" PRIu64, value);
}

/* "rc, uc, ud or srq" */
static void put_words(char *text, size_t size, const char *const *words)
{
    size_t len = 0;
    for (unsigned i = 0; words[i] && len < size; i++) {
        const char *between = i == 0 ? "" : words[i + 1] ? ", " : " or ";
        len += (size_t)snprintf(text + len, size - len, "%s%s", between, words[i]);
    }
}

const char *cli_range_text(const struct cli_option *row, char *text)
{
    char min[32], max[32];
    text[0] = 0;
    if (row->kind == CLI_CHOICE)
        put_words(text, CLI_RANGE_BYTES, row->words);
    else if (row->kind == CLI_PMTU)
        snprintf(text, CLI_RANGE_BYTES, "256, 512, 1024, 2048 or 4096");
    else if (row->max) {
        put_limit(min, sizeof min, row, row->min);
        put_limit(max, sizeof max, row, row->max);
        snprintf(text, CLI_RANGE_BYTES, "%s to %s", min, max);
    }
    return text;
}

/* --- one option --- */

const char *cli_option_sentence(const struct cli_option *row, char *text)
{
    char range[CLI_RANGE_BYTES];
    const char *place = strstr(row->help, "%r");
    int before = place ? (int)(place - row->help) : (int)strlen(row->help);
    snprintf(text, CLI_SENTENCE_BYTES, "%.*s%s%s%s%s%s", before, row->help,
             place ? cli_range_text(row, range) : "", place ? place + 2 : "", row->preset ? " (" : "",
             row->preset ? row->preset : "", row->preset ? ")" : "");
    return text;
}

const char *cli_option_head(const struct cli_option *row, char *text)
{
    char letter[5] = "    ";
    if (row->letter)
        snprintf(letter, sizeof letter, "-%c, ", row->letter);
    snprintf(text, CLI_HEAD_BYTES, row->is_optional ? "%s--%s[=%s]" : "%s--%s%s%s", letter, row->name,
             row->is_optional ? row->argument
             : row->argument  ? "="
                              : "",
             row->argument ? row->argument : "");
    return text;
}

/* --- filling lines --- */

/* Prints words of `text` up to `end`, the first line from column `column` on, further ones behind `indent`
 * blanks; ends the last line. */
static void put_filled(FILE *out, const char *text, const char *end, size_t column, int indent)
{
    bool is_first = true;
    while (text < end) {
        size_t len = strcspn(text, " \n");
        len = text + len > end ? (size_t)(end - text) : len;
        if (!is_first && column + 1 + len > CLI_HELP_COLUMNS) {
            fprintf(out, "\n%*s", indent, "");
            column = (size_t)indent;
        } else if (!is_first) {
            putc(' ', out);
            column++;
        }
        fwrite(text, 1, len, out);
        column += len;
        is_first = false;
        text += len + strspn(text + len, " \n");
    }
    putc('\n', out);
}

/* Paragraphs, an empty line between them. */
static void put_paragraphs(FILE *out, const char *text)
{
    while (*text) {
        const char *end = strstr(text, "\n\n");
        put_filled(out, text, end ? end : text + strlen(text), 0, 0);
        if (end)
            putc('\n', out);
        text = end ? end + 2 : text + strlen(text);
    }
}

static void put_row(FILE *out, const struct cli_option *row)
{
    char head[CLI_HEAD_BYTES], sentence[CLI_SENTENCE_BYTES];
    if (row->is_hidden)
        return;
    int columns = fprintf(out, "  %s", cli_option_head(row, head));
    if (columns + 2 > HEAD_COLUMNS)
        fprintf(out, "\n%*s", HEAD_COLUMNS, "");
    else
        fprintf(out, "%*s", HEAD_COLUMNS - columns, "");
    cli_option_sentence(row, sentence);
    put_filled(out, sentence, sentence + strlen(sentence), HEAD_COLUMNS, HEAD_COLUMNS);
}

/* --- the whole --- */

/* Each line of the usage. */
static void put_usage(FILE *out, const char *usage)
{
    const char *word = "Usage:";
    while (*usage) {
        int len = (int)strcspn(usage, "\n");
        fprintf(out, "%-6s nornic %.*s\n", word, len, usage);
        usage += len + (usage[len] == '\n');
        word = "";
    }
}

static void put_status(FILE *out, const char *const status[3])
{
    char text[CLI_SENTENCE_BYTES];
    size_t len = (size_t)snprintf(text, sizeof text, "Exit status:");
    for (unsigned i = 0; i < 3; i++)
        if (status[i])
            len += (size_t)snprintf(text + len, sizeof text - len, "%s %u %s", i ? "," : "", i, status[i]);
    snprintf(text + len, sizeof text - len, status[1] ? ", 130 stopped by Ctrl-C before its end." : ".");
    putc('\n', out);
    put_filled(out, text, text + strlen(text), 0, 0);
}

static void put_commands(FILE *out, const struct cli_command *command)
{
    size_t skip = strlen(command->name) + 1;
    putc('\n', out);
    for (const struct cli_command *const *one = command->commands; *one; one++)
        fprintf(out, "  %-9s %s\n", (*one)->name + skip, (*one)->summary);
    fprintf(out, "\n`nornic help %s COMMAND` teaches one of them.\n", command->name);
}

static void put_group(FILE *out, const struct cli_group *group)
{
    fprintf(out, group->title ? "\n%s:\n" : "\n", group->title);
    for (const struct cli_option *row = group->rows; row->name; row++)
        put_row(out, row);
}

void cli_help_print(FILE *out, const struct cli_command *command)
{
    put_usage(out, command->usage);
    put_paragraphs(out, command->about);
    const struct cli_group *g = command->groups, *end = g + CLI_GROUPS_MAX;
    for (; g < end && g->rows && !g->title; g++)
        put_group(out, g);
    if (!command->commands) {
        fputs(g == command->groups ? "\n" : "", out);
        put_row(out, &cli_help_row);
    }
    for (; g < end && g->rows; g++)
        put_group(out, g);
    if (command->commands)
        put_commands(out, command);
    if (command->notes)
        fprintf(out, "\n%s", command->notes);
    if (command->examples)
        fprintf(out, "\n%s", command->examples);
    if (command->status[0])
        put_status(out, command->status);
}
