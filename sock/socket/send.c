/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/socket/state.h"
#include "sock/socket/user.h"

/* What tcp_sendmsg() returns when nothing can be sent any more. */
static ssize_t broken(struct smcr_sock *s)
{
    smcr_rt_progress(); /* the event that tells why is on its way */
    int err = s->shut & SMCR_SOCK_SHUT_WRITE && !s->error ? -EPIPE : smcr_sock_take_error(s);
    return err ? err : -EPIPE;
}

/* Whether what there is room for may be read at `bytes`: `*len` is cut where it may not. */
static bool may_take(const struct smcr_sock *s, const void *bytes, size_t *len)
{
    size_t room = smcr_conn_send_room(s->conn), part = *len < room ? *len : room;
    size_t there = smcr_user_readable(bytes, part);
    if (there < part)
        *len = there;
    return part == 0 || there > 0;
}

/* The last byte alone is urgent, so it goes alone. */
static ssize_t put_stretch(struct smcr_sock *s, struct smcr_iov *from, int flags)
{
    unsigned core_flags =
        s->options.is_nodelay && !(flags & MSG_MORE) && !s->options.is_corked ? SMCR_SEND_NODELAY : 0;
    size_t len;
    const void *bytes = smcr_iov_next(from, &len);
    if (flags & MSG_OOB && len == from->total && len > 1)
        len--;
    if (!may_take(s, bytes, &len))
        return -EFAULT;
    bool is_last = len == from->total;
    if (flags & MSG_MORE || s->options.is_corked || !is_last)
        core_flags |= SMCR_SEND_MORE;
    if (flags & MSG_OOB && is_last)
        core_flags |= SMCR_SEND_URGENT;
    ssize_t n = smcr_conn_send(s->conn, bytes, len, core_flags, smcr_rt_now_ns());
    if (n > 0)
        smcr_iov_advance(from, (size_t)n);
    return n;
}

static ssize_t put_all(struct smcr_sock *s, struct smcr_iov *from, int flags)
{
    ssize_t n = 0;
    while (from->total > 0 && n >= 0)
        n = put_stretch(s, from, flags);
    return n;
}

static ssize_t send_smcr(struct smcr_sock *s, int fd, struct smcr_iov *from, int flags)
{
    uint64_t deadline_ns = smcr_sock_deadline(s->options.sndtimeo_ns);
    size_t len = from->total;
    ssize_t rc = 0;
    if (s->state == SMCR_SOCK_RESET || s->shut & SMCR_SOCK_SHUT_WRITE)
        return broken(s);
    while (from->total > 0) {
        if (!s->conn || smcr_sock_is_closing(s))
            return -EBADF;
        rc = put_all(s, from, flags);
        if (rc != -EAGAIN)
            break;
        if (smcr_sock_is_nonblocking(fd, flags))
            break;
        rc = smcr_sock_wait(s, SMCR_SOCK_FOR_ANY, deadline_ns);
        if (rc != 0)
            break;
    }
    if (from->total < len)
        return (ssize_t)(len - from->total);
    if (rc == -EPIPE && !s->error) {
        /* As into a connection whose other end is closed: the bytes are gone, the answer is a reset (RFC
         * 9293, 3.10.7.1), which the next call tells of. */
        s->error = EPIPE;
        s->state = SMCR_SOCK_RESET;
        return (ssize_t)len;
    }
    return rc < 0 && rc != -EAGAIN && rc != -EINTR && rc != -EFAULT ? broken(s) : rc < 0 ? rc : 0;
}

/* CLC bytes that TCP has not taken come before the application's (SMCR-FBK-05). */
static ssize_t flush_clc(struct smcr_sock *s, int fd, int flags)
{
    uint64_t deadline_ns = smcr_sock_deadline(s->options.sndtimeo_ns);
    int err = 0;
    while (s->unsent_bytes > 0 && !err) {
        if (smcr_sock_is_nonblocking(fd, flags))
            return -EAGAIN;
        err = smcr_sock_wait(s, SMCR_SOCK_FOR_ANY, deadline_ns);
    }
    return err;
}

static ssize_t send_message(int fd, struct msghdr *msg, int flags)
{
    return sendmsg(fd, msg, flags);
}

static ssize_t send_tcp(struct smcr_sock *s, int fd, const struct msghdr *msg, int flags)
{
    ssize_t rc = flush_clc(s, fd, flags);
    if (rc != 0)
        return rc;
    if (!smcr_sock_is_nonblocking(fd, flags))
        return smcr_sock_in_kernel(s, send_message, (struct msghdr *)msg, flags | MSG_NOSIGNAL);
    ssize_t n = sendmsg(s->tcp_fd, msg, flags | MSG_DONTWAIT | MSG_NOSIGNAL);
    return n < 0 ? -errno : n;
}

