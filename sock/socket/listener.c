/* SPDX-License-Identifier: BSD-2-Clause */
/* Who comes to a listener. A connection can be accepted when its negotiation has ended (SMCR-ARC-02). */
#define _GNU_SOURCE
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/base.h"
#include "sock/socket/state.h"

/* That negotiate at once for a listener: peers that hang hold no more than these. */
#define MAX_NEGOTIATING 512

/* A client that is beyond the backlog waits in the kernel's queue, as with TCP, but its CLC messages wait
 * too, and it gives up after six seconds (SMCR-CLC-12). So a listener that is full takes in who waits so
 * often. */
#define RELIEF_NS (2 * NS_PER_S)
/* But no more than so many that nobody accepts. */
#define MAX_READY 8192

static bool is_crowded(const struct smcr_sock *s)
{
    return s->num_ready > (unsigned)s->backlog;
}

static bool has_room(const struct smcr_sock *s)
{
    return !smcr_sock_is_closing(s) && s->num_negotiating < MAX_NEGOTIATING;
}

static void take_child(struct smcr_sock *s, int fd)
{
    struct smcr_sock *child = smcr_sock_new(fd);
    if (!child) {
        close(fd);
        return;
    }
    child->options = s->options; /* as in the kernel */
    child->offer = s->offer;
    child->reason = s->reason;
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

/* 0: nobody is left, or has room; or -errno. */
static int take_clients(struct smcr_sock *s, bool despite_backlog)
{
    while (has_room(s) && (despite_backlog ? s->num_ready < MAX_READY : !is_crowded(s))) {
        int fd = accept4(s->tcp_fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            take_child(s, fd);
        else if (errno != ECONNABORTED && errno != EINTR)
            return errno == EAGAIN ? 0 : -errno;
    }
    return 0;
}

static void plan_relief(struct smcr_sock *s)
{
    if (!is_crowded(s))
        s->crowded_ns = NET_TIME_NONE;
    else if (s->crowded_ns == NET_TIME_NONE)
        s->crowded_ns = host_now_ns() + RELIEF_NS;
    smcr_rt.crowded_ns = min_u64(smcr_rt.crowded_ns, s->crowded_ns);
}

/* No descriptor or memory: the application learns it from accept(), as it would from the kernel's. */
static void note_error(struct smcr_sock *s, int err)
{
    s->error = -err;
    if (err)
        smcr_sock_notify(s, POLLIN);
    else
        smcr_sock_sync(s, -1, 0);
}

int smcr_sock_pump_listener(struct smcr_sock *s)
{
    int err = take_clients(s, false);
    plan_relief(s);
    note_error(s, err);
    return err;
}

void smcr_sock_relieve_listeners(uint64_t now_ns)
{
    smcr_rt.crowded_ns = NET_TIME_NONE;
    for (struct smcr_sock *s = smcr_rt.all, *next; s; s = next) {
        next = s->all_next;
        if (s->state != SMCR_SOCK_LISTENING || s->crowded_ns == NET_TIME_NONE || smcr_sock_is_closing(s))
            continue;
        if (s->crowded_ns <= now_ns) {
            s->crowded_ns = NET_TIME_NONE;
            take_clients(s, true);
        }
        plan_relief(s);
    }
}

void smcr_sock_child_done(struct smcr_sock *child, bool is_ready)
{
    struct smcr_sock *s = child->parent;
    s->num_negotiating--;
    if (is_ready) {
        child->next_ready = NULL;
        *s->ready_end = child;
        s->ready_end = &child->next_ready;
        s->num_ready++;
        plan_relief(s);
        smcr_sock_notify(s, POLLIN);
        return;
    }
    child->parent = NULL;
    smcr_sock_final_close(child);
    if (s->num_negotiating == MAX_NEGOTIATING - 1 && s->state == SMCR_SOCK_LISTENING &&
        !smcr_sock_is_closing(s))
        smcr_sock_pump_listener(s);
}
