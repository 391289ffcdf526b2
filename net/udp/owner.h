/* SPDX-License-Identifier: BSD-2-Clause */
/* Who has UDP port 4791. Internal to the library. */
#ifndef NORNIC_NET_UDP_OWNER_H
#define NORNIC_NET_UDP_OWNER_H

#include "nornic/addr.h"
#include "net/error.h"

#define NET_UDP_OWNER_SIZE 96

/* Writes who has port 4791 of `addr`, or of all addresses, as far as /proc says it: "nornic (process 4711)"
 * if the process is one that the caller may look at, else "a process of user 1000", of user 0 with a hint at
 * soft-RoCE, whose socket belongs to no process, else "another program".
 * Returns `text`. */
const char *net_udp_owner(const struct nornic_addr *addr, char text[NET_UDP_OWNER_SIZE]);

/* Writes a sentence that says so into `why` and returns -EADDRINUSE. Looks through all of /proc, which takes
 * milliseconds for each thousand processes: not for who holds a lock that others wait for. */
int net_udp_owner_explain(const struct nornic_addr *addr, struct nornic_error *why);

#endif
