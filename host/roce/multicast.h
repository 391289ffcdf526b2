/* SPDX-License-Identifier: BSD-2-Clause */
/* Multicast groups of a device's interface (ROCE-UD-21). Internal to host/. */
#ifndef NORNIC_HOST_MULTICAST_H
#define NORNIC_HOST_MULTICAST_H

#include "nornic/addr.h"
#include "net/error.h"

struct host_dev;

/* Under the device's lock, in the network namespace of the device. Each join is matched by a leave. A port
 * without an interface has nobody to tell: 0. Else 0 or -errno with a sentence in `why` (may be NULL). */
int host_multicast_join(struct host_dev *dev, const struct nornic_addr *group, struct nornic_error *why);
void host_multicast_leave(struct host_dev *dev, const struct nornic_addr *group);

#endif
