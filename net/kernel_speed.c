/* SPDX-License-Identifier: BSD-2-Clause */
/* The speed of an interface: rtnetlink does not tell it, ethtool's ioctl does. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/kernel.h"

uint64_t net_interface_rate_bps(const char *name)
{
    struct ethtool_cmd cmd = {.cmd = ETHTOOL_GSET};
    struct ifreq request = {.ifr_data = (void *)&cmd};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return 0;
    strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
    int err = ioctl(fd, SIOCETHTOOL, &request);
    close(fd);
    uint32_t mbps = !err ? ethtool_cmd_speed(&cmd) : (uint32_t)SPEED_UNKNOWN;
    return mbps == (uint32_t)SPEED_UNKNOWN ? 0 : mbps * UINT64_C(1000000);
}
