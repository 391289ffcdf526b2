/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/explain/reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#define EVERY 16384 /* packets */

void cli_reading(const char *path, uint64_t packets)
{
    if (packets % EVERY == 0 && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s: %" PRIu64 " packets\033[K", path, packets);
}

void cli_reading_end(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}
