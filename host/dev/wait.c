/* SPDX-License-Identifier: BSD-2-Clause */
/* Sleeping and waking.
 *
 * A sleeper counts itself in `sleepers`, then looks whether anything is due, then sleeps. Who makes something
 * due does that first, then looks at `sleepers`. Both looks are read-modify-writes of the same variable: the
 * one that comes second in its order sees all that came before the first. Either the sleeper sees the work
 * and does not sleep, or the other side sees the sleeper and rings; nothing falls between.
 *
 * Posted work is due to nobody in particular: the sleeper that makes the next round takes up the doorbell,
 * and one that has not run yet sleeps on. A deadline is everybody's, since those who made it may never sleep
 * again (a program's threads that each wait for a completion): it is in a timer, which all sleep on. So is
 * the next look at a port that lent no buffers. */
#define _GNU_SOURCE /* ppoll() */
#include "base/base.h"
#include "host/dev/dev.h"

#include <poll.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

/* A port that has no descriptor says nothing when a frame comes: look again. */
#define RETRY_NS 200000u

void host_dev_ring(struct host_dev *dev)
{
    uint64_t one = 1;
    ssize_t written = write(dev->doorbell_fd, &one, sizeof one);
    (void)written; /* EAGAIN: it has rung 2^64 - 2 times already, and is readable */
    /* After the write: a round that sees `is_rung` finds something to read. In the other order a round could
     * clear `is_rung` and read nothing, and the late write would keep the descriptor readable for ever. */
    atomic_store(&dev->is_rung, true);
}

void host_dev_doorbell(void *ctx)
{
    struct host_dev *dev = ctx;
    if (atomic_fetch_add(&dev->sleepers, 0) > 0)
        host_dev_ring(dev);
}

void host_dev_consume_doorbell(struct host_dev *dev)
{
    if (!atomic_load_explicit(&dev->is_rung, memory_order_relaxed))
        return;
    atomic_store(&dev->is_rung, false);
    uint64_t times;
    ssize_t got = read(dev->doorbell_fd, &times, sizeof times);
    (void)got; /* EAGAIN: an earlier round has read what this ring wrote */
}

/* The timer is one for all sleepers: whatever deadline is set, now or while they sleep, all of them hear of
 * it, whoever else took up the doorbell or has stopped sleeping. It stays readable until it is set anew.
 * Deadlines mostly move on before they come, and a sleep that ends for nothing costs less than the call that
 * puts each of them off: so one that is set and earlier stays, until it has come. */
static void plan(struct host_dev *dev, uint64_t due_ns, uint64_t now_ns)
{
    struct itimerspec at = {.it_value = {.tv_nsec = 0}}; /* disarmed */
    if (due_ns == dev->planned_ns || (dev->planned_ns > now_ns && dev->planned_ns < due_ns))
        return;
    if (due_ns != NET_TIME_NONE)
        at.it_value = (struct timespec){.tv_sec = (time_t)(due_ns / NS_PER_S),
                                        .tv_nsec = due_ns ? (long)(due_ns % NS_PER_S) : 1};
    timerfd_settime(dev->timer_fd, TFD_TIMER_ABSTIME, &at, NULL);
    dev->planned_ns = due_ns;
}

/* When the device next needs a round; 0: now. Under the lock. */
static uint64_t next_due_ns(const struct host_dev *dev)
{
    uint64_t drive_ns = dev->drive->deadline_ns(dev);
    if (drive_ns == 0 || !dev->client)
        return drive_ns;
    return min_u64(drive_ns, dev->client->ops->deadline_ns(dev->client));
}

void host_dev_set_rung(struct host_dev *dev)
{
    atomic_store(&dev->is_rung, true);
}

unsigned host_dev_fds(struct host_dev *dev, int fds[HOST_DEV_FDS])
{
    unsigned n = 0;
    fds[n++] = dev->sources.fd;
    if (dev->drive->fd(dev) >= 0)
        fds[n++] = dev->drive->fd(dev);
    return n;
}

void host_dev_set_ready(struct host_dev *dev)
{
    atomic_store(&dev->sources.is_readable, true);
}

uint64_t host_dev_deadline_ns(struct host_dev *dev)
{
    host_lock_take(&dev->lock);
    uint64_t due_ns = next_due_ns(dev);
    bool retry = dev->drive->fd(dev) < 0;
    host_lock_give(&dev->lock);
    uint64_t retry_ns = retry ? host_now_ns() + RETRY_NS : NET_TIME_NONE;
    return due_ns < retry_ns ? due_ns : retry_ns;
}

void host_dev_replan(struct host_dev *dev)
{
    host_dev_assert_held(dev);
    uint64_t due_ns = next_due_ns(dev);
    if (due_ns < dev->planned_ns && atomic_fetch_add(&dev->sleepers, 0) > 0)
        plan(dev, due_ns, host_now_ns());
}

/* How long a sleep may last that nothing ends, of at most `timeout_ns`; 0: a round is due. */
static uint64_t sleep_ns(struct host_dev *dev, uint64_t timeout_ns)
{
    host_lock_take(&dev->lock);
    uint64_t due_ns = next_due_ns(dev), now_ns = host_now_ns();
    plan(dev, due_ns, now_ns);
    bool retry = dev->drive->fd(dev) < 0;
    host_lock_give(&dev->lock);
    if (due_ns != NET_TIME_NONE && due_ns <= now_ns)
        return 0;
    return retry && timeout_ns > RETRY_NS ? RETRY_NS : timeout_ns;
}

/* On each descriptor that may say something. An interruption by a signal is a reason to wake, too. */
static void sleep_on_all(struct host_dev *dev, uint64_t ns)
{
    struct pollfd fds[4] = {{.fd = dev->doorbell_fd, .events = POLLIN},
                            {.fd = dev->drive->fd(dev), .events = POLLIN},
                            {.fd = dev->sources.fd, .events = POLLIN},
                            {.fd = dev->timer_fd, .events = POLLIN}};
    struct timespec ts = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
    ppoll(fds, 4, ns == NET_TIME_NONE ? NULL : &ts, NULL);
    if (fds[0].revents)
        host_dev_set_rung(dev);
    if (fds[2].revents)
        host_dev_set_ready(dev);
}

void host_dev_wait(struct host_dev *dev, uint64_t timeout_ns)
{
    atomic_fetch_add(&dev->sleepers, 1);
    uint64_t ns = sleep_ns(dev, timeout_ns);
    if (ns > 0 && !atomic_load(&dev->is_stopping))
        dev->drive->sleep ? dev->drive->sleep(dev, ns) : sleep_on_all(dev, ns);
    atomic_fetch_sub(&dev->sleepers, 1);
}
