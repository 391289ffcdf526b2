/* SPDX-License-Identifier: BSD-2-Clause */
/* The output of `nornic explain`: it goes to standard output, or waits in a file for the text above it. */
#ifndef NORNIC_CLI_EXPLAIN_OUTPUT_H
#define NORNIC_CLI_EXPLAIN_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "explain/show/text.h"

/* All zero: standard output. */
struct cli_output {
    bool is_held; /* output has to wait */
    FILE *held;   /* where large output waits; NULL: there is no room */
    uint64_t held_bytes;
    int error; /* errno of the first write that failed; 0: none */
};

void cli_output_deinit(struct cli_output *to);

/* Makes output wait until cli_output_release(): before the first output. Opens the file for it. */
void cli_output_hold(struct cli_output *to);

/* Writes gathered text in large pieces. Text that has to wait goes into a nameless file of $TMPDIR or
 * /var/tmp. Beyond 512 MiB, or without room, it waits no longer. Returns false after a failed write. */
bool cli_output_pass(struct cli_output *to, struct explain_text *gathered);
/* Writes all text at once, the waiting text first. Returns false if this or an earlier write failed. */
bool cli_output_flush(struct cli_output *to, struct explain_text *gathered);

/* Ends the waiting: writes `above`, and below it the text that waited. */
void cli_output_release(struct cli_output *to, const struct explain_text *above);

/* Returns the columns of lines on standard output: the terminal's, from 72 to 200; 110 without a terminal. */
unsigned cli_output_columns(void);

#endif
