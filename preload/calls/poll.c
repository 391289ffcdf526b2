/* SPDX-License-Identifier: BSD-2-Clause */
/* poll(), select() and their kin. Where no lent connection is among the descriptors, the kernel's. */
#define _GNU_SOURCE
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <time.h>

#include "base/base.h"
#include "base/now.h"
#include "preload/calls/calls.h"
#include "preload/lend.h"
#include "preload/libc.h"
#include "preload/shadow/shadow.h"
#include "preload/user.h"
#include "preload/waiting.h"

#define USEC_PER_SEC 1000000
#define ON_STACK     64u /* descriptors; more need memory, of the kernel's: a signal handler may poll */

/* One call. `kernel` has the same places as `fds`, with -1 where a descriptor is not the kernel's, and two
 * places more for the waiter and the service. */
struct polling {
    struct pollfd *fds;
    unsigned n;
    struct conn **conns;     /* lent, held; NULL: not */
    struct shadow **shadows; /* epoll instances that may have some, held; NULL: not */
    struct pollfd *kernel;
    unsigned num_ours, num_connecting, num_kernel, num_watched;
    struct borrow_waiter *waiter;
};

/* Of zeros; NULL: there is none. */
static void *pages_new(size_t bytes)
{
    void *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return pages == MAP_FAILED ? NULL : pages;
}

/* --- what is whose --- */

static void unwatch(struct polling *p)
{
    for (unsigned i = 0; i < p->num_watched; i++)
        if (p->conns[i])
            borrow_unwatch(p->waiter, p->conns[i]->borrow);
    p->num_watched = 0;
}

static void let_go(struct polling *p)
{
    unwatch(p);
    for (unsigned i = 0; i < p->n; i++) {
        fds_put(p->conns[i]);
        fds_put(p->shadows[i]);
        p->conns[i] = NULL;
        p->shadows[i] = NULL;
    }
}

static void find(struct polling *p)
{
    p->num_ours = p->num_connecting = p->num_kernel = 0;
    for (unsigned i = 0; i < p->n; i++) {
        int fd = p->fds[i].fd;
        p->kernel[i] = (struct pollfd){.fd = fd, .events = p->fds[i].events};
        p->conns[i] = fd >= 0 ? lend_enter(fd) : NULL;
        p->num_connecting += !p->conns[i] && lend_is_connecting(fd);
        p->shadows[i] = fd >= 0 ? fds_get(fd, &shadow_kind) : NULL;
        if (p->shadows[i] && p->shadows[i]->num_ours == 0) {
            fds_put(p->shadows[i]);
            p->shadows[i] = NULL;
        }
        p->num_ours += p->conns[i] || p->shadows[i];
        if (p->conns[i])
            p->kernel[i].fd = -1;
        else
            p->num_kernel += fd >= 0;
    }
}

/* --- what is ready --- */

static short ready_of(const struct conn *c, short events)
{
    unsigned levels = borrow_levels(c->borrow);
    levels |= (levels & POLLIN ? POLLRDNORM : 0) | (levels & POLLOUT ? POLLWRNORM : 0);
    return (short)(levels & ((unsigned)(unsigned short)events | POLLERR | POLLHUP));
}

static unsigned look_at_ours(struct polling *p)
{
    unsigned ready = 0;
    for (unsigned i = 0; i < p->n; i++) {
        p->fds[i].revents = 0;
        if (p->conns[i])
            p->fds[i].revents = ready_of(p->conns[i], p->fds[i].events);
        else if (p->shadows[i] && shadow_is_ready(p->shadows[i]))
            p->fds[i].revents = (short)(p->fds[i].events & (POLLIN | POLLRDNORM));
        ready += p->fds[i].revents != 0;
    }
    return ready;
}

/* A connect() that has just come to its end may have made a lent connection: then the socket is no longer
 * what the kernel has told of, and is to be looked at anew. */
