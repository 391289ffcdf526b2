/* SPDX-License-Identifier: BSD-2-Clause */
#include "rdma/timer.h"

#include <assert.h>
#include <errno.h>

int rdma_timers_init(struct rdma_timers *timers, const struct rdma_mem *mem, uint32_t capacity)
{
    if (capacity >= UINT32_C(1) << 31)
        return -EINVAL;
    *timers = (struct rdma_timers){.capacity = capacity};
    timers->heap = mem->alloc(mem->ctx, ((size_t)capacity + 1) * sizeof(struct rdma_timer *));
    return timers->heap ? 0 : -ENOMEM;
}

void rdma_timers_deinit(struct rdma_timers *timers, const struct rdma_mem *mem)
{
    mem->free(mem->ctx, timers->heap);
    timers->heap = NULL;
}

static void place(struct rdma_timers *timers, struct rdma_timer *timer, uint32_t index)
{
    timers->heap[index] = timer;
    timer->heap_index = index;
}

/* Moves `timer` from the hole at `index` towards the root, until its parent is not later. */
static void sift_up(struct rdma_timers *timers, struct rdma_timer *timer, uint32_t index)
{
    while (index > 1 && timer->deadline_ns < timers->heap[index / 2]->deadline_ns) {
        place(timers, timers->heap[index / 2], index);
        index /= 2;
    }
    place(timers, timer, index);
}

/* Moves `timer` from the hole at `index` towards the leaves, until no child is earlier. */
static void sift_down(struct rdma_timers *timers, struct rdma_timer *timer, uint32_t index)
{
    for (uint32_t child = 2 * index; child <= timers->count; child = 2 * index) {
        if (child < timers->count && timers->heap[child + 1]->deadline_ns < timers->heap[child]->deadline_ns)
            child++;
        if (timers->heap[child]->deadline_ns >= timer->deadline_ns)
            break;
        place(timers, timers->heap[child], index);
        index = child;
    }
    place(timers, timer, index);
}

/* Puts `timer`, whose deadline is new there, where it belongs. */
static void settle(struct rdma_timers *timers, struct rdma_timer *timer, uint32_t index)
{
    if (index > 1 && timer->deadline_ns < timers->heap[index / 2]->deadline_ns)
        sift_up(timers, timer, index);
    else
        sift_down(timers, timer, index);
}

void rdma_timer_arm(struct rdma_timers *timers, struct rdma_timer *timer, uint64_t deadline_ns)
{
    timer->deadline_ns = deadline_ns;
    if (rdma_timer_armed(timer)) {
        settle(timers, timer, timer->heap_index);
        return;
    }
    assert(timers->count < timers->capacity);
    sift_up(timers, timer, ++timers->count);
}

void rdma_timer_cancel(struct rdma_timers *timers, struct rdma_timer *timer)
{
    if (!rdma_timer_armed(timer))
        return;
    uint32_t hole = timer->heap_index;
    struct rdma_timer *last = timers->heap[timers->count--];
    timer->heap_index = 0;
    if (last != timer)
        settle(timers, last, hole);
}

uint64_t rdma_timers_next_ns(const struct rdma_timers *timers)
{
    return timers->count != 0 ? timers->heap[1]->deadline_ns : UINT64_MAX;
}

struct rdma_timer *rdma_timers_pop(struct rdma_timers *timers, uint64_t now_ns)
{
    if (timers->count == 0 || timers->heap[1]->deadline_ns > now_ns)
        return NULL;
    struct rdma_timer *first = timers->heap[1];
    rdma_timer_cancel(timers, first);
    return first;
}
