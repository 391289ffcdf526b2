/* SPDX-License-Identifier: BSD-2-Clause */
/* A polite lock: a mutex whose holder may be a thread that drives something round after round.
 *
 * A mutex hands itself back to a thread that takes it again at once, and a control call of the application
 * would wait for the end of the traffic. So those that wait are counted, and who drives asks before each of
 * its rounds (host_lock_take_last()): it leaves the lock alone until all have it. Each of them is on its way
 * in, so this ends.
 *
 * The order in which locks are taken, of all that the library has (docs/architecture.md, "Locks"):
 *
 *     1. that of the sockets of the process (sock/runtime.h), a polite one; or those of an object that a
 *        program holds (host/api/api.h has their order)
 *     2. that of a device (host/dev/dev.h), a polite one; never those of two devices at once
 *     3. leaves, with which held nothing is called: that of an event queue (host/event/ack_queue.h), that under
 *        which nornic_cq_wait() sleeps (host/api/api.h)
 *
 * What needs the device's lock says so, and asserts it with host_lock_is_held(). */
#ifndef NORNIC_HOST_LOCK_H
#define NORNIC_HOST_LOCK_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

struct host_lock {
    pthread_mutex_t mutex;
    atomic_int waiters;          /* that host_lock_take_last() lets go first */
    _Atomic(const void *) owner; /* a mark of the thread that has it, or NULL */
};

#define HOST_LOCK_INITIALIZER              \
    {                                      \
        .mutex = PTHREAD_MUTEX_INITIALIZER \
    }

void host_lock_init(struct host_lock *lock);
void host_lock_deinit(struct host_lock *lock);

void host_lock_take(struct host_lock *lock);
/* For who drives: after all others that want it now. */
void host_lock_take_last(struct host_lock *lock);
/* Without waiting: whether it was free, and is now the caller's. */
bool host_lock_try(struct host_lock *lock);
void host_lock_give(struct host_lock *lock);
/* In the child of a fork whose parent had it around the fork: gives it back. Who waited is not here. */
void host_lock_give_in_child(struct host_lock *lock);

/* Someone waits in host_lock_take(). Any thread. */
bool host_lock_is_wanted(struct host_lock *lock);

/* Its address tells threads apart. */
extern _Thread_local char host_lock_mark __attribute__((tls_model("initial-exec")));

/* This thread has it: for assertions, of which every packet meets some. */
static inline bool host_lock_is_held(const struct host_lock *lock)
{
    return atomic_load_explicit(&lock->owner, memory_order_relaxed) == &host_lock_mark;
}

#endif
