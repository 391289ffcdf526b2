/* SPDX-License-Identifier: BSD-2-Clause */
/* VLAN interfaces for tests, also where the kernel has none (CONFIG_VLAN_8021Q).
 *
 * There a macvlan interface takes the place: it lies on another interface, and has a MAC, addresses and news
 * of its own, but its frames bear no tag. What the kernel says of it is rewritten as this process reads it,
 * so that nornic sees a VLAN interface. The tags that it then puts on its frames are real. */
#ifndef NORNIC_TEST_SUPPORT_VLAN_H
#define NORNIC_TEST_SUPPORT_VLAN_H

#include <stdbool.h>
#include <stdint.h>

#include "test/support/netns.h"

struct vlan {
    const char *name, *parent; /* of interfaces; kept */
    uint16_t id;
    bool is_service_tag; /* 802.1ad instead of 802.1Q */
};

/* Makes one in the namespace of a side; 8 at the most in a process. A process that shall see it is forked
 * afterwards. False: the kernel makes neither. */
bool vlan_add(const struct netns_veth *veth, int side, const struct vlan *vlan);

#endif
