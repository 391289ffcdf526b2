/* SPDX-License-Identifier: BSD-2-Clause */
#include "line.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_WORDS 48

/* Commands run in the process of a test, which would have to live within their sandbox. */
__attribute__((constructor)) static void have_no_sandbox(void)
{
    setenv("NORNIC_NO_SANDBOX", "1", 1);
}

static char words[4096];
static char *argv[MAX_WORDS + 1];
static int argc;

/* Cuts the line into words. */
static void split(const char *line)
{
    cr_assert_lt(strlen(line), sizeof words);
    strcpy(words, line);
    argc = 0;
    for (char *at = words; *at;) {
        at += strspn(at, " ");
        if (!*at)
            break;
        char end = *at == '\'' ? '\'' : ' ';
        at += end == '\'';
        cr_assert_lt(argc, MAX_WORDS);
        argv[argc++] = at;
        at += strcspn(at, (char[2]){end});
        if (*at)
            *at++ = 0;
    }
    argv[argc] = NULL;
}

/* The command that the line names; `*skip` is where its own words begin, less its name. */
static const struct cli_command *find(int *skip)
{
    int taken;
    const struct cli_command *command = cli_command_find(argv, argc, &taken);
    cr_assert_not_null(command, "there is no %s", argv[0]);
    cli_command_set(command->name);
    *skip = taken - 1;
    return command;
}

int line_parse(const char *line, void *settings)
{
    int skip;
    split(line);
    const struct cli_command *command = find(&skip);
    return cli_parse(command, argc - skip, argv + skip, settings);
}

/* --- with what it writes --- */

static struct line_result result;
static int kept[2];
static FILE *caught[2];

void line_catch(void)
{
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        kept[i] = dup(i + 1);
        caught[i] = tmpfile();
        cr_assert_not_null(caught[i]);
        dup2(fileno(caught[i]), i + 1);
    }
}

const struct line_result *line_caught(void)
{
    char *texts[2] = {result.out, result.err};
    fflush(stdout);
    fflush(stderr);
    for (int i = 0; i < 2; i++) {
        dup2(kept[i], i + 1);
        close(kept[i]);
        rewind(caught[i]);
        texts[i][fread(texts[i], 1, LINE_TEXT_BYTES - 1, caught[i])] = 0;
        fclose(caught[i]);
    }
    return &result;
}

const struct line_result *line_try(const char *line, void *settings)
{
    line_catch();
    result.status = line_parse(line, settings);
    line_caught();
    return &result;
}

const struct line_result *line_run(const char *line)
{
    int skip;
    split(line);
    const struct cli_command *command = find(&skip);
    void *settings = calloc(1, command->settings_bytes);
    cr_assert_not_null(settings);
    line_catch();
    result.status = cli_parse(command, argc - skip, argv + skip, settings);
    if (result.status == CLI_OK)
        result.status = command->run(settings);
    line_caught();
    free(settings);
    return &result;
}

const char *line_printed(void (*print)(FILE *out, const void *what), const void *what)
{
    FILE *out = fmemopen(result.out, sizeof result.out, "w");
    cr_assert_not_null(out);
    print(out, what);
    fclose(out);
    return result.out;
}
