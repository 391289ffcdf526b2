/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* secure_getenv() */
#include "net/share/dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_MAY_WRITE (S_IWGRP | S_IWOTH)

/* 0 where `path` is a directory of this user that is closed to others, or one that its administrator has
 * opened to several: there the sticky bit keeps what one has made from the others. */
static int judge(const char *path, struct net_share_dir *out)
{
    struct stat st;
    if (lstat(path, &st) != 0)
        return -errno;
    if (!S_ISDIR(st.st_mode))
        return -ENOTDIR;
    bool is_own = st.st_uid == geteuid() && !(st.st_mode & (S_IRWXG | S_IRWXO));
    bool is_shared = st.st_uid == 0 && st.st_mode & OTHERS_MAY_WRITE && st.st_mode & S_ISVTX;
    if (!is_own && !is_shared)
        return -EACCES;
    if (faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) != 0)
        return -errno;
    out->is_system = is_shared;
    return 0;
}

/* `base` followed by `rest`: 0, or -errno. `is_made`: it is made where it is missing. */
static int try_path(const char *base, const char *rest, bool is_made, struct net_share_dir *out)
{
    int len = snprintf(out->path, sizeof out->path, "%s%s", base, rest);
    if (len < 0 || (size_t)len >= sizeof out->path)
        return -ENAMETOOLONG;
    if (is_made && mkdir(out->path, S_IRWXU) != 0 && errno != EEXIST)
        return -errno;
    return judge(out->path, out);
}

int net_share_dir_find(struct net_share_dir *out, struct nornic_error *why)
{
    const char *named = secure_getenv("NORNIC_RUNTIME_DIR"), *xdg = secure_getenv("XDG_RUNTIME_DIR");
    char of_user[32], in_tmp[32];
    int err;
    if (named) {
        err = try_path(named, "", false, out);
        return !err ? 0
                    : net_error_set(
                          why, -err,
                          "NORNIC_RUNTIME_DIR %s cannot be used (%s): it must be this user's own and "
                          "closed to others, or root's, writable and with the sticky bit",
                          named, strerror(-err));
    }
    snprintf(of_user, sizeof of_user, "/run/user/%u", geteuid());
    snprintf(in_tmp, sizeof in_tmp, "/tmp/nornic-%u", geteuid());
    err = try_path(NET_SHARE_SYSTEM_DIR, "", false, out);
    if (err && xdg && xdg[0] == '/')
        err = try_path(xdg, "/nornic", true, out);
    if (err)
        err = try_path(of_user, "/nornic", true, out);
    if (err)
        err = try_path(in_tmp, "", true, out);
    return !err ? 0
                : net_error_set(why, -NET_SHARE_NOWHERE, "no directory to meet in: %s: %s", in_tmp,
                                strerror(-err));
}
