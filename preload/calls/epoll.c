/* SPDX-License-Identifier: BSD-2-Clause */
/* epoll. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <time.h>

#include "base/base.h"
#include "base/now.h"
#include "preload/calls/calls.h"
#include "preload/lend.h"
#include "preload/libc.h"
#include "preload/reach.h"
#include "preload/shadow/shadow.h"
#include "preload/user.h"
#include "preload/waiting.h"

/* While lent connections keep a program busy, the kernel's are looked at this often all the same. */
#define LOOK_NS     (100 * NS_PER_US)
#define BY_TIMESPEC (-2) /* in the place of milliseconds */

static int made(int epfd)
{
    if (epfd >= 0 && reach_is_wanted())
        (void)shadow_make(epfd); /* without one lent connections are not found there, and others are */
    return epfd;
}

EXPORT int epoll_create(int size)
{
    return made(libc()->epoll_create(size));
}

EXPORT int epoll_create1(int flags)
{
    return made(libc()->epoll_create1(flags));
}

static void let_shadow_go(struct shadow **s)
{
    fds_put(*s);
}
#define SHADOW_HELD __attribute__((cleanup(let_shadow_go))) struct shadow *

EXPORT int epoll_ctl(int epfd, int op, int fd, struct epoll_event *event)
{
    SHADOW_HELD s = fds_get(epfd, &shadow_kind);
    if (!s)
        return libc()->epoll_ctl(epfd, op, fd, event);
    LEND_HELD c = fds_has(fd) ? lend_enter_any(fd) : NULL;
    if (!c || conn_state(c) == CONN_LISTENING) {
        if (op == EPOLL_CTL_ADD)
            s->has_others = true;
        return libc()->epoll_ctl(epfd, op, fd, event);
    }
    if (op != EPOLL_CTL_DEL && user_is_bad(event, sizeof *event))
        return (int)calls_result(-EFAULT);
    if (op != EPOLL_CTL_ADD && op != EPOLL_CTL_MOD && op != EPOLL_CTL_DEL)
        return (int)calls_result(-EINVAL);
    return (int)calls_result(shadow_ctl(s, op, fd, c, event));
}

/* --- waiting --- */

struct wait {
    struct shadow *s;
    int epfd;
    struct epoll_event *out;
    int max;
    uint64_t deadline_ns;
    const sigset_t *mask;
};

/* An older kernel has no epoll_pwait2(); its milliseconds are rounded up, so that nobody is too early. */
static int wait_in_kernel(const struct wait *w, uint64_t deadline_ns)
{
    struct timespec left, *timeout = waiting_left(deadline_ns, &left);
    if (libc()->epoll_pwait2) {
        int n = libc()->epoll_pwait2(w->epfd, w->out, w->max, timeout, w->mask);
        if (n >= 0 || errno != ENOSYS)
            return n;
    }
    int64_t ms = timeout ? (int64_t)timeout->tv_sec * 1000 + (timeout->tv_nsec + 999999) / 1000000 : -1;
    return libc()->epoll_pwait(w->epfd, w->out, w->max, ms < INT_MAX ? (int)ms : INT_MAX, w->mask);
}

/* Of the kernel's events, those that are the program's: not those of a connect() that has just become a
 * lent connection, about which there is nothing to tell yet. */
static int keep_own(const struct wait *w, int n)
{
    int kept = 0;
    n = shadow_without_marks(w->out, n);
    for (int i = 0; i < n; i++) {
        int fd;
        LEND_HELD c = shadow_connecting(w->s, &w->out[i], &fd);
        if (c)
            lend_settle(c, fd);
        if (!c || conn_state(c) != CONN_LENT)
            w->out[kept++] = w->out[i];
    }
    return kept;
}

/* Lent connections that are ready, behind `n` events that are there already. */
static int add_ours(const struct wait *w, int n)
{
    struct conn *fallen = NULL;
    while (n < w->max && w->s->num_ours > 0) {
        n += shadow_collect(w->s, w->out + n, w->max - n, &fallen);
        if (!fallen)
            break;
        lend_back(fallen); /* and the kernel's instance has it */
        fds_put(fallen);
    }
    return n;
}

static void woke(void *s)
{
    shadow_woke(s);
}

