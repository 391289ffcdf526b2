/* SPDX-License-Identifier: BSD-2-Clause */
/* Drawing a ladder, and the command that does. */
#include "cli/smc/ladder.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/option/option.h"
#include "cli/smc/smc.h"

#define TIME_COLUMNS 12
#define MIN_WIDTH    72
#define WIDTH        110

/* What a CDC message says beside its cursors: flags are levels, so what is new is only a change. */
static const char *flags_of(const struct smc_row *row)
{
    const char *consumer = strstr(row->text, ", consumer ");
    const char *flags = consumer ? strchr(consumer + 2, ',') : NULL;
    return flags ? flags : "";
}

/* Marks the CDC messages that move cursors and say nothing else that the one before did not. `is_data` has a
 * place for each row. */
static void find_data(const struct smc_ladder *ladder, bool *is_data)
{
    const char *last[2] = {"", ""};
    for (size_t i = 0; i < ladder->count; i++) {
        const struct smc_row *row = &ladder->rows[i];
        is_data[i] = false;
        if (row->mark == '*' || row->mark == '!' || strncmp(row->text, "CDC ", 4) != 0 ||
            strstr(row->text, "failover"))
            continue;
        const char *flags = flags_of(row);
        is_data[i] = strcmp(flags, last[row->side]) == 0 || strstr(flags, "blocked") ||
                     strstr(last[row->side], "blocked");
        last[row->side] = flags;
    }
}

static void print_time(FILE *out, const struct smc_row *row, uint64_t start_us)
{
    fprintf(out, "%*.3f ", TIME_COLUMNS - 1, (double)(row->time_us - start_us) / 1e3);
}

static bool is_lost(const struct smc_row *row)
{
    return row->mark == '>' && !row->has_arrived;
}

/* "-- words ---->" over the whole width between the two sides, or back; short of the other side when it was
 * lost. */
static void print_message(FILE *out, const struct smc_row *row, unsigned inner)
{
    char text[256];
    bool to_right = (row->side == SMC_LEFT) == (row->mark == '>');
    bool lost = is_lost(row);
    const char *end = lost ? " X LOST" : "";
    snprintf(text, sizeof text, "%s: %s", row->where, row->text);
    unsigned room = inner - 5 - (unsigned)strlen(end);
    int len = (int)strlen(text) > (int)room ? (int)room : (int)strlen(text);
    unsigned fill = room - (unsigned)len;
    char dashes[256];
    memset(dashes, '-', sizeof dashes);
    if (lost && to_right)
        fprintf(out, "|-- %.*s%s%*s|\n", len, text, end, (int)fill + 2, "");
    else if (lost)
        fprintf(out, "|%*s%s %.*s --|\n", (int)fill + 1, "", end, len, text);
    else if (to_right)
        fprintf(out, "|-- %.*s %.*s>|\n", len, text, (int)fill, dashes);
    else
        fprintf(out, "|<%.*s %.*s --|\n", (int)fill, dashes, len, text);
}

/* A change: on the side where it was seen. */
static void print_change(FILE *out, const struct smc_row *row, unsigned inner)
{
    char text[256];
    snprintf(text, sizeof text, "%s%s: %s", row->mark == '!' ? "NOT TAKEN " : "", row->where, row->text);
    int len = (int)strlen(text) > (int)inner - 4 ? (int)inner - 4 : (int)strlen(text);
    if (row->side == SMC_LEFT)
        fprintf(out, "|* %.*s%*s|\n", len, text, (int)inner - 2 - len, "");
    else
        fprintf(out, "|%*s%.*s *|\n", (int)inner - 2 - len, "", len, text);
}

static void print_row(FILE *out, const struct smc_row *row, uint64_t start_us, unsigned inner)
{
    print_time(out, row, start_us);
    if (row->mark == '>' || row->mark == '<')
        print_message(out, row, inner);
    else
        print_change(out, row, inner);
}

/* How many rows from `at` on only move data. */
static size_t run_length(const bool *is_data, size_t at, size_t end)
{
    size_t n = 0;
    while (is_data && at + n < end && is_data[at + n])
        n++;
    return n;
}

