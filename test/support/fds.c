/* SPDX-License-Identifier: BSD-2-Clause */
#include "test/support/fds.h"

#include <criterion/criterion.h>
#include <dirent.h>

unsigned fds_count(void)
{
    unsigned count = 0;
    DIR *dir = opendir("/proc/self/fd");
    cr_assert_not_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}