static bool has_changed(struct polling *p)
{
    for (unsigned i = 0; i < p->n; i++) {
        if (p->conns[i]) {
            if (conn_state(p->conns[i]) != CONN_LENT || borrow_state(p->conns[i]->borrow) == BORROW_TCP)
                return true;
        } else if (p->kernel[i].revents && fds_has(p->kernel[i].fd)) {
            LEND_HELD c = lend_enter(p->kernel[i].fd);
            if (c)
                return true;
        }
    }
    return false;
}

static unsigned take_kernels(struct polling *p)
{
    unsigned ready = 0;
    for (unsigned i = 0; i < p->n; i++) {
        if (p->kernel[i].fd >= 0)
            p->fds[i].revents |= p->kernel[i].revents;
        ready += p->fds[i].revents != 0;
    }
    return ready;
}

/* --- sleeping --- */

static void end_sleep(void *ctx)
{
    struct polling *p = ctx;
    for (unsigned i = 0; i < p->n; i++)
        if (p->shadows[i])
            shadow_woke(p->shadows[i]);
    if (p->waiter)
        borrow_awake(p->waiter);
}

/* To plain TCP, of which no level tells. */
static bool has_fallen_back(const struct polling *p)
{
    for (unsigned i = 0; i < p->n; i++)
        if (p->conns[i] && borrow_state(p->conns[i]->borrow) == BORROW_TCP)
            return true;
    return false;
}

/* Whether nothing has happened to any of them since they were looked at. */
static bool may_sleep(struct polling *p)
{
    struct borrow *news[ON_STACK];
    unsigned i = 0;
    while (p->waiter && borrow_take_news(p->waiter, news, ON_STACK) > 0)
        ; /* all are looked at in any case */
    bool may =
        look_at_ours(p) == 0 && !has_fallen_back(p) && (!p->waiter || borrow_about_to_sleep(p->waiter));
    for (; may && i < p->n; i++)
        may = !p->shadows[i] || shadow_may_sleep(p->shadows[i]);
    if (may)
        return true;
    while (i-- > 1) /* take back those that had agreed; the last had not */
        if (p->shadows[i - 1])
            shadow_woke(p->shadows[i - 1]);
    if (p->waiter)
        borrow_awake(p->waiter);
    return false;
}

/* Has the waiter hear of all; one that cannot be watched is looked at every millisecond. */
static uint64_t watch(struct polling *p, uint64_t deadline_ns)
{
    p->waiter = p->num_ours > 0 ? waiting_own() : NULL;
    for (unsigned i = 0; p->waiter && i < p->n; i++) {
        if (p->conns[i] && borrow_watch(p->waiter, p->conns[i]->borrow) != 0) {
            p->num_watched = i;
            unwatch(p);
            p->waiter = NULL;
        }
    }
    p->num_watched = p->waiter ? p->n : 0;
    return p->waiter || p->num_ours == 0 ? deadline_ns : min_u64(deadline_ns, base_now_ns() + NS_PER_MS);
}

/* ppoll() of those that are the kernel's, the waiter and the service. The kernel takes no more of them than
 * the process may have descriptors: where these two are too many, lent connections are looked at every
 * millisecond. A sandbox may have taken all descriptors but one (sshd's: RLIMIT_NOFILE is 1): then the waiter
 * alone, and the service is looked at every second. */
static int sleep_in_kernel(struct polling *p, uint64_t deadline_ns, const sigset_t *mask)
{
    struct timespec left;
    struct pollfd *first = p->num_kernel > 0 ? p->kernel : p->kernel + p->n;
    nfds_t count = p->num_kernel > 0 ? p->n + 2 : 2;
    int n = libc()->ppoll(first, count, waiting_left(deadline_ns, &left), mask);
    if (n >= 0 || errno != EINVAL)
        return n;
    if (p->num_kernel > 0) {
        deadline_ns = min_u64(deadline_ns, base_now_ns() + NS_PER_MS);
        return libc()->ppoll(p->kernel, p->n, waiting_left(deadline_ns, &left), mask);
    }
    deadline_ns = min_u64(deadline_ns, base_now_ns() + NS_PER_S);
    return libc()->ppoll(first, 1, waiting_left(deadline_ns, &left), mask);
}

