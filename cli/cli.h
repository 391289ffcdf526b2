/* SPDX-License-Identifier: BSD-2-Clause */
/* The frame of the `nornic` command: what its front and every sub-command have in common. A sub-command is a
 * struct cli_command (cli/option/option.h) in a folder of its own, and a line in cli/commands.c. */
#ifndef NORNIC_CLI_CLI_H
#define NORNIC_CLI_CLI_H

#include <stdio.h>

/* What a command ends with. Where a signal stopped it (cli/stop.h) before it came to its end, main() makes
 * 128 + the signal of it, as shells do: 130 after Ctrl-C. */
enum cli_exit {
    CLI_OK = 0,
    CLI_NEGATIVE = 1, /* the command worked and its answer is no: bad data, a failed transfer */
    CLI_ERROR = 2,    /* usage or environment: nothing was tried, or it could not be */
};

struct cli_command;

/* All, in the order in which the help lists them; ended by NULL. */
extern const struct cli_command *const cli_commands[];

/* Lists them, with a line each. */
void cli_commands_print(FILE *out);

/* The command of that name, which may be of two words ("smc listen"); `name` has `count` of them, of which it
 * takes one or two: `*taken`. NULL: there is none. */
const struct cli_command *cli_command_find(char **name, int count, int *taken);

/* The sub-command that runs, for messages; "" before one was chosen. */
const char *cli_command_name(void);
void cli_command_set(const char *name); /* kept */

/* Prints "nornic COMMAND: sentence" to standard error and returns CLI_ERROR, so that a command can
 * `return cli_fail("no such file %s", path);`. The format has no newline at its end. */
int cli_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Returns a copy of a name that others chose, for a line of output. It is cleaned by utf8_clean(), cut
 * to 4,095 bytes, and valid until the fourth call after this one. */
const char *cli_plain(const char *text);
/* The same, of what is no failure. */
void cli_tell(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same, returning CLI_NEGATIVE. */
int cli_negative(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
