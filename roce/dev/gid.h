/* SPDX-License-Identifier: BSD-2-Clause */
/* The GID table of a port: one entry per address of the interface, indexes stable, holes allowed
 * (ROCE-AH-10). */
#ifndef NORNIC_ROCE_GID_H
#define NORNIC_ROCE_GID_H

#include "net/addr_index.h"
#include "roce/packet.h"
#include "roce/roce.h"

#define ROCE_GID_VLANS 4095 /* IDs of a VLAN, 0 to 4094: IEEE 802.1Q reserves 4095 */

/* All zero: empty. */
struct roce_gid_table {
    struct nornic_gid entries[NORNIC_GID_MAX]; /* the zero address: free */
    unsigned end;                              /* the entries from here on are free */
    struct net_addr_index by_addr;
    uint8_t on_vlan[ROCE_GID_VLANS]; /* entries of each VLAN */
};

/* Puts an entry into the lowest free place. Its index; -EEXIST (address, type and VLAN are there already),
 * -ENOSPC, or -EINVAL (the zero address, no such type, or a VLAN above 4094). */
int roce_gid_add(struct roce_gid_table *table, const struct nornic_gid *gid);
/* 0 or -ENOENT. */
int roce_gid_remove(struct roce_gid_table *table, unsigned index);
/* The entry, or NULL if there is none at `index` (of any value). */
const struct nornic_gid *roce_gid_get(const struct roce_gid_table *table, unsigned index);
/* Returns whether an entry is on the VLAN, an ID below 4096. */
static inline bool roce_gid_has_vlan(const struct roce_gid_table *table, uint16_t vlan_id)
{
    return vlan_id < ROCE_GID_VLANS && table->on_vlan[vlan_id] > 0;
}
/* Which entry a packet is for: its VLAN (0: untagged or priority-tagged) and its protocol. */
static inline uint16_t roce_pkt_vlan_id(const struct roce_pkt *pkt)
{
    return pkt->vlan_tci < 0 ? 0 : (uint16_t)(pkt->vlan_tci & 0xfff);
}

static inline enum nornic_gid_type roce_pkt_gid_type(const struct roce_pkt *pkt)
{
    return pkt->l3_kind == ROCE_L3_GRH ? NORNIC_GID_V1 : NORNIC_GID_V2;
}

/* As roce_dev_gid_find(). Its time does not grow with the entries. */
int roce_gid_search(const struct roce_gid_table *table, const struct nornic_addr *addr,
                    const enum nornic_gid_type *type, const uint16_t *vlan_id);
/* Index of an address of a type on a VLAN, or -ENOENT. */
int roce_gid_find(const struct roce_gid_table *table, const struct nornic_addr *addr,
                  enum nornic_gid_type type, uint16_t vlan_id);

#endif
