/* SPDX-License-Identifier: BSD-2-Clause */
/* NORNIC_STAT: what a device has counted, told on stderr when its context or the process ends. */
#define _GNU_SOURCE /* program_invocation_short_name */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "verbs/device/open.h"

#define TEXT_BYTES 8192

/* One line, so that those of several processes do not run into each other. */
struct line {
    char text[TEXT_BYTES];
    size_t used;
};

static void add(void *ctx, const char *name, uint64_t value)
{
    struct line *line = ctx;
    if (!value || line->used >= sizeof line->text - 1)
        return;
    int n = snprintf(line->text + line->used, sizeof line->text - line->used, " %s %llu", name,
                     (unsigned long long)value);
    line->used = min_u64(line->used + (size_t)n, sizeof line->text - 1);
}

void verbs_stat_tell(struct verbs_context_own *own)
{
    const char *wanted = getenv("NORNIC_STAT");
    struct line line;
    if (!wanted || !*wanted || strcmp(wanted, "0") == 0 || own->has_told_stat)
        return;
    own->has_told_stat = true;
    line.used = (size_t)snprintf(line.text, sizeof line.text,
                                 "nornic: %s of %s (process %ld):", own->device->base.name,
                                 program_invocation_short_name, (long)getpid());
    size_t before = line.used;
    nornic_dev_counters(own->dev, add, &line);
    fprintf(stderr, "%s%s\n", line.text, line.used == before ? " it has counted nothing" : "");
}
