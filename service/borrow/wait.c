/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for borrowed connections: for one of them on its futex, for many by a waiter.
 *
 * Who waits on a futex also waits for the service's death: on the word that the service holds while it
 * lives. The kernel marks it when the holder dies, whatever of, and wakes one of those that wait
 * there, who wakes the rest; each process has a word of its own. So no wait needs a bound of its own, which
 * would end calls that a signal handler interrupts though it asks for them to be begun anew (SA_RESTART:
 * signal(7)). */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/high_fd.h"
#include "base/now.h"
#include "service/borrow/inner.h"

#define LOOK_AGAIN (BORROW_NS_PER_S / 5) /* where the kernel cannot wait for two futexes: before Linux 5.16 */

#ifndef FUTEX_32
#define FUTEX_32 2
#endif

/* As <linux/futex.h> has it since 5.16. */
struct wait_for {
    uint64_t value, address;
    uint32_t flags, reserved;
};

static void wake_all(_Atomic uint32_t *word)
{
    syscall(SYS_futex, word, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* 0: `seq` moved, or may have; or -errno. */
static int sleep_on(_Atomic uint32_t *seq, uint32_t seen, _Atomic uint32_t *alive, uint64_t deadline_ns)
{
    uint32_t word = atomic_load(alive);
    struct wait_for both[2] = {{seen, (uintptr_t)seq, FUTEX_32, 0}, {word, (uintptr_t)alive, FUTEX_32, 0}};
    struct timespec until = borrow_timespec(deadline_ns), *limit = deadline_ns == UINT64_MAX ? NULL : &until;
    if (!service_word_is_held(word)) /* it has died, or its memory has gone: borrow_renounce() */
        return 0;
    long n = syscall(SYS_futex_waitv, both, 2, 0, limit, CLOCK_MONOTONIC);
    if (n < 0 && errno == ENOSYS) {
        uint64_t bound_ns = base_now_ns() + LOOK_AGAIN;
        until = borrow_timespec(bound_ns < deadline_ns ? bound_ns : deadline_ns);
        n = syscall(SYS_futex, seq, FUTEX_WAIT_BITSET, seen, &until, NULL, FUTEX_BITSET_MATCH_ANY);
        if (n < 0 && errno == ETIMEDOUT && bound_ns < deadline_ns)
            return 0;
    }
    if (n >= 0 || errno == EAGAIN)
        return 0;
    return errno == ETIMEDOUT ? -EAGAIN : -errno;
}

/* The place where the C library's own calls are cancelled. */
static int sleep_cancellably(struct borrow *b, uint32_t seen, uint64_t deadline_ns)
{
    _Atomic uint32_t *alive = &b->service->life->word;
    int type;
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &type);
    int err = sleep_on(&b->block->seq, seen, alive, deadline_ns);
    pthread_setcanceltype(type, NULL);
    if (atomic_load(alive) & SERVICE_LOCK_DIED)
        wake_all(alive);
    return err;
}

/* Of bytes that are waited for: a read takes no more than there is room for, and stops before an urgent
 * byte. */
static bool has_bytes(const struct borrow *b, size_t bytes)
{
    uint64_t from = borrow_read_from(b), until = borrow_read_until(b, from);
    return until - from >= bytes || until - from >= borrow_rx(b).size ||
           (until > from && atomic_load(&b->block->mark) == until);
}

static bool is_there(const struct borrow *b, unsigned events, size_t bytes)
{
    enum borrow_state state = borrow_state(b);
    if (state != BORROW_NEGOTIATING && state != BORROW_SMCR)
        return true;
    unsigned levels = borrow_levels(b);
    if (state == BORROW_SMCR && events & POLLIN && !(levels & POLLRDHUP))
        levels = has_bytes(b, bytes) ? levels | POLLIN : levels & ~(unsigned)POLLIN;
    return levels & (events | POLLERR | POLLHUP);
}

int borrow_wait(struct borrow *b, unsigned events, size_t bytes, uint64_t deadline_ns)
{
    struct service_block *block = b->block;
    for (;;) {
        uint32_t seen = atomic_load(&block->seq);
        if (is_there(b, events, bytes))
            return 0;
        atomic_store(&block->is_waited_for, 1);
        if (is_there(b, events, bytes))
            return 0;
        int err = sleep_cancellably(b, seen, deadline_ns);
        if (err)
            return is_there(b, events, bytes) ? 0 : err;
    }
}

/* --- a waiter --- */

struct borrow_waiter {
    struct borrow_service *service;
    struct service_waiter *shared;
    uint32_t number, generation;
    int fd;
};

static int ask_for_place(struct borrow_waiter *w)
{
    struct service_request request = {.what = SERVICE_WAITER};
    struct service_answer answer;
    int fds[SERVICE_MAX_FDS];
    int err = borrow_ask(w->service, &request, -1, &answer, fds);
    if (err)
        return err;
    w->fd = high_fd(fds[0]);
    if (answer.result || answer.number >= SERVICE_WAITERS || w->fd < 0)
        return answer.result ? answer.result : -EPROTO;
    w->number = answer.number;
    w->generation = answer.generation;
    w->shared = service_waiter_at(w->service->memory, w->number);
    return 0;
}

struct borrow_waiter *borrow_waiter_new(void)
{
    struct borrow_waiter *w = calloc(1, sizeof *w);
    if (!w)
        return NULL;
    w->service = borrow_service();
    w->fd = -1;
    if (w->service && ask_for_place(w) == 0)
        return w;
    if (w->fd >= 0)
        close(w->fd);
    free(w);
    return NULL;
}

/* Else the number is another's by now, maybe of the next service. */
static bool has_place(const struct borrow_waiter *w)
{
    return !borrow_has_died(w->service) && atomic_load(&w->shared->generation) == w->generation;
}

void borrow_waiter_free(struct borrow_waiter *w)
{
    struct service_request request = {
        .what = SERVICE_NO_WAITER, .number = w->number, .generation = w->generation};
    struct service_answer answer;
    int fds[SERVICE_MAX_FDS];
    if (has_place(w)) /* one that does not answer frees it later, or with the process */
        borrow_ask(w->service, &request, -1, &answer, fds);
    close(w->fd);
    free(w);
}

int borrow_waiter_fd(const struct borrow_waiter *w)
{
    return w->fd;
}

bool borrow_waiter_is_gone(const struct borrow_waiter *w)
{
    return borrow_has_died(w->service);
}

bool borrow_waiter_is_dropped(const struct borrow_waiter *w)
{
    return !borrow_has_died(w->service) && !has_place(w);
}

/* An entry of a waiter that is no more may be taken. */
static bool is_free(const struct borrow_waiter *w, uint32_t watch)
{
    uint32_t number = service_watch_waiter(watch);
    if (watch == 0 || number >= SERVICE_WAITERS)
        return true;
    uint32_t generation = atomic_load(&service_waiter_at(w->service->memory, number)->generation);
    return service_watch(number, generation) != watch;
}

int borrow_watch(struct borrow_waiter *w, struct borrow *b)
{
    uint32_t own = service_watch(w->number, w->generation);
    if (w->service != b->service || borrow_waiter_is_dropped(w))
        return -EXDEV;
    for (unsigned i = 0; i < SERVICE_WATCHES; i++)
        if (atomic_load(&b->block->watch[i]) == own)
            return 0;
    for (unsigned i = 0; i < SERVICE_WATCHES; i++) {
        uint32_t old = atomic_load(&b->block->watch[i]);
        if (is_free(w, old) && atomic_compare_exchange_strong(&b->block->watch[i], &old, own)) {
            atomic_store(&b->block->wants_room, 1); /* its edges are wanted */
            service_bits_set(&w->shared->news, b->slot);
            return 0;
        }
    }
    return -ENOSPC;
}

void borrow_unwatch(struct borrow_waiter *w, struct borrow *b)
{
    for (unsigned i = 0; i < SERVICE_WATCHES; i++) {
        uint32_t own = service_watch(w->number, w->generation);
        atomic_compare_exchange_strong(&b->block->watch[i], &own, 0);
    }
}

unsigned borrow_take_news(struct borrow_waiter *w, struct borrow **out, unsigned max)
{
    uint32_t slots[64];
    unsigned count = 0, n;
    while (has_place(w) && count < max &&
           (n = service_bits_take(&w->shared->news, slots, max - count < 64 ? max - count : 64)) > 0)
        for (unsigned i = 0; i < n; i++) {
            struct borrow *b = __atomic_load_n(&w->service->by_slot[slots[i]], __ATOMIC_ACQUIRE);
            if (b)
                out[count++] = b;
        }
    return count;
}

/* The next waiter of this place may have said so meanwhile. */
static void no_more_asleep(struct borrow_waiter *w)
{
    uint32_t own = w->generation;
    atomic_compare_exchange_strong(&w->shared->asleep, &own, 0);
}

bool borrow_about_to_sleep(struct borrow_waiter *w)
{
    if (!has_place(w))
        return false;
    atomic_store(&w->shared->asleep, w->generation);
    if (!service_bits_any(&w->shared->news) && has_place(w))
        return true;
    no_more_asleep(w);
    return false;
}

void borrow_awake(struct borrow_waiter *w)
{
    char times[64];
    no_more_asleep(w);
    /* EAGAIN: nobody has rung. */
    while (recv(w->fd, times, sizeof times, MSG_DONTWAIT) == (ssize_t)sizeof times)
        ;
}
