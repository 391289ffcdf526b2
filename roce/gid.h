/* SPDX-License-Identifier: BSD-2-Clause */
/* The GID table of a port: one entry per address of the interface, indexes stable, holes allowed
 * (ROCE-AH-10). */
#ifndef NORNIC_ROCE_GID_H
#define NORNIC_ROCE_GID_H

#include <stdbool.h>
#include <stdint.h>

#include "net/addr.h"

#define ROCE_GID_MAX 64 /* ROCE-LIM-4 */

struct roce_gid_entry {
    bool used;
    struct net_addr gid;
    struct net_mac mac;
    uint16_t vlan_id; /* 0: untagged */
};

/* All zero: empty. */
struct roce_gid_table {
    struct roce_gid_entry entries[ROCE_GID_MAX];
};

/* Puts an address into the lowest free place. Its index; -EEXIST (address and VLAN are there already),
 * -ENOSPC, or -EINVAL (the zero address, or a VLAN above 4094). */
int roce_gid_add(struct roce_gid_table *table, const struct net_addr *gid, const struct net_mac *mac,
                 uint16_t vlan_id);
/* 0 or -ENOENT. */
int roce_gid_remove(struct roce_gid_table *table, unsigned index);
/* The entry, or NULL if there is none at `index` (of any value). */
const struct roce_gid_entry *roce_gid_get(const struct roce_gid_table *table, unsigned index);
/* Index of an address on a VLAN, or -ENOENT. */
int roce_gid_find(const struct roce_gid_table *table, const struct net_addr *gid, uint16_t vlan_id);

#endif
