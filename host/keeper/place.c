/* SPDX-License-Identifier: BSD-2-Clause */
/* The place of the keeper. A process makes its ledger and then looks for the keeper; the keeper removes
 * its file and then looks for ledgers. So one of them sees the other. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "host/keeper/keeper.h"
#include "net/share/ledger.h"

#define PREFIX "keeper-"
#define TRIES  16

int host_keeper_find_place(struct host_keeper_place *out)
{
    uint64_t id = 0;
    struct nornic_error why;
    out->fd = -1;
    int err = net_share_dir_own(&out->dir, &why);
    if (!err)
        err = net_share_namespace(&id);
    snprintf(out->path, sizeof out->path, "%s/" PREFIX "%" PRIx64, out->dir.path, id);
    return err;
}

/* 0: locked, and still in place; -ESTALE: another keeper has removed it meanwhile. */
static int lock_place(int fd)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    struct stat st;
    if (fcntl(fd, F_SETLK, &whole) != 0)
        return errno == EACCES ? -EAGAIN : -errno;
    if (fstat(fd, &st) != 0 || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
        return -EACCES;
    return st.st_nlink > 0 ? 0 : -ESTALE;
}

int host_keeper_take_place(struct host_keeper_place *place)
{
    int err = -ESTALE;
    for (unsigned tries = 0; tries < TRIES && err == -ESTALE; tries++) {
        place->fd = open(place->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        err = place->fd < 0 ? -errno : lock_place(place->fd);
        if (err && place->fd >= 0)
            close(place->fd);
    }
    if (err)
        place->fd = -1;
    return err;
}

void host_keeper_leave_place(struct host_keeper_place *place)
{
    unlink(place->path);
    close(place->fd);
    place->fd = -1;
}

/* --- files of other network namespaces --- */

/* Returns whether a process has the lock of a file. Does not take it: a process that looks for its
 * keeper would meet the sweeper there. A file that cannot be read counts as locked. */
static bool is_held(const struct net_share_dir *dir, const char *name)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[sizeof dir->path + NAME_MAX + 2];
    snprintf(path, sizeof path, "%s/%s", dir->path, name);
    int fd = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    if (fd < 0)
        return errno != ENOENT;
    bool is_held = fcntl(fd, F_GETLK, &whole) != 0 || whole.l_type != F_UNLCK;
    close(fd);
    return is_held;
}

/* Returns whether a file of another network namespace is forgotten: the ledger of a dead process, or the
 * place of a keeper, and there is no keeper. */
static bool is_forgotten(const struct net_share_dir *dir, const char *name, const char *own)
{
    char place[sizeof PREFIX + 16];
    bool is_ledger = strncmp(name, NET_LEDGER_PREFIX, strlen(NET_LEDGER_PREFIX)) == 0;
    if (!is_ledger && strncmp(name, PREFIX, strlen(PREFIX)) != 0)
        return false;
    const char *id = strchr(name, '-') + 1;
    int len = snprintf(place, sizeof place, PREFIX "%.*s", (int)min_u32(strcspn(id, "."), 16), id);
    return len > 0 && strcmp(place, own) != 0 && !is_held(dir, place) && !is_held(dir, name);
}

void host_keeper_sweep(const struct host_keeper_place *place)
{
    const char *own = strrchr(place->path, '/') + 1;
    char path[sizeof place->dir.path + NAME_MAX + 2];
    DIR *list = opendir(place->dir.path);
    for (const struct dirent *entry; list && (entry = readdir(list));) {
        if (!is_forgotten(&place->dir, entry->d_name, own))
            continue;
        snprintf(path, sizeof path, "%s/%s", place->dir.path, entry->d_name);
        unlink(path);
    }
    if (list)
        closedir(list);
}
