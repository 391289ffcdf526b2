/* SPDX-License-Identifier: BSD-2-Clause */
/* The place of the keeper. A process makes its ledger and then looks for the keeper; the keeper removes its file
 * and then looks for ledgers. So one of them sees the other. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "host/keeper/keeper.h"
#include "net/share/table.h"

#define TRIES 16

int host_keeper_find_place(struct host_keeper_place *out)
{
    uint64_t id = 0;
    struct nornic_error why;
    out->fd = -1;
    int err = net_share_dir_own(&out->dir, &why);
    if (!err)
        err = net_share_namespace(&id);
    snprintf(out->path, sizeof out->path, "%s/keeper-%" PRIx64, out->dir.path, id);
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
