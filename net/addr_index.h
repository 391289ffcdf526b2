/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds an address in an array by a hash of its bytes. The array is the owner's, and holds the addresses. The
 * index has the places alone, in a chain for each bucket, the lowest first. So an address is found in about
 * the time of one comparison, however many there are. */
#ifndef NORNIC_NET_ADDR_INDEX_H
#define NORNIC_NET_ADDR_INDEX_H

#include <stdint.h>
#include <string.h>

#include "nornic/addr.h"

#define NET_ADDR_BUCKET_BITS 8
#define NET_ADDR_BUCKETS     (1u << NET_ADDR_BUCKET_BITS)
#define NET_ADDR_PLACES_MAX  384u /* of an array */

/* All zero: empty. Places are counted from 1 on; 0 ends a chain. */
struct net_addr_index {
    uint16_t first[NET_ADDR_BUCKETS];
    uint16_t next[NET_ADDR_PLACES_MAX]; /* after place i + 1 */
};

/* Returns the bucket of an address. The addresses of a machine are its administrator's, so a peer cannot
 * choose some that meet in one bucket. */
static inline unsigned net_addr_bucket(const struct nornic_addr *addr)
{
    uint64_t half[2];
    memcpy(half, addr->b, sizeof half);
    uint64_t mixed = (half[1] ^ half[0] * UINT64_C(0x9e3779b97f4a7c15)) * UINT64_C(0x9e3779b97f4a7c15);
    return (unsigned)(mixed >> (64 - NET_ADDR_BUCKET_BITS));
}

/* Walk over the places that may have an address, in ascending order; -1: no more. The caller compares. */
static inline int net_addr_index_first(const struct net_addr_index *index, const struct nornic_addr *addr)
{
    return index->first[net_addr_bucket(addr)] - 1;
}

static inline int net_addr_index_next(const struct net_addr_index *index, int place)
{
    return index->next[place] - 1;
}

/* Adds `place`, below NET_ADDR_PLACES_MAX, which has `addr` from now on. It must not be in the index. */
void net_addr_index_add(struct net_addr_index *index, const struct nornic_addr *addr, unsigned place);
/* Removes `place`, which has had `addr`. Nothing happens if it is not in the index. */
void net_addr_index_remove(struct net_addr_index *index, const struct nornic_addr *addr, unsigned place);

#endif
