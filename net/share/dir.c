/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* secure_getenv() */
#include "net/share/dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OTHERS_MAY_WRITE (S_IWGRP | S_IWOTH)
#define PLACES           4
#define TMP              "/tmp"

/* A possible place of the user's own directory: `parent` and `name`. */
struct place {
    char parent[72], name[32];
};

/* Reads the kind, the owner and the mode of a directory that is no link. 0 or -errno. */
static int read_dir(const char *path, struct stat *st)
{
    int fd = open(path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return -errno;
    int err = fstat(fd, st) == 0 ? 0 : -errno;
    close(fd);
    return err;
}

/* Judges a directory. 0: it is this user's and closed to others, or a common one. */
static int judge(const char *path, struct net_share_dir *out)
{
    struct stat st = {0};
    int err = read_dir(path, &st);
    if (err)
        return err;
    bool is_own = st.st_uid == geteuid() && !(st.st_mode & (S_IRWXG | S_IRWXO));
    bool is_common = st.st_uid == 0 && st.st_mode & OTHERS_MAY_WRITE && st.st_mode & S_ISVTX;
    if (!is_own && !is_common)
        return -EACCES;
    if (faccessat(AT_FDCWD, path, R_OK | W_OK | X_OK, AT_EACCESS) != 0)
        return -errno;
    out->is_common = is_common;
    return 0;
}

/* Judges a directory that is to be the user's own alone. */
static int judge_own(const char *path, struct net_share_dir *out)
{
    int err = judge(path, out);
    return !err && out->is_common ? -EACCES : err;
}

/* Whether no other user can remove or rename what this user makes in a directory. */
static bool is_safe(const char *parent)
{
    struct stat st = {0};
    bool is_trusted = read_dir(parent, &st) == 0 && (st.st_uid == 0 || st.st_uid == geteuid());
    return is_trusted && (!(st.st_mode & OTHERS_MAY_WRITE) || st.st_mode & S_ISVTX);
}

static int take_path(const char *parent, const char *name, struct net_share_dir *out)
{
    int len = snprintf(out->path, sizeof out->path, "%s/%s", parent, name);
    if (len < 0 || (size_t)len >= sizeof out->path)
        return -ENAMETOOLONG;
    return is_safe(parent) ? 0 : -EACCES;
}

/* The places, in their order; an empty parent is none. */
static void name_places(struct place places[PLACES])
{
    const char *xdg = secure_getenv("XDG_RUNTIME_DIR");
    const unsigned uid = geteuid();
    memset(places, 0, PLACES * sizeof *places);
    snprintf(places[0].parent, sizeof places[0].parent, "/run/nornic");
    snprintf(places[0].name, sizeof places[0].name, "%u", uid);
    if (xdg && xdg[0] == '/' && strlen(xdg) < sizeof places[1].parent)
        snprintf(places[1].parent, sizeof places[1].parent, "%s", xdg);
    snprintf(places[1].name, sizeof places[1].name, "nornic");
    snprintf(places[2].parent, sizeof places[2].parent, "/run/user/%u", uid);
    snprintf(places[2].name, sizeof places[2].name, "nornic");
    snprintf(places[3].parent, sizeof places[3].parent, TMP);
    snprintf(places[3].name, sizeof places[3].name, "nornic-%u", uid);
}

/* --- names in /tmp that another user could not foresee --- */

/* Finds the first of these directories in the order of their names. 0 or -ENOENT. */
static int find_random(struct net_share_dir *out)
{
    char prefix[32], best[72] = "";
    struct net_share_dir dir;
    DIR *list = opendir(TMP);
    int len = snprintf(prefix, sizeof prefix, "nornic-%u-", geteuid());
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        if (strncmp(entry->d_name, prefix, (size_t)len) != 0 || take_path(TMP, entry->d_name, &dir) != 0 ||
            judge_own(dir.path, &dir) != 0)
            continue;
        if (!best[0] || strcmp(dir.path, best) < 0)
            snprintf(best, sizeof best, "%s", dir.path);
    }
    if (list)
        closedir(list);
    memcpy(out->path, best, sizeof out->path);
    return best[0] ? 0 : -ENOENT;
}

/* Makes one. Of two that are made at once both processes take the same. */
static int make_random(struct net_share_dir *out)
{
    snprintf(out->path, sizeof out->path, TMP "/nornic-%u-XXXXXX", geteuid());
    if (!is_safe(TMP))
        return -EACCES;
    return mkdtemp(out->path) ? find_random(out) : -errno;
}

/* --- the user's own --- */

static int find_made(const struct place places[PLACES], struct net_share_dir *out)
{
    int err = -ENOENT;
    for (unsigned i = 0; i < PLACES && err; i++) {
        err = places[i].parent[0] ? take_path(places[i].parent, places[i].name, out) : -ENOENT;
        if (!err)
            err = judge_own(out->path, out);
    }
    return err ? find_random(out) : 0;
}

static int make(const struct place places[PLACES], struct net_share_dir *out)
{
    int err = -ENOENT;
    if (geteuid() == 0)
        (void)mkdir(places[0].parent, 0755);
    for (unsigned i = 0; i < PLACES && err; i++) {
        err = places[i].parent[0] ? take_path(places[i].parent, places[i].name, out) : -ENOENT;
        if (!err && mkdir(out->path, S_IRWXU) != 0 && errno != EEXIST)
            err = -errno;
        if (!err)
            err = judge_own(out->path, out);
    }
    return err ? make_random(out) : 0;
}

static int find_default(struct net_share_dir *out, struct nornic_error *why)
{
    struct place places[PLACES];
    name_places(places);
    out->is_common = false;
    int err = find_made(places, out);
    if (err)
        err = make(places, out);
    out->is_common = false;
    return !err ? 0
                : net_error_set(why, -NET_SHARE_NOWHERE, "no directory of this user's own: %s: %s", out->path,
                                strerror(-err));
}

static int find_named(const char *named, struct net_share_dir *out, struct nornic_error *why)
{
    int len = snprintf(out->path, sizeof out->path, "%s", named);
    if (named[0] != '/') /* the keeper, and a program that changes its directory, would find another */
        return net_error_set(why, EINVAL,
                             "NORNIC_RUNTIME_DIR %s cannot be used: give a path that begins with /", named);
    int err = len < 0 || (size_t)len >= sizeof out->path ? -ENAMETOOLONG : judge(out->path, out);
    return !err ? 0
                : net_error_set(why, -err,
                                "NORNIC_RUNTIME_DIR %s cannot be used (%s): it must be this user's own and "
                                "closed to others, or root's, writable and with the sticky bit",
                                named, strerror(-err));
}

int net_share_dir_find(struct net_share_dir *out, struct nornic_error *why)
{
    const char *named = secure_getenv("NORNIC_RUNTIME_DIR");
    return named ? find_named(named, out, why) : find_default(out, why);
}

int net_share_dir_own(struct net_share_dir *out, struct nornic_error *why)
{
    const char *named = secure_getenv("NORNIC_RUNTIME_DIR");
    int err = named ? find_named(named, out, why) : find_default(out, why);
    return !err && out->is_common ? find_default(out, why) : err;
}
