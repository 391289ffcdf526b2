/* SPDX-License-Identifier: BSD-2-Clause */
/* The other kinds of port on the interface of a udp port. Internal to net/. */
#ifndef NORNIC_NET_UDP_CLAIM_H
#define NORNIC_NET_UDP_CLAIM_H

#include "net/error.h"
#include "net/kernel/kernel.h"

/* Claims the interface beside other udp ports: an XDP program would take the packets before a socket gets
 * them, and a packet port would see them, too, and refuse who is not its own. A descriptor that holds the
 * claim; -1 where names cannot be had; or -EBUSY with a sentence: one of them is there. */
int net_udp_claim(const struct net_interface *interface, struct nornic_error *why);

#endif