/* Sleeps in the kernel: what ppoll() said, 0 also where it was not worth while. */
static int sleep_with(struct polling *p, uint64_t deadline_ns, const sigset_t *mask)
{
    int n = 0, err = 0;
    deadline_ns = watch(p, deadline_ns);
    if (!may_sleep(p)) {
        unwatch(p);
        return 0;
    }
    p->kernel[p->n] = (struct pollfd){.fd = p->waiter ? borrow_waiter_fd(p->waiter) : -1, .events = POLLIN};
    p->kernel[p->n + 1] = (struct pollfd){.fd = -1};
    if (p->num_ours > 0) /* hangs up when it has gone; else nobody reaches the next */
        p->kernel[p->n + 1].fd = borrow_service_fd();
    pthread_cleanup_push(end_sleep, p);
    n = sleep_in_kernel(p, deadline_ns, mask);
    err = errno;
    pthread_cleanup_pop(1);
    unwatch(p);
    errno = err;
    return n;
}

/* --- the call --- */

/* Of the three lists, one behind the other. */
static size_t bytes_for(nfds_t n)
{
    return n * (sizeof(struct conn *) + sizeof(struct shadow *)) + (n + 2) * sizeof(struct pollfd);
}

static void end(struct polling *p)
{
    let_go(p);
    if (p->n > ON_STACK)
        munmap(p->conns, bytes_for(p->n));
}

static int poll_on(struct polling *p, uint64_t deadline_ns, const sigset_t *mask)
{
    static const struct timespec now = {0};
    for (;;) {
        unsigned ready = look_at_ours(p);
        bool is_over = deadline_ns != UINT64_MAX && base_now_ns() >= deadline_ns;
        int n = 0;
        for (unsigned i = 0; i < p->n; i++)
            p->kernel[i].revents = 0;
        if (ready == 0 && !is_over)
            n = sleep_with(p, deadline_ns, mask);
        else if (p->num_kernel > 0)
            n = libc()->ppoll(p->kernel, p->n, &now, mask);
        if (n < 0)
            return -errno;
        if (has_changed(p)) {
            let_go(p);
            find(p);
            continue;
        }
        look_at_ours(p);
        ready = take_kernels(p);
        if (ready > 0 || is_over)
            return (int)ready;
    }
}

/* As ppoll(), -errno. False: none of the descriptors is our business, and nothing was done. */
static bool poll_ours(struct pollfd *fds, nfds_t n, uint64_t timeout_ns, const sigset_t *mask, int *rc)
{
    struct conn *conns[ON_STACK] = {NULL}; /* so that a thread that is cancelled lets go of what it has */
    struct shadow *shadows[ON_STACK] = {NULL};
    struct pollfd kernel[ON_STACK + 2];
    bool any = false;
    if (n == 0 || n > INT_MAX || user_is_bad(fds, n * sizeof *fds))
        return false;
    for (nfds_t i = 0; i < n && !any; i++)
        any = fds_has(fds[i].fd);
    if (!any)
        return false;
    __attribute__((cleanup(end))) struct polling p = {
        .fds = fds, .n = (unsigned)n, .conns = conns, .shadows = shadows, .kernel = kernel};
    if (n > ON_STACK) {
        p.conns = pages_new(bytes_for(n));
        if (!p.conns) {
            p.n = 0;
            *rc = -ENOMEM;
            return true;
        }
        p.shadows = (struct shadow **)(p.conns + n);
        p.kernel = (struct pollfd *)(p.shadows + n);
    }
    find(&p);
    if (p.num_ours + p.num_connecting > 0) {
        *rc = poll_on(&p, waiting_deadline(timeout_ns), mask);
        return true;
    }
    return false;
}

