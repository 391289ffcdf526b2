/* SPDX-License-Identifier: BSD-2-Clause */
/* What rtnetlink does not tell of an interface, and ethtool's ioctl does. */
#include <linux/ethtool.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "net/kernel/kernel.h"

/* `command`: a struct of ethtool's, which begins with its number. Returns whether the driver answered. */
static bool ask(const char *name, void *command)
{
    struct ifreq request = {.ifr_data = command};
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0)
        return false;
    strncpy(request.ifr_name, name, sizeof request.ifr_name - 1);
    int err = ioctl(fd, SIOCETHTOOL, &request);
    close(fd);
    return err == 0;
}

uint32_t net_interface_rx_queues(const char *name)
{
    struct ethtool_channels channels = {.cmd = ETHTOOL_GCHANNELS};
    uint32_t count = ask(name, &channels) ? channels.rx_count + channels.combined_count : 0;
    return count ? count : 1;
}

uint64_t net_interface_rate_bps(const char *name)
{
    struct ethtool_cmd cmd = {.cmd = ETHTOOL_GSET};
    uint32_t mbps = ask(name, &cmd) ? ethtool_cmd_speed(&cmd) : (uint32_t)SPEED_UNKNOWN;
    return mbps == (uint32_t)SPEED_UNKNOWN ? 0 : mbps * UINT64_C(1000000);
}