/* Sleeps until the kernel has events or the shadow changes: how many of the kernel's, or -1. */
static int sleep_in_kernel(const struct wait *w)
{
    int n = 0, err = 0;
    uint64_t deadline_ns = w->deadline_ns;
    if (!shadow_may_sleep(w->s))
        return 0;
    if (w->s->num_unwatched > 0)
        deadline_ns = min_u64(deadline_ns, base_now_ns() + NS_PER_MS);
    pthread_cleanup_push(woke, w->s);
    n = wait_in_kernel(w, deadline_ns);
    err = errno;
    pthread_cleanup_pop(1);
    errno = err;
    return n < 0 ? n : keep_own(w, n);
}

/* Once around: the kernel's if it is time to look there, ours, and sleep if there is neither. */
static int look(const struct wait *w)
{
    int n = 0;
    uint64_t now_ns = base_now_ns();
    if (w->s->is_our_turn) {
        w->s->is_our_turn = false;
        n = add_ours(w, 0);
        if (n > 0)
            return n;
    }
    if (w->s->has_others && (now_ns >= w->s->next_look_ns || now_ns >= w->deadline_ns)) {
        w->s->next_look_ns = now_ns + LOOK_NS;
        n = wait_in_kernel(w, 0);
        if (n < 0)
            return n;
        n = keep_own(w, n);
        w->s->is_our_turn = n == w->max;
    }
    n = add_ours(w, n);
    if (n > 0 || now_ns >= w->deadline_ns)
        return n;
    n = sleep_in_kernel(w);
    return n < 0 ? n : add_ours(w, n);
}

static int wait_for_events(struct wait *w)
{
    int n;
    if (w->max <= 0 || user_is_bad(w->out, sizeof *w->out))
        return (int)calls_result(w->max <= 0 ? -EINVAL : -EFAULT);
    do
        n = look(w);
    while (n == 0 && base_now_ns() < w->deadline_ns);
    return n;
}

/* Whether the kernel knows all that the program registered there. */
static bool is_kernels(const struct shadow *s)
{
    return s->num_ours == 0 && s->num_in_kernel == 0 && !s->has_marks;
}

static void woke_plain(void *s)
{
    shadow_woke_plain(s);
}

/* Where the program has nothing of ours, the kernel's call is the call. It counts as sleeping, so that it is
 * woken when another thread makes a connection ours. True: `*n` is what the call returns. */
static bool wait_plain(struct wait *w, const struct timespec *timeout, int timeout_ms, int *n)
{
    int err = 0;
    bool is_plain = false;
    w->s->sleepers++;
    pthread_cleanup_push(woke_plain, w->s);
    is_plain = is_kernels(w->s);
    if (is_plain && timeout_ms == BY_TIMESPEC)
        *n = libc()->epoll_pwait2(w->epfd, w->out, w->max, timeout, w->mask);
    else if (is_plain)
        *n = libc()->epoll_pwait(w->epfd, w->out, w->max, timeout_ms, w->mask);
    err = errno;
    pthread_cleanup_pop(1);
    errno = err;
    if (!is_plain || *n <= 0 || !w->s->has_marks)
        return is_plain;
    *n = keep_own(w, *n);
    return *n > 0;
}

EXPORT int epoll_pwait(int epfd, struct epoll_event *events, int max, int timeout_ms, const sigset_t *mask)
{
    int n;
    SHADOW_HELD s = fds_get(epfd, &shadow_kind);
    if (!s)
        return libc()->epoll_pwait(epfd, events, max, timeout_ms, mask);
    struct wait w = {s, epfd, events, max, 0, mask};
    if (wait_plain(&w, NULL, timeout_ms < 0 ? -1 : timeout_ms, &n))
        return n;
    w.deadline_ns = waiting_deadline(timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * NS_PER_MS);
    return wait_for_events(&w);
}

EXPORT int epoll_wait(int epfd, struct epoll_event *events, int max, int timeout_ms)
{
    return epoll_pwait(epfd, events, max, timeout_ms, NULL);
}

EXPORT int epoll_pwait2(int epfd, struct epoll_event *events, int max, const struct timespec *timeout,
                        const sigset_t *mask)
{
    int n;
    uint64_t timeout_ns;
    SHADOW_HELD s = fds_get(epfd, &shadow_kind);
    if (!s)
        return libc()->epoll_pwait2(epfd, events, max, timeout, mask);
    struct wait w = {s, epfd, events, max, 0, mask};
    if (wait_plain(&w, timeout, BY_TIMESPEC, &n))
        return n;
    if (!waiting_timespec_ns(timeout, &timeout_ns))
        return (int)calls_result(-EINVAL);
    w.deadline_ns = waiting_deadline(timeout_ns);
    return wait_for_events(&w);
}
