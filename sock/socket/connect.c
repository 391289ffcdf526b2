/* SPDX-License-Identifier: BSD-2-Clause */
/* Making, binding and connecting sockets. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/socket/state.h"

static bool is_ours(int family, int type, int protocol)
{
    return smcr_rt_is_on() && (family == AF_INET || family == AF_INET6) &&
           (type & ~(SOCK_NONBLOCK | SOCK_CLOEXEC)) == SOCK_STREAM &&
           (protocol == 0 || protocol == IPPROTO_TCP);
}

int nornic_socket(int family, int type, int protocol)
{
    if (!is_ours(family, type, protocol))
        return socket(family, type, protocol);
    int tcp_fd = socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, protocol);
    if (tcp_fd < 0)
        return -1;
    smcr_rt_lock();
    struct smcr_sock *s = smcr_sock_new(tcp_fd);
    int fd = s ? smcr_sock_add_fd(s, type) : -ENOMEM;
    if (!s)
        close(tcp_fd);
    else if (fd < 0)
        smcr_sock_unref(s);
    smcr_rt_unlock();
    if (fd >= 0)
        return fd;
    errno = -fd;
    return -1;
}

int nornic_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return bind(fd, addr, len);
    int err = bind(s->tcp_fd, addr, len) == 0 ? 0 : -errno;
    return (int)smcr_sock_leave_with(s, err);
}

/* A socket whose connecting failed may try again: its descriptor gets a fresh end, in place, if the old one
 * has shown the failure. That is so only where no call waited for the outcome, so the descriptor was looked
 * up in this very call; it is looked at again, since another thread may open another thing under its number
 * at any moment. */
static int revive(struct smcr_sock *s, int fd)
{
    int flags = smcr_sock_is_nonblocking(fd, 0) ? SOCK_NONBLOCK : 0;
    if (s->conn) {
        smcr_conn_release(s->conn, false, host_now_ns());
        s->conn = NULL;
        smcr_sock_unref(s);
    }
    smcr_sock_reset_tcp(s);
    s->error = 0;
    s->told = SMCR_SOCK_TOLD_NOTHING;
    s->state = SMCR_SOCK_NEW;
    if (s->mirror.inner >= 0)
        return 0;
    return smcr_sock_owns_fd(s, fd) ? smcr_sock_renew_fd(s, fd, flags) : -EBADF;
}

static int begin(struct smcr_sock *s, int fd, const struct sockaddr *addr, socklen_t len)
{
    smcr_sock_offer(s);
    int err = connect(s->tcp_fd, addr, len) == 0 ? 0 : -errno;
    if (err && err != -EINPROGRESS)
        return err;
    s->state = SMCR_SOCK_CONNECTING;
    s->has_reported = false;
    smcr_sock_sync(s, fd, 0);
    int watch_rc = smcr_sock_watch_tcp(s);
    if (watch_rc != 0)
        return watch_rc;
    if (!err)
        smcr_sock_on_established(s, SMCR_CLIENT);
    return 0;
}

/* How a connect() that has begun ended. Who is told of a failure has a fresh socket, as in the kernel. */
static int outcome(struct smcr_sock *s, int fd)
{
    int err = 0;
    s->has_reported = true;
    if (s->state == SMCR_SOCK_FAILED) {
        err = smcr_sock_take_error(s);
        err = err ? err : -ECONNABORTED;
        int revive_rc = revive(s, fd);
        err = revive_rc ? revive_rc : err;
    }
    smcr_sock_sync(s, fd, 0);
    return err;
}

static int wait_connected(struct smcr_sock *s, int fd)
{
    uint64_t deadline_ns = smcr_sock_deadline(s->options.sndtimeo_ns);
    int err = 0;
    while (smcr_sock_is_pending(s) && !err)
        err = smcr_sock_wait(s, SMCR_SOCK_FOR_CONNECT, deadline_ns);
    if (smcr_sock_is_pending(s))
        return err == -EAGAIN ? -EINPROGRESS : err;
    return outcome(s, fd);
}

static int connect_sock(struct smcr_sock *s, int fd, const struct sockaddr *addr, socklen_t len)
{
    bool is_first = s->state == SMCR_SOCK_NEW;
    int err = 0;
    if (s->state == SMCR_SOCK_LISTENING)
        return -EISCONN;
    if (is_first)
        err = begin(s, fd, addr, len);
    if (err)
        return err;
    if (!is_first && !smcr_sock_is_pending(s))
        return s->has_reported ? -EISCONN : outcome(s, fd);
    if (smcr_sock_is_pending(s) && smcr_sock_is_nonblocking(fd, 0))
        return is_first ? -EINPROGRESS : -EALREADY;
    return wait_connected(s, fd);
}

int nornic_connect(int fd, const struct sockaddr *addr, socklen_t len)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    return s ? (int)smcr_sock_leave_with(s, connect_sock(s, fd, addr, len)) : connect(fd, addr, len);
}

int nornic_getsockname(int fd, struct sockaddr *addr, socklen_t *len)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return getsockname(fd, addr, len);
    int err = getsockname(s->tcp_fd, addr, len) == 0 ? 0 : -errno;
    return (int)smcr_sock_leave_with(s, err);
}

int nornic_getpeername(int fd, struct sockaddr *addr, socklen_t *len)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return getpeername(fd, addr, len);
    int err = getpeername(s->tcp_fd, addr, len) == 0 ? 0 : -errno;
    return (int)smcr_sock_leave_with(s, err);
}

int nornic_socket_info(int fd, struct nornic_socket_info *out)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s) {
        errno = ENOTSOCK;
        return -1;
    }
    out->smcr = smcr_sock_is_smcr(s);
    out->reason = s->reason;
    out->diagnosis = s->fallback.diagnosis;
    out->declined_by_peer = s->fallback.is_declined_by_peer;
    smcr_sock_leave(s);
    return 0;
}

int nornic_socket_set_tcp_only(int fd, bool tcp_only)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s) {
        errno = ENOTSOCK;
        return -1;
    }
    int err = s->state == SMCR_SOCK_NEW ? 0 : -EISCONN;
    if (!err)
        s->offer = tcp_only ? SMCR_SOCK_TCP_ONLY : SMCR_SOCK_MAY_OFFER;
    return (int)smcr_sock_leave_with(s, err);
}
