/* SPDX-License-Identifier: BSD-2-Clause */
/* The GID table: ROCE-AH-10. */
#include "roce/dev/gid.h"

#include <errno.h>

#include "roce/dev/device.h"

#define VLAN_ID_MAX 4094 /* IEEE 802.1Q: 4095 is reserved */

int roce_gid_add(struct roce_gid_table *table, const struct nornic_gid *gid)
{
    if (nornic_addr_is_zero(&gid->addr) || gid->vlan_id > VLAN_ID_MAX ||
        (gid->type != NORNIC_GID_V2 && gid->type != NORNIC_GID_V1))
        return -EINVAL;
    if (roce_gid_find(table, &gid->addr, gid->type, gid->vlan_id) >= 0)
        return -EEXIST;
    for (int i = 0; i < NORNIC_GID_MAX; i++) {
        if (!nornic_addr_is_zero(&table->entries[i].addr))
            continue;
        table->entries[i] = *gid;
        return i;
    }
    return -ENOSPC;
}

int roce_gid_remove(struct roce_gid_table *table, unsigned index)
{
    if (!roce_gid_get(table, index))
        return -ENOENT;
    table->entries[index] = (struct nornic_gid){.vlan_id = 0};
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
    for (unsigned i = 0; i < NORNIC_GID_MAX; i++) {
        const struct nornic_gid *e = roce_gid_get(table, i);
        if (e && (!type || e->type == *type) && (!vlan_id || e->vlan_id == *vlan_id) &&
            nornic_addr_equal(&e->addr, addr))
            return (int)i;
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
