/* SPDX-License-Identifier: BSD-2-Clause */
/* Timers: a binary heap of those that are armed. A timer is embedded in what it belongs to; one that is not
 * armed costs nothing, arming and cancelling cost O(log armed). */
#ifndef NORNIC_RDMA_TIMER_H
#define NORNIC_RDMA_TIMER_H

#include <stdbool.h>
#include <stdint.h>

#include "rdma/mem.h"

/* All zero: not armed. Stays where it is while it is armed. */
struct rdma_timer {
    /* What its owner does when it is due; set once, before it is armed. Called by the owner of the heap. */
    void (*fire)(struct rdma_timer *timer, uint64_t now_ns);
    uint64_t deadline_ns;
    uint32_t heap_index; /* 0: not armed */
};

/* heap[1..count], each not later than its children 2i and 2i + 1. */
struct rdma_timers {
    struct rdma_timer **heap;
    uint32_t count, capacity;
};

/* Room for `capacity` armed timers (below 2^31). 0, -EINVAL or -ENOMEM. */
int rdma_timers_init(struct rdma_timers *timers, const struct rdma_mem *mem, uint32_t capacity);
void rdma_timers_deinit(struct rdma_timers *timers, const struct rdma_mem *mem);

/* Sets when `timer` is due, whether it is armed or not. The caller never arms more than the capacity. */
void rdma_timer_arm(struct rdma_timers *timers, struct rdma_timer *timer, uint64_t deadline_ns);
/* Fine when not armed. */
void rdma_timer_cancel(struct rdma_timers *timers, struct rdma_timer *timer);

static inline bool rdma_timer_armed(const struct rdma_timer *timer)
{
    return timer->heap_index != 0;
}

/* The earliest deadline; UINT64_MAX: no timer is armed. */
uint64_t rdma_timers_next_ns(const struct rdma_timers *timers);

/* Takes out the earliest timer if it is due at `now_ns`, else NULL. */
struct rdma_timer *rdma_timers_pop(struct rdma_timers *timers, uint64_t now_ns);

#endif
