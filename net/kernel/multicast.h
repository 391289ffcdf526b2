/* SPDX-License-Identifier: BSD-2-Clause */
/* Membership of an interface in multicast groups, by the kernel: it reports them (IGMP, MLD), answers
 * queries, and lets the interface receive the groups' MACs (ROCE-UD-21, ROCE-INT-28). Internal to the
 * library. */
#ifndef NORNIC_NET_MULTICAST_H
#define NORNIC_NET_MULTICAST_H

#include "nornic/addr.h"
#include "net/error.h"

/* The memberships that one user of an interface holds. The kernel counts: an interface stays in a group as
 * long as anyone holds it. */
struct net_multicast;

/* For interface `ifindex` of the network namespace from which the joins will be called. 0 or -ENOMEM. */
int net_multicast_open(unsigned ifindex, struct net_multicast **out);

/* Leaves all groups. */
void net_multicast_close(struct net_multicast *multicast);

/* Joins a group, or, if that was done, counts one more holder. 0; -EINVAL: no multicast address; or another
 * -errno; each with a sentence in `why`. */
int net_multicast_join(struct net_multicast *multicast, const struct nornic_addr *group,
                       struct nornic_error *why);

/* The last holder leaves the group. How many holders are left, or -ENOENT where nobody held it. */
int net_multicast_leave(struct net_multicast *multicast, const struct nornic_addr *group);

#endif
