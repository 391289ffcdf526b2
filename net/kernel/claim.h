/* SPDX-License-Identifier: BSD-2-Clause */
/* What processes that share an interface tell each other: names that the kernel gives to one holder at a time
 * within a network namespace, and takes back when the holder ends, however it ends (abstract UNIX sockets).
 * Nothing is ever sent over them. A name says what is claimed, of which interface, and which of them:
 *
 *     xdp      0         the XDP program that takes all RoCE packets of the interface
 *     packet   0..63     a packet port, which sees what the others see
 *     udp      0..63     a udp port, whose packets the two above would take or see, too
 *     qp1      0         who refuses, of those, what none of them knows
 *     service  id        a service id that one of them listens to
 *
 * Any user of the machine may take a name; what is lost then is that an answer is not given. Internal to the
 * library. */
#ifndef NORNIC_NET_CLAIM_H
#define NORNIC_NET_CLAIM_H

#include <stdbool.h>
#include <stdint.h>

#define NET_CLAIM_PACKETS 64 /* packet ports, and udp ports, that an interface has names for */

/* Claims `what` number `number` of an interface of the caller's namespace. A descriptor that holds the claim
 * as long as it is open; -EADDRINUSE: somebody else has it; or another -errno. */
int net_claim_take(const char *what, unsigned ifindex, uint64_t number);

/* The lowest number below `count` that is free. */
int net_claim_take_any(const char *what, unsigned ifindex, unsigned count);

/* A descriptor to ask by, of the caller's namespace wherever the caller goes later; or -errno. */
int net_claim_asker(void);

/* Somebody has it, the caller among them. False too where `asker` is -1. */
bool net_claim_is_taken(int asker, const char *what, unsigned ifindex, uint64_t number);

/* One of the numbers below `count` is, and this does not end within 20 ms: one that goes was of somebody who
 * came at the same time as the caller, saw the caller's claim, and yielded. Waits for that long where it
 * stays. */
bool net_claim_stays_taken(int asker, const char *what, unsigned ifindex, unsigned count);

/* How many of the numbers below `count` are taken. */
unsigned net_claim_count(int asker, const char *what, unsigned ifindex, unsigned count);

#endif
