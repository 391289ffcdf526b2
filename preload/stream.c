/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/stream.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>

#include "base/base.h"
#include "base/now.h"
#include "preload/libc.h"
#include "preload/waiting.h"

#define ENDED (POLLERR | POLLHUP | POLLRDHUP)

/* One call, under way. */
struct call {
    struct conn *c;
    const struct iovec *iov; /* what is left of it */
    int n;
    size_t at; /* in the first */
    struct iovec begun;
    size_t done_bytes, bytes;
    int flags;
    bool waits;
    uint64_t deadline_ns; /* of the waiting; 0: not known yet */
};

static void begin(struct call *call, struct conn *c, const struct iovec *iov, int n, size_t bytes, int flags)
{
    *call = (struct call){.c = c, .iov = iov, .n = n, .bytes = bytes, .flags = flags};
    call->waits = !(flags & MSG_DONTWAIT) && !borrow_is_nonblocking(c->borrow);
}

/* `done` bytes of it are through. */
static void advance(struct call *call, size_t done)
{
    call->done_bytes += done;
    while (call->n > 0 && done >= call->iov->iov_len - call->at) {
        done -= call->iov->iov_len - call->at;
        call->at = 0;
        call->iov++;
        call->n--;
    }
    call->at += done;
}

/* The pieces of the next step: as the caller has them, who may have little room for a list of our own; of one
 * that is begun its rest, alone. */
static const struct iovec *next_pieces(struct call *call, int *n)
{
    *n = call->at > 0 ? 1 : call->n;
    if (call->at == 0)
        return call->iov;
    call->begun = (struct iovec){(char *)call->iov->iov_base + call->at, call->iov->iov_len - call->at};
    return &call->begun;
}

static uint64_t deadline_of(struct call *call, uint64_t timeout_ns)
{
    if (call->deadline_ns == 0)
        call->deadline_ns = waiting_deadline(timeout_ns);
    return call->deadline_ns;
}

/* A call that ends early ends with what it has done, if anything: the error stays for the next. */
static ssize_t result(const struct call *call, ssize_t otherwise)
{
    return call->done_bytes > 0 ? (ssize_t)call->done_bytes : otherwise;
}

/* What borrow_recv() or borrow_send() says: it may go on as TCP since its state was looked at. */
static ssize_t or_fell_back(ssize_t said)
{
    return said == -EOPNOTSUPP ? STREAM_FELL_BACK : said;
}

/* Another one who shares the connection has stopped in the middle of a call. Whether this one is to try
 * again: it may wait. */
static bool tries_again(struct call *call, uint64_t timeout_ns)
{
    pthread_testcancel();
    return call->waits && base_now_ns() < deadline_of(call, timeout_ns);
}

/* --- receiving --- */

static int wait_to_recv(struct call *call, size_t bytes)
{
    return borrow_wait(call->c->borrow, POLLIN | POLLRDHUP, bytes,
                       deadline_of(call, atomic_load(&call->c->rcvtimeo_ns)));
}

/* SO_RCVLOWAT: a call that waits does so for that much, or all that it wants. */
static size_t lowat_of(const struct call *call)
{
    return min_u64((uint64_t)atomic_load(&call->c->rcvlowat_bytes), call->bytes);
}

/* MSG_PEEK with MSG_WAITALL: what is there does not go away, so the thread waits for news. */
struct peeking {
    struct borrow_waiter *waiter;
    struct borrow *b;
};

static void end_peeking(void *ctx)
{
    struct peeking *p = ctx;
    borrow_unwatch(p->waiter, p->b);
}

static int sleep_for_news(struct peeking *p, uint64_t deadline_ns)
{
    struct timespec left;
    if (borrow_waiter_is_dropped(p->waiter)) {
        struct borrow_waiter *next = waiting_own();
        p->waiter = next ? next : p->waiter;
        return next ? borrow_watch(next, p->b) : -ENOBUFS;
    }
    if (!borrow_about_to_sleep(p->waiter))
        return 0;
    struct pollfd fds[2] = {{.fd = borrow_waiter_fd(p->waiter), .events = POLLIN},
                            {.fd = borrow_service_fd()}};
    int n = libc()->ppoll(fds, 2, waiting_left(deadline_ns, &left), NULL);
    int err = n < 0 ? -errno : n == 0 ? -EAGAIN : 0;
    borrow_awake(p->waiter);
    return err;
}

/* Whether all that is wanted is there, or no more can come. The news are taken first: what comes later is
 * news. */
static bool is_enough(struct peeking *p, size_t bytes)
{
    struct borrow *news[1];
    while (borrow_take_news(p->waiter, news, 1) > 0)
        ;
    return borrow_state(p->b) > BORROW_SMCR || borrow_readable(p->b) >= bytes || borrow_levels(p->b) & ENDED;
}