static void print_folded(FILE *out, const struct smc_row *rows, size_t n, unsigned inner)
{
    char text[96];
    size_t there = 0, lost = 0;
    for (size_t i = 0; i < n; i++) {
        there += (rows[i].side == SMC_LEFT) == (rows[i].mark == '>');
        lost += is_lost(&rows[i]);
    }
    int len = snprintf(text, sizeof text, "... %zu CDC messages there, %zu back", there, n - there);
    snprintf(text + len, sizeof text - (size_t)len, lost ? ", %zu of them lost ..." : " ...", lost);
    int pad = ((int)inner - (int)strlen(text)) / 2;
    fprintf(out, "%*s|%*s%s%*s|\n", TIME_COLUMNS, "", pad, "", text, (int)inner - pad - (int)strlen(text),
            "");
}

void smc_ladder_print(FILE *out, const struct smc_ladder *ladder, size_t first, size_t count,
                      const struct smc_ladder_style *style)
{
    unsigned width = style->width < MIN_WIDTH ? MIN_WIDTH : style->width > 200 ? 200 : style->width;
    unsigned inner = width - TIME_COLUMNS - 2;
    size_t end = first + count;
    if (count == 0)
        return;
    uint64_t start_us = ladder->rows[first].time_us;
    bool *is_data =
        style->fold ? malloc(ladder->count * sizeof *is_data) : NULL; /* NULL: nothing is folded */
    if (is_data)
        find_data(ladder, is_data);
    fprintf(out, "%*s%s%*s\n", TIME_COLUMNS, "", style->left, (int)(inner + 2 - strlen(style->left)),
            style->right);
    for (size_t i = first; i < end;) {
        size_t run = run_length(is_data, i, end);
        if (run > 3) {
            print_row(out, &ladder->rows[i], start_us, inner);
            print_folded(out, &ladder->rows[i + 1], run - 2, inner);
            print_row(out, &ladder->rows[i + run - 1], start_us, inner);
            i += run;
        } else {
            print_row(out, &ladder->rows[i++], start_us, inner);
        }
    }
    free(is_data);
}

/* --- the command --- */

struct settings {
    bool all, failover;
    struct cli_words traces;
};

static int check(void *settings)
{
    const struct settings *o = settings;
    return o->traces.count == 2 ? CLI_OK : cli_fail("give two traces, the client's and the server's");
}

static int run(void *settings)
{
    const struct settings *o = settings;
    struct smc_ladder_style style = {.left = "client", .right = "server", .width = WIDTH, .fold = !o->all};
    struct smc_ladder ladder;
    const char *which;
    int err = smc_ladder_read(o->traces.at[0], o->traces.at[1], &ladder, &which);
    if (err)
        return cli_fail("cannot read %s: %s", which, strerror(-err));
    size_t first = 0, count = ladder.count;
    int status = CLI_OK;
    if (ladder.count == 0)
        status = cli_negative("neither %s nor %s has a line that --trace writes", o->traces.at[0],
                              o->traces.at[1]);
    else if (o->failover && !smc_ladder_find_failover(&ladder, &first, &count))
        status = cli_negative("no link went down in these traces");
    else
        smc_ladder_print(stdout, &ladder, first, count, &style);
    smc_ladder_free(&ladder);
    return status;
}

static const struct cli_option rows[] = {
    {"all", 'a', NULL, "every CDC message; else of those that only move data the ends of a run",
     CLI_SETS(struct settings, all)},
    {"failover", 0, NULL, "from the first link that went down to its recovery",
     CLI_SETS(struct settings, failover)},
    {NULL},
};

const struct cli_command smc_ladder_command = {
    .name = "smc ladder",
    .summary = "draw what two --trace files tell, side by side",
    .usage = "smc ladder [OPTION...] TRACE TRACE",
    .about =
        "Draws what two ends said to each other over TCP and over the links of their group, and what changed "
        "meanwhile, from what `nornic smc listen --trace=FILE` and `smc connect --trace=FILE` wrote on one "
        "machine (two network namespaces). Times are milliseconds.",
    .groups = {{.rows = rows}},
    .operands =
        (const struct cli_operand[]){
            {.name = "TRACE", .kind = CLI_FILE, .is_many = true, .offset = offsetof(struct settings, traces)},
            {NULL}},
    .operands_missing = "give two traces, the client's and the server's",
    .examples = "Try:\n"
                "  nornic smc ladder client.trace server.trace\n",
    .status = {"drawn", "there is nothing to draw", "a trace could not be read"},
    .settings_bytes = sizeof(struct settings),
    .check = check,
    .run = run,
};
