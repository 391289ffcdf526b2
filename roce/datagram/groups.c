/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/datagram/mcast.h"

#include <errno.h>

#include "roce/dev/av.h"
#include "roce/dev/device.h"

static struct roce_mcast_group **bucket_of(struct roce_mcast_table *table, const struct nornic_addr *addr)
{
    uint32_t hash = 0;
    for (unsigned i = 0; i < sizeof addr->b; i++)
        hash = hash * 31 + addr->b[i];
    return &table->buckets[hash % ROCE_MCAST_BUCKETS];
}

/* Where the pointer to the group is, or would be. */
static struct roce_mcast_group **place_of(struct roce_mcast_table *table, const struct nornic_addr *addr)
{
    struct roce_mcast_group **place = bucket_of(table, addr);
    while (*place && !nornic_addr_equal(&(*place)->addr, addr))
        place = &(*place)->next;
    return place;
}

static struct roce_mcast_member **member_of(struct roce_mcast_group *group, const struct roce_qp *qp)
{
    struct roce_mcast_member **place = &group->members;
    while (*place && (*place)->qp != qp)
        place = &(*place)->next;
    return place;
}

const struct roce_mcast_group *roce_mcast_find(const struct roce_mcast_table *table,
                                               const struct nornic_addr *addr)
{
    return *place_of((struct roce_mcast_table *)table, addr);
}

bool roce_mcast_is_own(const struct roce_qp *qp, const struct roce_pkt *pkt)
{
    return qp->block_multicast_loopback && pkt->deth.src_qpn == qp->base.qpn &&
           roce_dev_owns(qp->dev, &pkt->src);
}

/* Tells the interface. */
static int join_or_leave(struct roce_dev *dev, const struct nornic_addr *addr, bool join)
{
    return dev->config.mcast ? dev->config.mcast(dev->config.ctx, addr, join) : 0;
}

/* Puts an empty group into its place, and the interface into the group. */
static int add_group(struct roce_dev *dev, struct roce_mcast_group **place, const struct nornic_addr *addr)
{
    struct roce_mcast_group *group = roce_alloc(dev, sizeof *group);
    if (!group)
        return -ENOMEM;
    int err = join_or_leave(dev, addr, true);
    if (err) {
        roce_free(dev, group);
        return err;
    }
    group->addr = *addr;
    *place = group;
    roce_dev_reroute(dev);
    return 0;
}

static void remove_group(struct roce_dev *dev, struct roce_mcast_group **place)
{
    struct roce_mcast_group *group = *place;
    *place = group->next;
    join_or_leave(dev, &group->addr, false);
    roce_free(dev, group);
    roce_dev_reroute(dev);
}

int roce_qp_attach_mcast(struct roce_qp *qp, const struct nornic_addr *group)
{
    struct roce_dev *dev = qp->dev;
    if (qp->type != NORNIC_QPT_UD || !nornic_addr_is_multicast(group))
        return -EINVAL;
    struct roce_mcast_group **place = place_of(&dev->groups, group);
    if (*place && *member_of(*place, qp))
        return 0;
    struct roce_mcast_member *member = roce_alloc(dev, sizeof *member);
    int err = member ? 0 : -ENOMEM;
    if (!err && !*place)
        err = add_group(dev, place, group);
    if (err) {
        roce_free(dev, member);
        return err;
    }
    member->qp = qp;
    member->next = (*place)->members;
    (*place)->members = member;
    qp->groups++;
    return 0;
}

int roce_qp_detach_mcast(struct roce_qp *qp, const struct nornic_addr *group)
{
    struct roce_mcast_group **place = place_of(&qp->dev->groups, group);
    struct roce_mcast_member **member = *place ? member_of(*place, qp) : NULL;
    if (!member || !*member)
        return -EINVAL;
    struct roce_mcast_member *gone = *member;
    *member = gone->next;
    roce_free(qp->dev, gone);
    qp->groups--;
    if (!(*place)->members)
        remove_group(qp->dev, place);
    return 0;
}
