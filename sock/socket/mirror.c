/* SPDX-License-Identifier: BSD-2-Clause */
#include "sock/socket/mirror.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* The kernel calls a UNIX socket writable while what it has in flight takes at most a quarter of its send
 * buffer. With the smallest of buffers, one byte leaves it so, and these do not. */
#define FILL_BYTES 1024
/* More edges than this are not kept: the application has not looked at the earlier ones. */
#define MAX_IN_BYTES 64

static const char filler[FILL_BYTES];

static void send_some(int fd, size_t n, int flags)
{
    ssize_t sent = send(fd, filler, n, MSG_DONTWAIT | MSG_NOSIGNAL | flags);
    (void)sent; /* EPIPE, EAGAIN: the other end is gone, or as full as it should be */
}

/* In pieces: a read ends before an urgent byte. */
static void take(int fd, size_t n)
{
    char away[FILL_BYTES + 1];
    ssize_t got = 1;
    while (n > 0 && got > 0) {
        got = recv(fd, away, n < sizeof away ? n : sizeof away, MSG_DONTWAIT);
        n -= got > 0 ? (size_t)got : 0;
    }
}

int smcr_mirror_open(struct smcr_mirror *mirror, int flags)
{
    int fds[2], on = 1, least = 0;
    struct stat st;
    memset(mirror, 0, sizeof *mirror);
    mirror->inner = -1;
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | (flags & SOCK_NONBLOCK), 0, fds) != 0)
        return -errno;
    if (!(flags & SOCK_CLOEXEC) && fcntl(fds[0], F_SETFD, 0) != 0)
        goto fail;
    /* Urgent bytes are taken with the others. */
    if (setsockopt(fds[0], SOL_SOCKET, SO_OOBINLINE, &on, sizeof on) != 0 ||
        setsockopt(fds[0], SOL_SOCKET, SO_SNDBUF, &least, sizeof least) != 0 || fstat(fds[0], &st) != 0)
        goto fail;
    /* The untaken byte that turns a close into an error. */
    send_some(fds[0], 1, 0);
    mirror->inner = fds[1];
    mirror->ino = st.st_ino;
    mirror->out = true;
    return fds[0];

fail:;
    int err = -errno;
    close(fds[0]);
    close(fds[1]);
    return err;
}

void smcr_mirror_close(struct smcr_mirror *mirror)
{
    if (mirror->inner >= 0)
        close(mirror->inner);
    mirror->inner = -1;
}

void smcr_mirror_raise_in(struct smcr_mirror *mirror, bool edge)
{
    if (mirror->inner < 0 || mirror->rdhup || (mirror->in && !edge) || mirror->in_bytes >= MAX_IN_BYTES)
        return;
    send_some(mirror->inner, 1, 0);
    mirror->in_bytes++;
    mirror->in = true;
}

void smcr_mirror_raise_pri(struct smcr_mirror *mirror)
{
    if (mirror->inner < 0 || mirror->rdhup || mirror->in_bytes >= MAX_IN_BYTES)
        return;
    send_some(mirror->inner, 1, MSG_OOB);
    mirror->in_bytes++;
    mirror->in = mirror->pri = true;
}

void smcr_mirror_raise_out(struct smcr_mirror *mirror)
{
    if (mirror->out || mirror->inner < 0)
        return;
    /* All but the last byte: the next untaken one. */
    take(mirror->inner, 1 + FILL_BYTES);
    mirror->out = true;
}

void smcr_mirror_raise_rdhup(struct smcr_mirror *mirror)
{
    if (mirror->rdhup || mirror->inner < 0)
        return;
    shutdown(mirror->inner, SHUT_WR);
    mirror->in = mirror->rdhup = true;
}

void smcr_mirror_raise_hup(struct smcr_mirror *mirror)
{
    if (mirror->hup || mirror->inner < 0)
        return;
    shutdown(mirror->inner, SHUT_RDWR);
    mirror->in = mirror->rdhup = mirror->hup = true;
}

void smcr_mirror_raise_err(struct smcr_mirror *mirror)
{
    if (mirror->err || mirror->inner < 0)
        return;
    smcr_mirror_close(mirror);
    mirror->in = mirror->out = mirror->rdhup = mirror->hup = mirror->err = true;
}

void smcr_mirror_lower_in(struct smcr_mirror *mirror, int outer)
{
    if (mirror->rdhup || mirror->in_bytes == 0)
        return;
    take(outer, mirror->in_bytes);
    mirror->in_bytes = 0;
    mirror->in = mirror->pri = false;
}

void smcr_mirror_lower_out(struct smcr_mirror *mirror, int outer)
{
    if (!mirror->out || mirror->hup)
        return;
    send_some(outer, FILL_BYTES, 0);
    send_some(outer, 1, 0);
    mirror->out = false;
}

void smcr_mirror_lower_err(struct smcr_mirror *mirror, int outer)
{
    int error;
    socklen_t len = sizeof error;
    if (mirror->err)
        getsockopt(outer, SOL_SOCKET, SO_ERROR, &error, &len);
    mirror->err = false;
}

bool smcr_mirror_is_dropped(const struct smcr_mirror *mirror)
{
    struct pollfd p = {.fd = mirror->inner, .events = 0};
    return mirror->inner >= 0 && !mirror->hup && poll(&p, 1, 0) == 1 && p.revents & POLLHUP;
}

bool smcr_mirror_has_foreign(const struct smcr_mirror *mirror)
{
    int there = 0, ours = mirror->out ? 1 : 1 + FILL_BYTES + 1;
    return mirror->inner >= 0 && ioctl(mirror->inner, FIONREAD, &there) == 0 && there > ours;
}
