/* SPDX-License-Identifier: BSD-2-Clause */
/* What has to be true of the rows of every command, whatever they are. */
#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "line.h"

typedef void each_command(const struct cli_command *command);
typedef void each_row(const struct cli_command *command, const struct cli_group *group,
                      const struct cli_option *row);

/* All commands that have settings, those within others too. */
static void for_commands(each_command *look)
{
    unsigned n = 0;
    for (const struct cli_command *const *one = cli_commands; *one; one++) {
        for (const struct cli_command *const *inner = (*one)->commands; inner && *inner; inner++, n++)
            look(*inner);
        if (!(*one)->commands) {
            look(*one);
            n++;
        }
    }
    cr_assert_eq(n, 26, "commands are missing, or this test does not know the new ones: %u", n);
}

static each_row *row_looker;

static void look_at_rows(const struct cli_command *command)
{
    for (const struct cli_group *g = command->groups; g < command->groups + CLI_GROUPS_MAX && g->rows; g++)
        for (const struct cli_option *row = g->rows; row->name; row++)
            row_looker(command, g, row);
}

static void for_rows(each_row *look)
{
    row_looker = look;
    for_commands(look_at_rows);
}

static bool has_value(const struct cli_option *row)
{
    return row->kind != CLI_FLAG && row->kind != CLI_SET;
}

/* --- the rows themselves --- */

static void row_is_whole(const struct cli_command *command, const struct cli_group *group,
                         const struct cli_option *row)
{
    cr_expect_not_null(row->help, "%s --%s", command->name, row->name);
    cr_expect(row->help[0] && row->help[strlen(row->help) - 1] != '.', "%s --%s: no full stop", command->name,
              row->name);
    cr_expect_eq(has_value(row), row->argument != NULL, "%s --%s: a value has a name", command->name,
                 row->name);
    cr_expect_eq(row->kind == CLI_OWN, row->take != NULL, "%s --%s", command->name, row->name);
    cr_expect_eq(row->kind == CLI_CHOICE, row->words != NULL, "%s --%s", command->name, row->name);
    cr_expect_leq(row->min, row->max ? row->max : row->min, "%s --%s", command->name, row->name);
    bool is_number = row->kind == CLI_COUNT || row->kind == CLI_SIZE || row->kind == CLI_DURATION;
    cr_expect(!is_number || row->max > 0, "%s --%s: a number has a limit", command->name, row->name);
    if (row->kind == CLI_OWN)
        return;
    cr_expect_leq(group->offset + row->offset + row->width, command->settings_bytes,
                  "%s --%s: the member is outside the struct", command->name, row->name);
    bool is_text =
        row->kind == CLI_TEXT || row->kind == CLI_FILE || row->kind == CLI_IFACE || row->kind == CLI_PORT;
    cr_expect(!is_text || row->width == sizeof(char *), "%s --%s", command->name, row->name);
    cr_expect(row->kind != CLI_FLAG || row->width == sizeof(bool), "%s --%s", command->name, row->name);
    cr_expect(row->kind != CLI_DURATION || row->width == 8, "%s --%s", command->name, row->name);
    cr_expect(row->kind != CLI_RATE || row->width == 4, "%s --%s", command->name, row->name);
    cr_expect(row->width == 8 || row->kind == CLI_DURATION || row->max >> (8 * row->width) == 0,
              "%s --%s: the limit does not fit into %u bytes", command->name, row->name, row->width);
}

Test(option_tables, every_row_is_whole)
{
    for_rows(row_is_whole);
}

/* --- names --- */

static char taken_names[128][48];
static unsigned taken_count;

static void take_name(const struct cli_command *command, const char *name)
{
    for (unsigned i = 0; i < taken_count; i++)
        cr_expect_str_neq(taken_names[i], name, "%s: two options are called %s", command->name, name);
    cr_assert_lt(taken_count, array_len(taken_names));
    snprintf(taken_names[taken_count++], sizeof taken_names[0], "%s", name);
}

static void take_names_of(const struct cli_command *command, const struct cli_group *group,
                          const struct cli_option *row)
{
    (void)group;
    take_name(command, row->name);
    if (row->letter)
        take_name(command, (char[2]){row->letter});
    for (int i = 0; i < CLI_ALSO_MAX && row->also[i]; i++)
        take_name(command, row->also[i]);
}

static void names_of_a_command(const struct cli_command *command)
{
    taken_count = 0;
    take_name(command, "help");
    take_name(command, "h");
    row_looker = take_names_of;
    look_at_rows(command);
}

