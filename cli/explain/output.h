/* SPDX-License-Identifier: BSD-2-Clause */
/* Where goes what `nornic explain` has gathered: to standard output, or where something is to stand above it,
 * to a place where it waits until that is known. */
#ifndef NORNIC_CLI_EXPLAIN_OUTPUT_H
#define NORNIC_CLI_EXPLAIN_OUTPUT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "explain/show/text.h"

/* All zero: standard output. */
struct cli_output {
    bool is_held; /* what comes has to wait; the caller sets it before anything comes */
    FILE *held;   /* NULL: nothing waits */
    uint64_t held_bytes;
    int error; /* errno of the first write that failed; 0: none */
};

void cli_output_deinit(struct cli_output *to);

/* Moves on what was gathered once there is much of it. It waits in a nameless file of $TMPDIR or /var/tmp;
 * where that has no room, or beyond 512 MiB, it waits no longer. False: it could not be written. */
bool cli_output_pass(struct cli_output *to, struct explain_text *gathered);
/* Writes whatever there is, what waited first; it is seen at once. False: it could not be written, now or
 * earlier. */
bool cli_output_flush(struct cli_output *to, struct explain_text *gathered);

/* What comes next has to wait no longer: writes `above`, and below it what waited. */
void cli_output_release(struct cli_output *to, const struct explain_text *above);

#endif
