/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/explain/reading.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "base/utf8.h"

#define EVERY 16384 /* packets */

void cli_reading(const char *path, uint64_t packets)
{
    char clean[256];
    if (packets % EVERY == 0 && isatty(STDERR_FILENO))
        fprintf(stderr, "\r%s: %" PRIu64 " packets\033[K", utf8_copy(path, clean, sizeof clean), packets);
}

void cli_reading_end(void)
{
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
}

void cli_reading_confine(const struct cli_sandbox_options *options, char *const *paths, unsigned count)
{
    struct cli_sandbox sandbox;
    cli_sandbox_begin(&sandbox, CLI_SANDBOX_READER, options->is_off);
    for (unsigned i = 0; i < count; i++)
        cli_sandbox_allow(&sandbox, paths[i], CLI_SANDBOX_READS);
    cli_sandbox_close(&sandbox);
}
