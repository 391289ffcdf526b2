/* SPDX-License-Identifier: BSD-2-Clause */
#define _GNU_SOURCE /* F_DUPFD_CLOEXEC */
#include "base/base.h"
#include "sock/runtime.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "sock/inner.h"

#define MAX_ROUNDS 16 /* of one progress: more wait for the next */
/* How long a waiting thread looks itself: about the time of an answer with the wake-ups on its way. */
#define LOOK_NS 50000u
/* Sends that only gather behind what is under way make no round of their own until so long after the last. */
#define GATHER_NS 20000u
#define HIGH_FD   4096 /* select() ends at 1024 */

struct smcr_rt smcr_rt = {.lock = PTHREAD_MUTEX_INITIALIZER, .epfd = -1, .timer_fd = -1, .netlink_fd = -1};

void smcr_rt_lock(void)
{
    atomic_fetch_add(&smcr_rt.lock_waiters, 1);
    pthread_mutex_lock(&smcr_rt.lock);
    atomic_fetch_sub(&smcr_rt.lock_waiters, 1);
}

static bool take_events(void)
{
    unsigned events;
    struct smcr_conn *conn;
    bool any = false;
    while ((conn = smcr_next_event(smcr_rt.core, &events))) {
        smcr_sock_on_conn_event(smcr_conn_ctx(conn), events);
        any = true;
    }
    return any;
}

/* What the core did not want to read yet, it may want now. */
static void offer_again(void)
{
    struct smcr_sock *s = smcr_rt.offers;
    smcr_rt.offers = NULL;
    while (s) {
        struct smcr_sock *next = s->offer_next;
        s->is_offered = false;
        smcr_sock_offer_tcp(s);
        s = next;
    }
}

static bool one_round(uint64_t now_ns)
{
    bool did = false;
    for (unsigned i = 0; i < smcr_rt.num_ports; i++)
        did |= host_dev_progress(smcr_rt.ports[i].dev);
    did |= smcr_progress(smcr_rt.core, now_ns);
    if (smcr_deadline_ns(smcr_rt.core) <= now_ns) {
        smcr_expire(smcr_rt.core, now_ns);
        did = true;
    }
    if (take_events()) {
        offer_again();
        did = true;
    }
    return did;
}

bool smcr_rt_progress(void)
{
    bool any = false;
    smcr_rt.progress_ns = host_now_ns();
    for (unsigned i = 0; i < MAX_ROUNDS && one_round(host_now_ns()); i++)
        any = true;
    return any;
}

/* Something was posted and waits for a round. */
static bool is_tx_pending(void)
{
    bool any = false;
    for (unsigned i = 0; i < smcr_rt.num_ports; i++)
        any |= roce_dev_tx_pending(host_dev_engine(smcr_rt.ports[i].dev));
    return any;
}

static uint64_t next_due_ns(void)
{
    uint64_t due_ns = smcr_deadline_ns(smcr_rt.core);
    for (unsigned i = 0; i < smcr_rt.num_ports; i++) {
        uint64_t dev_ns = host_dev_deadline_ns(smcr_rt.ports[i].dev);
        due_ns = dev_ns < due_ns ? dev_ns : due_ns;
    }
    if (!smcr_rt.ports_armed && smcr_rt.lookers == 0 && smcr_rt.lease_end_ns < due_ns)
        due_ns = smcr_rt.lease_end_ns;
    return due_ns;
}

/* The timer may fire too early, which costs a look; never too late. */
static void plan(void)
{
    uint64_t due_ns = next_due_ns();
    if (due_ns >= smcr_rt.planned_ns)
        return;
    struct itimerspec at = {
        .it_value = {.tv_sec = (time_t)(due_ns / NS_PER_S), .tv_nsec = (long)(due_ns % NS_PER_S)}};
    if (due_ns == 0)
        at.it_value.tv_nsec = 1; /* zero would disarm it */
    timerfd_settime(smcr_rt.timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    smcr_rt.planned_ns = due_ns;
}

void smcr_rt_unlock(void)
{
    if (smcr_rt.core) {
        smcr_rt_progress();
        plan();
    }
    pthread_mutex_unlock(&smcr_rt.lock);
}

void smcr_rt_unlock_sent(void)
{
    if (!smcr_rt.core || is_tx_pending() || host_now_ns() - smcr_rt.progress_ns > GATHER_NS) {
        smcr_rt_unlock();
        return;
    }
    plan();
    pthread_mutex_unlock(&smcr_rt.lock);
}

bool smcr_rt_look(const uint32_t *seq, uint32_t seen)
{
    uint64_t end_ns = host_now_ns() + LOOK_NS, now_ns;
    if (smcr_rt.lookers > 0) /* one is enough */
        return false;
    smcr_rt.lookers++;
    smcr_rt_arm_ports(false);
    do {
        smcr_rt_progress();
        if (atomic_load(&smcr_rt.lock_waiters) > 0) {
            pthread_mutex_unlock(&smcr_rt.lock);
            sched_yield();
            smcr_rt_lock();
        }
        now_ns = host_now_ns();
    } while (*seq == seen && now_ns < end_ns);
    smcr_rt.lookers--;
    smcr_rt.lease_end_ns = now_ns + SMCR_RT_LEASE_NS;
    if (*seq == seen || smcr_rt.sleepers > 0)
        smcr_rt_arm_ports(true);
    return *seq != seen;
}

int smcr_rt_watch(int fd, uint32_t events, struct smcr_rt_source *source)
{
    struct epoll_event event = {.events = events, .data.ptr = source};
    return epoll_ctl(smcr_rt.epfd, EPOLL_CTL_ADD, fd, &event) == 0 ? 0 : -errno;
}

void smcr_rt_unwatch(int fd)
{
    struct epoll_event unused = {0};
    if (fd >= 0)
        epoll_ctl(smcr_rt.epfd, EPOLL_CTL_DEL, fd, &unused);
}

int smcr_rt_high_fd(int fd)
{
    if (fd < 0)
        return fd;
    int high = fcntl(fd, F_DUPFD_CLOEXEC, HIGH_FD);
    if (high < 0) /* beyond the process's limit: it stays where it is */
        return fd;
    close(fd);
    return high;
}

void smcr_rt_count_reason(const char *text)
{
    for (unsigned i = 0; i < SMCR_RT_REASONS; i++) {
        struct smcr_rt_reason *r = &smcr_rt.reasons[i];
        if (!r->text)
            r->text = text;
        if (strcmp(r->text, text) == 0) {
            r->count++;
            return;
        }
    }
}
