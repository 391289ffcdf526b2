/* SPDX-License-Identifier: BSD-2-Clause */
#include "roce/timer.h"

#include <assert.h>
#include <errno.h>

#include "net/port.h"

int roce_timers_init(struct roce_timers *timers, const struct rdma_mem *mem, uint32_t capacity)
{
    if (capacity >= UINT32_C(1) << 31)
        return -EINVAL;
    *timers = (struct roce_timers){.capacity = capacity};
    timers->heap = mem->alloc(mem->ctx, ((size_t)capacity + 1) * sizeof(struct roce_timer *));
    return timers->heap ? 0 : -ENOMEM;
}

void roce_timers_deinit(struct roce_timers *timers, const struct rdma_mem *mem)
{
    mem->free(mem->ctx, timers->heap);
    timers->heap = NULL;
}

static void place(struct roce_timers *timers, struct roce_timer *timer, uint32_t index)
{
    timers->heap[index] = timer;
    timer->heap_index = index;
}

/* Moves `timer` from the hole at `index` towards the root, until its parent is not later. */
static void sift_up(struct roce_timers *timers, struct roce_timer *timer, uint32_t index)
{
    while (index > 1 && timer->deadline_ns < timers->heap[index / 2]->deadline_ns) {
        place(timers, timers->heap[index / 2], index);
        index /= 2;
    }
    place(timers, timer, index);
}

/* Moves `timer` from the hole at `index` towards the leaves, until no child is earlier. */
static void sift_down(struct roce_timers *timers, struct roce_timer *timer, uint32_t index)
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
static void settle(struct roce_timers *timers, struct roce_timer *timer, uint32_t index)
{
    if (index > 1 && timer->deadline_ns < timers->heap[index / 2]->deadline_ns)
        sift_up(timers, timer, index);
    else
        sift_down(timers, timer, index);
}

void roce_timer_arm(struct roce_timers *timers, struct roce_timer *timer, uint64_t deadline_ns)
{
    timer->deadline_ns = deadline_ns;
    if (roce_timer_armed(timer)) {
        settle(timers, timer, timer->heap_index);
        return;
    }
    assert(timers->count < timers->capacity);
    sift_up(timers, timer, ++timers->count);
}

void roce_timer_cancel(struct roce_timers *timers, struct roce_timer *timer)
{
    if (!roce_timer_armed(timer))
        return;
    uint32_t hole = timer->heap_index;
    struct roce_timer *last = timers->heap[timers->count--];
    timer->heap_index = 0;
    if (last != timer)
        settle(timers, last, hole);
}

uint64_t roce_timers_next_ns(const struct roce_timers *timers)
{
    return timers->count != 0 ? timers->heap[1]->deadline_ns : NET_TIME_NONE;
}

struct roce_timer *roce_timers_pop(struct roce_timers *timers, uint64_t now_ns)
{
    if (timers->count == 0 || timers->heap[1]->deadline_ns > now_ns)
        return NULL;
    struct roce_timer *first = timers->heap[1];
    roce_timer_cancel(timers, first);
    return first;
}
