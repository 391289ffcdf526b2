/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/socket/state.h"
#include "sock/socket/user.h"

#define SCRATCH_BYTES 16384        /* of a read with MSG_TRUNC, which throws away */
#define PEEK_BYTES    (512u << 10) /* no RMBE holds more */

/* The connection is over, or the socket is: what tcp_recvmsg() would return. */
static ssize_t end_of(struct smcr_sock *s)
{
    smcr_rt_progress(); /* the event that tells why is on its way */
    if (smcr_sock_is_closing(s))
        return -EBADF;
    return smcr_sock_take_error(s);
}

/* Whether what has arrived may be written at `bytes`: `*room` of it at most. */
static bool has_room(const struct smcr_sock *s, void *bytes, size_t *room)
{
    size_t next = smcr_conn_recv_next(s->conn);
    if (next == 0)
        return true; /* nothing will be */
    *room = smcr_user_overwritable(bytes, *room < next ? *room : next);
    return *room > 0;
}

/* One stretch of what has arrived: bytes, 0 at the end of the stream, -EAGAIN, or another -errno. */
static ssize_t take_stretch(struct smcr_sock *s, struct smcr_iov *to, int flags)
{
    char scratch[SCRATCH_BYTES];
    size_t room;
    void *bytes = smcr_iov_next(to, &room);
    if (flags & MSG_TRUNC) {
        bytes = scratch;
        room = to->total < sizeof scratch ? to->total : sizeof scratch;
    } else if (!has_room(s, bytes, &room)) {
        return -EFAULT;
    }
    ssize_t n = smcr_conn_recv(s->conn, bytes, room, 0, host_now_ns());
    if (n > 0 && flags & MSG_TRUNC)
        to->total -= (size_t)n;
    else if (n > 0)
        smcr_iov_advance(to, (size_t)n);
    return n;
}

/* What has arrived up to the end of the buffers, or to the urgent mark. */
static ssize_t take_all(struct smcr_sock *s, struct smcr_iov *to, int flags, size_t *copied)
{
    ssize_t n = -EAGAIN;
    while (to->total > 0) {
        n = take_stretch(s, to, flags);
        if (n <= 0)
            return n;
        *copied += (size_t)n;
        if (smcr_conn_at_mark(s->conn))
            return 0;
    }
    return n;
}

static ssize_t peek_scattered(struct smcr_sock *s, struct smcr_iov *to)
{
    size_t want = to->total < PEEK_BYTES ? to->total : PEEK_BYTES, put = 0;
    char *bytes = malloc(want);
    if (!bytes)
        return -ENOMEM;
    ssize_t n = smcr_conn_recv(s->conn, bytes, want, SMCR_RECV_PEEK, host_now_ns());
    while (n > 0 && put < (size_t)n) {
        size_t room, left = (size_t)n - put;
        void *at = smcr_iov_next(to, &room);
        size_t part = smcr_user_overwritable(at, left < room ? left : room);
        if (part == 0) {
            n = put > 0 ? (ssize_t)put : -EFAULT;
            break;
        }
        memcpy(at, bytes + put, part);
        smcr_iov_advance(to, part);
        put += part;
    }
    free(bytes);
    return n;
}

/* -EAGAIN: there is less than `target` bytes, and more may come. */
static ssize_t peek(struct smcr_sock *s, struct smcr_iov *to, int flags, size_t target)
{
    struct smcr_conn_status status;
    size_t room;
    smcr_conn_status(s->conn, &status);
    if (!status.error && !status.rx_ended && !(s->shut & SMCR_SOCK_SHUT_READ) &&
        status.readable_bytes < target && status.readable_bytes < status.readable_max_bytes)
        return -EAGAIN;
    void *bytes = smcr_iov_next(to, &room);
    if (flags & MSG_TRUNC && status.readable_bytes > 0) /* else: the end, an error, or nothing yet */
        return status.readable_bytes < to->total ? (ssize_t)status.readable_bytes : (ssize_t)to->total;
    if (room < to->total)
        return peek_scattered(s, to);
    if (!has_room(s, bytes, &room))
        return -EFAULT;
    return smcr_conn_recv(s->conn, bytes, room, SMCR_RECV_PEEK, host_now_ns());
}

