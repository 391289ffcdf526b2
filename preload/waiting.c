/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "preload/waiting.h"

#include <pthread.h>

#include "base/base.h"
#include "base/now.h"
#include "preload/reach.h"

struct own {
    struct borrow_waiter *waiter;
    struct borrow_waiter
        *gone; /* of a service that has ended, or dropped it: a call that a signal interrupted may have it */
    unsigned generation;
};

static _Thread_local struct own own __attribute__((tls_model("initial-exec")));
static unsigned generation; /* grows in the child of each fork() */
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t at_exit;

static void free_one(struct borrow_waiter **waiter)
{
    if (*waiter) {
        reach_begin();
        borrow_waiter_free(*waiter);
        reach_end();
    }
    *waiter = NULL;
}

/* Those of before a fork are the parent's. */
static void free_waiters(void *value)
{
    struct own *mine = value;
    if (mine->generation == generation) {
        free_one(&mine->waiter);
        free_one(&mine->gone);
    }
    *mine = (struct own){0};
}

static void make_key(void)
{
    pthread_key_create(&at_exit, free_waiters);
}

struct borrow_waiter *waiting_own(void)
{
    if (own.waiter && own.generation == generation && !borrow_waiter_is_gone(own.waiter) &&
        !borrow_waiter_is_dropped(own.waiter))
        return own.waiter;
    if (own.generation == generation) {
        if (own.waiter) { /* else nothing follows the one that a call may have */
            free_one(&own.gone);
            own.gone = own.waiter;
        }
    } else {
        own.gone = NULL;
    }
    bool is_there = reach_service();
    reach_begin();
    own.waiter = is_there ? borrow_waiter_new() : NULL;
    reach_end();
    own.generation = generation;
    pthread_once(&once, make_key);
    pthread_setspecific(at_exit, &own);
    return own.waiter;
}

void waiting_forked(void)
{
    generation++;
}

uint64_t waiting_deadline(uint64_t timeout_ns)
{
    if (timeout_ns == UINT64_MAX)
        return UINT64_MAX;
    uint64_t now_ns = base_now_ns();
    return timeout_ns < UINT64_MAX - now_ns ? now_ns + timeout_ns : UINT64_MAX;
}

struct timespec *waiting_left(uint64_t deadline_ns, struct timespec *left)
{
    if (deadline_ns == UINT64_MAX)
        return NULL;
    uint64_t now_ns = base_now_ns();
    uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    *left = (struct timespec){(time_t)(left_ns / NS_PER_S), (long)(left_ns % NS_PER_S)};
    return left;
}

bool waiting_timespec_ns(const struct timespec *timeout, uint64_t *ns)
{
    *ns = UINT64_MAX;
    if (!timeout)
        return true;
    if (timeout->tv_sec < 0 || timeout->tv_nsec < 0 || timeout->tv_nsec >= (long)NS_PER_S)
        return false;
    if ((uint64_t)timeout->tv_sec < UINT64_MAX / NS_PER_S - 1)
        *ns = (uint64_t)timeout->tv_sec * NS_PER_S + (uint64_t)timeout->tv_nsec;
    return true;
}
