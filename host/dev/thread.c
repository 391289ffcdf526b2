/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress thread: one-sided operations complete on a target while its application does nothing.
 *
 * A program that polls round after round makes the rounds itself. So it gets its completions without another
 * thread between; with fewer processors than threads that saves milliseconds. The thread stands aside then,
 * and is none of the sleepers: a doorbell would cost the polling program a system call for each post.
 * host_dev_take_back(), the device's end, and a doorbell for another sleeper cut that short. The thread
 * looks every ASIDE_NS whether that goes on, less often the longer it does, and a pause of POLL_GAP_NS ends
 * it: a program that looks at its memory instead of its queue makes no rounds. So it has to poll
 * POLLS_UNTIL_ASIDE times in a row first, and more often each time that the thread did not stand
 * aside for long: a program that does both by turns would wait for the thread's next look again and again.
 * The pause is from the end of one round to the beginning of the next: a round that sends long trains takes
 * longer by itself.
 *
 * A round of a program that is known to come back sends before it receives: an acknowledgement of the
 * packets that come leaves in the next round, with the program's posts in between.
 *
 * On the program's own processor the thread does not look again before it sleeps: the time is the
 * program's. */
#define _GNU_SOURCE /* ppoll() */
#include <poll.h>
#include <sched.h>
#include <time.h>

#include "base/base.h"
#include "host/dev/dev.h"
#include "base/worker.h"

#define ASIDE_NS          (50 * NS_PER_US)
#define MOST_ASIDE_NS     (400 * NS_PER_US)
#define POLL_GAP_NS       (50 * NS_PER_US)
#define POLLS_UNTIL_ASIDE 64
#define MOST_UNTIL_ASIDE  65536           /* polls */
#define SOON_NS           (2 * NS_PER_MS) /* a pause after less of it asks for more polls next time */
#define LATELY_NS         NS_PER_MS       /* the thread that polled since then may be about to run here */

/* Negative if another thread has polled since `now_ns` was read. */
static int64_t unpolled_ns(struct host_dev *dev, uint64_t now_ns)
{
    return (int64_t)(now_ns - atomic_load_explicit(&dev->poller.polled_ns, memory_order_relaxed));
}

/* A poll counts whether or not it gets the lock: of a thread that makes round after round there is little
 * left for others. Of two that count at once one may be lost. */
static void count_poll(struct host_dev *dev, uint64_t now_ns)
{
    bool goes_on = unpolled_ns(dev, now_ns) < (int64_t)POLL_GAP_NS;
    unsigned polls = atomic_load_explicit(&dev->poller.polls, memory_order_relaxed);
    unsigned wanted = atomic_load_explicit(&dev->poller.polls_wanted, memory_order_relaxed);
    polls = goes_on ? polls + (polls < wanted) : 0;
    atomic_store_explicit(&dev->poller.polls, polls, memory_order_relaxed);
    atomic_store_explicit(&dev->poller.polled_ns, now_ns, memory_order_relaxed);
    atomic_store_explicit(&dev->poller.polled_cpu, sched_getcpu(), memory_order_relaxed);
    atomic_store_explicit(&dev->poller.is_polled, polls >= wanted, memory_order_relaxed);
}

bool host_dev_poll(struct host_dev *dev)
{
    count_poll(dev, host_now_ns());
    if (!host_lock_try(&dev->lock))
        return false;
    atomic_store_explicit(&dev->poller.is_polling, true, memory_order_relaxed);
    bool comes_back = atomic_load_explicit(&dev->poller.is_polled, memory_order_relaxed);
    const struct host_round_policy policy = {.kind = comes_back ? HOST_ROUND_LATE : HOST_ROUND_PLAIN};
    bool did = host_round_locked(dev, &policy);
    if (did)
        atomic_store_explicit(&dev->poller.polled_ns, host_now_ns(), memory_order_relaxed);
    atomic_store_explicit(&dev->poller.is_polling, false, memory_order_release);
    host_dev_unlock(dev);
    return did;
}

/* A program that sleeps between polls has to poll as often again: it may end after any completion
 * (host/dev/later.h). */
void host_dev_take_back(struct host_dev *dev)
{
    atomic_store_explicit(&dev->poller.polls, 0, memory_order_relaxed);
    if (!atomic_exchange(&dev->poller.is_polled, false))
        return;
    if (atomic_load(&dev->poller.is_aside))
        host_dev_ring(dev);
}

/* Whether a program makes the rounds now. */
static bool makes_rounds(struct host_dev *dev)
{
    if (!atomic_load_explicit(&dev->poller.is_polled, memory_order_relaxed))
        return false;
    return atomic_load_explicit(&dev->poller.is_polling, memory_order_acquire) ||
           unpolled_ns(dev, host_now_ns()) < (int64_t)POLL_GAP_NS;
}

/* Returns whether somebody rang. */
static bool sleep_aside(struct host_dev *dev, uint64_t ns)
{
    struct pollfd bell = {.fd = dev->doorbell_fd, .events = POLLIN};
    const struct timespec ts = {.tv_nsec = (long)ns};
    atomic_store(&dev->poller.is_aside, true);
    if (atomic_load(&dev->poller.is_polled) && !atomic_load(&dev->is_stopping))
        ppoll(&bell, 1, &ts, NULL);
    atomic_store(&dev->poller.is_aside, false);
    if (bell.revents)
        host_dev_set_rung(dev);
    return bell.revents;
}

/* For as long as a program makes the rounds, and nobody rings. */
static void stand_aside(struct host_dev *dev)
{
    uint64_t since_ns = host_now_ns(), ns = ASIDE_NS;
    while (makes_rounds(dev) && !atomic_load(&dev->is_stopping) && !sleep_aside(dev, ns))
        ns = min_u64(2 * ns, MOST_ASIDE_NS);
    bool was_long = host_now_ns() - since_ns >= SOON_NS;
    unsigned wanted = atomic_load_explicit(&dev->poller.polls_wanted, memory_order_relaxed);
    wanted = was_long ? POLLS_UNTIL_ASIDE : 2 * wanted;
    atomic_store_explicit(&dev->poller.polls_wanted, wanted < MOST_UNTIL_ASIDE ? wanted : MOST_UNTIL_ASIDE,
                          memory_order_relaxed);
}

/* How long to look again before a sleep, after a round that found something. */
static uint64_t spin_ns(struct host_dev *dev)
{
    bool is_its_cpu = atomic_load_explicit(&dev->poller.polled_cpu, memory_order_relaxed) == sched_getcpu();
    return is_its_cpu && unpolled_ns(dev, host_now_ns()) < (int64_t)LATELY_NS ? 0 : WORKER_SPIN_NS;
}

static void *run(void *arg)
{
    struct host_dev *dev = arg;
    worker_begin("nornic-progress");
    uint64_t busy_ns = 0;
    while (!atomic_load(&dev->is_stopping)) {
        if (makes_rounds(dev))
            stand_aside(dev);
        host_lock_take_last(&dev->lock);
        bool did = host_round_locked(dev, NULL);
        host_dev_unlock(dev);
        uint64_t now_ns = host_now_ns();
        if (did)
            busy_ns = now_ns;
        else if (now_ns - busy_ns >= spin_ns(dev))
            host_dev_wait(dev, NET_TIME_NONE);
    }
    return NULL;
}

int host_dev_thread_start(struct host_dev *dev)
{
    atomic_store(&dev->poller.polls_wanted, POLLS_UNTIL_ASIDE);
    int err = worker_start(&dev->thread, run, dev);
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
