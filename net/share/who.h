/* SPDX-License-Identifier: BSD-2-Clause */
/* To which of the processes that share an address a packet goes. The same rules stand in the filter by which
 * the kernel chooses a socket (net/share/filter.h):
 *
 *     queue pair 0            none: a trial by which a process finds its place in the group
 *     queue pair 1            a request of the CM: who listens to its service id; another message of the CM:
 *                             the upper 8 bits of the receiver's communication id; what else there is: who
 *                             takes the rest
 *     the others              the upper 8 bits of the number
 *
 * A reject may come before its sender has been told the receiver's id: such a message goes to all. Internal
 * to net/ and host/port/. */
#ifndef NORNIC_NET_SHARE_WHO_H
#define NORNIC_NET_SHARE_WHO_H

#include "net/share/table.h"

#define NET_SHARE_NOBODY 0x100u /* no process has it */
#define NET_SHARE_ALL    0x101u
#define NET_SHARE_TRIAL  0x102u

/* Who is there, as the table said last. */
struct net_share_view {
    unsigned count;
    uint8_t slots[NET_SHARE_SLOTS];   /* of `count` processes, ascending */
    struct net_share_record *records; /* by slot; NET_SHARE_SLOTS of them */
    uint8_t *last; /* by slot: the place of a record that was found last; NULL: searches begin at the first */
};

/* Bytes of a packet from its BTH on that the rules look at, and where. */
#define NET_SHARE_QPN_AT     5 /* 24 bits, as the next */
#define NET_SHARE_PSN_AT     9
#define NET_SHARE_SRC_QPN_AT 17 /* of a datagram */
#define NET_SHARE_CLASS_AT   21
#define NET_SHARE_ATTR_AT    36
#define NET_SHARE_REQUEST_AT 44 /* SIDR_REP: the id of the request */
#define NET_SHARE_REMOTE_AT  48 /* the receiver's communication id */
#define NET_SHARE_SERVICE_AT 52 /* REQ, SIDR_REQ: 64 bits */
#define NET_SHARE_MAD_BYTES  60
#define NET_SHARE_CLASS_CM   0x07
#define NET_SHARE_REQ        0x10
#define NET_SHARE_SIDR_REQ   0x17
#define NET_SHARE_SIDR_REP   0x18

/* The place of a process at an address; NULL: it is not there. */
const struct net_share_place *net_share_place_of(const struct net_share_record *record,
                                                 const struct nornic_addr *addr, uint32_t scope);

/* The same of a process in the view. A search begins at the place that was found last, and the one after it.
 * Packets come to the same address again, and a walk over the addresses goes from one to the next. */
const struct net_share_place *net_share_place_at(const struct net_share_view *view, unsigned slot,
                                                 const struct nornic_addr *addr, uint32_t scope);

/* How many are at an address. */
unsigned net_share_count_at(const struct net_share_view *view, const struct nornic_addr *addr,
                            uint32_t scope);

/* Who listens to a service at an address: a slot, or NET_SHARE_NOBODY. */
unsigned net_share_server_at(const struct net_share_view *view, const struct nornic_addr *addr,
                             uint32_t scope, uint64_t service_id);

/* Who takes what is for none of the others: of those that have a queue pair 1 the oldest, as it is likely to
 * stay. */
unsigned net_share_default_at(const struct net_share_view *view, const struct nornic_addr *addr,
                              uint32_t scope);

/* Whose packet this is that came to an address: a slot that is in the view, or one of the three above.
 * `payload`: from the BTH on. */
unsigned net_share_whose(const struct net_share_view *view, const struct nornic_addr *addr, uint32_t scope,
                         const uint8_t *payload, uint32_t bytes);

#endif
