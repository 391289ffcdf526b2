/* SPDX-License-Identifier: BSD-2-Clause */
/* The progress thread: one-sided operations complete on a target whose application does nothing. */
#include "host/dev.h"
#include "host/worker.h"

static void *run(void *arg)
{
    struct host_dev *dev = arg;
    host_worker_begin("nornic-progress");
    uint64_t busy_ns = 0;
    while (!atomic_load(&dev->is_stopping)) {
        host_lock_take_last(&dev->lock);
        bool did = host_dev_round(dev);
        host_dev_unlock(dev);
        uint64_t now_ns = host_now_ns();
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
