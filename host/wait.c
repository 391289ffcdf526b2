/* SPDX-License-Identifier: BSD-2-Clause */
/* Sleeping and waking.
 *
 * A sleeper counts itself in `sleepers`, then looks whether anything is due, then sleeps. Who makes something
 * due does that first, then looks at `sleepers`. Both looks are read-modify-writes of the same variable: the
 * one that comes second in its order sees all that came before the first. Either the sleeper sees the work
 * and does not sleep, or the other side sees the sleeper and rings; nothing falls between. */
#define _GNU_SOURCE /* ppoll() */
#include "base/base.h"
#include "host/dev.h"

#include <poll.h>
#include <time.h>
#include <unistd.h>

/* A port that has no descriptor, or lends no transmit buffers, says nothing when that changes: look again. */
#define RETRY_NS 200000u

void host_dev_ring(struct host_dev *dev)
{
    uint64_t one = 1;
    ssize_t written = write(dev->doorbell_fd, &one, sizeof one);
    (void)written; /* EAGAIN: it has rung 2^64 - 2 times already, and is readable */
    /* After the write: a round that sees `rung` finds something to read. In the other order a round could
     * clear `rung` and read nothing, and the late write would keep the descriptor readable for ever. */
    atomic_store(&dev->rung, true);
}

void host_dev_doorbell(void *ctx)
{
    struct host_dev *dev = ctx;
    if (atomic_fetch_add(&dev->sleepers, 0) > 0)
        host_dev_ring(dev);
}

void host_dev_consume_doorbell(struct host_dev *dev)
{
    if (!atomic_load_explicit(&dev->rung, memory_order_relaxed))
        return;
    atomic_store(&dev->rung, false);
    uint64_t times;
    ssize_t got = read(dev->doorbell_fd, &times, sizeof times);
    (void)got; /* EAGAIN: an earlier round has read what this ring wrote */
}

/* When the device next needs a round; 0: now. Under the lock. */
static uint64_t next_due_ns(const struct host_dev *dev)
{
    if (roce_dev_tx_pending(dev->engine) && !dev->tx_blocked)
        return 0;
    uint64_t engine_ns = roce_dev_deadline_ns(dev->engine);
    uint64_t port_ns = net_port_deadline_ns(dev->port);
    uint64_t client_ns = dev->client ? dev->client->ops->deadline_ns(dev->client) : NET_TIME_NONE;
    return min_u64(client_ns, min_u64(engine_ns, port_ns));
}

unsigned host_dev_fds(struct host_dev *dev, int fds[HOST_DEV_FDS])
{
    unsigned n = 0;
    fds[n++] = dev->sources.fd;
    if (net_port_fd(dev->port) >= 0)
        fds[n++] = net_port_fd(dev->port);
    return n;
}

void host_dev_set_ready(struct host_dev *dev)
{
    atomic_store(&dev->sources.readable, true);
}

uint64_t host_dev_deadline_ns(struct host_dev *dev)
{
    host_lock_take(&dev->lock);
    uint64_t due_ns = next_due_ns(dev);
    bool retry = dev->tx_blocked || net_port_fd(dev->port) < 0;
    host_lock_give(&dev->lock);
    uint64_t retry_ns = retry ? host_now_ns() + RETRY_NS : NET_TIME_NONE;
    return due_ns < retry_ns ? due_ns : retry_ns;
}

void host_dev_replan(struct host_dev *dev)
{
    host_dev_assert_held(dev);
    uint64_t due_ns = next_due_ns(dev);
    bool earlier = due_ns < dev->planned_ns;
    dev->planned_ns = due_ns;
    if (earlier && atomic_fetch_add(&dev->sleepers, 0) > 0)
        host_dev_ring(dev);
}

/* How long a sleep may last, of at most `timeout_ns`. */
static uint64_t sleep_ns(struct host_dev *dev, uint64_t timeout_ns)
{
    host_lock_take(&dev->lock);
    uint64_t due_ns = next_due_ns(dev);
    dev->planned_ns = due_ns;
    bool retry = dev->tx_blocked || net_port_fd(dev->port) < 0;
    host_lock_give(&dev->lock);

    if (due_ns != NET_TIME_NONE) {
        uint64_t now_ns = host_now_ns();
        uint64_t until_due_ns = due_ns > now_ns ? due_ns - now_ns : 0;
        timeout_ns = until_due_ns < timeout_ns ? until_due_ns : timeout_ns;
    }
    return retry && timeout_ns > RETRY_NS ? RETRY_NS : timeout_ns;
}

void host_dev_sleep(struct host_dev *dev, uint64_t timeout_ns)
{
    atomic_fetch_add(&dev->sleepers, 1);
    uint64_t ns = sleep_ns(dev, timeout_ns);
    if (ns > 0 && !atomic_load(&dev->stopping)) {
        struct pollfd fds[3] = {{.fd = dev->doorbell_fd, .events = POLLIN},
                                {.fd = net_port_fd(dev->port), .events = POLLIN},
                                {.fd = dev->sources.fd, .events = POLLIN}};
        struct timespec ts = {.tv_sec = (time_t)(ns / NS_PER_S), .tv_nsec = (long)(ns % NS_PER_S)};
        /* An interruption by a signal is a reason to wake like any other. */
        ppoll(fds, 3, ns == NET_TIME_NONE ? NULL : &ts, NULL);
        if (fds[2].revents)
            atomic_store(&dev->sources.readable, true);
    }
    atomic_fetch_sub(&dev->sleepers, 1);
}

void host_dev_wait(struct host_dev *dev, uint64_t timeout_ns)
{
    host_dev_sleep(dev, timeout_ns);
}