Test(option_tables, no_two_options_of_a_command_have_a_name_in_common)
{
    for_commands(names_of_a_command);
}

static const struct {
    const char *name, *argument;
    char letter;
    const char *also;
} equal_everywhere[] = {
    {"color", "WHEN", 0, "colour"}, {"time", "TIME", 'T', "duration"}, {"output", "FILE", 'o', NULL},
    {"json", NULL, 'j', NULL},      {"mtu", "BYTES", 0, NULL},         {"timeout", "TIME", 't', NULL},
    {"capture", "FILE", 0, NULL},   {"loss", "RATE", 0, NULL},         {"seed", NULL, 0, NULL},
    {"quiet", NULL, 'q', NULL},     {"ipv6", NULL, '6', NULL},         {"interface", "IFACE", 'i', NULL},
    {"all", NULL, 'a', NULL},       {"verbose", NULL, 'v', NULL},
};

static bool is_also(const struct cli_option *row, const char *name)
{
    for (int i = 0; i < CLI_ALSO_MAX && row->also[i]; i++)
        if (strcmp(row->also[i], name) == 0)
            return true;
    return false;
}

static void row_is_as_elsewhere(const struct cli_command *command, const struct cli_group *group,
                                const struct cli_option *row)
{
    (void)group;
    for (size_t i = 0; i < array_len(equal_everywhere); i++) {
        cr_expect(!equal_everywhere[i].also || strcmp(row->name, equal_everywhere[i].also) != 0,
                  "%s --%s: it is --%s everywhere else", command->name, row->name, equal_everywhere[i].name);
        if (strcmp(row->name, equal_everywhere[i].name) != 0)
            continue;
        cr_expect(!equal_everywhere[i].letter || row->letter == equal_everywhere[i].letter, "%s --%s",
                  command->name, row->name);
        cr_expect(!equal_everywhere[i].argument || strcmp(row->argument, equal_everywhere[i].argument) == 0,
                  "%s --%s", command->name, row->name);
        cr_expect(!equal_everywhere[i].also || is_also(row, equal_everywhere[i].also), "%s --%s",
                  command->name, row->name);
    }
    cr_expect(row->letter != 'o' || strcmp(row->name, "output") == 0, "%s: -o is --output", command->name);
}

Test(option_tables, what_several_commands_have_is_called_the_same)
{
    for_rows(row_is_as_elsewhere);
}

/* --- rules and words --- */

static bool names_a_row(const struct cli_command *command, const char *name)
{
    for (const struct cli_group *g = command->groups; g < command->groups + CLI_GROUPS_MAX && g->rows; g++)
        for (const struct cli_option *row = g->rows; row->name; row++)
            if (strcmp(row->name, name) == 0)
                return true;
    return false;
}

static void words_are_whole(const struct cli_command *command)
{
    for (const struct cli_rule *rule = command->rules; rule && rule->kind != CLI_END_OF_RULES; rule++) {
        cr_expect(names_a_row(command, rule->one), "%s: a rule names %s", command->name, rule->one);
        cr_expect(names_a_row(command, rule->other), "%s: a rule names %s", command->name, rule->other);
    }
    cr_expect_eq(strncmp(command->usage, command->name, strlen(command->name)), 0, "%s: its usage begins %s",
                 command->name, command->usage);
    cr_expect_not_null(command->run, "%s", command->name);
    cr_expect_not_null(command->examples, "%s: no example", command->name);
    cr_expect_not_null(command->status[0], "%s: what does exit status 0 mean?", command->name);
    cr_expect_not_null(command->status[2], "%s: what does exit status 2 mean?", command->name);
    cr_expect_leq(strlen(command->summary), 90, "%s", command->name);
    bool is_many = false;
    for (const struct cli_operand *o = command->operands; o && o->name; o++) {
        cr_expect(!is_many, "%s: only the last operand can be many", command->name);
        is_many = o->is_many;
        cr_expect(o->is_optional || command->operands_missing, "%s: what is said without %s?", command->name,
                  o->name);
        cr_expect_not_null(strstr(command->usage, o->name), "%s: its usage lacks %s", command->name, o->name);
    }
}

Test(option_tables, every_command_says_what_it_must)
{
    for_commands(words_are_whole);
}

