/* SPDX-License-Identifier: BSD-2-Clause */
/* What the core says of a connection, TCP of the one beside, and the kernel of the descriptor. */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "sock/socket/state.h"

/* --- what the core says --- */

static void ended_negotiating(struct smcr_sock *s, bool is_ready)
{
    if (s->parent)
        smcr_sock_child_done(s, is_ready);
}

static void established(struct smcr_sock *s)
{
    s->state = SMCR_SOCK_SMCR;
    s->reason = "";
    smcr_conn_set_urgent_inline(s->conn, s->options.is_oob_inline);
    if (s->options.is_keepalive)
        smcr_sock_apply_keepalive(s);
    if (s->shut & SMCR_SOCK_SHUT_WRITE)
        smcr_conn_shutdown_write(s->conn, host_now_ns());
    ended_negotiating(s, true);
}

static void fell_back(struct smcr_sock *s)
{
    struct smcr_conn_status status;
    smcr_conn_status(s->conn, &status);
    s->fallback = (struct smcr_sock_fallback){.diagnosis = status.diagnosis,
                                              .is_declined_by_peer = status.declined_by_peer,
                                              .may_cross = status.may_cross};
    memcpy(s->fallback.peer_id, status.peer_id, sizeof s->fallback.peer_id);
    smcr_conn_release(s->conn, false, host_now_ns());
    s->conn = NULL;
    smcr_sock_become_tcp(s, status.reason);
    if (s->shut & SMCR_SOCK_SHUT_WRITE)
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
    if (s->state == SMCR_SOCK_SMCR && s->has_seen_end && s->error == ECONNRESET)
        s->error = EPIPE;
    if (s->state == SMCR_SOCK_NEGOTIATING) {
        s->state = SMCR_SOCK_FAILED;
        ended_negotiating(s, false);
    } else {
        s->state = SMCR_SOCK_RESET;
    }
}

void smcr_sock_on_conn_event(struct smcr_sock *s, unsigned events)
{
    short news = 0;
    smcr_sock_ref(s);
    if (events & SMCR_EVENT_ESTABLISHED)
        established(s);
    if (events & SMCR_EVENT_FALLBACK)
        fell_back(s);
    if (events & SMCR_EVENT_RESET && s->conn && s->state != SMCR_SOCK_RESET)
        was_reset(s);
    if (events & SMCR_EVENT_READABLE)
        news |= POLLIN;
    if (events & SMCR_EVENT_WRITABLE)
        news |= POLLOUT;
    if (events & SMCR_EVENT_URGENT)
        news |= POLLPRI;
    if (s->state == SMCR_SOCK_SMCR && s->conn) {
        struct smcr_conn_status status;
        smcr_conn_status(s->conn, &status);
        s->has_seen_end |= status.rx_ended;
    }
    smcr_sock_notify(s, news);
    if (smcr_sock_is_closing(s) && (events & SMCR_EVENT_CLOSED || !s->conn))
        smcr_sock_finish(s);
    smcr_sock_unref(s);
}

/* --- what TCP says --- */

static void on_connect_done(struct smcr_sock *s)
{
    int error = 0;
    socklen_t len = sizeof error;
    getsockopt(s->tcp_fd, SOL_SOCKET, SO_ERROR, &error, &len);
    if (error != 0) {
        s->state = SMCR_SOCK_FAILED;
        s->error = error;
        s->reason = "the TCP connection failed";
    } else {
        smcr_sock_on_established(s, SMCR_CLIENT);
    }
    smcr_sock_notify(s, POLLOUT);
}

void smcr_sock_on_tcp(struct smcr_sock *s, uint32_t events)
{
    switch (s->state) {
    case SMCR_SOCK_NEW:
    case SMCR_SOCK_FAILED:
        break;
    case SMCR_SOCK_LISTENING:
        smcr_sock_pump_listener(s);
        break;
    case SMCR_SOCK_CONNECTING:
        if (events & (EPOLLOUT | EPOLLERR | EPOLLHUP))
            on_connect_done(s);
        break;
    case SMCR_SOCK_NEGOTIATING:
    case SMCR_SOCK_SMCR:
    case SMCR_SOCK_RESET:
        smcr_sock_send_rest(s);
        smcr_sock_offer_tcp(s);
        break;
    case SMCR_SOCK_TCP:
        smcr_sock_send_rest(s);
        smcr_sock_notify(s, (short)(events & (EPOLLIN | EPOLLOUT | EPOLLPRI)));
        break;
    }
}

/* --- what the application does to the descriptor with the kernel's own calls --- */

/* Bytes that write() or sendfile() put into the descriptor are in no stream, and nobody can tell where they
 * would belong. The call cannot be made to fail (sock/socket/mirror.h says why); so the connection is,
 * before its peer takes what follows for whole. */
static void refuse_write(struct smcr_sock *s)
{
    s->reason = "the program wrote to the descriptor by a call of the kernel's";
    s->error = EOPNOTSUPP;
    if (s->state == SMCR_SOCK_SMCR) {
        smcr_conn_abort(s->conn, host_now_ns());
        s->state = SMCR_SOCK_RESET;
    } else if (s->state != SMCR_SOCK_LISTENING && s->state != SMCR_SOCK_RESET) {
        smcr_sock_reset_tcp(s);
        s->state = SMCR_SOCK_FAILED;
    }
    smcr_sock_notify(s, 0);
}

void smcr_sock_on_inner(struct smcr_sock *s, uint32_t events)
{
    if (smcr_sock_is_closing(s))
        return;
    /* Asked again: it may have another end by now. Most events are of what we put there ourselves. */
    if (events & (EPOLLHUP | EPOLLRDHUP | EPOLLERR) && smcr_mirror_is_dropped(&s->mirror))
        smcr_sock_final_close(s);
    else if (!smcr_sock_is_pending(s) && smcr_mirror_has_foreign(&s->mirror))
        refuse_write(s);
}