/* Data on a SYN: no SMC-R (SMCR-REN-09). */
static ssize_t send_fast_open(struct smcr_sock *s, int fd, const struct msghdr *msg, int flags)
{
    if (s->state != SMCR_SOCK_NEW)
        return -EISCONN;
    s->offer = SMCR_SOCK_TCP_ONLY;
    ssize_t n = sendmsg(s->tcp_fd, msg, flags | MSG_NOSIGNAL | MSG_DONTWAIT);
    int err = n < 0 ? -errno : 0;
    if (err && err != -EINPROGRESS)
        return err;
    s->state = SMCR_SOCK_CONNECTING;
    s->reason = "data on the SYN (TCP fast open)";
    int watch_rc = smcr_sock_watch_tcp(s);
    smcr_sock_sync(s, fd, 0);
    return watch_rc != 0 ? watch_rc : err ? err : n;
}

static ssize_t send_any(struct smcr_sock *s, int fd, const struct msghdr *msg, struct smcr_iov *from,
                        int flags)
{
    if (flags & MSG_FASTOPEN)
        return send_fast_open(s, fd, msg, flags);
    ssize_t n = smcr_sock_wait_pending(s, fd, flags, s->options.sndtimeo_ns);
    if (n < 0)
        return n;
    if (s->state == SMCR_SOCK_FAILED && s->error != 0)
        return broken(s);
    return smcr_sock_is_smcr(s) ? send_smcr(s, fd, from, flags) : send_tcp(s, fd, msg, flags);
}

/* What poll() sees of a socket that has taken bytes, and has room for more, is what it saw before: a send
 * moves no other level. */
static bool looks_the_same(const struct smcr_sock *s, ssize_t sent)
{
    return sent > 0 && s->conn && s->state == SMCR_SOCK_SMCR && s->mirror.out &&
           smcr_conn_send_room(s->conn) > 0;
}

/* `from`: the buffers of `msg`; `err`: why it is none. */
static ssize_t send_and_leave(struct smcr_sock *s, int fd, const struct msghdr *msg, struct smcr_iov *from,
                              int err, int flags)
{
    ssize_t n = err ? err : send_any(s, fd, msg, from, flags);
    if (!smcr_sock_is_closing(s) && !looks_the_same(s, n))
        smcr_sock_sync(s, fd, 0);
    smcr_sock_unref(s);
    smcr_rt_unlock_sent();
    if (n >= 0)
        return n;
    /* Without the lock: its handler may use sockets, and need not return. */
    if (n == -EPIPE && !(flags & MSG_NOSIGNAL))
        pthread_kill(pthread_self(), SIGPIPE);
    errno = (int)-n;
    return -1;
}

ssize_t nornic_sendmsg(int fd, const struct msghdr *msg, int flags)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    struct smcr_iov from;
    if (!s)
        return sendmsg(fd, msg, flags);
    if (smcr_user_readable(msg, sizeof *msg) < sizeof *msg)
        return smcr_sock_leave_with(s, -EFAULT);
    int err = smcr_iov_open(&from, msg->msg_iov, msg->msg_iovlen);
    return send_and_leave(s, fd, msg, &from, err, flags);
}

ssize_t nornic_send(int fd, const void *bytes, size_t len_bytes, int flags)
{
    struct iovec iov = {.iov_base = (void *)bytes, .iov_len = len_bytes < SSIZE_MAX ? len_bytes : SSIZE_MAX};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    struct smcr_sock *s = smcr_sock_enter(fd);
    struct smcr_iov from;
    if (!s)
        return send(fd, bytes, len_bytes, flags);
    int err = smcr_iov_begin(&from, &iov, 1);
    return send_and_leave(s, fd, &msg, &from, err, flags);
}

ssize_t nornic_writev(int fd, const struct iovec *iov, int n)
{
    struct msghdr msg = {.msg_iov = (struct iovec *)iov, .msg_iovlen = (size_t)n};
    struct smcr_sock *s = smcr_sock_enter(fd);
    struct smcr_iov from;
    if (!s)
        return writev(fd, iov, n);
    int err = n < 0 || n > IOV_MAX ? -EINVAL : smcr_iov_open(&from, iov, (size_t)n);
    return send_and_leave(s, fd, &msg, &from, err, 0);
}

ssize_t nornic_write(int fd, const void *bytes, size_t len_bytes)
{
    struct iovec iov = {.iov_base = (void *)bytes, .iov_len = len_bytes};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};
    struct smcr_sock *s = smcr_sock_enter(fd);
    struct smcr_iov from;
    if (!s)
        return write(fd, bytes, len_bytes);
    int err = smcr_iov_begin(&from, &iov, 1);
    return send_and_leave(s, fd, &msg, &from, err, 0);
}