static void is_found(const struct cli_command *command)
{
    char text[64], *words[3] = {text, NULL, NULL};
    int taken, n = 1;
    snprintf(text, sizeof text, "%s", command->name);
    char *blank = strchr(text, ' ');
    if (blank) {
        *blank = 0;
        words[n++] = blank + 1;
    }
    cr_expect_eq(cli_command_find(words, n, &taken), command, "%s", command->name);
    cr_expect_eq(taken, n);
}

Test(option_tables, every_command_is_found_by_its_name)
{
    int taken;
    char *unknown[] = {(char[]){"smcx"}, NULL}, *half[] = {(char[]){"smc"}, (char[]){"frob"}, NULL};
    for_commands(is_found);
    cr_expect_null(cli_command_find(unknown, 1, &taken));
    cr_expect_null(cli_command_find(unknown, 0, &taken));
    const struct cli_command *smc = cli_command_find(half, 2, &taken);
    cr_assert_not_null(smc);
    cr_expect_str_eq(smc->name, "smc");
    cr_expect_eq(taken, 1);
}

/* --- round trips: what a row takes is in its member, and what it does not take is refused --- */

/* Rows of settings on their own: the group's struct, and no check of the command behind it. */
static struct cli_command alone;
static struct cli_option alone_rows[2];
static uint8_t alone_settings[65536];

static int parse_alone(const struct cli_command *command, const struct cli_group *group,
                       const struct cli_option *row, const char *value)
{
    static char words[2][128];
    char *argv[] = {words[0], words[1], NULL};
    alone_rows[0] = *row;
    alone = (struct cli_command){.name = command->name,
                                 .groups = {{.rows = alone_rows, .offset = group->offset}},
                                 .settings_bytes = command->settings_bytes};
    cr_assert_leq(command->settings_bytes, sizeof alone_settings, "%s", command->name);
    snprintf(words[0], sizeof words[0], "%s", command->name);
    snprintf(words[1], sizeof words[1], value ? "--%s=%s" : "--%s", row->name, value);
    return cli_parse(&alone, 2, argv, alone_settings);
}

static uint64_t member(const struct cli_group *group, const struct cli_option *row)
{
    uint64_t value = 0;
    memcpy(&value, alone_settings + group->offset + row->offset, row->width);
    return value;
}

static void expect_taken(const struct cli_command *command, const struct cli_group *group,
                         const struct cli_option *row, const char *text, uint64_t wanted)
{
    cr_assert_eq(parse_alone(command, group, row, text), CLI_OK, "%s --%s %s", command->name, row->name,
                 text);
    cr_expect_eq(member(group, row), wanted, "%s --%s %s is %" PRIu64, command->name, row->name, text,
                 member(group, row));
}

static void expect_refused(const struct cli_command *command, const struct cli_group *group,
                           const struct cli_option *row, const char *text)
{
    cr_expect_eq(parse_alone(command, group, row, text), CLI_ERROR, "%s --%s %s", command->name, row->name,
                 text);
}

static void limits_hold(const struct cli_command *command, const struct cli_group *group,
                        const struct cli_option *row)
{
    static const char *const units[] = {[CLI_COUNT] = "", [CLI_SIZE] = "", [CLI_DURATION] = "ns"};
    char text[64];
    if (row->kind != CLI_COUNT && row->kind != CLI_SIZE && row->kind != CLI_DURATION)
        return;
    const char *unit = units[row->kind];
    snprintf(text, sizeof text, "%" PRIu64 "%s", row->min, unit);
    expect_taken(command, group, row, text, row->min);
    if (row->max < UINT64_C(1) << 53) { /* times go through a double */
        snprintf(text, sizeof text, "%" PRIu64 "%s", row->max, unit);
        expect_taken(command, group, row, text, row->max);
    }
    if (row->min > 0) {
        snprintf(text, sizeof text, "%" PRIu64 "%s", row->min - 1, unit);
        expect_refused(command, group, row, text);
    }
    if (row->max < UINT64_MAX) {
        snprintf(text, sizeof text, "%" PRIu64 "%s", row->max + (row->kind == CLI_DURATION ? 1000 : 1), unit);
        expect_refused(command, group, row, text);
    }
    expect_refused(command, group, row, "");
    expect_refused(command, group, row, "word");
    expect_refused(command, group, row, "-1");
}

Test(option_tables, numbers_are_taken_up_to_their_limits, .timeout = 60)
{
    cr_assert(freopen("/dev/null", "w", stderr));
    for_rows(limits_hold);
}

