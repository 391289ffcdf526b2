/* SPDX-License-Identifier: BSD-2-Clause */
/* Listening and accepting. A connection is handed out when its negotiation has ended (SMCR-ARC-02). */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "sock/inner.h"
#include "sock/user.h"

/* That negotiate at once for a listener: peers that hang hold no more than these. */
#define MAX_NEGOTIATING 512

static bool has_room(const struct smcr_sock *s)
{
    return !s->is_closing && s->num_ready <= (unsigned)s->backlog && s->num_negotiating < MAX_NEGOTIATING;
}

/* A child begins with its listener's options, as in the kernel. */
static void inherit(struct smcr_sock *child, const struct smcr_sock *s)
{
    child->rcvtimeo_ns = s->rcvtimeo_ns;
    child->sndtimeo_ns = s->sndtimeo_ns;
    child->rcvlowat = s->rcvlowat;
    child->oob_inline = s->oob_inline;
    child->nodelay = s->nodelay;
    child->cork = s->cork;
    child->keepalive = s->keepalive;
    child->linger_on = s->linger_on;
    child->linger_s = s->linger_s;
    child->rcvbuf_bytes = s->rcvbuf_bytes;
    child->sndbuf_bytes = s->sndbuf_bytes;
    child->wants = s->wants;
    child->reason = s->reason;
}

static void take_child(struct smcr_sock *s, int fd)
{
    struct smcr_sock *child = smcr_sock_new(fd);
    if (!child) {
        close(fd);
        return;
    }
    inherit(child, s);
    child->parent = s;
    s->num_negotiating++;
    if (smcr_sock_watch_tcp(child) != 0) {
        smcr_sock_child_done(child, false);
        return;
    }
    smcr_sock_on_established(child, SMCR_SERVER);
    if (child->state == SMCR_SOCK_TCP || child->state == SMCR_SOCK_FAILED)
        smcr_sock_child_done(child, child->state == SMCR_SOCK_TCP);
}

void smcr_sock_pump_listener(struct smcr_sock *s, int *error)
{
    *error = 0;
    while (has_room(s)) {
        int fd = accept4(s->tcp_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            take_child(s, fd);
            continue;
        }
        if (errno == ECONNABORTED || errno == EINTR)
            continue;
        *error = errno == EAGAIN ? 0 : errno;
        break;
    }
    /* No descriptor or memory: the application learns it from accept(), as it would from the kernel's. */
    s->error = *error;
    if (*error)
        smcr_sock_notify(s, POLLIN);
    else
        smcr_sock_sync(s, -1, 0);
}

void smcr_sock_child_done(struct smcr_sock *child, bool ok)
{
    struct smcr_sock *s = child->parent;
    int ignored;
    s->num_negotiating--;
    if (ok) {
        child->is_ready = true;
        child->next_ready = NULL;
        *s->ready_end = child;
        s->ready_end = &child->next_ready;
        s->num_ready++;
        smcr_sock_notify(s, POLLIN);
        return;
    }
    child->parent = NULL;
    smcr_sock_final_close(child);
    if (s->num_negotiating == MAX_NEGOTIATING - 1 && s->state == SMCR_SOCK_LISTENING && !s->is_closing)
        smcr_sock_pump_listener(s, &ignored);
}

/* As the kernel resets what nobody has accepted when a listener is closed. */
void smcr_sock_drop_children(struct smcr_sock *s)
{
    for (struct smcr_sock *child = smcr_rt.all, *next; child; child = next) {
        next = child->all_next;
        if (child->parent != s)
            continue;
        child->parent = NULL;
        child->linger_on = true;
        child->linger_s = 0;
        smcr_sock_final_close(child);
    }
    s->ready = NULL;
    s->ready_end = &s->ready;
    s->num_ready = s->num_negotiating = 0;
}

static struct smcr_sock *take_ready(struct smcr_sock *s)
{
    struct smcr_sock *child = s->ready;
    s->ready = child->next_ready;
    if (!s->ready)
        s->ready_end = &s->ready;
    s->num_ready--;
    child->parent = NULL;
    child->is_ready = false;
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
    child->is_ready = true;
}

static int wait_ready(struct smcr_sock *s, int fd)
{
    uint64_t deadline_ns = smcr_sock_deadline(s->rcvtimeo_ns);
    int error, rc = 0;
    while (rc == 0) {
        if (s->is_closing)
            return -EBADF;
        if (s->state != SMCR_SOCK_LISTENING)
            return -EINVAL;
        smcr_sock_pump_listener(s, &error);
        if (s->num_ready > 0)
            return 0;
        if (error != 0)
            return smcr_sock_take_error(s);
        if (smcr_sock_is_nonblocking(fd, 0))
            return -EAGAIN;
        rc = smcr_sock_wait(s, deadline_ns);
    }
    return rc;
}

static int accept_one(struct smcr_sock *s, int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
    int ignored, rc = wait_ready(s, fd);
    if (rc != 0)
        return rc;
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
    smcr_sock_pump_listener(s, &ignored);
    smcr_sock_sync(s, fd, 0);
    return new_fd;
}

/* For as much of a name as there may be. */
static bool can_name(struct sockaddr *addr, socklen_t len)
{
    size_t needed = len < sizeof(struct sockaddr_in6) ? len : sizeof(struct sockaddr_in6);
    return smcr_user_writable(addr, needed) == needed;
}

int smcr_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
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

int smcr_accept(int fd, struct sockaddr *addr, socklen_t *len)
{
    return smcr_accept4(fd, addr, len, 0);
}

int smcr_listen(int fd, int backlog)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return listen(fd, backlog);
    if (s->state != SMCR_SOCK_NEW && s->state != SMCR_SOCK_LISTENING)
        return (int)smcr_sock_leave_with(s, -EINVAL);
    s->backlog = backlog < 0 || backlog > SOMAXCONN ? SOMAXCONN : backlog;
    if (s->state == SMCR_SOCK_NEW) {
        s->wants = smcr_sock_may_offer(s) && smcr_rendezvous_want(smcr_rt.rendezvous, s->tcp_fd, true) == 0;
        if (!s->wants)
            s->reason = smcr_sock_why_not(s);
    }
    if (listen(s->tcp_fd, backlog) != 0)
        return (int)smcr_sock_leave_with(s, -errno);
    bool is_new = s->state == SMCR_SOCK_NEW;
    s->state = SMCR_SOCK_LISTENING;
    smcr_sock_sync(s, fd, 0);
    int err = is_new ? smcr_sock_watch_tcp(s) : 0;
    return (int)smcr_sock_leave_with(s, err);
}
