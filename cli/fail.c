/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/cli.h"

#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

static const char *running = "";

const char *cli_command_name(void)
{
    return running;
}

void cli_command_set(const char *name)
{
    running = name;
}

static void print_sentence(const char *format, va_list args)
{
    fflush(stdout);
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr); /* where live progress stands */
    fprintf(stderr, *running ? "nornic %s: " : "nornic%s: ", running);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
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
