/* SPDX-License-Identifier: BSD-2-Clause */
/* What a command that reads captures ahead, before it has anything to show, says meanwhile on a terminal. */
#ifndef NORNIC_CLI_EXPLAIN_READING_H
#define NORNIC_CLI_EXPLAIN_READING_H

#include <stdint.h>

/* So many packets of that file were read: a line on stderr, if that is a terminal, now and then. */
void cli_reading(const char *path, uint64_t packets);
/* Clears the line. */
void cli_reading_end(void);

#endif
