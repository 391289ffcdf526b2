/* SPDX-License-Identifier: BSD-2-Clause */
/* Waking those who wait for news of connections: at the end of a pass over them, when all that the pass has
 * brought is there. Woken by the first of many connections a program would take the processor from the
 * service, find that one, sleep again, and be woken by the next. */
#define _GNU_SOURCE
#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/base.h"
#include "service/inner.h"

#define LOOK_NS (100 * NS_PER_MS) /* between looks at a lock that somebody missed */

static void wake_later(struct service *service, struct service_block *block)
{
    if (service->num_to_wake == SERVICE_TO_WAKE)
        service_wake_all(service);
    service->to_wake[service->num_to_wake++] = block;
}

static void ring_later(struct service *service, uint32_t number)
{
    if (service->ears[number].is_due)
        return;
    if (service->num_to_ring == SERVICE_TO_WAKE)
        service_wake_all(service);
    service->ears[number].is_due = true;
    service->to_ring[service->num_to_ring++] = (uint16_t)number;
}

void service_wake(struct service_loan *loan)
{
    struct service_block *b = loan->block;
    struct service *service = loan->service;
    atomic_fetch_add(&b->seq, 1);
    if (atomic_exchange(&b->is_waited_for, 0))
        wake_later(service, b);
    for (unsigned i = 0; i < SERVICE_WATCHES; i++) {
        uint32_t watch = atomic_load(&b->watch[i]), number = service_watch_waiter(watch);
        if (watch == 0 || number >= SERVICE_WAITERS || !service->ears[number].owner)
            continue;
        service_bits_set(&service_waiter_at(service->arena.memory, number)->news, loan->slot);
        ring_later(service, number);
    }
}

void service_wake_who_missed(struct service_loan *loan)
{
    struct service_block *b = loan->block;
    uint32_t missed = atomic_load(&b->was_missed), held = 0;
    if (missed == 0)
        return;
    held |= service_lock_is_held(&b->send_lock) ? SERVICE_MISSED_SEND : 0;
    held |= service_lock_is_held(&b->recv_lock) ? SERVICE_MISSED_RECV : 0;
    if (missed & held)
        loan->service->look_ns = min_u64(loan->service->look_ns, smcr_rt.now_ns + LOOK_NS);
    if (!(missed & ~held))
        return;
    atomic_fetch_and(&b->was_missed, held);
    atomic_fetch_add(&b->in_edges, 1);
    atomic_fetch_add(&b->out_edges, 1);
    service_wake(loan);
}

void service_ring_ear(const struct service_ear *ear)
{
    const char any = 0;
    ssize_t put = send(ear->fd, &any, 1, MSG_DONTWAIT | MSG_NOSIGNAL);
    (void)put; /* EAGAIN: it was rung often enough */
}

void service_empty(int doorbell)
{
    uint64_t times;
    struct iovec iov = {&times, sizeof times};
    ssize_t got = preadv2(doorbell, &iov, 1, -1, RWF_NOWAIT);
    (void)got; /* EAGAIN: somebody has taken it; EOPNOTSUPP before Linux 5.8: it tells by edges alone */
}

/* A block whose connection has ended meanwhile, and a place that another waiter has now, are woken for
 * nothing, and look again. */
void service_wake_all(struct service *service)
{
    for (unsigned i = 0; i < service->num_to_wake; i++)
        syscall(SYS_futex, &service->to_wake[i]->seq, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
    for (unsigned i = 0; i < service->num_to_ring; i++) {
        struct service_ear *ear = &service->ears[service->to_ring[i]];
        struct service_waiter *waiter = service_waiter_at(service->arena.memory, service->to_ring[i]);
        ear->is_due = false;
        if (ear->owner && atomic_exchange(&waiter->asleep, 0))
            service_ring_ear(ear);
    }
    service->num_to_wake = service->num_to_ring = 0;
}