EXPORT int poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    int rc;
    uint64_t timeout_ns = timeout_ms < 0 ? UINT64_MAX : (uint64_t)timeout_ms * NS_PER_MS;
    if (!poll_ours(fds, n, timeout_ns, NULL, &rc))
        return libc()->poll(fds, n, timeout_ms);
    return (int)calls_result(rc);
}

EXPORT int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
    int rc;
    uint64_t timeout_ns;
    if (!waiting_timespec_ns(timeout, &timeout_ns) || !poll_ours(fds, n, timeout_ns, mask, &rc))
        return libc()->ppoll(fds, n, timeout, mask);
    return (int)calls_result(rc);
}

/* --- select() --- */

/* The kernel's own table of which events make a descriptor readable, writable, exceptional (select(2)). */
#define SELECT_IN  (POLLRDNORM | POLLRDBAND | POLLIN | POLLHUP | POLLERR)
#define SELECT_OUT (POLLWRBAND | POLLWRNORM | POLLOUT | POLLERR)
#define SELECT_EX  POLLPRI

typedef unsigned long word; /* of an fd_set, which may be longer than FD_SETSIZE */
#define WORD_BITS (8 * sizeof(word))

static bool is_in(const fd_set *set, int fd)
{
    return set && ((const word *)set)[(unsigned)fd / WORD_BITS] >> (unsigned)fd % WORD_BITS & 1;
}

/* Sets the descriptors whose revents are among `events`, of those that were in the set: how many. */
static int put_set(fd_set *set, int n, const struct pollfd *fds, unsigned num, short asked, short events)
{
    int count = 0;
    if (!set)
        return 0;
    memset(set, 0, ((size_t)n + WORD_BITS - 1) / WORD_BITS * sizeof(word));
    for (unsigned i = 0; i < num; i++) {
        if (!(fds[i].events & asked) || !(fds[i].revents & events))
            continue;
        ((word *)set)[(unsigned)fds[i].fd / WORD_BITS] |= (word)1 << (unsigned)fds[i].fd % WORD_BITS;
        count++;
    }
    return count;
}

/* The descriptors of one call. */
struct select_list {
    struct pollfd *fds;
    unsigned num;
};

static void end_select(void *ctx)
{
    const struct select_list *list = ctx;
    if (list->num > ON_STACK)
        munmap(list->fds, list->num * sizeof *list->fds);
}

static bool select_list(const struct select_list *list, int n, fd_set *in, fd_set *out, fd_set *ex,
                        uint64_t timeout_ns, const sigset_t *mask, int *rc)
{
    struct pollfd *fds = list->fds;
    unsigned num = 0;
    for (int fd = 0; fd < n; fd++) {
        int events = (is_in(in, fd) ? POLLIN | POLLRDNORM | POLLRDBAND : 0) |
                     (is_in(out, fd) ? POLLOUT | POLLWRNORM | POLLWRBAND : 0) | (is_in(ex, fd) ? POLLPRI : 0);
        if (events)
            fds[num++] = (struct pollfd){.fd = fd, .events = (short)events};
    }
    bool is_ours = poll_ours(fds, num, timeout_ns, mask, rc);
    for (unsigned i = 0; is_ours && *rc > 0 && i < num; i++)
        if (fds[i].revents & POLLNVAL)
            *rc = -EBADF;
    if (is_ours && *rc >= 0)
        *rc = put_set(in, n, fds, num, POLLIN, SELECT_IN) + put_set(out, n, fds, num, POLLOUT, SELECT_OUT) +
              put_set(ex, n, fds, num, POLLPRI, SELECT_EX);
    return is_ours;
}

