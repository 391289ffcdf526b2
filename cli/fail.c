/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* vasprintf() */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/utf8.h"

static const char *running = "";

const char *cli_command_name(void)
{
    return running;
}

void cli_command_set(const char *name)
{
    running = name;
}

const char *cli_plain(const char *text)
{
    static char copies[4][4096];
    static unsigned next;
    return utf8_copy(text, copies[next++ % 4], sizeof copies[0]);
}

/* Prints a sentence that may name files and interfaces: a terminal gets no control characters of theirs. */
static void print_sentence(const char *format, va_list args)
{
    char *text = NULL;
    if (vasprintf(&text, format, args) < 0)
        text = NULL;
    fflush(stdout);
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr); /* where live progress stands */
    fprintf(stderr, *running ? "nornic %s: " : "nornic%s: ", running);
    fprintf(stderr, "%s\n", text ? utf8_clean(text) : "no memory for a message");
    free(text);
}

void cli_tell(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_sentence(format, args);
    va_end(args);
}

int cli_fail(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_sentence(format, args);
    va_end(args);
    return CLI_ERROR;
}

int cli_negative(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    print_sentence(format, args);
    va_end(args);
    return CLI_NEGATIVE;
}
