/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening and accepting. */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "sock/socket/state.h"
#include "sock/socket/user.h"

static struct smcr_sock *take_ready(struct smcr_sock *s)
{
    struct smcr_sock *child = s->ready;
    s->ready = child->next_ready;
    if (!s->ready)
        s->ready_end = &s->ready;
    s->num_ready--;
    child->parent = NULL;
    return child;
}

/* Puts it back in front: there is no descriptor for it. */
static void put_back(struct smcr_sock *s, struct smcr_sock *child)
{
    child->next_ready = s->ready;
    if (!s->ready)
        s->ready_end = &child->next_ready;
    s->ready = child;
    s->num_ready++;
    child->parent = s;
}

static int wait_ready(struct smcr_sock *s, int fd)
{
    uint64_t deadline_ns = smcr_sock_deadline(s->options.rcvtimeo_ns);
    int err = 0;
    while (!err) {
        if (smcr_sock_is_closing(s))
            return -EBADF;
        if (s->state != SMCR_SOCK_LISTENING)
            return -EINVAL;
        int pump_err = smcr_sock_pump_listener(s);
        if (s->num_ready > 0)
            return 0;
        if (pump_err)
            return smcr_sock_take_error(s);
        if (smcr_sock_is_nonblocking(fd, 0))
            return -EAGAIN;
        err = smcr_sock_wait(s, SMCR_SOCK_FOR_ANY, deadline_ns);
    }
    return err;
}

static int accept_one(struct smcr_sock *s, int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
    int err = wait_ready(s, fd);
    if (err)
        return err;
    struct smcr_sock *child = take_ready(s);
    int new_fd = smcr_sock_add_fd(child, flags);
    if (new_fd < 0) {
        put_back(s, child);
        return new_fd;
    }
    if (addr && getpeername(child->tcp_fd, addr, len) != 0 && errno == ENOTCONN)
        *len = 0; /* it was reset meanwhile: accept(2) on Linux hands it out all the same */
    child->has_reported = true;
    smcr_sock_sync(child, new_fd, 0);
    smcr_sock_pump_listener(s);
    smcr_sock_sync(s, fd, 0);
    return new_fd;
}

/* For as much of a name as there may be. */
static bool can_name(struct sockaddr *addr, socklen_t len)
{
    size_t needed = len < sizeof(struct sockaddr_in6) ? len : sizeof(struct sockaddr_in6);
    return smcr_user_writable(addr, needed) == needed;
}

int nornic_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return accept4(fd, addr, len, flags);
    if (flags & ~(SOCK_NONBLOCK | SOCK_CLOEXEC))
        return (int)smcr_sock_leave_with(s, -EINVAL);
    if (addr && (smcr_user_writable(len, sizeof *len) < sizeof *len || !can_name(addr, *len)))
        return (int)smcr_sock_leave_with(s, -EFAULT);
    return (int)smcr_sock_leave_with(s, accept_one(s, fd, addr, len, flags));
}

int nornic_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
    return nornic_accept4(fd, addr, len, 0);
}

int nornic_listen(int fd, int backlog)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return listen(fd, backlog);
    if (s->state != SMCR_SOCK_NEW && s->state != SMCR_SOCK_LISTENING)
        return (int)smcr_sock_leave_with(s, -EINVAL);
    s->backlog = backlog < 0 || backlog > SOMAXCONN ? SOMAXCONN : backlog;
    if (s->state == SMCR_SOCK_NEW)
        smcr_sock_offer(s);
    if (listen(s->tcp_fd, backlog) != 0)
        return (int)smcr_sock_leave_with(s, -errno);
    bool is_new = s->state == SMCR_SOCK_NEW;
    s->state = SMCR_SOCK_LISTENING;
    smcr_sock_sync(s, fd, 0);
    int err = is_new ? smcr_sock_watch_tcp(s) : 0;
    return (int)smcr_sock_leave_with(s, err);
}
