/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress thread: one-sided operations complete on a target whose application does nothing. */
#include "host/dev.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

/* How long it looks again before it sleeps: about what a sleep and its wake-up cost. It does not yield
 * meanwhile: a thread that sleeps is woken before those that compute, one that yielded waits for their whole
 * time slice. */
#define SPIN_NS 20000u

/* A mutex hands itself back to a thread that takes it again at once; so leave it alone until those who wait
 * for it have it. Each of them is on its way in, so this ends. */
static void let_others_in(struct host_dev *dev)
{
    while (atomic_load(&dev->lock_waiters) > 0)
        sched_yield();
}

static void *run(void *arg)
{
    struct host_dev *dev = arg;
    prctl(PR_SET_NAME, "nornic-progress");
    prctl(PR_SET_TIMERSLACK, 1000ul); /* the default of 50 us would show in every RNR and ack timer */
    uint64_t busy_ns = 0;
    while (!atomic_load(&dev->stopping)) {
        let_others_in(dev);
        pthread_mutex_lock(&dev->lock);
        bool did = host_dev_round(dev);
        host_dev_unlock(dev);
        uint64_t now_ns = host_now_ns();
        if (did)
            busy_ns = now_ns;
        else if (now_ns - busy_ns >= SPIN_NS)
            host_dev_sleep(dev, NET_TIME_NONE);
    }
    return NULL;
}

int host_dev_thread_start(struct host_dev *dev)
{
    /* Signals are for the application's threads. */
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int err = pthread_create(&dev->thread, NULL, run, dev);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    dev->has_thread = !err;
    return -err;
}

void host_dev_thread_stop(struct host_dev *dev)
{
    if (!dev->has_thread)
        return;
    atomic_store(&dev->stopping, true);
    host_dev_ring(dev);
    pthread_join(dev->thread, NULL);
    dev->has_thread = false;
}
