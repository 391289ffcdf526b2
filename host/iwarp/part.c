/* SPDX-License-Identifier: BSD-2-Clause */
/* Sockets of streams that this side has ended and lets go, while the peer's end is still to come.
 *
 * A TCP that is closed with octets unread, or that gets more of them afterwards, resets the connection, and
 * what the peer has not got yet is lost with it (RFC 1122 4.2.2.13): a completed Send, a Terminate. A peer
 * may well have something to say to a queue pair that has just gone. So what comes is read, and is nobody's,
 * until the peer's FIN; the kernel has no more to do then but to acknowledge that. */
#include <errno.h>
#include <linux/sockios.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <time.h>

#include "base/base.h"
#include "host/dev/clock.h"
#include "host/iwarp/iwarp.h"

#define MOST_PARTINGS   1024u /* then the oldest is not waited for */
#define READS_PER_ROUND 4
#define LOOK_NS         (NS_PER_MS / 2) /* between looks whether all is acknowledged, which nothing tells */

struct host_iw_parting {
    struct host_iw_fd socket;
    struct host_iw *iw;
    uint64_t end_ns;
    int left_bytes; /* that the peer had to get when `end_ns` was set */
    bool is_ready;
    TAILQ_ENTRY(host_iw_parting) of_all, of_ready;
};

static void note_ready(struct host_iw_parting *p)
{
    if (!p->is_ready)
        TAILQ_INSERT_TAIL(&p->iw->partings_ready, p, of_ready);
    p->is_ready = true;
}

static bool on_ready(struct host_iw_fd *self, uint32_t events)
{
    (void)events;
    note_ready(container_of(self, struct host_iw_parting, socket));
    return true;
}

static void set_timer(struct host_iw *iw)
{
    const struct host_iw_parting *first = TAILQ_FIRST(&iw->partings); /* all of them wait as long */
    if (first)
        rdma_timer_arm(&iw->timers, &iw->partings_timer, first->end_ns);
    else
        rdma_timer_cancel(&iw->timers, &iw->partings_timer);
}

static void end(struct host_iw_parting *p)
{
    struct host_iw *iw = p->iw;
    if (p->is_ready)
        TAILQ_REMOVE(&iw->partings_ready, p, of_ready);
    TAILQ_REMOVE(&iw->partings, p, of_all);
    iw->parting_count--;
    host_iw_set_close(&iw->set, &p->socket);
    set_timer(iw);
    free(p);
}

/* What the peer's TCP has not acknowledged; our FIN counts as one. */
static int left_bytes(int fd)
{
    int bytes = 0;
    return ioctl(fd, SIOCOUTQ, &bytes) == 0 ? bytes : 0;
}

/* It is the last to be waited for. */
static void wait_for(struct host_iw_parting *p)
{
    p->left_bytes = left_bytes(p->socket.fd);
    p->end_ns = host_deadline_ns(IWARP_CLOSE_WAIT_NS);
    TAILQ_INSERT_TAIL(&p->iw->partings, p, of_all);
    set_timer(p->iw);
}

/* The FIN of the first has not come, and does not, unless it still gets what is before ours. */
static void on_time(struct rdma_timer *timer, uint64_t now_ns)
{
    struct host_iw *iw = container_of(timer, struct host_iw, partings_timer);
    struct host_iw_parting *p = TAILQ_FIRST(&iw->partings);
    (void)now_ns;
    if (left_bytes(p->socket.fd) >= p->left_bytes) {
        end(p);
        return;
    }
    TAILQ_REMOVE(&iw->partings, p, of_all);
    wait_for(p);
}

void host_iw_part_init(struct host_iw *iw)
{
    TAILQ_INIT(&iw->partings);
    TAILQ_INIT(&iw->partings_ready);
    iw->partings_timer.fire = on_time;
}

bool host_iw_part(struct host_iw *iw, struct host_iw_fd *socket)
{
    host_dev_assert_held(iw->dev);
    struct host_iw_parting *p = calloc(1, sizeof *p);
    if (!p)
        return false;
    if (iw->parting_count == MOST_PARTINGS)
        end(TAILQ_FIRST(&iw->partings));
    p->iw = iw;
    p->socket.ready = on_ready;
    host_iw_set_move(&iw->set, socket, &p->socket);
    iw->parting_count++;
    wait_for(p);
    note_ready(p); /* the set does not tell again what it has told */
    return true;
}

/* Takes what has come, and ends it with the peer's FIN, or when TCP is lost. */
static void drain(struct host_iw_parting *p)
{
    for (unsigned i = 0; i < READS_PER_ROUND; i++) {
        ssize_t n = recv(p->socket.fd, NULL, INT32_MAX, MSG_TRUNC | MSG_DONTWAIT);
        if (n > 0 || (n < 0 && errno == EINTR))
            continue;
        if (n < 0 && errno == EAGAIN) {
            TAILQ_REMOVE(&p->iw->partings_ready, p, of_ready);
            p->is_ready = false;
        } else {
            end(p);
        }
        return;
    }
}

bool host_iw_part_round(struct host_iw *iw)
{
    struct host_iw_parting *p, *next;
    bool did = !TAILQ_EMPTY(&iw->partings_ready);
    for (p = TAILQ_FIRST(&iw->partings_ready); p; p = next) {
        next = TAILQ_NEXT(p, of_ready);
        drain(p);
    }
    return did;
}

/* --- the end of the device, or of the process --- */

static bool is_ending(const struct host_iw_conn *conn)
{
    return conn->tcp == HOST_IW_OPEN && conn->qp &&
           (conn->qp->engine->state == IWARP_QP_CLOSING || conn->qp->engine->state == IWARP_QP_TERMINATE);
}

/* Whether a peer has not got all yet. */
static bool owes(struct host_iw *iw)
{
    const struct host_iw_parting *p;
    const struct host_iw_conn *conn;
    host_iw_part_round(iw);
    TAILQ_FOREACH(p, &iw->partings, of_all)
        if (left_bytes(p->socket.fd) > 0)
            return true;
    TAILQ_FOREACH(conn, &iw->conns, of_all)
        if (is_ending(conn) && (!conn->halves.is_shut || left_bytes(conn->socket.fd) > 0))
            return true;
    return false;
}

void host_iw_see_off(struct host_iw *iw, uint64_t limit_ns)
{
    static const struct timespec pause = {.tv_nsec = LOOK_NS};
    uint64_t end_ns = host_deadline_ns(limit_ns);
    for (;;) {
        host_dev_lock(iw->dev);
        bool is_over = !owes(iw) || host_now_ns() >= end_ns;
        host_dev_unlock(iw->dev);
        if (is_over)
            return;
        nanosleep(&pause, NULL);
    }
}

void host_iw_part_deinit(struct host_iw *iw)
{
    struct host_iw_parting *p, *next;
    for (p = TAILQ_FIRST(&iw->partings); p; p = next) {
        next = TAILQ_NEXT(p, of_all);
        end(p);
    }
}