/* A read of nothing waits for something to read, as TCP's does. */
static ssize_t look_only(struct smcr_sock *s)
{
    struct smcr_conn_status status;
    smcr_conn_status(s->conn, &status);
    return status.readable_bytes > 0 || status.rx_ended || status.error ? 0 : -EAGAIN;
}

/* What can be had now. -EAGAIN: it is worth waiting for more; what was copied so far is in `*copied`. */
static ssize_t recv_now(struct smcr_sock *s, struct smcr_iov *to, int flags, size_t target, size_t *copied)
{
    if (to->total == 0 && *copied == 0)
        return look_only(s);
    return flags & MSG_PEEK ? peek(s, to, flags, target) : take_all(s, to, flags, copied);
}

/* A call that waits no longer: a look shows what there is, however little. `why`: -EAGAIN or -EINTR. */
static ssize_t give_up(struct smcr_sock *s, struct smcr_iov *to, int flags, ssize_t why)
{
    ssize_t n = flags & MSG_PEEK && to->total > 0 && s->conn ? peek(s, to, flags, 0) : -EAGAIN;
    return n == -EAGAIN ? why : n;
}

static ssize_t recv_smcr(struct smcr_sock *s, int fd, struct smcr_iov *to, int flags)
{
    size_t len = to->total, copied = 0;
    size_t lowat = (size_t)s->options.rcvlowat < len ? (size_t)s->options.rcvlowat : len;
    size_t target = flags & MSG_WAITALL ? len : lowat;
    uint64_t deadline_ns = smcr_sock_deadline(s->options.rcvtimeo_ns);
    ssize_t n;
    for (;;) {
        if (!s->conn || smcr_sock_is_closing(s))
            return copied ? (ssize_t)copied : -EBADF;
        n = recv_now(s, to, flags, target, &copied);
        if (n != -EAGAIN || copied >= (target ? target : 1) || s->shut & SMCR_SOCK_SHUT_READ)
            break;
        ssize_t why = smcr_sock_is_nonblocking(fd, flags)
                          ? -EAGAIN
                          : smcr_sock_wait(s, SMCR_SOCK_FOR_DATA, deadline_ns);
        if (why) {
            n = give_up(s, to, flags, why);
            break;
        }
    }
    if (copied > 0)
        return (ssize_t)copied;
    if (n == -EAGAIN && s->shut & SMCR_SOCK_SHUT_READ)
        return 0;
    bool is_of_conn = n < 0 && n != -EAGAIN && n != -EINTR && n != -ENOMEM && n != -EFAULT;
    return is_of_conn ? end_of(s) : n;
}

/* MSG_OOB: the urgent byte, apart from the stream (SMCR-SOC-04). Never waits, as TCP's never does. */
static ssize_t recv_urgent(struct smcr_sock *s, struct smcr_iov *to, int flags)
{
    size_t room;
    char byte;
    void *bytes = smcr_iov_next(to, &room);
    if (s->options.is_oob_inline)
        return -EINVAL;
    if (!s->conn || s->state == SMCR_SOCK_RESET)
        return end_of(s);
    if (room > 0 && smcr_user_writable(bytes, 1) == 0)
        return -EFAULT;
    ssize_t n = smcr_conn_recv(s->conn, room > 0 && !(flags & MSG_TRUNC) ? bytes : &byte, 1,
                               SMCR_RECV_URGENT | (flags & MSG_PEEK ? SMCR_RECV_PEEK : 0), host_now_ns());
    return n > 0 && room == 0 ? 0 : n;
}

/* 0 once it is settled whether the peer's Decline comes before its data, or -EAGAIN and such. */
static int skip_crossed(struct smcr_sock *s, int fd, int flags)
{
    uint64_t deadline_ns = smcr_sock_deadline(s->options.rcvtimeo_ns);
    int err = 0;
    while (!smcr_sock_settle_crossed(s) && !err)
        err = smcr_sock_is_nonblocking(fd, flags) ? -EAGAIN
                                                  : smcr_sock_wait(s, SMCR_SOCK_FOR_DATA, deadline_ns);
    return err;
}

