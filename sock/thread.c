/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE
#include "sock/thread.h"

#include <errno.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/worker.h"
#include "sock/socket/state.h"

#define MAX_EVENTS 64

/* Whether it looks again at once, rather than sleeping: for a while after it has found something. But not
 * while an application's thread looks itself; nor on the CPU that the last call came from, where the caller
 * could not go on meanwhile: its wake-up costs less than that. */
static bool looks_again(uint64_t busy_ns)
{
    return host_now_ns() - busy_ns < WORKER_SPIN_NS && !atomic_load(&smcr_rt.lookers) &&
           atomic_load_explicit(&smcr_rt.caller_cpu, memory_order_relaxed) != sched_getcpu();
}

static void *run(void *arg)
{
    struct epoll_event events[MAX_EVENTS];
    uint64_t busy_ns = 0;
    (void)arg;
    worker_begin("nornic-smcr");
    while (!atomic_load(&smcr_rt.is_ending)) {
        int n = epoll_wait(smcr_rt.epfd, events, MAX_EVENTS, looks_again(busy_ns) ? 0 : -1);
        host_lock_take_last(&smcr_rt.lock);
        smcr_rt.cancel_state = PTHREAD_CANCEL_ENABLE;
        for (int i = 0; i < n; i++)
            smcr_rt_on_source(events[i].data.ptr, events[i].events);
        smcr_rt.has_woken_waiter = false;
        /* who was woken, or has the port, makes the next round */
        bool did = smcr_rt_progress(), hands_over = smcr_rt.has_woken_waiter || !smcr_rt.is_port_armed;
        smcr_sock_reap();
        smcr_rt_unlock();
        if (did)
            busy_ns = hands_over ? 0 : host_now_ns();
    }
    return NULL;
}

int smcr_rt_start_thread(void)
{
    return worker_start(&smcr_rt.thread, run, NULL);
}

void smcr_rt_stop_thread(void)
{
    struct itimerspec now = {.it_value = {.tv_nsec = 1}};
    atomic_store(&smcr_rt.is_ending, true);
    timerfd_settime(smcr_rt.timer_fd, 0, &now, NULL);
    pthread_join(smcr_rt.thread, NULL);
}
