/* SPDX-License-Identifier: BSD-2-Clause */
/* Claims of processes that share an interface: abstract UNIX sockets, which end with their process.
 * Nothing is ever sent over them. A name tells a kind, an interface, a number, and
 * a user:
 *
 *     nornic/KIND/IFINDEX/NUMBER/UID[/RANDOM]
 *
 *     xdp      0         the XDP program that takes all RoCE packets of the interface
 *     packet   0..63     a packet port, which sees the packets of the others
 *     udp      0..63     a udp port, with packets that the above would take or see
 *     qp1      0         the process that refuses unknown requests
 *     service  id        a service id that a process listens to
 *
 * Any user of the namespace may bind any such name, so a name alone proves nothing. A claim counts if the
 * kernel reports its socket as root's or as the caller's own user's (net/kernel/diag.h). The claim of another
 * user counts only with evidence that no name can forge: an XDP program on the interface, a packet socket of
 * that user, a UDP socket of port 4791 (net/kernel/evidence.h). If another user holds the caller's name, the
 * caller's gets a random number at its end. Internal to the library. */
#ifndef NORNIC_NET_CLAIM_H
#define NORNIC_NET_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#define NET_CLAIM_PACKETS 64 /* packet ports, and udp ports, that a user has names for on an interface */

/* Claims `kind` number `number` of an interface of the caller's namespace. Returns a descriptor
 * that holds the
 * claim as long as it is open; -EADDRINUSE: a claim of another process counts; or another -errno. */
int net_claim_take(const char *kind, unsigned ifindex, uint64_t number);

/* Binds an abstract name, whatever users hold others. For names that a stranger may hold without harm.
 * Returns a descriptor that holds the name as long as it is open; -EADDRINUSE; or another -errno. */
int net_claim_bind(const char *name);

/* Claims the lowest number below `count` that is free. Returns as net_claim_take(). */
int net_claim_take_any(const char *kind, unsigned ifindex, unsigned count);

/* Opens a descriptor to ask by, of the caller's namespace wherever the caller goes later. Returns it, or
 * -errno. */
int net_claim_asker(void);

/* Returns whether a claim counts, the caller's among them. False too if `asker` is negative. */
bool net_claim_is_taken(int asker, const char *kind, unsigned ifindex, uint64_t number);

/* Returns whether claims of numbers below `count` count, and still do after 20 ms. A claim that goes was of a
 * process that came at the same time as the caller, saw the caller's claim, and yielded. */
bool net_claim_stays_taken(int asker, const char *kind, unsigned ifindex, unsigned count);

/* Returns how many claims of numbers below `count` count. */
unsigned net_claim_count(int asker, const char *kind, unsigned ifindex, unsigned count);

/* Names in one sentence on standard error a user whose claim of a number below `count` does not count. Silent
 * without such a user. */
void net_claim_tell_strangers(int asker, const char *kind, unsigned ifindex, unsigned count);

#endif
