/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/addr_index.h"

/* Returns the link to the first place of a chain that is not below `place`. */
static uint16_t *link_to(struct net_addr_index *index, const struct nornic_addr *addr, unsigned place)
{
    uint16_t *link = &index->first[net_addr_bucket(addr)];
    while (*link && *link < place + 1)
        link = &index->next[*link - 1];
    return link;
}

void net_addr_index_add(struct net_addr_index *index, const struct nornic_addr *addr, unsigned place)
{
    uint16_t *link = link_to(index, addr, place);
    index->next[place] = *link;
    *link = (uint16_t)(place + 1);
}

void net_addr_index_remove(struct net_addr_index *index, const struct nornic_addr *addr, unsigned place)
{
    uint16_t *link = link_to(index, addr, place);
    if (*link == place + 1)
        *link = index->next[place];
}
