/* SPDX-License-Identifier: BSD-2-Clause */
/* Whether a thread of this process sleeps in a system call. */
#ifndef NORNIC_TEST_SERVICE_ASLEEP_H
#define NORNIC_TEST_SERVICE_ASLEEP_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>

/* `id`: as gettid() told it there; 0, or one that has ended: it does not. */
static inline bool is_asleep(pid_t id)
{
    char path[64], text[256] = "";
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", (int)id);
    FILE *f = fopen(path, "re");
    if (!f || !fgets(text, sizeof text, f))
        text[0] = '\0';
    if (f)
        fclose(f);
    const char *behind = strrchr(text, ')');
    return behind && behind[2] == 'S';
}

#endif
