/* SPDX-License-Identifier: BSD-2-Clause */
/* The trace of SMC-R as lines: "SECONDS.MICROS MARK WHERE: TEXT", of the machine's monotonic clock, so that
 * those of two processes can be put side by side (nornic smc ladder). */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/smc/smc.h"
#include "smcr/trace_text.h"

static FILE *to;
static const char *name;

static void on_trace(void *ctx, const struct smcr_trace *trace)
{
    struct smcr_trace_line line = {0};
    smcr_trace_line(trace, &line);
    fprintf(ctx, "%" PRIu64 ".%06" PRIu64 " %c %s: %s\n", trace->now_ns / 1000000000,
            trace->now_ns / 1000 % 1000000, line.mark, line.where, line.text);
}

int smc_trace_open(const char *path, struct smcr_sock_config *config)
{
    to = strcmp(path, "-") == 0 ? stderr : fopen(path, "we");
    if (!to)
        return cli_fail("cannot create %s: %s", path, strerror(errno));
    name = path;
    setvbuf(to, NULL, _IOLBF, BUFSIZ); /* it is read while it grows */
    config->trace = on_trace;
    config->trace_ctx = to;
    return CLI_OK;
}

int smc_trace_close(int status)
{
    bool lost = to && to != stderr && ferror(to);
    if (to && to != stderr)
        lost |= fclose(to) != 0;
    to = NULL;
    if (!lost)
        return status;
    cli_fail("the trace %s lacks lines: the disk is full, or the file cannot be written", name);
    return status == CLI_OK ? CLI_ERROR : status;
}