static void others_are_taken(const struct cli_command *command, const struct cli_group *group,
                             const struct cli_option *row)
{
    const char *text;
    switch ((enum cli_kind)row->kind) {
    case CLI_FLAG:
        expect_taken(command, group, row, NULL, 1);
        expect_refused(command, group, row, "yes");
        return;
    case CLI_SET:
        expect_taken(command, group, row, NULL, row->min);
        return;
    case CLI_CHOICE:
        for (unsigned i = 0; row->words[i]; i++)
            expect_taken(command, group, row, row->words[i], i);
        expect_refused(command, group, row, "frob");
        expect_refused(command, group, row, "");
        return;
    case CLI_RATE:
        expect_taken(command, group, row, "1%", 10000);
        expect_taken(command, group, row, "200ppm", 200);
        expect_refused(command, group, row, "101%");
        expect_refused(command, group, row, "1");
        return;
    case CLI_PMTU:
        expect_taken(command, group, row, "2048", 2048);
        expect_refused(command, group, row, "1500");
        return;
    case CLI_PORT:
        expect_refused(command, group, row, "eth0");
        cr_assert_eq(parse_alone(command, group, row, "packet:eth0"), CLI_OK);
        memcpy(&text, alone_settings + group->offset + row->offset, sizeof text);
        cr_expect_str_eq(text, "packet:eth0");
        return;
    case CLI_TEXT:
    case CLI_FILE:
    case CLI_IFACE:
        cr_assert_eq(parse_alone(command, group, row, "a=b c"), CLI_OK);
        memcpy(&text, alone_settings + group->offset + row->offset, sizeof text);
        cr_expect_str_eq(text, "a=b c", "%s --%s", command->name, row->name);
        return;
    case CLI_COUNT:
    case CLI_SIZE:
    case CLI_DURATION:
    case CLI_OWN:
        return;
    }
}

Test(option_tables, all_other_values_are_in_their_member)
{
    cr_assert(freopen("/dev/null", "w", stderr));
    for_rows(others_are_taken);
}

static void preset_holds(const struct cli_command *command, const struct cli_group *group,
                         const struct cli_option *row)
{
    char *argv[] = {(char[]){"x"}, NULL};
    if (!row->preset)
        return;
    cr_assert_eq(parse_alone(command, group, row, row->preset), CLI_OK, "%s --%s=%s", command->name,
                 row->name, row->preset);
    uint64_t given = member(group, row);
    cr_assert_eq(cli_parse(&alone, 1, argv, alone_settings), CLI_OK);
    cr_expect_eq(member(group, row), given, "%s --%s: without it there is %" PRIu64, command->name, row->name,
                 member(group, row));
}

Test(option_tables, without_an_option_its_preset_holds)
{
    for_rows(preset_holds);
}

/* --- the help --- */

static void print_help(FILE *out, const void *command)
{
    cli_help_print(out, command);
}

/* How many lines of `text` begin with the words that introduce this row. */
static unsigned lines_of(const char *text, const struct cli_option *row)
{
    char head[CLI_HEAD_BYTES];
    unsigned n = 0;
    cli_option_head(row, head);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        n += strncmp(line, "  ", 2) == 0 && strncmp(line + 2, head, strlen(head)) == 0 &&
             strchr(" \n", line[2 + strlen(head)]);
    }
    return n;
}

static void is_told_once(const struct cli_command *command, const struct cli_group *group,
                         const struct cli_option *row)
{
    (void)group;
    const char *text = line_printed(print_help, command);
    cr_expect_eq(lines_of(text, row), row->is_hidden ? 0 : 1, "%s --%s", command->name, row->name);
}

Test(option_tables, the_help_tells_of_each_option_once)
{
    for_rows(is_told_once);
}

static void fits(const struct cli_command *command)
{
    const char *text = line_printed(print_help, command);
    cr_expect_eq(lines_of(text, &cli_help_row), 1, "%s", command->name);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1) {
        size_t len = strcspn(line, "\n");
        cr_expect_leq(len, 120, "%s: %.*s", command->name, (int)len, line);
        cr_expect(len == 0 || line[len - 1] != ' ', "%s: '%.*s'", command->name, (int)len, line);
    }
    cr_expect_not_null(strstr(text, "Exit status: 0 "), "%s", command->name);
    cr_expect_null(strstr(text, "%r"), "%s", command->name);
}

Test(option_tables, the_help_fits_a_screen)
{
    for_commands(fits);
}
