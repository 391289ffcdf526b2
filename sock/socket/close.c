/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "sock/socket/state.h"

#define LOOK_NS NS_PER_MS /* how often a lingering close looks what is left */

/* SO_LINGER: until all is delivered. */
static void linger(struct smcr_sock *s)
{
    uint64_t end_ns = host_now_ns() + (uint64_t)s->options.linger_s * NS_PER_S;
    struct smcr_conn_status status;
    int err = 0;
    while (s->conn && err != -EINTR) {
        uint64_t now_ns = host_now_ns();
        smcr_conn_status(s->conn, &status);
        if (status.unsent_bytes == 0 || now_ns >= end_ns)
            return;
        err = smcr_sock_wait(s, SMCR_SOCK_FOR_ANY, now_ns + LOOK_NS < end_ns ? now_ns + LOOK_NS : end_ns);
    }
}

static bool is_last(const struct smcr_sock *s)
{
    bool can_tell = s->mirror.inner >= 0 && !s->mirror.hup;
    return can_tell ? smcr_mirror_is_dropped(&s->mirror) : s->num_fds == 0;
}

int nornic_close(int fd)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return close(fd);
    int tcp_fd = -1, err = 0;
    smcr_rt.by_fd[fd] = NULL;
    s->num_fds--;
    if (close(fd) != 0)
        err = -errno;
    if (is_last(s) && !smcr_sock_is_closing(s)) {
        bool waits = s->options.linger_s > 0;
        /* The kernel's own lingering must not keep everybody waiting. */
        if (waits && s->state == SMCR_SOCK_TCP && s->refs == 2) {
            tcp_fd = s->tcp_fd;
            smcr_rt_unwatch(tcp_fd); /* it outlives the socket */
            s->tcp_fd = -1;
        }
        smcr_sock_final_close(s);
        if (waits)
            linger(s);
    }
    err = (int)smcr_sock_leave_with(s, err);
    if (tcp_fd >= 0)
        close(tcp_fd);
    return err;
}

static int shut_listener(struct smcr_sock *s, int how)
{
    if (shutdown(s->tcp_fd, how) != 0)
        return -errno;
    if (how == SHUT_WR)
        return 0;
    smcr_sock_drop_children(s);
    s->state = SMCR_SOCK_NEW;
    return 0;
}

/* Both directions have ended and the peer knows it: TCP's CLOSED. */
static bool is_over(const struct smcr_sock *s)
{
    struct smcr_conn_status status;
    smcr_conn_status(s->conn, &status);
    return s->state == SMCR_SOCK_RESET ||
           (s->shut & SMCR_SOCK_SHUT_WRITE && status.rx_ended && status.unsent_bytes == 0);
}

static int shut_conn(struct smcr_sock *s, int how)
{
    if (is_over(s))
        return -ENOTCONN;
    if (how != SHUT_WR)
        s->shut |= SMCR_SOCK_SHUT_READ;
    if (how == SHUT_RD)
        return 0;
    s->shut |= SMCR_SOCK_SHUT_WRITE;
    if (s->state == SMCR_SOCK_SMCR)
        smcr_conn_shutdown_write(s->conn, host_now_ns());
    return 0;
}

static int shut(struct smcr_sock *s, int how)
{
    if (how != SHUT_RD && how != SHUT_WR && how != SHUT_RDWR)
        return -EINVAL;
    switch (s->state) {
    case SMCR_SOCK_LISTENING:
        return shut_listener(s, how);
    case SMCR_SOCK_NEGOTIATING:
    case SMCR_SOCK_SMCR:
    case SMCR_SOCK_RESET:
        return shut_conn(s, how);
    case SMCR_SOCK_NEW:
    case SMCR_SOCK_CONNECTING:
    case SMCR_SOCK_TCP:
    case SMCR_SOCK_FAILED:
        return shutdown(s->tcp_fd, how) == 0 ? 0 : -errno;
    }
    return 0;
}

int nornic_shutdown(int fd, int how)
{
    struct smcr_sock *s = smcr_sock_enter(fd);
    if (!s)
        return shutdown(fd, how);
    int err = shut(s, how);
    smcr_sock_sync(s, fd, 0);
    smcr_sock_notify(s, 0);
    return (int)smcr_sock_leave_with(s, err);
}
