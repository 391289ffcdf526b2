/* SPDX-License-Identifier: BSD-2-Clause */
/* The GID table: ROCE-AH-10. */
#include "roce/dev/gid.h"

#include <errno.h>

#include "base/base.h"
#include "roce/dev/inner.h"

int roce_gid_add(struct roce_gid_table *table, const struct nornic_gid *gid)
{
    unsigned index = 0;
    if (nornic_addr_is_zero(&gid->addr) || gid->vlan_id >= ROCE_GID_VLANS ||
        (gid->type != NORNIC_GID_V2 && gid->type != NORNIC_GID_V1))
        return -EINVAL;
    if (roce_gid_find(table, &gid->addr, gid->type, gid->vlan_id) >= 0)
        return -EEXIST;
    while (roce_gid_get(table, index))
        index++;
    if (index == NORNIC_GID_MAX)
        return -ENOSPC;
    table->entries[index] = *gid;
    table->end = max_u32(table->end, index + 1);
    table->on_vlan[gid->vlan_id]++;
    net_addr_index_add(&table->by_addr, &gid->addr, index);
    return (int)index;
}

int roce_gid_remove(struct roce_gid_table *table, unsigned index)
{
    const struct nornic_gid *gone = roce_gid_get(table, index);
    if (!gone)
        return -ENOENT;
    table->on_vlan[gone->vlan_id]--;
    net_addr_index_remove(&table->by_addr, &gone->addr, index);
    table->entries[index] = (struct nornic_gid){.vlan_id = 0};
    while (table->end > 0 && !roce_gid_get(table, table->end - 1))
        table->end--;
    return 0;
}

const struct nornic_gid *roce_gid_get(const struct roce_gid_table *table, unsigned index)
{
    return index < NORNIC_GID_MAX && !nornic_addr_is_zero(&table->entries[index].addr)
               ? &table->entries[index]
               : NULL;
}

int roce_gid_search(const struct roce_gid_table *table, const struct nornic_addr *addr,
                    const enum nornic_gid_type *type, const uint16_t *vlan_id)
{
    for (int i = net_addr_index_first(&table->by_addr, addr); i >= 0;
         i = net_addr_index_next(&table->by_addr, i)) {
        const struct nornic_gid *e = &table->entries[i];
        if ((!type || e->type == *type) && (!vlan_id || e->vlan_id == *vlan_id) &&
            nornic_addr_equal(&e->addr, addr))
            return i;
    }
    return -ENOENT;
}

int roce_gid_find(const struct roce_gid_table *table, const struct nornic_addr *addr,
                  enum nornic_gid_type type, uint16_t vlan_id)
{
    return roce_gid_search(table, addr, &type, &vlan_id);
}

bool roce_dev_owns(const struct roce_dev *dev, const struct nornic_addr *addr)
{
    return roce_gid_search(&dev->gids, addr, NULL, NULL) >= 0;
}

void roce_dev_reroute(struct roce_dev *dev)
{
    struct roce_dev *d = dev;
    do {
        d->gid_epoch++;
        d = d->linked;
    } while (d != dev);
}
