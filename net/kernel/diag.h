/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of the network namespace, and their users, as the kernel reports them (sock_diag(7)). Internal to
 * net/. */
#ifndef NORNIC_NET_KERNEL_DIAG_H
#define NORNIC_NET_KERNEL_DIAG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define NET_DIAG_NO_UID UINT32_MAX /* the kernel does not tell the user: before Linux 5.3 */

/* An abstract UNIX socket. `name` has no zero byte in front, and `name_bytes` count. */
struct net_diag_unix {
    const char *name;
    size_t name_bytes;
    uint32_t uid; /* of the process that made the socket, in the user namespace of the caller */
    uint32_t inode;
};

typedef void net_diag_each_unix(void *ctx, const struct net_diag_unix *found);

/* Opens a socket for the questions below, about the namespace that the caller is in now. Returns a
 * descriptor,
 * or -errno. */
int net_diag_open(void);

/* Calls `each` for every abstract UNIX socket with a name that is not connected. If the kernel has no
 * UNIX_DIAG, the names are those of /proc, without users. Returns 0 or -errno. */
int net_diag_unix(int fd, net_diag_each_unix *each, void *ctx);

/* Returns whether the user `uid` has an AF_XDP socket on an interface. True too if the kernel cannot tell. */
bool net_diag_has_xdp_socket(int fd, unsigned ifindex, uint32_t uid);

#endif
