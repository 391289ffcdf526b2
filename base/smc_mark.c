/* SPDX-License-Identifier: BSD-2-Clause */
#include "base/smc_mark.h"

#include <unistd.h>

bool smc_mark_is_enabled(void)
{
    struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    bool is_enabled = smc_mark_set(fd, SMC_MARK_PROBE) &&
                      bind(fd, (const struct sockaddr *)&here, sizeof here) == 0 && listen(fd, 1) == 0 &&
                      smc_mark(fd) == SMC_MARK_ASKED;
    close(fd);
    return is_enabled;
}
