/* SPDX-License-Identifier: BSD-2-Clause */
/* poll() and select() over rsockets and other descriptors together. */
#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>

#include "verbs/rsocket/rsocket.h"

/* One that is polled: an rsocket, or NULL for another descriptor. */
struct polled {
    struct rsock *s;
    struct rs_watch watch;
};

/* How many have something now: their revents tell. Those that have nothing are armed; `*may_sleep` is
 * false if anything came to them meanwhile. One round for each, however much a peer sends. */
static int look(struct pollfd *fds, struct polled *polled, nfds_t count, bool *may_sleep)
{
    int found = 0;
    *may_sleep = true;
    for (nfds_t i = 0; i < count; i++) {
        struct rsock *s = polled[i].s;
        fds[i].revents = 0;
        if (!s)
            continue;
        rs_lock(s);
        rs_progress(s);
        fds[i].revents = rs_events(s, fds[i].events);
        if (!fds[i].revents && !rs_arm(s)) {
            *may_sleep = false;
            fds[i].revents = rs_events(s, fds[i].events);
        }
        (void)rs_serve(s);
        rs_unlock(s);
        found += fds[i].revents != 0;
    }
    return found;
}

static void enter(struct pollfd *fds, struct polled *polled, nfds_t count, int wake_fd)
{
    for (nfds_t i = 0; i < count; i++) {
        struct rsock *s = polled[i].s = rs_get(fds[i].fd);
        polled[i].watch.wake_fd = wake_fd;
        if (!s)
            continue;
        rs_lock(s);
        LIST_INSERT_HEAD(&s->watches, &polled[i].watch, entry);
        rs_unlock(s);
    }
}

static void leave(struct polled *polled, nfds_t count)
{
    for (nfds_t i = 0; i < count; i++) {
        struct rsock *s = polled[i].s;
        if (!s)
            continue;
        rs_lock(s);
        LIST_REMOVE(&polled[i].watch, entry);
        rs_unlock(s);
        rs_put(s);
    }
}

/* Into `real`, which is one longer, the descriptors for poll(): rsockets are readable when there may be
 * something. */
static void prepare(const struct pollfd *fds, const struct polled *polled, nfds_t count, int wake_fd,
                    struct pollfd *real)
{
    for (nfds_t i = 0; i < count; i++)
        real[i] = (struct pollfd){.fd = fds[i].fd, .events = polled[i].s ? POLLIN : fds[i].events};
    real[count] = (struct pollfd){.fd = wake_fd, .events = POLLIN};
}

/* The revents of other descriptors, and how many have any. */
static int others(struct pollfd *fds, const struct polled *polled, nfds_t count, const struct pollfd *real)
{
    int found = 0;
    for (nfds_t i = 0; i < count; i++)
        if (!polled[i].s) {
            fds[i].revents = real[i].revents;
            found += real[i].revents != 0;
        }
    return found;
}

static int wait_for(struct pollfd *fds, struct polled *polled, nfds_t count, int timeout_ms, int wake_fd,
                    struct pollfd *real)
{
    uint64_t end_ms = rs_now_ms() + (uint64_t)max_i64(timeout_ms, 0);
    prepare(fds, polled, count, wake_fd, real);
    for (;;) {
        bool may_sleep;
        int found = look(fds, polled, count, &may_sleep);
        int left_ms = timeout_ms < 0 ? -1 : (int)max_i64((int64_t)(end_ms - rs_now_ms()), 0);
        eventfd_t woken;
        if (poll(real, count + 1, found || !may_sleep ? 0 : left_ms) < 0)
            return rs_fail(errno, "the wait for %lu descriptors was ended", (unsigned long)count);
        found += others(fds, polled, count, real);
        if (real[count].revents & POLLIN)
            eventfd_read(wake_fd, &woken);
        if (found || left_ms == 0)
            return found;
    }
}

int rpoll(struct pollfd *fds, nfds_t nfds, int timeout)
{
    int wake_fd = rs_wake_fd();
    if (wake_fd < 0)
        return -1;
    struct polled *polled = calloc(nfds + 1, sizeof *polled);
    struct pollfd *real = calloc(nfds + 1, sizeof *real);
    int found = -1;
    if (polled && real) {
        enter(fds, polled, nfds, wake_fd);
        found = wait_for(fds, polled, nfds, timeout, wake_fd, real);
        int err = errno;
        leave(polled, nfds);
        errno = err;
    } else {
        verbs_fail(ENOMEM, "no memory to wait for %lu descriptors", (unsigned long)nfds);
    }
    int err = errno;
    free(polled);
    free(real);
    errno = err;
    return found;
}

/* --- select() --- */

static bool is_in(const fd_set *set, int fd)
{
    return set && FD_ISSET(fd, set);
}

static nfds_t list(int nfds, const fd_set *readfds, const fd_set *writefds, const fd_set *exceptfds,
                   struct pollfd *out)
{
    nfds_t count = 0;
    for (int fd = 0; fd < nfds; fd++) {
        int events = (is_in(readfds, fd) ? POLLIN : 0) | (is_in(writefds, fd) ? POLLOUT : 0) |
                     (is_in(exceptfds, fd) ? POLLPRI : 0);
        if (events)
            out[count++] = (struct pollfd){.fd = fd, .events = (short)events};
    }
    return count;
}

/* Of `set` only those that have one of the events, which are counted. */
static int keep(fd_set *set, const struct pollfd *fds, nfds_t count, int events, short asked)
{
    int kept = 0;
    for (nfds_t i = 0; set && i < count; i++) {
        if (!(fds[i].events & asked))
            continue;
        if (fds[i].revents & events)
            kept++;
        else
            FD_CLR(fds[i].fd, set);
    }
    return kept;
}

int rselect(int nfds, fd_set *readfds, fd_set *writefds, fd_set *exceptfds, struct timeval *timeout)
{
    int timeout_ms = timeout ? (int)(timeout->tv_sec * 1000 + (timeout->tv_usec + 999) / 1000) : -1;
    struct pollfd *fds = calloc((size_t)max_i64(nfds, 0) + 1, sizeof *fds);
    if (!fds)
        return rs_fail(ENOMEM, "no memory to select among %d descriptors", nfds);
    nfds_t count = list(nfds, readfds, writefds, exceptfds, fds);
    int found = rpoll(fds, count, timeout_ms);
    for (nfds_t i = 0; i < count && found > 0; i++)
        if (fds[i].revents & POLLNVAL)
            found = rs_fail(EBADF, "descriptor %d is none", fds[i].fd);
    if (found >= 0) {
        found = keep(readfds, fds, count, POLLIN | POLLHUP | POLLERR, POLLIN);
        found += keep(writefds, fds, count, POLLOUT | POLLERR, POLLOUT);
        found += keep(exceptfds, fds, count, POLLPRI, POLLPRI);
    }
    int err = errno;
    free(fds);
    errno = err;
    return found;
}
