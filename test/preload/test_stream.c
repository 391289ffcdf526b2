/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls on a lent connection as they come out of its memory, in which nothing but the test plays the service.
 */
#define _GNU_SOURCE
#include "preload/stream.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "base/now.h"
#include "service/borrow/inner.h"
#include "test/service/asleep.h"
#include "test/service/lent.h"

TestSuite(stream, .timeout = 60);

static struct borrow_service service;
static struct borrow lent;
static struct conn conn;

static void set_up(void)
{
    lent_begin(&service, &lent);
    conn = (struct conn){.borrow = &lent, .rcvtimeo_ns = UINT64_MAX, .sndtimeo_ns = UINT64_MAX};
    conn.rcvlowat_bytes = 1;
}

static char ring_byte(uint64_t position)
{
    return ((const char *)service.memory + lent.block->tx_at)[position % LENT_RING_BYTES];
}

/* The peer takes all that is sent until it has `bytes`, a few at a time. */
static uint64_t to_take;
static char *taken;
static bool was_urgent_early;

static void *take(void *unused)
{
    struct service_block *block = lent.block;
    uint64_t acked = 0;
    (void)unused;
    while (acked < to_take) {
        uint64_t head = atomic_load_explicit(&block->head, memory_order_acquire);
        if (head == acked) {
            sched_yield();
            continue;
        }
        for (; acked < head; acked++)
            taken[acked] = ring_byte(acked);
        uint64_t urgent_end = atomic_load(&block->urgent_end);
        was_urgent_early |= urgent_end > 0 && urgent_end < to_take;
        atomic_store(&block->acked, acked);
        service_bits_set(&((struct service_head *)service.memory)->to_look_at, LENT_SLOT);
        atomic_fetch_add(&block->seq, 1);
        while (atomic_load(&block->head) == acked && acked < to_take) {
            (void)syscall(SYS_futex, &block->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
            sched_yield();
        }
    }
    return NULL;
}

/* Pieces of all lengths, more of them than there is room for at a time; each is begun where it was left. */
Test(stream, pieces_are_sent_whole_and_in_order, .init = set_up)
{
    enum { PIECES = 40, LONGEST = 1500 };
    static char bytes[PIECES * LONGEST];
    struct iovec iov[PIECES];
    pthread_t thread;
    size_t total = 0;
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i * 7 + (i >> 8));
    for (unsigned i = 0; i < PIECES; i++) {
        iov[i] = (struct iovec){bytes + total, (i * 389) % LONGEST};
        total += iov[i].iov_len;
    }
    to_take = total;
    taken = malloc(total);
    cr_assert_eq(pthread_create(&thread, NULL, take, NULL), 0);
    cr_assert_eq(stream_send(&conn, iov, PIECES, total, MSG_OOB), (ssize_t)total);
    pthread_join(thread, NULL);
    cr_assert_eq(memcmp(taken, bytes, total), 0);
    cr_assert_eq(atomic_load(&lent.block->urgent_end), total);
    cr_assert_not(was_urgent_early, "the last byte is, and no piece's before it");
}

/* With two pages: what the C library and the kernel take of the least that a thread may have is not ours. */
static void *calls(void *unused)
{
    static struct iovec iov[IOV_MAX];
    static char byte;
    (void)unused;
    for (unsigned i = 0; i < IOV_MAX; i++)
        iov[i] = (struct iovec){&byte, 1};
    bool are_well = stream_send(&conn, iov, IOV_MAX, IOV_MAX, 0) == IOV_MAX;
    are_well &= stream_recv(&conn, iov, IOV_MAX, IOV_MAX, 0) == 100;
    return are_well ? &byte : NULL;
}

Test(stream, a_thread_with_the_least_stack_has_enough, .init = set_up)
{
    pthread_attr_t attr;
    pthread_t thread;
    void *said = NULL;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    cr_skip_test("a sanitizer has stacks of its own");
#endif
    atomic_store(&lent.block->produced, 100);
    pthread_attr_init(&attr);
    cr_assert_eq(pthread_attr_setstacksize(&attr, (size_t)PTHREAD_STACK_MIN), 0);
    cr_assert_eq(pthread_create(&thread, &attr, calls, NULL), 0);
    pthread_join(thread, &said);
    cr_assert_not_null(said);
}

