/* SPDX-License-Identifier: BSD-2-Clause */
/* Many processes on one address. Each udp port leases a slot: a range of queue pair numbers and of
 * communication ids (net/share/table.h), and joins the reuseport groups of its addresses, in which a filter
 * gives each packet to the process that it is for (net/share/filter.h).
 *
 * What the filter returns is an index in the group: the order of joining, but that the last takes the place
 * of one that leaves. Nobody tells a process its index, and two that die together leave in an order that
 * nobody has seen. So a process finds out: a packet to queue pair 0, which no RoCE packet is for, comes by
 * the filter to the index that it names. Whoever hears that another one came, left or died
 * (net/share/news.c), or gets a packet for another, tries its index, writes what it has found into the table,
 * and makes the filter anew. Meanwhile what reaches the wrong process is handed over (net/share/hand.h):
 * the filter is for speed, and wrong answers it cannot cause, since a process takes what is its own and
 * nothing else.
 *
 * All calls of one object come from one thread at a time: whoever has the device's lock. */
#ifndef NORNIC_NET_SHARE_H
#define NORNIC_NET_SHARE_H

#include "net/share/table.h"
#include "net/udp/frame.h"
#include "net/udp/open.h"

struct net_share;

#define NET_SHARE_FDS  2
#define NET_SHARE_QPNS (1u << NET_SHARE_SLOT_BITS) /* of a slot */

/* Leases a slot, the one that `first_qpn` is in or, where that is 0, a random one of those that are free.
 * 0; -EADDRINUSE: another process has that slot; NET_SHARE_NOWHERE: there is no place to meet; or another
 * -errno; each with a sentence. */
int net_share_open(uint32_t first_qpn, struct net_share **out, struct nornic_error *why);

/* Leaves every group, closing its sockets, and gives the slot back. */
void net_share_close(struct net_share *share);

/* Removes the tables without leases from a user's own directory, those of other network namespaces among
 * them. */
void net_share_tidy(const struct net_share_dir *dir);

/* The lowest of the 65,536 queue pair numbers that are leased; and the upper 8 bits of the communication ids.
 */
uint32_t net_share_first_qpn(const struct net_share *share);
uint8_t net_share_id_prefix(const struct net_share *share);

/* Opens a socket of `addr`, an address of the machine on interface `ifindex`, beside those of the others who
 * have it. A descriptor, which stays the group's until net_share_leave(); -EADDRINUSE: a program that does
 * not share has it, or one of another user where users do not share; or another -errno; each with a
 * sentence. */
int net_share_join(struct net_share *share, const struct nornic_addr *addr, unsigned ifindex,
                   struct nornic_error *why);
/* Closes the socket, and leaves the address to the others. */
void net_share_leave(struct net_share *share, int fd);

/* Once a round, behind net_share_round(), of each of these sockets: one of another user, of whom nobody is
 * there any more, is replaced, so that others can come to the address. Returns a new descriptor, which is the
 * group's in place of `fd`, and the caller closes `fd`; or -1: there is nothing to do. */
int net_share_renew(struct net_share *share, int fd);

/* Takes a service id: requests for it at the addresses of the port come here. 0; -EADDRINUSE: another process
 * listens to it at one of them; -ENOSPC; or -EAGAIN: the table is locked for long. And gives it back. */
int net_share_serve(struct net_share *share, uint64_t service_id);
void net_share_unserve(struct net_share *share, uint64_t service_id);
/* Another process listens to it at one of the port's addresses, as of now. */
bool net_share_is_served(struct net_share *share, uint64_t service_id);

/* Queue pair 1 is there, or no more: it takes what comes for it and is for none of the other processes. */
void net_share_set_qp1(struct net_share *share, bool has_qp1);

/* The slots of the other processes. Returns how many there are. */
unsigned net_share_others(const struct net_share *share, uint8_t slots[NET_SHARE_SLOTS]);

/* Nobody else is known to share anything. */
bool net_share_is_alone(const struct net_share *share);

/* Descriptors that poll readable (POLLIN) when a round is due. Returns how many there are. */
unsigned net_share_fds(const struct net_share *share, int fds[NET_SHARE_FDS]);
/* When it is due otherwise; NET_TIME_NONE: never. */
uint64_t net_share_deadline_ns(const struct net_share *share);
/* Looks at what has changed, and at trials. Costs two system calls, or three where there are others. */
void net_share_round(struct net_share *share, uint64_t now_ns);

/* Sorts what came to the socket of an address: packets of other processes are handed over, and what is left
 * moves together. Returns how many bytes that are, of packets as long as before; 0: none. `passed` grows by
 * the packets that went to others. */
uint32_t net_share_sift(struct net_share *share, const struct net_udp_arrival *arrival, uint8_t *payload,
                        uint64_t *passed);

/* What another process has handed over: packets, `payload_bytes` of them, or what ICMP said, `refusal.error`,
 * or with both 0 nothing for the port. */
struct net_share_taken {
    struct net_udp_arrival arrival;
    struct net_udp_refusal refusal;
};

/* Takes it, packets into `payload` of `cap_bytes`. False: nothing is there. Who asked for the port's counters
 * is answered with `counters`. */
bool net_share_take(struct net_share *share, const struct net_port_counters *counters,
                    struct net_share_taken *out, uint8_t *payload, uint32_t cap_bytes);

/* The kernel has told socket `fd` what ICMP said against what was sent from its address. It picks any socket
 * of the group, so the others are told as well; of a flood of it not all. */
void net_share_refused(struct net_share *share, int fd, const struct net_udp_refusal *refusal);

/* The datagram to a group was sent by this very port: its source QPN is leased here. `payload`: from the BTH
 * on. */
bool net_share_is_own(const struct net_share *share, const uint8_t *payload, uint32_t bytes);

#endif
