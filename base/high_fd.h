/* SPDX-License-Identifier: BSD-2-Clause */
/* Where a library keeps its own descriptors in a process of others. */
#ifndef NORNIC_BASE_HIGH_FD_H
#define NORNIC_BASE_HIGH_FD_H

#include <fcntl.h>
#include <unistd.h>

#define HIGH_FD_FIRST 4096 /* select() ends at 1024 */

/* The same descriptor above those that select() can name, close-on-exec; takes over `fd`, which is returned
 * as it is where the process may have no number so high, or where it is negative. */
static inline int high_fd(int fd)
{
    int high = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD_FIRST);
    if (high < 0)
        return fd;
    close(fd);
    return high;
}

#endif
