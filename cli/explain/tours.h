/* SPDX-License-Identifier: BSD-2-Clause */
/* `nornic explain --html OUT` without a capture: a page of lessons about captures that travel in the
 * program. */
#ifndef NORNIC_CLI_EXPLAIN_TOURS_H
#define NORNIC_CLI_EXPLAIN_TOURS_H

#include "cli/sandbox/sandbox.h"

/* Writes the page to `path` ("-": standard output). CLI_OK, or CLI_ERROR after a sentence. */
int cli_explain_tours(const char *path, const struct cli_sandbox_options *sandbox);

#endif
