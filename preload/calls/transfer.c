/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that move bytes between descriptors inside the kernel: with a lent connection they go through a
 * buffer. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "base/base.h"
#include "preload/calls/calls.h"
#include "preload/lend.h"
#include "preload/libc.h"
#include "preload/stream.h"
#include "preload/user.h"

#define CHUNK 65536u

/* A buffer of `bytes`; of the heap, since a thread may have less of a stack than that. It is freed at the end
 * of its block, also where the thread is cancelled. */
static void free_chunk(char **chunk)
{
    free(*chunk);
}
#define HEAP_CHUNK(name, bytes) __attribute__((cleanup(free_chunk))) char *name = malloc(bytes)

/* --- sendfile() --- */

/* Puts the file's place where it would be after `bytes`. */
static void advance(int in, off_t *place, off_t from, size_t bytes)
{
    if (place)
        *place = from + (off_t)bytes;
    else
        (void)lseek(in, from + (off_t)bytes, SEEK_SET);
}

/* Each chunk is read at its place and sent; what was not sent was not taken. */
static ssize_t send_file(struct conn *c, int in, off_t *place, size_t count)
{
    size_t done = 0, room = min_u64(count, CHUNK);
    ssize_t rc = 0;
    if (place && user_is_bad(place, sizeof *place))
        return -EFAULT;
    off_t from = place ? *place : lseek(in, 0, SEEK_CUR);
    if (from < 0)
        return place ? -EINVAL : -errno;
    HEAP_CHUNK(chunk, room);
    if (!chunk)
        return -ENOMEM;
    count = min_u64(count, USER_MAX_CALL);
    while (done < count) {
        size_t want = min_u64(count - done, room);
        rc = libc()->pread(in, chunk, want, from + (off_t)done);
        if (rc <= 0) {
            rc = rc < 0 ? -errno : 0;
            break;
        }
        struct iovec iov = {chunk, (size_t)rc};
        ssize_t sent = stream_send(c, &iov, 1, iov.iov_len, done + iov.iov_len < count ? MSG_MORE : 0);
        rc = sent < 0 ? sent : 0;
        done += sent > 0 ? (size_t)sent : 0;
        if (sent < (ssize_t)iov.iov_len)
            break;
    }
    if (done > 0)
        advance(in, place, from, done);
    return done > 0 ? (ssize_t)done : rc;
}

EXPORT ssize_t sendfile(int out, int in, off_t *place, size_t count)
{
    LEND_HELD c = lend_enter(out);
    ssize_t rc = c ? send_file(c, in, place, count) : 0;
    if (rc == STREAM_FELL_BACK)
        lend_back(c);
    if (!c || rc == STREAM_FELL_BACK)
        return libc()->sendfile(out, in, place, count);
    return calls_result(rc);
}

EXPORT ssize_t sendfile64(int out, int in, off64_t *place, size_t count)
{
    return sendfile(out, in, place, count);
}

/* --- splice() --- */

/* 0: the pipe has room, or the call is not to wait for it; or -errno. Of a pipe that nobody reads it is said
 * here, since who is told by SIGPIPE may not come back from it. */
static int wait_for_room(int pipe_fd, bool waits)
{
    const struct timespec at_once = {0};
    struct pollfd room = {.fd = pipe_fd, .events = POLLOUT};
    if (libc()->ppoll(&room, 1, waits ? NULL : &at_once, NULL) < 0)
        return -errno;
    if (!(room.revents & POLLERR))
        return 0;
    raise(SIGPIPE);
    return -EPIPE;
}

/* Waiting comes first, for bytes and for room: then they are moved in one step, which does not wait. Another
 * one may have been faster. SPLICE_F_NONBLOCK is about the pipe alone: splice(2). */
static ssize_t to_pipe(struct conn *c, int pipe_fd, size_t count, unsigned flags)
{
    bool waits = !(flags & SPLICE_F_NONBLOCK) && !(libc()->fcntl(pipe_fd, F_GETFL) & O_NONBLOCK);
    char byte;
    struct iovec one = {&byte, 1};
    ssize_t moved;
    do {
        moved = stream_recv(c, &one, 1, 1, MSG_PEEK);
        if (moved <= 0)
            return moved;
        int err = wait_for_room(pipe_fd, waits);
        if (err)
            return err;
        moved = borrow_splice(c->borrow, pipe_fd, count);
    } while (waits && (moved == -EAGAIN || moved == -EBUSY));
    return moved == -EBUSY ? -EAGAIN : moved;
}

static void close_both(const int *fds)
{
    libc()->close(fds[0]);
    libc()->close(fds[1]);
}

/* The first `bytes` of the pipe, of which `copy` has a copy: what is not sent stays there. */
static ssize_t send_copied(struct conn *c, int pipe_fd, const int *copy, size_t bytes, unsigned flags)
{
    HEAP_CHUNK(chunk, bytes);
    ssize_t n = chunk ? libc()->read(copy[0], chunk, bytes) : -1;
    n = n < 0 ? -errno : n;
    close_both(copy);
    if (n <= 0)
        return n;
    struct iovec iov = {chunk, (size_t)n};
    ssize_t sent = stream_send(c, &iov, 1, iov.iov_len, flags & SPLICE_F_MORE ? MSG_MORE : 0);
    for (ssize_t left = sent; left > 0; left -= n) {
        n = libc()->read(pipe_fd, chunk, (size_t)left);
        if (n <= 0)
            break;
    }
    return sent;
}

static ssize_t from_pipe(struct conn *c, int pipe_fd, size_t count, unsigned flags)
{
    int copy[2];
    if (libc()->pipe2(copy, O_CLOEXEC | O_NONBLOCK) != 0)
        return -errno;
    ssize_t n = libc()->tee(pipe_fd, copy[1], min_u64(count, CHUNK), flags & SPLICE_F_NONBLOCK);
    if (n > 0)
        return send_copied(c, pipe_fd, copy, (size_t)n, flags);
    n = n < 0 ? -errno : n;
    close_both(copy);
    return n;
}

static bool is_pipe(int fd)
{
    return libc()->fcntl(fd, F_GETPIPE_SZ) >= 0;
}

EXPORT ssize_t splice(int in, off64_t *in_place, int out, off64_t *out_place, size_t count, unsigned flags)
{
    LEND_HELD from = lend_enter(in);
    LEND_HELD to = from ? NULL : lend_enter(out);
    ssize_t rc = STREAM_FELL_BACK;
    if ((from && in_place) || (to && out_place))
        return calls_result(-ESPIPE);
    if ((from && !is_pipe(out)) || (to && !is_pipe(in)))
        return calls_result(-EINVAL);
    if ((from || to) && count == 0)
        return 0;
    if (from)
        rc = to_pipe(from, out, count, flags);
    else if (to)
        rc = from_pipe(to, in, count, flags);
    if (rc != STREAM_FELL_BACK)
        return calls_result(rc);
    if (from || to)
        lend_back(from ? from : to);
    return libc()->splice(in, in_place, out, out_place, count, flags);
}
