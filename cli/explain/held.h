/* SPDX-License-Identifier: BSD-2-Clause */
/* Output that is held back until what stands above it is known, in a file without a name: so much memory is
 * not everywhere. */
#ifndef NORNIC_CLI_EXPLAIN_HELD_H
#define NORNIC_CLI_EXPLAIN_HELD_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "explain/show/text.h"

/* All zero: nothing is held. */
struct cli_held {
    FILE *file; /* NULL: none is needed yet */
    uint64_t bytes;
};

/* Appends a text to what is held, in a file of $TMPDIR or /var/tmp, at most 512 MiB of them. False: there is
 * no room, and what is held ends with an earlier text. */
bool cli_held_put(struct cli_held *held, const struct explain_text *text);

/* Writes all that is held to `out`, and forgets it. False with errno: it cannot be read or written. */
bool cli_held_release(struct cli_held *held, FILE *out);

#endif