/* The kernel's own call: every flag, timeout and signal as it has them. Without the lock, since it may wait.
 */
static ssize_t recv_tcp(struct smcr_sock *s, int fd, struct msghdr *msg, int flags)
{
    if (!smcr_sock_is_nonblocking(fd, flags))
        return smcr_sock_in_kernel(s, recvmsg, msg, flags);
    ssize_t n = recvmsg(s->tcp_fd, msg, flags | MSG_DONTWAIT);
    return n < 0 ? -errno : n;
}

static ssize_t recv_any(struct smcr_sock *s, int fd, struct msghdr *msg, struct smcr_iov *to, int flags)
{
    ssize_t n = smcr_sock_wait_pending(s, fd, flags, s->options.rcvtimeo_ns);
    if (n < 0)
        return n;
    if (s->error != 0 && s->state == SMCR_SOCK_FAILED)
        return smcr_sock_take_error(s);
    if (s->state == SMCR_SOCK_TCP && s->fallback.may_cross && (n = skip_crossed(s, fd, flags)) != 0)
        return n;
    if (!smcr_sock_is_smcr(s))
        return recv_tcp(s, fd, msg, flags);
    msg->msg_namelen = 0;
    msg->msg_controllen = 0;
    msg->msg_flags = flags & MSG_OOB;
    if (flags & MSG_ERRQUEUE)
        return -EAGAIN;
    return flags & MSG_OOB ? recv_urgent(s, to, flags) : recv_smcr(s, fd, to, flags);
}

/* `to`: the buffers of `msg`; `err`: why it is none. */
static ssize_t recv_and_leave(struct smcr_sock *s, int fd, struct msghdr *msg, struct smcr_iov *to, int err,
                              int flags)
{
    ssize_t n = err ? err : recv_any(s, fd, msg, to, flags);
    if (!smcr_sock_is_closing(s))
        smcr_sock_sync(s, fd, 0);
    return smcr_sock_leave_with(s, n);
}

ssize_t nornic_recvmsg(int fd, struct msghdr *msg, int flags)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    struct smcr_iov to;
    if (!s)
        return recvmsg(fd, msg, flags);
    if (smcr_user_writable(msg, sizeof *msg) < sizeof *msg)
        return smcr_sock_leave_with(s, -EFAULT);
    int err = smcr_iov_open(&to, msg->msg_iov, msg->msg_iovlen);
    return recv_and_leave(s, fd, msg, &to, err, flags);
}

ssize_t nornic_recv(int fd, void *bytes, size_t len_bytes, int flags)
{
    struct iovec iov = {.iov_base = bytes, .iov_len = len_bytes < SSIZE_MAX ? len_bytes : SSIZE_MAX};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    struct smcr_sock *s = smcr_sock_enter(fd);
    struct smcr_iov to;
    if (!s)
        return recv(fd, bytes, len_bytes, flags);
    int err = smcr_iov_begin(&to, &iov, 1);
    return recv_and_leave(s, fd, &msg, &to, err, flags);
}

/* Of nothing, these return at once, unlike recv(), which waits for something to read. */
static ssize_t read_and_leave(struct smcr_sock *s, int fd, const struct iovec *iov, size_t n,
                              struct smcr_iov *to, int err)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = n};
    return err || to->total == 0 ? smcr_sock_leave_with(s, err) : recv_and_leave(s, fd, &msg, to, 0, 0);
}

ssize_t nornic_readv(int fd, const struct iovec *iov, int n)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    struct smcr_iov to;
    if (!s)
        return readv(fd, iov, n);
    int err = n < 0 || n > IOV_MAX ? -EINVAL : smcr_iov_open(&to, iov, (size_t)n);
    return read_and_leave(s, fd, iov, (size_t)n, &to, err);
}

ssize_t nornic_read(int fd, void *bytes, size_t len_bytes)
{
    struct iovec iov = {.iov_base = bytes, .iov_len = len_bytes};
    struct smcr_sock *s = smcr_sock_enter(fd);
    struct smcr_iov to;
    if (!s)
        return read(fd, bytes, len_bytes);
    int err = smcr_iov_begin(&to, &iov, 1);
    return read_and_leave(s, fd, &iov, 1, &to, err);
}
