/* SPDX-License-Identifier: BSD-2-Clause */
#include "cli/columns.h"

#include <sys/ioctl.h>

unsigned cli_columns(int fd, unsigned usual)
{
    struct winsize size;
    return ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col : usual;
}
