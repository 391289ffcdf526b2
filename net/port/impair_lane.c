/* SPDX-License-Identifier: BSD-2-Clause */
#include "net/port/impair_lane.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SLOTS        (NET_IMPAIR_QUEUE_FRAMES + NET_BURST)
#define HOLD_TIME_NS 1000000u
#define CACHE_LINE   64u

int net_lane_init(struct net_lane *lane, const struct net_impair_config *config,
                  struct net_impair_counters *counters, uint32_t frame_bytes, unsigned direction)
{
    frame_bytes = (frame_bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE;
    *lane = (struct net_lane){
        .config = config,
        .counters = counters,
        .frame_bytes = frame_bytes,
        .bytes = aligned_alloc(CACHE_LINE, (size_t)SLOTS * frame_bytes),
        .len_bytes = calloc(SLOTS, sizeof *lane->len_bytes),
        .free_slots = calloc(SLOTS, sizeof *lane->free_slots),
        .queue = calloc(NET_IMPAIR_QUEUE_FRAMES, sizeof *lane->queue),
        .held = calloc(NET_IMPAIR_QUEUE_FRAMES, sizeof *lane->held),
    };
    if (!lane->bytes || !lane->len_bytes || !lane->free_slots || !lane->queue || !lane->held)
        return -ENOMEM;
    net_impair_fates_init(&lane->fates, config->seed, direction);
    for (uint32_t slot = SLOTS; slot-- > 0;)
        net_lane_give(lane, slot);
    return 0;
}

void net_lane_deinit(struct net_lane *lane)
{
    free(lane->bytes);
    free(lane->len_bytes);
    free(lane->free_slots);
    free(lane->queue);
    free(lane->held);
}

uint32_t net_lane_take(struct net_lane *lane)
{
    return lane->free_count ? lane->free_slots[--lane->free_count] : NET_LANE_NO_SLOT;
}

void net_lane_give(struct net_lane *lane, uint32_t slot)
{
    lane->free_slots[lane->free_count++] = slot;
}

uint8_t *net_lane_data(const struct net_lane *lane, uint32_t slot)
{
    return lane->bytes + (size_t)slot * lane->frame_bytes;
}

static bool is_full(const struct net_lane *lane)
{
    return lane->queue_count + lane->held_count == NET_IMPAIR_QUEUE_FRAMES;
}

static bool is_before(const struct net_lane_entry *a, const struct net_lane_entry *b)
{
    return a->due_ns != b->due_ns ? a->due_ns < b->due_ns : a->order < b->order;
}

/* Puts a frame on its way out. */
static void enqueue(struct net_lane *lane, uint32_t slot, uint64_t jitter_ns, uint64_t now_ns)
{
    uint64_t delay_ns = lane->config->delay_ns + jitter_ns;
    if (delay_ns)
        lane->counters->delayed++;
    struct net_lane_entry entry = {.due_ns = now_ns + delay_ns, .order = lane->next_order++, .slot = slot};
    uint32_t at = lane->queue_count++;
    for (; at > 0 && is_before(&entry, &lane->queue[(at - 1) / 2]); at = (at - 1) / 2)
        lane->queue[at] = lane->queue[(at - 1) / 2];
    lane->queue[at] = entry;
}

static struct net_lane_entry dequeue(struct net_lane *lane)
{
    struct net_lane_entry top = lane->queue[0];
    struct net_lane_entry last = lane->queue[--lane->queue_count];
    uint32_t at = 0;
    for (uint32_t child; (child = 2 * at + 1) < lane->queue_count; at = child) {
        if (child + 1 < lane->queue_count && is_before(&lane->queue[child + 1], &lane->queue[child]))
            child++;
        if (!is_before(&lane->queue[child], &last))
            break;
        lane->queue[at] = lane->queue[child];
    }
    lane->queue[at] = last;
    return top;
}

static void hold(struct net_lane *lane, uint32_t slot, uint64_t jitter_ns, uint64_t now_ns)
{
    uint32_t depth = lane->config->reorder_depth;
    lane->held[(lane->held_first + lane->held_count++) % NET_IMPAIR_QUEUE_FRAMES] = (struct net_lane_held){
        /* gone_by does not count this frame yet */
        .leave_at = lane->gone_by + 1 + depth,
        .deadline_ns = now_ns + HOLD_TIME_NS,
        .slot = slot,
        .jitter_ns = jitter_ns,
    };
    lane->counters->reordered++;
}

void net_lane_tick(struct net_lane *lane, uint64_t now_ns)
{
    while (lane->held_count) {
        const struct net_lane_held *first = &lane->held[lane->held_first];
        if (first->leave_at > lane->gone_by && first->deadline_ns > now_ns)
            return;
        lane->held_first = (lane->held_first + 1) % NET_IMPAIR_QUEUE_FRAMES;
        lane->held_count--;
        enqueue(lane, first->slot, first->jitter_ns, now_ns);
    }
}

void net_lane_went_by(struct net_lane *lane, uint64_t now_ns)
{
    lane->gone_by++;
    net_lane_tick(lane, now_ns);
}

/* A copy of the frame in a slot of its own; NET_LANE_NO_SLOT where there is no room for it. */
static uint32_t copy_frame(struct net_lane *lane, uint32_t slot)
{
    if (lane->queue_count + lane->held_count + 2 > NET_IMPAIR_QUEUE_FRAMES)
        return NET_LANE_NO_SLOT;
    uint32_t copy = net_lane_take(lane);
    if (copy == NET_LANE_NO_SLOT)
        return copy;
    lane->len_bytes[copy] = lane->len_bytes[slot];
    memcpy(net_lane_data(lane, copy), net_lane_data(lane, slot), lane->len_bytes[slot]);
    lane->counters->duplicated++;
    return copy;
}

void net_lane_admit(struct net_lane *lane, uint32_t slot, const struct net_impair_fate *fate, uint64_t now_ns)
{
    if (is_full(lane)) {
        lane->counters->lost++;
        net_lane_give(lane, slot);
        return;
    }
    net_impair_fate_apply(fate, net_lane_data(lane, slot), lane->len_bytes[slot], lane->counters);
    uint32_t copy = fate->duplicated ? copy_frame(lane, slot) : NET_LANE_NO_SLOT;
    if (fate->held)
        hold(lane, slot, fate->jitter_ns, now_ns);
    else
        enqueue(lane, slot, fate->jitter_ns, now_ns);
    if (copy != NET_LANE_NO_SLOT)
        enqueue(lane, copy, fate->copy_jitter_ns, now_ns);
    net_lane_went_by(lane, now_ns);
}

bool net_lane_is_due(const struct net_lane *lane, uint64_t now_ns)
{
    return lane->queue_count && lane->queue[0].due_ns <= now_ns;
}

uint32_t net_lane_next(struct net_lane *lane, uint64_t now_ns)
{
    if (!net_lane_is_due(lane, now_ns))
        return NET_LANE_NO_SLOT;
    lane->counters->passed++;
    return dequeue(lane).slot;
}

uint64_t net_lane_deadline_ns(const struct net_lane *lane)
{
    uint64_t deadline_ns = NET_TIME_NONE;
    if (lane->queue_count)
        deadline_ns = lane->queue[0].due_ns;
    if (lane->held_count && lane->held[lane->held_first].deadline_ns < deadline_ns)
        deadline_ns = lane->held[lane->held_first].deadline_ns;
    return deadline_ns;
}
