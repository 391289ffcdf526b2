/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets for other users. The kernel puts the sockets of one user into a reuseport group, by who opened
 * them. So where several users share addresses, who comes to one of another user's asks those who are there
 * for a socket, and gets it with a message (unix(7), SCM_RIGHTS). Internal to net/share/. */
#ifndef NORNIC_NET_SHARE_LEND_H
#define NORNIC_NET_SHARE_LEND_H

#include "net/share/hand.h"
#include "net/share/inner.h"

/* Asks the others at an address, one after the other, for a little while. A descriptor, or -EADDRINUSE:
 * nobody gave one. Without the table's lock. */
int net_share_borrow(struct net_share *share, const struct nornic_addr *addr, uint32_t scope);

/* Answers such a question, in a directory of several users. */
void net_share_lend(const struct net_share *share, const struct net_share_message *question);

#endif
