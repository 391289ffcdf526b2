/* SPDX-License-Identifier: BSD-2-Clause */
/* What the interposed functions have in common: they are what preload/sockets.map exports, each with the
 * C library's name and meaning. */
#ifndef NORNIC_PRELOAD_CALLS_H
#define NORNIC_PRELOAD_CALLS_H

#include <errno.h>
#include <stdbool.h>
#include <sys/types.h>

#define EXPORT __attribute__((visibility("default")))

/* Of the standard streams, those whose descriptors are lent connections become streams of this library's: a
 * server for inetd prints to one. */
void calls_serve_streams(void);
/* Around fork(): the list of streams. */
void calls_lock_streams(void);
void calls_unlock_streams(void);

/* Makes the system call `number` with the arguments `a` where it changes the ids or the
 * namespaces of the process: true, with the result of syscall() in `*rc`. Else false, and the
 * caller makes it. */
bool calls_by_number(long number, const long *a, long *rc);

/* -errno becomes -1 with errno; anything else is the result. */
static inline ssize_t calls_result(ssize_t rc)
{
    if (rc >= 0)
        return rc;
    errno = (int)-rc;
    return -1;
}

#endif