static pthread_barrier_t has_it, may_give_it;

static void *hold(void *lock)
{
    pthread_mutex_lock(lock);
    pthread_barrier_wait(&has_it);
    pthread_barrier_wait(&may_give_it);
    borrow_unlock(&lent, lock);
    return NULL;
}

/* As by SIGSTOP in the middle of a copy, in another process. */
Test(stream, one_who_is_stopped_in_a_call_does_not_stop_the_others, .init = set_up)
{
    struct service_head *head = service.memory;
    pthread_t thread;
    char byte;
    struct iovec one = {&byte, 1};
    uint32_t slot;
    int pipe_fds[2];
    cr_assert_eq(pipe2(pipe_fds, O_NONBLOCK), 0);
    pthread_barrier_init(&has_it, NULL, 2);
    pthread_barrier_init(&may_give_it, NULL, 2);
    atomic_store(&lent.block->produced, 100);
    cr_assert_eq(pthread_create(&thread, NULL, hold, &lent.block->recv_lock), 0);
    pthread_barrier_wait(&has_it);
    cr_assert_eq(service_bits_take(&head->to_look_at, &slot, 1), 0);
    cr_assert_eq(stream_recv(&conn, &one, 1, 1, MSG_DONTWAIT), -EAGAIN);
    cr_assert_eq(service_bits_take(&head->to_look_at, &slot, 1), 1, "the service looks whether it dies");
    cr_assert_eq(borrow_splice(&lent, pipe_fds[1], 100), -EBUSY);
    cr_assert_eq(read(pipe_fds[0], &byte, 1), -1, "what was not taken is not in the pipe");
    atomic_store(&conn.rcvtimeo_ns, 300 * NS_PER_MS);
    uint64_t begin_ns = base_now_ns();
    cr_assert_eq(stream_recv(&conn, &one, 1, 1, 0), -EAGAIN);
    cr_assert_geq(base_now_ns() - begin_ns, 300 * NS_PER_MS, "who may wait does");
    cr_assert_eq(stream_send(&conn, &one, 1, 1, MSG_DONTWAIT), 1, "the other direction is another lock");
    cr_assert_eq(service_bits_take(&head->to_look_at, &slot, 1), 1);
    pthread_barrier_wait(&may_give_it);
    pthread_join(thread, NULL);
    cr_assert_eq(service_bits_take(&head->to_look_at, &slot, 1), 1, "the service hears of it, for the edge");
    cr_assert_eq(stream_recv(&conn, &one, 1, 1, MSG_DONTWAIT), 1);
}

/* A call on the connection beside one that is under way, and what it said. */
struct caller {
    bool sends;
    _Atomic pid_t id;
    ssize_t said;
};

static void *call_beside(void *ctx)
{
    struct caller *caller = ctx;
    char byte = 0;
    struct iovec one = {&byte, 1};
    atomic_store(&caller->id, gettid());
    caller->said = caller->sends ? stream_send(&conn, &one, 1, 1, 0) : stream_recv(&conn, &one, 1, 1, 0);
    return NULL;
}

/* The call has looked at the state, and waits for the lock, when the peer's Decline comes. */
Test(stream, one_that_falls_back_in_the_middle_of_a_call_goes_on_as_tcp, .init = set_up)
{
    for (unsigned sends = 0; sends < 2; sends++) {
        struct caller caller = {.sends = sends};
        pthread_mutex_t *lock = sends ? &lent.block->send_lock : &lent.block->recv_lock;
        pthread_t thread;
        atomic_store(&lent.block->state, BORROW_NEGOTIATING);
        cr_assert_eq(pthread_mutex_lock(lock), 0);
        cr_assert_eq(pthread_create(&thread, NULL, call_beside, &caller), 0);
        while (!is_asleep(atomic_load(&caller.id)))
            sched_yield();
        atomic_store(&lent.block->state, BORROW_TCP);
        borrow_unlock(&lent, lock);
        pthread_join(thread, NULL);
        cr_expect_eq(caller.said, STREAM_FELL_BACK, "%zd", caller.said);
    }
}
