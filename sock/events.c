/* SPDX-License-Identifier: BSD-2-Clause */
/* Readiness, waiting, and what the core says of a connection. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "sock/inner.h"

/* --- readiness --- */

static short tcp_levels(const struct smcr_sock *s)
{
    struct pollfd p = {.fd = s->tcp_fd, .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP};
    return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

static short smcr_levels(const struct smcr_sock *s)
{
    struct smcr_conn_status status;
    short levels = 0;
    if (s->is_reset)
        return (short)(POLLIN | POLLOUT | POLLRDHUP | POLLHUP | (s->error ? POLLERR : 0));
    smcr_conn_status(s->conn, &status);
    if (status.rx_ended) /* whatever is unread: SO_RCVLOWAT waits for nothing that cannot come */
        levels |= POLLIN | POLLRDHUP;
    if (status.readable_bytes >= (size_t)s->rcvlowat || status.readable_bytes >= status.readable_max_bytes)
        levels |= POLLIN;
    if (s->has_shut_read)
        levels |= POLLIN | POLLRDHUP;
    if (status.writable_bytes > 0 || status.write_closed || s->has_shut_write)
        levels |= POLLOUT;
    if (status.urgent)
        levels |= POLLPRI;
    if (levels & POLLRDHUP && s->has_shut_write)
        levels |= POLLHUP;
    return levels;
}

/* As poll() would see a TCP socket in this state. */
static short levels_of(const struct smcr_sock *s)
{
    switch (s->state) {
    case SMCR_SOCK_NEW:
        return POLLOUT;
    case SMCR_SOCK_LISTENING:
        return s->num_ready > 0 || s->error ? POLLIN : 0;
    case SMCR_SOCK_CONNECTING:
    case SMCR_SOCK_NEGOTIATING:
        return 0;
    case SMCR_SOCK_SMCR:
        return smcr_levels(s);
    case SMCR_SOCK_TCP:
        return tcp_levels(s);
    case SMCR_SOCK_FAILED:
        if (s->connect_waiters > 0)
            return 0; /* who waits is told, and then it is as if nothing had been */
        return (short)(POLLIN | POLLOUT | POLLRDHUP | POLLHUP | (s->error ? POLLERR : 0));
    }
    return 0;
}

static void lower(struct smcr_sock *s, int fd, short levels)
{
    struct smcr_mirror *m = &s->mirror;
    bool down = (m->in && !(levels & POLLIN)) || (m->pri && !(levels & POLLPRI)) ||
                (m->out && !(levels & POLLOUT)) || (m->err && !(levels & POLLERR));
    /* While this call waited another thread may have closed the descriptor. */
    if (!down || !smcr_sock_owns_fd(s, fd))
        return;
    if ((m->in && !(levels & POLLIN)) || (m->pri && !(levels & POLLPRI)))
        smcr_mirror_lower_in(m, fd);
    if (m->out && !(levels & POLLOUT))
        smcr_mirror_lower_out(m, fd);
    if (m->err && !(levels & POLLERR))
        smcr_mirror_lower_err(m, fd);
}

void smcr_sock_sync(struct smcr_sock *s, int fd, short news)
{
    struct smcr_mirror *m = &s->mirror;
    if (m->inner < 0 && !m->err)
        return; /* not accepted yet */
    short levels = levels_of(s);
    if (fd >= 0)
        lower(s, fd, levels);
    /* What comes with others comes first, or who polls sees it alone. */
    if (levels & POLLERR)
        smcr_mirror_raise_err(m);
    else if (levels & POLLHUP)
        smcr_mirror_raise_hup(m);
    else if (levels & POLLRDHUP)
        smcr_mirror_raise_rdhup(m);
    if (levels & POLLOUT)
        smcr_mirror_raise_out(m);
    if (levels & POLLPRI && (!m->pri || news & POLLPRI))
        smcr_mirror_raise_pri(m);
    /* A reader that waits takes it at once, and tells what is left. */
    if (levels & POLLIN && s->rx_waiters == 0)
        smcr_mirror_raise_in(m, news & POLLIN);
}

void smcr_sock_notify(struct smcr_sock *s, short news)
{
    smcr_sock_sync(s, -1, news);
    __atomic_add_fetch(&s->seq, 1, __ATOMIC_RELEASE);
    if (s->waiters == 0)
        return;
    smcr_rt.woke_waiter = true;
    syscall(SYS_futex, &s->seq, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

/* --- waiting --- */

uint64_t smcr_sock_deadline(uint64_t timeout_ns)
{
    return timeout_ns == NET_TIME_NONE ? NET_TIME_NONE : host_now_ns() + timeout_ns;
}

bool smcr_sock_is_nonblocking(int fd, int flags)
{
    if (flags & MSG_DONTWAIT)
        return true;
    int fd_flags = fcntl(fd, F_GETFL);
    return fd_flags >= 0 && fd_flags & O_NONBLOCK; /* closed by another thread: as it was, it waits */
}

/* A futex is interrupted by signals as a socket call is: without a timeout the kernel restarts it if the
 * handler asks for that (SA_RESTART), with one never (signal(7)). */
static int wait_for_change(uint32_t *seq, uint32_t seen, uint64_t deadline_ns)
{
    struct timespec left, *timeout = NULL;
    if (deadline_ns != NET_TIME_NONE) {
        uint64_t now_ns = host_now_ns();
        if (now_ns >= deadline_ns)
            return -EAGAIN;
        left.tv_sec = (time_t)((deadline_ns - now_ns) / NS_PER_S);
        left.tv_nsec = (long)((deadline_ns - now_ns) % NS_PER_S);
        timeout = &left;
    }
    if (syscall(SYS_futex, seq, FUTEX_WAIT_PRIVATE, seen, timeout, NULL, 0) == 0 || errno == EAGAIN)
        return 0;
    return errno == ETIMEDOUT ? -EAGAIN : -EINTR;
}

int smcr_sock_wait(struct smcr_sock *s, uint64_t deadline_ns)
{
    uint32_t seen = s->seq;
    if (s->is_finished)
        return -EBADF;
    if (s->state == SMCR_SOCK_SMCR && smcr_rt_look(&s->seq, seen))
        return 0;
    s->waiters++;
    smcr_rt.sleepers++;
    smcr_rt_unlock();
    int err = wait_for_change(&s->seq, seen, deadline_ns);
    smcr_rt_lock();
    smcr_rt.sleepers--;
    s->waiters--;
    return err;
}

/* --- what the core says --- */

static void ended_negotiating(struct smcr_sock *s, bool ok)
{
    if (s->parent)
        smcr_sock_child_done(s, ok);
}

static void established(struct smcr_sock *s)
{
    s->state = SMCR_SOCK_SMCR;
    s->reason = "";
    smcr_conn_set_urgent_inline(s->conn, s->oob_inline);
    if (s->keepalive)
        smcr_sock_apply_keepalive(s);
    if (s->has_shut_write)
        smcr_conn_shutdown_write(s->conn, host_now_ns());
    ended_negotiating(s, true);
}

static void fell_back(struct smcr_sock *s)
{
    struct smcr_conn_status status;
    smcr_conn_status(s->conn, &status);
    s->diagnosis = status.diagnosis;
    s->declined_by_peer = status.declined_by_peer;
    s->may_cross = status.may_cross;
    memcpy(s->peer_id, status.peer_id, sizeof s->peer_id);
    smcr_conn_destroy(s->conn, false, host_now_ns());
    s->conn = NULL;
    smcr_sock_become_tcp(s, status.reason);
    if (s->has_shut_write)
        shutdown(s->tcp_fd, SHUT_WR);
    smcr_sock_unref(s);
    ended_negotiating(s, true);
}

/* errno as TCP has it: a reset of a stream whose other side had ended means that nobody reads (tcp(7)). */
static void was_reset(struct smcr_sock *s)
{
    struct smcr_conn_status status;
    smcr_conn_status(s->conn, &status);
    s->reason = status.reason;
    s->error = status.error ? -status.error : ECONNRESET;
    if (s->state == SMCR_SOCK_SMCR && s->saw_eof && s->error == ECONNRESET)
        s->error = EPIPE;
    s->is_reset = true;
    if (s->state != SMCR_SOCK_NEGOTIATING)
        return;
    s->state = SMCR_SOCK_FAILED;
    ended_negotiating(s, false);
}

void smcr_sock_on_conn_event(struct smcr_sock *s, unsigned events)
{
    short news = 0;
    smcr_sock_ref(s);
    if (events & SMCR_EVENT_ESTABLISHED)
        established(s);
    if (events & SMCR_EVENT_FALLBACK)
        fell_back(s);
    if (events & SMCR_EVENT_RESET && s->conn)
        was_reset(s);
    if (events & SMCR_EVENT_READABLE)
        news |= POLLIN;
    if (events & SMCR_EVENT_WRITABLE)
        news |= POLLOUT;
    if (events & SMCR_EVENT_URGENT)
        news |= POLLPRI;
    if (s->state == SMCR_SOCK_SMCR && s->conn && !s->is_reset) {
        struct smcr_conn_status status;
        smcr_conn_status(s->conn, &status);
        s->saw_eof |= status.rx_ended;
    }
    smcr_sock_notify(s, news);
    if (s->is_closing && (events & SMCR_EVENT_CLOSED || !s->conn))
        smcr_sock_finish(s);
    smcr_sock_unref(s);
}

int smcr_sock_take_error(struct smcr_sock *s)
{
    int error = s->error;
    s->error = 0;
    return -error;
}
