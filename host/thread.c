/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress thread: one-sided operations complete on a target whose application does nothing.
 *
 * A program that polls round after round makes the rounds itself: it has what it waits for without another
 * thread between, and where there are fewer processors than threads that is milliseconds. The thread stands
 * aside then, in a sleep that only host_dev_take_back() and the device's end cut short: a doorbell would
 * cost who polls a system call for each post. It looks every ASIDE_NS whether that goes on, and a pause of
 * POLL_GAP_NS ends it: a program that looks at its memory instead of its queue (whose peer writes) makes no
 * rounds. So it has to poll POLLS_UNTIL_ASIDE times in a row first. The pause is from the end of one round to
 * the beginning of the next: a round that sends long trains takes longer by itself. */
#define _GNU_SOURCE /* ppoll() */
#include <poll.h>
#include <time.h>

#include "base/base.h"
#include "host/dev.h"
#include "host/worker.h"

#define ASIDE_NS          (50 * NS_PER_US)
#define POLL_GAP_NS       (20 * NS_PER_US)
#define POLLS_UNTIL_ASIDE 64

/* A poll counts whether or not it gets the lock: of a thread that makes round after round there is little
 * left for who tries. Of two that count at once one may be lost. */
static void count_poll(struct host_dev *dev, uint64_t now_ns)
{
    bool goes_on = now_ns - atomic_load_explicit(&dev->polled_ns, memory_order_relaxed) < POLL_GAP_NS;
    unsigned polls = atomic_load_explicit(&dev->polls, memory_order_relaxed);
    polls = goes_on ? polls + (polls < POLLS_UNTIL_ASIDE) : 0;
    atomic_store_explicit(&dev->polls, polls, memory_order_relaxed);
    atomic_store_explicit(&dev->polled_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&dev->is_polled, polls == POLLS_UNTIL_ASIDE, memory_order_relaxed);
}

bool host_dev_poll(struct host_dev *dev)
{
    if (!dev->has_thread)
        return host_dev_progress(dev);
    count_poll(dev, host_now_ns());
    if (!host_lock_try(&dev->lock))
        return false;
    atomic_store_explicit(&dev->is_polling, true, memory_order_relaxed);
    bool did = host_dev_round(dev);
    if (did)
        atomic_store_explicit(&dev->polled_ns, host_now_ns(), memory_order_relaxed);
    atomic_store_explicit(&dev->is_polling, false, memory_order_release);
    host_dev_unlock(dev);
    return did;
}

void host_dev_take_back(struct host_dev *dev)
{
    if (!atomic_exchange(&dev->is_polled, false))
        return;
    if (atomic_load(&dev->is_aside))
        host_dev_ring(dev);
}

/* Whether a program makes the rounds now; if so, after a while in which it could. */
static bool stood_aside(struct host_dev *dev, uint64_t now_ns)
{
    struct pollfd bell = {.fd = dev->doorbell_fd, .events = POLLIN};
    const struct timespec while_ns = {.tv_nsec = ASIDE_NS};
    if (!atomic_load_explicit(&dev->is_polled, memory_order_relaxed))
        return false;
    if (!atomic_load_explicit(&dev->is_polling, memory_order_acquire) &&
        (int64_t)(now_ns - atomic_load_explicit(&dev->polled_ns, memory_order_relaxed)) >=
            (int64_t)POLL_GAP_NS)
        return false;
    atomic_store(&dev->is_aside, true);
    if (atomic_load(&dev->is_polled) && !atomic_load(&dev->is_stopping))
        ppoll(&bell, 1, &while_ns, NULL);
    atomic_store(&dev->is_aside, false);
    return true;
}

static void *run(void *arg)
{
    struct host_dev *dev = arg;
    host_worker_begin("nornic-progress");
    uint64_t busy_ns = 0;
    while (!atomic_load(&dev->is_stopping)) {
        uint64_t now_ns = host_now_ns();
        if (stood_aside(dev, now_ns))
            continue;
        host_lock_take_last(&dev->lock);
        bool did = host_dev_round(dev);
        host_dev_unlock(dev);
        now_ns = host_now_ns();
        if (did)
            busy_ns = now_ns;
        else if (now_ns - busy_ns >= HOST_WORKER_SPIN_NS)
            host_dev_sleep(dev, NET_TIME_NONE);
    }
    return NULL;
}

int host_dev_thread_start(struct host_dev *dev)
{
    int err = host_worker_start(&dev->thread, run, dev);
    dev->has_thread = !err;
    return err;
}

void host_dev_thread_stop(struct host_dev *dev)
{
    if (!dev->has_thread)
        return;
    atomic_store(&dev->is_stopping, true);
    host_dev_ring(dev);
    pthread_join(dev->thread, NULL);
    dev->has_thread = false;
}