static ssize_t peek_all(struct call *call)
{
    struct peeking p = {.waiter = waiting_own(), .b = call->c->borrow};
    uint64_t deadline_ns = deadline_of(call, atomic_load(&call->c->rcvtimeo_ns));
    int err = p.waiter ? borrow_watch(p.waiter, p.b) : -ENOSPC;
    if (err) {
        ssize_t there = or_fell_back(borrow_recv(p.b, call->iov, call->n, MSG_PEEK));
        return there == -EBUSY ? -EAGAIN : there;
    }
    pthread_cleanup_push(end_peeking, &p);
    while (!err && !is_enough(&p, call->bytes))
        err = sleep_for_news(&p, deadline_ns);
    pthread_cleanup_pop(1);
    ssize_t n = borrow_state(p.b) == BORROW_TCP
                    ? STREAM_FELL_BACK
                    : or_fell_back(borrow_recv(p.b, call->iov, call->n, MSG_PEEK));
    return n == -EBUSY ? -EAGAIN : n == -EAGAIN && err ? err : n;
}

ssize_t stream_recv(struct conn *c, const struct iovec *iov, int n, size_t bytes, int flags)
{
    struct call call;
    begin(&call, c, iov, n, bytes, flags);
    int for_borrow = flags & (MSG_PEEK | MSG_OOB | MSG_TRUNC);
    bool wants_all = flags & MSG_WAITALL && !(flags & MSG_OOB) && call.waits;
    int err = 0;
    if (flags & MSG_ERRQUEUE)
        return -EAGAIN; /* nothing puts anything there */
    if (wants_all && flags & MSG_PEEK)
        return peek_all(&call);
    if (call.waits && !wants_all && atomic_load(&c->rcvlowat_bytes) > 1)
        err = wait_to_recv(&call, lowat_of(&call));
    for (;;) {
        if (borrow_state(c->borrow) == BORROW_TCP)
            return result(&call, STREAM_FELL_BACK);
        iov = next_pieces(&call, &n);
        ssize_t got = or_fell_back(borrow_recv(c->borrow, iov, n, for_borrow));
        if (got == -EBUSY && tries_again(&call, atomic_load(&c->rcvtimeo_ns)))
            continue;
        if (got == -EBUSY)
            return result(&call, -EAGAIN);
        if (got > 0)
            advance(&call, (size_t)got);
        if (got == 0 || (got > 0 && (!wants_all || call.done_bytes >= bytes)))
            return (ssize_t)call.done_bytes;
        if (got < 0 && (got != -EAGAIN || flags & MSG_OOB))
            return result(&call, got);
        if (!call.waits || err)
            return result(&call, err ? err : -EAGAIN);
        if (call.done_bytes > 0 && borrow_levels(c->borrow) & (POLLERR | POLLPRI))
            return (ssize_t)call.done_bytes; /* the error or the mark is for the next call */
        if (got < 0)
            err = wait_to_recv(&call, wants_all ? 1 : lowat_of(&call));
    }
}

/* --- sending --- */

static ssize_t broken(int flags)
{
    if (!(flags & MSG_NOSIGNAL))
        raise(SIGPIPE); /* to this thread */
    return -EPIPE;
}

ssize_t stream_send(struct conn *c, const struct iovec *iov, int n, size_t bytes, int flags)
{
    struct call call;
    begin(&call, c, iov, n, bytes, flags);
    for (;;) {
        if (borrow_state(c->borrow) == BORROW_TCP)
            return result(&call, STREAM_FELL_BACK);
        iov = next_pieces(&call, &n);
        ssize_t put = or_fell_back(
            borrow_send(c->borrow, iov, n, flags & (n == call.n ? MSG_OOB | MSG_MORE : MSG_MORE)));
        if (put == -EBUSY && tries_again(&call, atomic_load(&c->sndtimeo_ns)))
            continue;
        if (put == -EBUSY)
            return result(&call, -EAGAIN);
        if (put == -EPIPE && call.done_bytes == 0)
            return broken(flags);
        if (put < 0 && put != -EAGAIN)
            return result(&call, put);
        if (put > 0)
            advance(&call, (size_t)put);
        if (call.done_bytes >= bytes)
            return (ssize_t)call.done_bytes;
        if (!call.waits)
            return result(&call, -EAGAIN);
        if (call.done_bytes > 0 && borrow_levels(c->borrow) & POLLERR)
            return (ssize_t)call.done_bytes;
        if (put >= 0 && bytes > 0)
            continue; /* until it says that there is no room */
        int err = borrow_wait(c->borrow, POLLOUT, 0, deadline_of(&call, atomic_load(&c->sndtimeo_ns)));
        if (err)
            return result(&call, err);
    }
}
