/* SPDX-License-Identifier: BSD-2-Clause */
/* The command line, as the rows of a command say. getopt_long() takes it apart: its rules for letters, for
 * abbreviated names and for words among options are those that people know. */
#include <assert.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/option/option.h"
#include "cli/option/value.h"

#define ROWS_MAX   64
#define LONGS_MAX  (2 * ROWS_MAX)
#define FIRST_CODE 0x100 /* getopt_long() returns this for row 0; letters and '?' are below */
#define NAME_BYTES 48

struct given_row {
    const struct cli_option *row;
    uint8_t *settings; /* the struct that it sets */
    const char *name;  /* as the user called it, or as it is called */
    bool is_given;
};

struct parser {
    const struct cli_command *command;
    struct given_row rows[ROWS_MAX];
    unsigned count;
    struct option longs[LONGS_MAX + 1];
    char letters[3 * ROWS_MAX + 2];
};

static bool has_value(const struct cli_option *row)
{
    return row->kind != CLI_FLAG && row->kind != CLI_SET;
}

/* --- what getopt_long() wants --- */

static void add_letter(struct parser *p, char letter, const struct cli_option *row)
{
    size_t n = strlen(p->letters);
    p->letters[n++] = letter;
    for (int colons = !has_value(row) ? 0 : row->is_optional ? 2 : 1; colons > 0; colons--)
        p->letters[n++] = ':';
    assert(n < sizeof p->letters);
}

static void add_name(struct parser *p, unsigned *longs, const char *name, const struct cli_option *row)
{
    assert(*longs < LONGS_MAX);
    p->longs[(*longs)++] = (struct option){
        .name = name,
        .has_arg = !has_value(row)    ? no_argument
                   : row->is_optional ? optional_argument
                                      : required_argument,
        .val = FIRST_CODE + (int)p->count,
    };
}

static void add_row(struct parser *p, unsigned *longs, const struct cli_option *row, uint8_t *settings)
{
    assert(p->count < ROWS_MAX);
    add_name(p, longs, row->name, row);
    if (row->letter)
        add_letter(p, row->letter, row);
    for (int i = 0; i < CLI_ALSO_MAX && row->also[i]; i++) {
        if (row->also[i][1])
            add_name(p, longs, row->also[i], row);
        else
            add_letter(p, row->also[i][0], row);
    }
    p->rows[p->count++] = (struct given_row){.row = row, .settings = settings, .name = row->name};
}

static void prepare(struct parser *p, const struct cli_command *command, uint8_t *settings)
{
    unsigned longs = 0;
    *p = (struct parser){.command = command, .letters = ":"};
    for (const struct cli_group *g = command->groups; g < command->groups + CLI_GROUPS_MAX && g->rows; g++)
        for (const struct cli_option *row = g->rows; row->name; row++)
            add_row(p, &longs, row, settings + g->offset);
    add_row(p, &longs, &cli_help_row, NULL);
}

/* The row that getopt_long() found; NULL: it found a mistake. */
static struct given_row *find_row(struct parser *p, int code)
{
    if (code >= FIRST_CODE)
        return &p->rows[code - FIRST_CODE];
    for (unsigned i = 0; code != '?' && code != ':' && i < p->count; i++) {
        const struct cli_option *row = p->rows[i].row;
        bool is_it = row->letter == code;
        for (int k = 0; k < CLI_ALSO_MAX && row->also[k]; k++)
            is_it |= !row->also[k][1] && row->also[k][0] == code;
        if (is_it)
            return &p->rows[i];
    }
    return NULL;
}

/* The next option of the command line; -1: there is none any more. */
static int next(struct parser *p, int argc, char **argv)
{
    int index = -1, code = getopt_long(argc, argv, p->letters, p->longs, &index);
    if (code >= FIRST_CODE && index >= 0)
        p->rows[code - FIRST_CODE].name = p->longs[index].name;
    return code;
}

/* --- values --- */

static void store(const struct given_row *given, uint64_t value)
{
    uint8_t *member = given->settings + given->row->offset;
    assert(given->settings);
    switch (given->row->width) {
    case 1:
        *member = (uint8_t)value;
        return;
    case 2:
        memcpy(member, &(uint16_t){(uint16_t)value}, 2);
        return;
    case 4:
        memcpy(member, &(uint32_t){(uint32_t)value}, 4);
        return;
    case 8:
        memcpy(member, &value, 8);
        return;
    }
    assert(!"a member of 1, 2, 4 or 8 bytes");
}

static void store_text(const struct given_row *given, const char *text)
{
    assert(given->row->width == sizeof text);
    memcpy(given->settings + given->row->offset, &text, sizeof text);
}

static int take_choice(const struct given_row *given, const char *option, const char *text)
{
    char range[CLI_RANGE_BYTES];
    for (uint64_t i = 0; given->row->words[i]; i++)
        if (strcmp(text, given->row->words[i]) == 0) {
            store(given, i);
            return CLI_OK;
        }
    return cli_fail("%s %s: give %s", option, text, cli_range_text(given->row, range));
}

