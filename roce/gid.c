/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/gid.h"

#include <errno.h>

#define VLAN_ID_MAX 4094 /* IEEE 802.1Q: 4095 is reserved */

int roce_gid_add(struct roce_gid_table *table, const struct net_addr *gid, const struct net_mac *mac,
                 uint16_t vlan_id)
{
    if (net_addr_is_zero(gid) || vlan_id > VLAN_ID_MAX)
        return -EINVAL;
    if (roce_gid_find(table, gid, vlan_id) >= 0)
        return -EEXIST;
    for (int i = 0; i < ROCE_GID_MAX; i++) {
        if (table->entries[i].used)
            continue;
        table->entries[i] = (struct roce_gid_entry){true, *gid, *mac, vlan_id};
        return i;
    }
    return -ENOSPC;
}

int roce_gid_remove(struct roce_gid_table *table, unsigned index)
{
    if (!roce_gid_get(table, index))
        return -ENOENT;
    table->entries[index] = (struct roce_gid_entry){.used = false};
    return 0;
}

const struct roce_gid_entry *roce_gid_get(const struct roce_gid_table *table, unsigned index)
{
    return index < ROCE_GID_MAX && table->entries[index].used ? &table->entries[index] : NULL;
}

int roce_gid_find(const struct roce_gid_table *table, const struct net_addr *gid, uint16_t vlan_id)
{
    for (int i = 0; i < ROCE_GID_MAX; i++) {
        const struct roce_gid_entry *e = &table->entries[i];
        if (e->used && e->vlan_id == vlan_id && net_addr_equal(&e->gid, gid))
            return i;
    }
    return -ENOENT;
}
