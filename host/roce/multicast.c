/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/roce/multicast.h"

#include <errno.h>

#include "host/dev/dev.h"
#include "net/kernel/multicast.h"

int host_multicast_join(struct host_dev *dev, const struct nornic_addr *group, struct nornic_error *why)
{
    host_dev_assert_held(dev);
    if (!nornic_addr_is_multicast(group))
        return net_error_set(why, EINVAL, "that is no multicast group");
    int err = dev->multicast ? net_multicast_join(dev->multicast, group, why) : 0;
    if (err)
        return err;
    err = net_port_listen(dev->port, group, why);
    if (err && dev->multicast)
        (void)net_multicast_leave(dev->multicast, group);
    return err;
}

void host_multicast_leave(struct host_dev *dev, const struct nornic_addr *group)
{
    int left = dev->multicast ? net_multicast_leave(dev->multicast, group) : 0;
    if (left <= 0) /* the port does not count */
        net_port_unlisten(dev->port, group);
}
