/* SPDX-License-Identifier: BSD-2-Clause */
#include "host/dev/lock.h"

#include <assert.h>
#include <sched.h>

_Thread_local char host_lock_mark;

void host_lock_init(struct host_lock *lock)
{
    pthread_mutex_init(&lock->mutex, NULL);
    atomic_init(&lock->waiters, 0);
    atomic_init(&lock->owner, NULL);
}

void host_lock_deinit(struct host_lock *lock)
{
    pthread_mutex_destroy(&lock->mutex);
}

static void set_owner(struct host_lock *lock, const void *owner)
{
    atomic_store_explicit(&lock->owner, owner, memory_order_relaxed);
}

void host_lock_take(struct host_lock *lock)
{
    assert(!host_lock_is_held(lock) && "a lock is taken once");
    if (pthread_mutex_trylock(&lock->mutex) != 0) {
        atomic_fetch_add(&lock->waiters, 1);
        pthread_mutex_lock(&lock->mutex);
        atomic_fetch_sub(&lock->waiters, 1);
    }
    set_owner(lock, &host_lock_mark);
}

void host_lock_take_last(struct host_lock *lock)
{
    assert(!host_lock_is_held(lock) && "a lock is taken once");
    while (atomic_load(&lock->waiters) > 0)
        sched_yield();
    pthread_mutex_lock(&lock->mutex);
    set_owner(lock, &host_lock_mark);
}

bool host_lock_try(struct host_lock *lock)
{
    if (pthread_mutex_trylock(&lock->mutex) != 0)
        return false;
    set_owner(lock, &host_lock_mark);
    return true;
}

void host_lock_give(struct host_lock *lock)
{
    assert(host_lock_is_held(lock) && "who has it gives it back");
    set_owner(lock, NULL);
    pthread_mutex_unlock(&lock->mutex);
}

void host_lock_give_in_child(struct host_lock *lock)
{
    assert(host_lock_is_held(lock) && "who has it gives it back");
    host_lock_init(lock);
}

bool host_lock_is_wanted(struct host_lock *lock)
{
    return atomic_load(&lock->waiters) > 0;
}
