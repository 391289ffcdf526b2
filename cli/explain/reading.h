/* SPDX-License-Identifier: BSD-2-Clause */
/* What a command that reads captures ahead, before it has anything to show, says meanwhile on a terminal. */
#ifndef NORNIC_CLI_EXPLAIN_READING_H
#define NORNIC_CLI_EXPLAIN_READING_H

#include <stdint.h>

#include "cli/sandbox/sandbox.h"

/* So many packets of that file were read: a line on stderr, if that is a terminal, now and then. */
void cli_reading(const char *path, uint64_t packets);
/* Clears the line. */
void cli_reading_end(void);

/* Closes a sandbox around this process, which reads these files and directories alone from then on. */
void cli_reading_confine(const struct cli_sandbox_options *options, char *const *paths, unsigned count);

#endif
