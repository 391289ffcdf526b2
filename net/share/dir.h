/* SPDX-License-Identifier: BSD-2-Clause */
/* Where the processes that share addresses meet: a directory of the user, or one that several users share.
 * The first of these that is there and good:
 *
 *     $NORNIC_RUNTIME_DIR       if it is set, this one or none
 *     /run/nornic/shared        of all who may write there: the administrator makes it, with the sticky bit
 *     $XDG_RUNTIME_DIR/nornic   of this user; so are the others
 *     /run/user/UID/nornic
 *     /tmp/nornic-UID
 *
 * A user's own directory belongs to the user and is closed to others. Who may write in a shared one is
 * trusted with the addresses of all who meet there. Internal to net/ and service/. */
#ifndef NORNIC_NET_SHARE_DIR_H
#define NORNIC_NET_SHARE_DIR_H

#include <errno.h>
#include <stdbool.h>

#include "net/error.h"

#define NET_SHARE_SYSTEM_DIR "/run/nornic/shared"

struct net_share_dir {
    char path[72];  /* short enough that a socket's name fits behind it */
    bool is_system; /* of several users: what is made there is open to all of them */
};

#define NET_SHARE_NOWHERE (-ENOTSUP)

/* Finds the directory, and makes the user's own where it is missing. 0; NET_SHARE_NOWHERE: there is none that
 * could be used, and none was asked for; or another -errno; each with a sentence. */
int net_share_dir_find(struct net_share_dir *out, struct nornic_error *why);

#endif
