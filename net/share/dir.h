/* SPDX-License-Identifier: BSD-2-Clause */
/* The meeting place of processes that share addresses: a directory that belongs to their user and is closed
 * to
 * others. The first of these that is there and good; if none is, the first that can be made:
 *
 *     $NORNIC_RUNTIME_DIR       if it is set, this one or none
 *     /run/nornic/UID           root's is made by root, another user's by an administrator
 *     $XDG_RUNTIME_DIR/nornic
 *     /run/user/UID/nornic
 *     /tmp/nornic-UID           or, if another user has that name, /tmp/nornic-UID-RANDOM
 *
 * A directory that is there goes before a name that is free, so another user cannot split the processes of
 * a user by making and removing names.
 *
 * NORNIC_RUNTIME_DIR may also name a common directory: root's, with the sticky bit, writable for several
 * users. Processes of these users then share addresses, and trust each other with them. Nothing but the table
 * of addresses and the sockets beside it is ever in a common directory. Internal to net/, service/ and
 * host/keeper/. */
#ifndef NORNIC_NET_SHARE_DIR_H
#define NORNIC_NET_SHARE_DIR_H

#include <errno.h>
#include <stdbool.h>

#include "net/error.h"

struct net_share_dir {
    char path[72];  /* short enough for the name of a socket behind it */
    bool is_common; /* of several users: its files are open to all of them */
};

#define NET_SHARE_NOWHERE (-ENOTSUP)

/* Finds the directory of the table, which NORNIC_RUNTIME_DIR may make a common one. Makes the user's own if
 * it is missing. Returns 0; NET_SHARE_NOWHERE: none can be used, and none was asked for; or another -errno;
 * each with a sentence. */
int net_share_dir_find(struct net_share_dir *out, struct nornic_error *why);

/* Finds the directory that is this user's alone. NORNIC_RUNTIME_DIR counts if it is the user's own. Returns
 * as net_share_dir_find(). */
int net_share_dir_own(struct net_share_dir *out, struct nornic_error *why);

#endif