/* A number of whatever kind. */
static int take_number(const struct given_row *given, const char *option, const char *text)
{
    const struct cli_option *row = given->row;
    uint64_t value = 0;
    uint32_t value32 = 0;
    int err;
    switch (row->kind) {
    case CLI_SIZE:
        err = cli_parse_size(option, text, row->min, row->max, &value);
        break;
    case CLI_DURATION:
        err = cli_parse_duration(option, text, row->min, row->max, &value);
        break;
    case CLI_RATE:
        err = cli_parse_ppm(option, text, &value32);
        value = value32;
        break;
    case CLI_PMTU:
        err = cli_parse_pmtu(option, text, &value32);
        value = value32;
        break;
    default:
        err = cli_parse_count(option, text, row->min, row->max, &value);
    }
    if (err == CLI_OK)
        store(given, value);
    return err;
}

/* `text` is NULL where there is no value. */
static int take(const struct given_row *given, char *text)
{
    const struct cli_option *row = given->row;
    const char *port;
    char option[NAME_BYTES];
    assert(row);
    snprintf(option, sizeof option, "--%s", given->name);
    switch ((enum cli_kind)row->kind) {
    case CLI_FLAG:
    case CLI_SET:
        store(given, row->kind == CLI_FLAG ? 1 : row->min);
        return CLI_OK;
    case CLI_PORT:
        if (cli_parse_port(option, text, &port) != CLI_OK)
            return CLI_ERROR;
        store_text(given, port);
        return CLI_OK;
    case CLI_TEXT:
    case CLI_FILE:
    case CLI_IFACE:
        store_text(given, text);
        return CLI_OK;
    case CLI_CHOICE:
        return take_choice(given, option, text);
    case CLI_OWN:
        return row->take(given->settings, option, text);
    case CLI_COUNT:
    case CLI_SIZE:
    case CLI_DURATION:
    case CLI_RATE:
    case CLI_PMTU:
        return take_number(given, option, text);
    }
    return CLI_ERROR;
}

static int take_presets(struct parser *p)
{
    char text[NAME_BYTES];
    int err = CLI_OK;
    for (unsigned i = 0; err == CLI_OK && i < p->count; i++) {
        const char *preset = p->rows[i].row->preset;
        if (!preset)
            continue;
        assert(p->rows[i].row->kind != CLI_TEXT && strlen(preset) < sizeof text);
        err = take(&p->rows[i], strcpy(text, preset));
    }
    return err;
}

/* --- what all of them say together --- */

/* The row of that name, which a rule of the command has. */
static const struct given_row *row_of(const struct parser *p, const char *name)
{
    unsigned i = 0;
    while (i < p->count && strcmp(p->rows[i].row->name, name) != 0)
        i++;
    assert(i < p->count);
    return &p->rows[i];
}

static int check_rules(const struct parser *p)
{
    for (const struct cli_rule *rule = p->command->rules; rule && rule->kind != CLI_END_OF_RULES; rule++) {
        const struct given_row *one = row_of(p, rule->one), *other = row_of(p, rule->other);
        const char *colon = rule->why ? ": " : "", *why = rule->why ? rule->why : "";
        if (rule->kind == CLI_EXCLUDES && one->is_given && other->is_given)
            return cli_fail("--%s and --%s exclude each other%s%s", one->name, other->name, colon, why);
        if (rule->kind == CLI_NEEDS && one->is_given && !other->is_given)
            return cli_fail("--%s goes with --%s%s%s", one->name, other->name, colon, why);
    }
    return CLI_OK;
}

static int take_operands(const struct cli_command *command, char **words, uint8_t *settings)
{
    const struct cli_operand *operand = command->operands;
    for (; operand && operand->name; operand++) {
        if (!*words && !operand->is_optional)
            return cli_fail("%s; see `nornic help %s`", command->operands_missing, command->name);
        if (operand->is_many) {
            struct cli_words *many = (void *)(settings + operand->offset);
            for (many->at = words; *words; words++)
                many->count++;
        } else {
            memcpy(settings + operand->offset, words, sizeof *words);
            words += *words != NULL;
        }
    }
    return *words ? cli_fail("'%s' is one word too many; see `nornic help %s`", *words, command->name)
                  : CLI_OK;
}

/* Whether --help stands among the options: it is heard before any mistake in them. The look is at a copy, as
 * getopt_long() moves words: what ends a line and lacks its value would find one. */
static bool asks_for_help(struct parser *p, int argc, char **argv)
{
    const struct given_row *help = &p->rows[p->count - 1];
    char **words = calloc((size_t)argc + 1, sizeof *words);
    int code;
    bool asked = false;
    if (!words)
        return false;
    memcpy(words, argv, (size_t)argc * sizeof *words);
    optind = 0; /* from the beginning: a habit of glibc */
    while ((code = next(p, argc, words)) != -1)
        asked |= find_row(p, code) == help;
    free(words);
    return asked;
}

int cli_parse(const struct cli_command *command, int argc, char **argv, void *settings)
{
    struct parser p;
    int code, err;
    memset(settings, 0, command->settings_bytes);
    prepare(&p, command, settings);
    opterr = 0;
    err = asks_for_help(&p, argc, argv) ? CLI_HELP : take_presets(&p);
    optind = 0;
    while (err == CLI_OK && (code = next(&p, argc, argv)) != -1) {
        struct given_row *given = find_row(&p, code);
        if (!given || given->row == &cli_help_row) {
            err = given ? CLI_HELP : cli_option_error(code, argv);
        } else {
            given->is_given = true;
            err = take(given, optarg);
        }
    }
    if (err == CLI_OK)
        err = check_rules(&p);
    if (err == CLI_OK)
        err = take_operands(command, argv + optind, settings);
    if (err == CLI_HELP)
        cli_help_print(stdout, command);
    return err == CLI_OK && command->check ? command->check(settings) : err;
}