/* As pselect(), -errno; false: not our business. */
static bool select_ours(int n, fd_set *in, fd_set *out, fd_set *ex, uint64_t timeout_ns, const sigset_t *mask,
                        int *rc)
{
    struct pollfd on_stack[ON_STACK];
    bool any = false;
    unsigned num = 0;
    if (n <= 0)
        return false;
    for (int fd = 0; fd < n; fd++) {
        bool is_asked = is_in(in, fd) || is_in(out, fd) || is_in(ex, fd);
        num += is_asked;
        any |= is_asked && fds_has(fd);
    }
    if (!any)
        return false;
    struct select_list list = {.fds = on_stack, .num = num};
    if (num > ON_STACK)
        list.fds = pages_new(num * sizeof *list.fds);
    if (!list.fds)
        return *rc = -ENOMEM, true;
    bool is_ours = false;
    pthread_cleanup_push(end_select, &list);
    is_ours = select_list(&list, n, in, out, ex, timeout_ns, mask, rc);
    pthread_cleanup_pop(1);
    return is_ours;
}

EXPORT int select(int n, fd_set *in, fd_set *out, fd_set *ex, struct timeval *timeout)
{
    int rc;
    uint64_t timeout_ns = UINT64_MAX;
    if (timeout && (timeout->tv_sec < 0 || timeout->tv_usec < 0))
        return libc()->select(n, in, out, ex, timeout);
    if (timeout) { /* more microseconds than a second has are allowed */
        time_t seconds = timeout->tv_usec / USEC_PER_SEC;
        struct timespec time = {timeout->tv_sec < LONG_MAX - seconds ? timeout->tv_sec + seconds : LONG_MAX,
                                timeout->tv_usec % USEC_PER_SEC * (long)NS_PER_US};
        waiting_timespec_ns(&time, &timeout_ns);
    }
    uint64_t begun_ns = timeout ? base_now_ns() : 0;
    if (!select_ours(n, in, out, ex, timeout_ns, NULL, &rc))
        return libc()->select(n, in, out, ex, timeout);
    if (timeout) { /* Linux says what is left */
        uint64_t spent_ns = base_now_ns() - begun_ns, left_ns = timeout_ns - min_u64(timeout_ns, spent_ns);
        *timeout =
            (struct timeval){(time_t)(left_ns / NS_PER_S), (suseconds_t)(left_ns % NS_PER_S / NS_PER_US)};
    }
    return (int)calls_result(rc);
}

EXPORT int pselect(int n, fd_set *in, fd_set *out, fd_set *ex, const struct timespec *timeout,
                   const sigset_t *mask)
{
    int rc;
    uint64_t timeout_ns;
    if (!waiting_timespec_ns(timeout, &timeout_ns) || !select_ours(n, in, out, ex, timeout_ns, mask, &rc))
        return libc()->pselect(n, in, out, ex, timeout, mask);
    return (int)calls_result(rc);
}

/* --- what a C library with _FORTIFY_SOURCE has in the place of these, and other names --- */

void __chk_fail(void) __attribute__((noreturn));
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                size_t room);
int __poll(struct pollfd *fds, nfds_t n, int timeout_ms);
int __select(int n, fd_set *in, fd_set *out, fd_set *ex, struct timeval *timeout);

EXPORT int __poll_chk(struct pollfd *fds, nfds_t n, int timeout_ms, size_t room)
{
    if (room / sizeof *fds < n)
        __chk_fail();
    return poll(fds, n, timeout_ms);
}

EXPORT int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
                       size_t room)
{
    if (room / sizeof *fds < n)
        __chk_fail();
    return ppoll(fds, n, timeout, mask);
}

EXPORT int __poll(struct pollfd *fds, nfds_t n, int timeout_ms)
{
    return poll(fds, n, timeout_ms);
}

EXPORT int __select(int n, fd_set *in, fd_set *out, fd_set *ex, struct timeval *timeout)
{
    return select(n, in, out, ex, timeout);
}
