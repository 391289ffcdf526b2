/* SPDX-License-Identifier: BSD-2-Clause */
/* What poll() sees of a socket, and who waits for it is woken. */
#define _GNU_SOURCE
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "sock/socket/state.h"

static short tcp_levels(const struct smcr_sock *s)
{
    struct pollfd p = {.fd = s->tcp_fd, .events = POLLIN | POLLOUT | POLLPRI | POLLRDHUP};
    return poll(&p, 1, 0) == 1 ? p.revents : 0;
}

static short broken_levels(const struct smcr_sock *s)
{
    return (short)(POLLIN | POLLOUT | POLLRDHUP | POLLHUP | (s->error ? POLLERR : 0));
}

static short smcr_levels(const struct smcr_sock *s)
{
    struct smcr_conn_status status;
    short levels = 0;
    smcr_conn_status(s->conn, &status);
    if (status.rx_ended) /* whatever is unread: SO_RCVLOWAT waits for nothing that cannot come */
        levels |= POLLIN | POLLRDHUP;
    if (status.readable_bytes >= (size_t)s->options.rcvlowat ||
        status.readable_bytes >= status.readable_max_bytes)
        levels |= POLLIN;
    if (s->shut & SMCR_SOCK_SHUT_READ)
        levels |= POLLIN | POLLRDHUP;
    if (status.writable_bytes > 0 || status.write_closed || s->shut & SMCR_SOCK_SHUT_WRITE)
        levels |= POLLOUT;
    if (status.urgent)
        levels |= POLLPRI;
    if (levels & POLLRDHUP && s->shut & SMCR_SOCK_SHUT_WRITE)
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
            return 0; /* the waiter gets the error; the socket then counts as unconnected */
        return broken_levels(s);
    case SMCR_SOCK_RESET:
        return broken_levels(s);
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
    smcr_rt_assert_locked();
    if (m->inner < 0 && !m->err)
        return; /* not accepted yet */
    short levels = levels_of(s);
    if (fd >= 0)
        lower(s, fd, levels);
    /* ERR, HUP and RDHUP before IN and OUT, or a poller sees those alone. */
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

/* To be asked for in the order in which it came. */
static void put_in_news(struct smcr_sock *s, short news)
{
    s->news = (short)(s->news | news);
    if (s->is_in_news)
        return;
    s->is_in_news = true;
    s->news_next = NULL;
    *smcr_rt.news_end = s;
    smcr_rt.news_end = &s->news_next;
}

struct smcr_sock *smcr_sock_next_news(short *news)
{
    struct smcr_sock *s = smcr_rt.lent_news;
    if (!s)
        return NULL;
    smcr_rt.lent_news = s->news_next;
    if (!smcr_rt.lent_news)
        smcr_rt.news_end = &smcr_rt.lent_news;
    s->is_in_news = false;
    *news = s->news;
    s->news = 0;
    return s;
}

void smcr_sock_notify(struct smcr_sock *s, short news)
{
    if (s->loan) {
        put_in_news(s, news);
        return;
    }
    smcr_sock_sync(s, -1, news);
    __atomic_add_fetch(&s->seq, 1, __ATOMIC_RELEASE);
    if (s->waiters == 0)
        return;
    smcr_rt.has_woken_waiter = true;
    syscall(SYS_futex, &s->seq, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

int smcr_sock_take_error(struct smcr_sock *s)
{
    int error = s->error;
    s->error = 0;
    return -error;
}
