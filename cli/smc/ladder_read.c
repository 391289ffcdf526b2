/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/smc/ladder.h"

#define SKEW_US   2000
#define LEAD_ROWS 6 /* before the link that went down */

static bool parse(const char *line, struct smc_row *row)
{
    uint64_t seconds, micros;
    if (sscanf(line, "%" SCNu64 ".%6" SCNu64 " %c %23[^:]: %191[^\n]", &seconds, &micros, &row->mark,
               row->where, row->text) != 5)
        return false;
    row->time_us = seconds * 1000000 + micros;
    return strchr("><*!", row->mark) != NULL;
}

int smc_ladder_add(struct smc_ladder *ladder, enum smc_side side, FILE *from)
{
    char line[512];
    while (fgets(line, sizeof line, from)) {
        struct smc_row row = {.side = side, .order = (uint32_t)ladder->count};
        if (!parse(line, &row))
            continue;
        struct smc_row *rows = array_room(ladder->rows, &ladder->room, ladder->count + 1, sizeof *rows);
        if (!rows)
            return -ENOMEM;
        ladder->rows = rows;
        ladder->rows[ladder->count++] = row;
    }
    return 0;
}

/* An end takes its time before it looks for messages, so a receipt may bear an earlier one than its
 * message. */
static uint64_t match_time_us(const struct smc_row *row)
{
    return row->time_us + (row->mark == '<' ? SKEW_US : 0);
}

/* Messages of the same words next to each other, each receipt behind what may have been its message. */
static int by_text(const void *a, const void *b)
{
    const struct smc_row *x = *(const struct smc_row *const *)a, *y = *(const struct smc_row *const *)b;
    int text = strcmp(x->text, y->text);
    if (text != 0)
        return text;
    uint64_t x_us = match_time_us(x), y_us = match_time_us(y);
    if (x_us != y_us)
        return x_us < y_us ? -1 : 1;
    return (x->mark == '<') - (y->mark == '<');
}

static int by_time(const void *a, const void *b)
{
    const struct smc_row *x = a, *y = b;
    if (x->time_us != y->time_us)
        return x->time_us < y->time_us ? -1 : 1;
    return x->order < y->order ? -1 : x->order > y->order;
}

/* A receipt belongs to the last message of its words that the other side had sent. */
static void match_receipt(struct smc_row **rows, size_t at)
{
    for (size_t i = at; i-- > 0 && strcmp(rows[i]->text, rows[at]->text) == 0;)
        if (rows[i]->mark == '>' && rows[i]->side != rows[at]->side && !rows[i]->has_arrived) {
            rows[i]->has_arrived = rows[at]->has_arrived = true;
            return;
        }
}

void smc_ladder_match(struct smc_ladder *ladder)
{
    struct smc_row **rows = malloc((ladder->count + 1) * sizeof *rows);
    size_t n = 0, kept = 0;
    for (size_t i = 0; rows && i < ladder->count; i++)
        if (ladder->rows[i].mark == '>' || ladder->rows[i].mark == '<')
            rows[n++] = &ladder->rows[i];
    if (n > 0)
        qsort(rows, n, sizeof *rows, by_text);
    for (size_t i = 0; i < n; i++)
        if (rows[i]->mark == '<')
            match_receipt(rows, i);
    free(rows);
    for (size_t i = 0; i < ladder->count; i++)
        if (ladder->rows[i].mark != '<' || !ladder->rows[i].has_arrived)
            ladder->rows[kept++] = ladder->rows[i];
    ladder->count = kept;
    if (kept > 0)
        qsort(ladder->rows, kept, sizeof *ladder->rows, by_time);
}

static int add_file(struct smc_ladder *ladder, enum smc_side side, const char *path)
{
    FILE *from = fopen(path, "re");
    if (!from)
        return -errno;
    int err = smc_ladder_add(ladder, side, from);
    if (!err && ferror(from))
        err = -EIO;
    fclose(from);
    return err;
}

int smc_ladder_read(const char *left, const char *right, struct smc_ladder *out, const char **which)
{
    *out = (struct smc_ladder){0};
    *which = left;
    int err = add_file(out, SMC_LEFT, left);
    if (!err) {
        *which = right;
        err = add_file(out, SMC_RIGHT, right);
    }
    if (err)
        smc_ladder_free(out);
    else
        smc_ladder_match(out);
    return err;
}

void smc_ladder_free(struct smc_ladder *ladder)
{
    free(ladder->rows);
    *ladder = (struct smc_ladder){0};
}

static bool is_change(const struct smc_row *row, const char *of, const char *to)
{
    return row->mark == '*' && strncmp(row->where, of, strlen(of)) == 0 && strstr(row->text, to);
}

bool smc_ladder_find_failover(const struct smc_ladder *ladder, size_t *first, size_t *count)
{
    size_t down = 0;
    while (down < ladder->count && !is_change(&ladder->rows[down], "link", "-> DOWN"))
        down++;
    if (down == ladder->count)
        return false;
    bool back[2] = {false, false};
    size_t end = down;
    for (; end < ladder->count && !(back[SMC_LEFT] && back[SMC_RIGHT]); end++)
        if (is_change(&ladder->rows[end], "group", "-> SYMMETRIC"))
            back[ladder->rows[end].side] = true;
    *first = down > LEAD_ROWS ? down - LEAD_ROWS : 0;
    *count = end - *first;
    return true;
}
