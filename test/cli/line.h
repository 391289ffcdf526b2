/* SPDX-License-Identifier: BSD-2-Clause */
/* A command line as a user writes it, read and run in the process of a test. */
#ifndef NORNIC_TEST_CLI_LINE_H
#define NORNIC_TEST_CLI_LINE_H

#include <stddef.h>

#include "cli/cli.h"
#include "cli/option/option.h"

#define LINE_TEXT_BYTES 65536

/* What a line did: its status, and what it wrote. */
struct line_result {
    int status;
    char out[LINE_TEXT_BYTES], err[LINE_TEXT_BYTES];
};

/* Reads "perf --size 64K" into `settings`, the struct of that command. What cli_parse() returns. The
 * words stay until the next line is read. */
int line_parse(const char *line, void *settings);

/* The same, keeping what was written; then runs it where it was right (`run`). Words in 'quotes' may have
 * blanks. */
const struct line_result *line_run(const char *line);
const struct line_result *line_try(const char *line, void *settings);

/* What is written from line_catch() on, for calls of parts of a command; `status` is left as it was. */
void line_catch(void);
const struct line_result *line_caught(void);

/* The whole of a stream that `print` writes to. */
const char *line_printed(void (*print)(FILE *out, const void *what), const void *what);

#endif
