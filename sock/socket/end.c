/* SPDX-License-Identifier: BSD-2-Clause */
/* The end of a socket: SMC-R first, then TCP (SMCR-CLS-01). */
#define _GNU_SOURCE
#include <sys/socket.h>

#include "sock/socket/state.h"

void smcr_sock_finish(struct smcr_sock *s)
{
    if (s->life >= SMCR_SOCK_FINISHED)
        return;
    s->life = SMCR_SOCK_FINISHED;
    if (s->conn) {
        smcr_conn_release(s->conn, false, host_now_ns());
        s->conn = NULL;
        smcr_sock_unref(s);
    }
    smcr_sock_notify(s, 0);
    smcr_sock_unref(s);
}

/* A close that resets, or one that must not wait: SO_LINGER of a TCP socket. A program can reach the one
 * beside its loan, and whatever it has set there, the service does not wait. */
static void set_tcp_linger(struct smcr_sock *s, bool on)
{
    struct linger linger = {.l_onoff = on, .l_linger = 0};
    if (s->tcp_fd >= 0)
        setsockopt(s->tcp_fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger);
}

static void close_conn(struct smcr_sock *s)
{
    struct smcr_conn_status status;
    uint64_t now_ns = host_now_ns();
    if (s->options.linger_s == 0 && s->state != SMCR_SOCK_RESET)
        smcr_conn_abort(s->conn, now_ns);
    smcr_conn_status(s->conn, &status);
    if (status.closed) {
        smcr_sock_finish(s);
        return;
    }
    /* CLOSED comes when the peer has been told, and heard. */
    smcr_conn_release(s->conn, true, now_ns);
}

void smcr_sock_drop_children(struct smcr_sock *s)
{
    for (struct smcr_sock *child = smcr_rt.all, *next; child; child = next) {
        next = child->all_next;
        if (child->parent != s)
            continue;
        child->parent = NULL;
        child->options.linger_s = 0;
        smcr_sock_final_close(child);
    }
    s->ready = NULL;
    s->ready_end = &s->ready;
    s->num_ready = s->num_negotiating = 0;
}

void smcr_sock_final_close(struct smcr_sock *s)
{
    if (smcr_sock_is_closing(s))
        return;
    s->life = SMCR_SOCK_CLOSING;
    smcr_sock_ref(s);
    smcr_sock_close_mirror(s);
    if (s->state == SMCR_SOCK_LISTENING)
        smcr_sock_drop_children(s);
    if (s->loan ? !s->is_handed_over : s->options.linger_s >= 0)
        set_tcp_linger(s, s->options.linger_s == 0);
    if (s->conn)
        close_conn(s);
    else
        smcr_sock_finish(s);
    smcr_sock_unref(s);
}
